# SPDX-License-Identifier: MIT
"""The slice page written by hand, and read by look.c: by the header, or by one that is wrong."""

import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.mutant import changed

LOOK = Path(__file__).with_name("look.c")
READER = TOP / "include/overlock/slice_reader.h"

# The ABI, as docs/reference/slice-page.md has it; the compiler's opinion is in slice_page.h.
MAGIC, VERSION = b"OVLKslce", 1
MADE, TOLD, OVER = 0, 1, 2
HEADER = struct.Struct("<8sIIIIIIQQQQ")
ENTRY = struct.Struct("<IIQQQQQQQ")
NO_END = 2**64 - 1

Look = Callable[..., Path]


@dataclass
class Entry:
    seq: int = 2
    running: int = 1
    id: int = 7
    begin: int = 0
    end: int = 0
    sure: int = 0
    published: int = 0

    @classmethod
    def on(cls, page: Path, number: int = 0) -> "Entry":
        """As a host has written it."""
        return cls(*ENTRY.unpack_from(page.read_bytes(), HEADER.size + number * ENTRY.size)[:7])

    def packed(self) -> bytes:
        times = (self.begin, self.end, self.sure, self.published)
        return ENTRY.pack(self.seq, self.running, self.id, *times, 0, 0)


@dataclass
class Page:
    """Written as a host would, by a script."""

    path: Path
    magic: bytes = MAGIC
    version: int = VERSION
    state: int = TOLD
    size: int = 4096
    first: int = 64
    stride: int = 64
    entries: int = 4
    beat: int = 0
    lasting: int = 2_000_000_000
    late: int = 40_000_000

    def write(self, entry: Entry, number: int = 0, bytes_: int = 4096) -> "Page":
        numbers = (self.version, self.state, self.size, self.first, self.stride, self.entries)
        head = HEADER.pack(self.magic, *numbers, self.beat, self.lasting, self.late, 0)
        text = head + bytes(ENTRY.size * number) + entry.packed()
        self.path.write_bytes(text.ljust(bytes_, b"\0"))
        return self


@pytest.fixture(scope="session")
def look(tmp_path_factory: pytest.TempPathFactory) -> Look:
    """Compiles the reader; with a change to slice_reader.h, a mutant that is wrong."""

    def build(old: str = "", new: str = "") -> Path:
        folder = tmp_path_factory.mktemp("look")
        text = READER.read_text()
        (folder / "overlock").mkdir()
        (folder / "overlock/slice_reader.h").write_text(changed(text, (old, new)) if old else text)
        flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
        paths = [f"-I{folder}", f"-I{TOP / 'include'}"]
        program = folder / "look"
        subprocess.run(["cc", *flags, *paths, LOOK, "-o", program], check=True)
        return program

    return build
