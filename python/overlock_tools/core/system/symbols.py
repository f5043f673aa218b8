# SPDX-License-Identifier: MIT
"""Names, files and lines of calls, those that were inlined too; build IDs.

llvm-symbolizer tells them, and where there is none overlock-symbolizer, by the same answers. It
takes several times as long, and leaves Rust's newer names, `_R...`, as they are.
"""

import contextlib
import os
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Required, TypedDict

from overlock_tools.core.system import native, reading
from overlock_tools.core.system.errors import Fail

TOOL = "llvm-symbolizer"
OURS = "overlock-symbolizer"
PACKAGE = "llvm"  # Debian's


@dataclass(frozen=True)
class Call:
    """A function, and where in it somebody is; of what is unknown nothing is said."""

    function: str | None = None
    file: str | None = None
    line: int | None = None
    inlined: bool = False  # into the one after it

    @property
    def where(self) -> str:
        """`queue.h:31`; empty if it is unknown, as of files without debug information."""
        return f"{Path(self.file).name}:{self.line}" if self.file and self.line else ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def tool() -> tuple[str, ...]:
    """LLVM's, by its name alone, or with a version, of which the newest; else ours."""
    versions = (f"{TOOL}-{n}" for n in range(40, 13, -1))
    if found := next(filter(None, map(shutil.which, (TOOL, *versions))), None):
        return (found, "--inlines", "--demangle", "--output-style=JSON", "-e")
    with contextlib.suppress(Fail):
        return (str(native.file(OURS)),)
    return ()


def look_up(module: Path, offsets: Iterable[int]) -> dict[int, tuple[Call, ...]]:
    """By offset, innermost first; nothing without symbols, or without a tool that reads them."""
    asked = sorted(set(offsets))
    if not asked or not tool() or not module.is_file():
        return {}
    return named(_ask(module, (f"{offset:#x}" for offset in asked)))


def variables(module: Path, offsets: Iterable[int]) -> dict[int, str]:
    """By offset, the global or static variable that is there; nothing where there is none."""
    asked = sorted(set(offsets))
    if not asked or not tool() or not module.is_file():
        return {}
    return named_data(_ask(module, (f"DATA {offset:#x}" for offset in asked)))


def _ask(module: Path, lines: Iterable[str]) -> str:
    done = subprocess.run(
        [*tool(), str(module.absolute())],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        start_new_session=True,  # Ctrl-C ends the program that is looked at, not this
    )
    return done.stdout


ELF_HEADER = struct.Struct(
    "<4sB27xQ14xHH"
)  # magic, class; where the program headers are; their size, number
PROGRAM_HEADER = struct.Struct("<IIQQQQQ")  # kind, flags, offset, addresses, size in the file
NOTE = struct.Struct("<III")  # lengths of name and content, kind
CLASS_64, PT_LOAD, PT_NOTE, BUILD_ID = 2, 1, 4, 3


def is_same(path: Path, identity: str) -> bool:
    """Whether the file is the one that a process has mapped: by build ID, else size and time."""
    if not identity:
        return path.is_file()
    try:
        if "@" not in identity:
            return build_id(path) == identity
        status = path.stat()
    except OSError:
        return False
    seconds, ns = divmod(status.st_mtime_ns, 1_000_000_000)
    return identity == f"{status.st_size}@{seconds}.{ns:09}"


MOST_HEADERS, MOST_BYTES = 256, 1 << 16


def build_id(path: Path) -> str:
    """Of an ELF file of 64 bits, in hexadecimal; empty if it has none."""
    with open(path, "rb", opener=_at_once) as file:
        for kind, _, offset, _, _, length, _ in _program_headers(file):
            if kind == PT_NOTE and (found := _build_note(_part(file, offset, length))):
                return found
    return ""


def segments(path: Path) -> list[tuple[int, int, int]]:
    """Of an ELF file of 64 bits: where each is in the file, how long, and at what address."""
    with open(path, "rb", opener=_at_once) as file:
        return [
            (offset, length, address)
            for kind, _, offset, address, _, length, _ in _program_headers(file)
            if kind == PT_LOAD
        ]


def _program_headers(file: BinaryIO) -> Iterator[tuple[int, ...]]:
    """Of a file that may have been made to take long, or to have no end."""
    with contextlib.suppress(struct.error):
        magic, kind, at, size, n = ELF_HEADER.unpack(file.read(ELF_HEADER.size))
        if (magic, kind) != (b"\x7fELF", CLASS_64) or size < PROGRAM_HEADER.size:
            return
        headers = _part(file, at, size * min(n, MOST_HEADERS))
        for place in range(0, len(headers), size):
            yield PROGRAM_HEADER.unpack_from(headers, place)


def _at_once(path: str, flags: int) -> int:
    """Not waiting for somebody to write to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _part(file: BinaryIO, at: int, length: int) -> bytes:
    """Nothing, if the file is shorter, or the part longer than any compiler makes it."""
    if length > MOST_BYTES or at + length > os.fstat(file.fileno()).st_size:
        return b""
    return os.pread(file.fileno(), length, at)


def _build_note(notes: bytes) -> str:
    at = 0
    while at + NOTE.size <= len(notes):
        name_bytes, bytes_, kind = NOTE.unpack_from(notes, at)
        begin = at + NOTE.size + (name_bytes + 3) // 4 * 4
        if kind == BUILD_ID and notes[at + NOTE.size : begin] == b"GNU\0":
            return notes[begin : begin + bytes_].hex()
        at = begin + (bytes_ + 3) // 4 * 4
    return ""


class _Symbol(TypedDict, total=False):
    FunctionName: str
    FileName: str
    Line: int


class _Data(TypedDict, total=False):
    Name: str
    Start: str
    Size: str


class _Answer(TypedDict, total=False):
    Address: Required[str]
    Symbol: list[_Symbol]
    Data: _Data


def named(answers: str) -> dict[int, tuple[Call, ...]]:
    """Of what the tool prints, a line of JSON per address. A file may make it print anything."""
    found = {}
    for line in answers.splitlines():
        with contextlib.suppress(ValueError):
            answer = reading.checked(_Answer, reading.parsed(line), "an answer")
            found[int(answer["Address"], 16)] = _calls(answer.get("Symbol", []))
    return {offset: calls for offset, calls in found.items() if calls}


def named_data(answers: str) -> dict[int, str]:
    """The same of variables: `cache`, or `cache+0x28` for what is within one."""
    found = {}
    for line in answers.splitlines():
        with contextlib.suppress(ValueError):
            # An answer alone is in a list, others are not.
            answer = reading.checked(_Answer, reading.parsed(line.strip("[]")), "an answer")
            data, at = answer.get("Data", {}), int(answer["Address"], 16)
            if name := data.get("Name"):
                inside = at - int(data.get("Start", answer["Address"]), 16)
                if inside >= max(1, int(data.get("Size", "0"), 16)):
                    continue  # the last one before it, as `_end` before the heap
                found[at] = f"{name}+{inside:#x}" if inside else name
    return found


def _calls(symbols: list[_Symbol]) -> tuple[Call, ...]:
    calls = tuple(
        Call(
            symbol.get("FunctionName") or None,
            symbol.get("FileName") or None,
            symbol.get("Line") or None,
            i + 1 < len(symbols),
        )
        for i, symbol in enumerate(symbols)
    )
    return calls if any(call.function or call.file for call in calls) else ()
