# SPDX-License-Identifier: MIT
"""What tells a file from another of its name: the build ID, as the linker wrote it."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from overlock_tools.core.system import symbols

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
