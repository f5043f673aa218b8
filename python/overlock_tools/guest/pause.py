# SPDX-License-Identifier: MIT
"""PAUSE made a no-operation in a kernel that is built already.

Under TCG a PAUSE leaves the vCPU's loop and so gives the CPU away now and then: a spinning guest
looks kinder than it is. The two bytes are replaced in the file; where they stand is the
disassembler's answer, for the same bytes occur inside other instructions.
"""

import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from overlock_tools.core.system.errors import FAILED, MISSING, Fail

PAUSE, NOP = b"\xf3\x90", b"\x66\x90"
SHF_EXECINSTR = 4
# objdump marks no section twice, so its own words say where an instruction is.
SECTION = re.compile(r"Disassembly of section (\S+):")
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+pause\b")


@dataclass(frozen=True)
class Section:
    name: str
    address: int
    offset: int
    size: int


def executable_sections(elf: bytes) -> list[Section]:
    """Of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (at,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, at + i * size) for i in range(count)]
    strings = headers[names][4]

    def name(offset: int) -> str:
        start = strings + offset
        return elf[start : elf.index(b"\0", start)].decode()

    return [
        Section(name(header[0]), header[3], header[4], header[5])
        for header in headers
        if header[2] & SHF_EXECINSTR
    ]


def found(disassembly: str, sections: list[Section]) -> list[int]:
    """Where each PAUSE is in the file."""
    by_name = {section.name: section for section in sections}
    section: Section | None = None
    offsets = []
    for line in disassembly.splitlines():
        if header := SECTION.match(line):
            section = by_name.get(header[1])
        elif section and (match := INSTRUCTION.match(line)):
            offsets.append(int(match[1], 16) - section.address + section.offset)
    return offsets


def offsets_in(path: Path) -> list[int]:
    try:
        done = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", path],
            capture_output=True,
            text=True,
            check=True,
        )
        return found(done.stdout, executable_sections(path.read_bytes()))
    except FileNotFoundError as error:
        raise Fail("objdump is missing; install binutils", MISSING) from error
    except (subprocess.CalledProcessError, ValueError) as error:
        raise Fail(f"{path} cannot be disassembled: {error}", FAILED) from error


def as_nop(path: Path) -> tuple[bytes, int]:
    """The file with every PAUSE replaced, and how many there were."""
    data, offsets = bytearray(path.read_bytes()), offsets_in(path)
    for offset in offsets:
        if data[offset : offset + 2] != PAUSE:
            raise Fail(f"{path}: no PAUSE at {offset:#x}, though objdump says so", FAILED)
        data[offset : offset + 2] = NOP
    return bytes(data), len(offsets)
