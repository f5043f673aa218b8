# SPDX-License-Identifier: MIT
"""What tells a file from another of its name, the build ID; names of its code and variables."""

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from overlock_tools.core.system import native, symbols

ID = "0123456789abcdef0123456789abcdef01234567"


def linked(folder: Path, build: str) -> Path:
    source, made = folder / "x.c", folder / f"x-{build}"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", f"-Wl,--build-id={build}", source, "-o", made], check=True)
    return made


def test_the_build_id_is_the_linkers(tmp_path: Path) -> None:
    one = linked(tmp_path, f"0x{ID}")
    assert symbols.build_id(one) == ID
    assert symbols.is_same(one, ID)
    assert not symbols.is_same(one, ID[::-1])
    assert not symbols.is_same(tmp_path / "gone", ID)


def test_a_file_made_to_be_read_for_ever(tmp_path: Path) -> None:
    """A FIFO; and all notes that a header can announce, each of them long."""
    fifo, elf = tmp_path / "fifo", tmp_path / "elf"
    os.mkfifo(fifo)
    assert symbols.build_id(fifo) == ""
    size, n, length = symbols.PROGRAM_HEADER.size + 8, 65535, 1 << 30
    note = symbols.PROGRAM_HEADER.pack(symbols.PT_NOTE, 0, 0, 0, 0, length, 0).ljust(size, b"\0")
    head = symbols.ELF_HEADER.pack(b"\x7fELF", symbols.CLASS_64, 64, size, n)
    elf.write_bytes(head.ljust(64, b"\0") + note * n)
    os.truncate(elf, length)
    assert symbols.build_id(elf) == ""


def test_without_build_id_size_and_time_decide(tmp_path: Path) -> None:
    one = linked(tmp_path, "none")
    assert symbols.build_id(one) == ""
    status = one.stat()
    seconds, ns = divmod(status.st_mtime_ns, 10**9)
    identity = f"{status.st_size}@{seconds}.{ns:09}"
    assert symbols.is_same(one, identity)
    other = tmp_path / "other"
    shutil.copy(one, other)  # later
    assert not symbols.is_same(other, identity)


OURS = native.folder() / symbols.OURS
with_ours = pytest.mark.skipif(not OURS.exists(), reason=f"{symbols.OURS} is not built here")
SOURCE = """static volatile long table[16];
struct shard {
	__attribute__((noinline)) long take(int n);
};
static inline long inner(int n)
{
	return table[n] + table[n + 1];
}
static inline __attribute__((always_inline)) long outer(int n)
{
	return inner(n) * 3;
}
long shard::take(int n)
{
	return outer(n);
}
int main(int n, char **)
{
	return shard().take(n) & 1;
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named")
    (folder / "named.cpp").write_text(SOURCE)
    command = ["g++", "-O2", "-g", "named.cpp", "-o", "named"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "named"


def place(program: Path, symbol: str) -> tuple[int, int]:
    """Its address and size."""
    said = subprocess.run(["nm", "-CS", program], capture_output=True, text=True, check=True)
    (line,) = (one for one in said.stdout.splitlines() if one.endswith(f" {symbol}"))
    at, size, *_ = line.split()
    return int(at, 16), int(size, 16)


@pytest.fixture(params=[symbols.TOOL, symbols.OURS])
def tool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """LLVM's, or what takes its place where there is none."""
    symbols.tool.cache_clear()
    if request.param == symbols.OURS:
        monkeypatch.setattr(shutil, "which", lambda _: None)
    used = Path((symbols.tool() or ("",))[0]).name
    monkeypatch.undo()
    if not used.startswith(request.param):
        pytest.skip(f"there is no {request.param}")
    return used


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    symbols.tool.cache_clear()


@pytest.mark.usefixtures("tool")
def test_names_and_lines_of_inlined_calls(made: Path) -> None:
    at, size = place(made, "shard::take(int)")
    found = symbols.look_up(made, range(at, at + size))
    chains = {tuple((call.function, call.where) for call in calls) for calls in found.values()}
    assert all(chain[-1][0] == "shard::take(int)" for chain in chains)
    names = {tuple((name or "").partition("(")[0] for name, _ in chain) for chain in chains}
    assert ("inner", "outer", "shard::take") in names
    (whole, *_) = (c for c in found.values() if len(c) == 3)
    assert [call.where for call in whole] == ["named.cpp:7", "named.cpp:11", "named.cpp:15"]
    assert [call.inlined for call in whole] == [True, True, False]
    assert {call.file for call in whole} == {str(made.with_suffix(".cpp"))}


@pytest.mark.usefixtures("tool")
def test_names_without_debug_information(made: Path, tmp_path: Path) -> None:
    less = tmp_path / "less"
    subprocess.run(["strip", "--strip-debug", made, "-o", less], check=True)
    at, _ = place(less, "shard::take(int)")
    assert symbols.look_up(less, [at + 1]) == {at + 1: (symbols.Call("shard::take(int)"),)}
    subprocess.run(["strip", less], check=True)
    assert symbols.look_up(less, [at + 1]) == {}


@pytest.mark.usefixtures("tool")
def test_names_of_variables(made: Path) -> None:
    at, size = place(made, "table")
    wanted = {at: "table", at + 8: "table+0x8"}
    assert symbols.variables(made, [at, at + 8, at + size + 4096]) == wanted


@with_ours
def test_ours_refuses_what_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program\n")
    done = subprocess.run([OURS, tmp_path / "text"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("overlock-symbolizer: ")
    assert len(done.stderr.splitlines()) == 1


HEADER = struct.Struct("<4sB27xQ14xHH")
PART = struct.Struct("<IIQQQQQ")
NOTES = 4


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x7fELF",
        HEADER.pack(b"\x7fELF", 1, 0, 0, 0),
        HEADER.pack(b"\x7fELF", 2, 2**63 + 5, 65535, 65535),
        HEADER.pack(b"\x7fELF", 2, 58, 3, 9) + bytes(100),
        HEADER.pack(b"\x7fELF", 2, 58, 56, 1) + PART.pack(NOTES, 0, 2**64 - 9, 0, 0, 2**62, 0),
        HEADER.pack(b"\x7fELF", 2, 58, 56, 1) + PART.pack(NOTES, 0, 0, 0, 0, 114, 0),
    ],
)
def test_a_file_that_is_no_such_has_none(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(raw)
    assert symbols.build_id(file) == ""
