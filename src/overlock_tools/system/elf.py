# SPDX-License-Identifier: MIT
"""Can a preloaded library reach this program, and in which company? What its file says."""

import os
import re
import stat
import struct
from pathlib import Path
from typing import NamedTuple

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_STRSZ = 1, 5, 10
SCRIPTS_IN_A_ROW = 4  # as many as Linux follows
# AddressSanitizer's runtime from GCC: it refuses to start unless it comes before all others.
FIRST = re.compile(r"lib(asan|hwasan|lsan)\.so\b")
# What preload/start.c looks for too, and says why.
TSAN = b"\0__tsan_init\0"


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""  # executable but not readable: the kernel will say what is wrong with it


def _machine(head: bytes) -> tuple[int, int]:
    """Word size and processor, as the ELF header has them."""
    return head[4], struct.unpack_from("<H", head, 18)[0]


class Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int  # in the file


def _segments(path: Path, head: bytes) -> list[Segment]:
    """Of a 64-bit ELF file."""
    offset, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
    found = []
    with path.open("rb") as file:
        for i in range(count):
            file.seek(offset + i * size)
            kind, _flags, at, address, _pa, length = struct.unpack("<IIQQQQ", file.read(40))
            found.append(Segment(kind, at, address, length))
    return found


def _bytes(path: Path, segment: Segment) -> bytes:
    with path.open("rb") as file:
        file.seek(segment.offset)
        return file.read(segment.size)


def _loader(path: Path, head: bytes) -> str | None:
    """The dynamic loader that a 64-bit ELF file asks for; None if it is static."""
    for segment in _segments(path, head):
        if segment.kind == PT_INTERP:
            return _bytes(path, segment).rstrip(b"\0").decode(errors="replace")
    return None


class Dynamic(NamedTuple):
    """What the loader is told."""

    names: bytes  # the table of strings, of symbols and libraries
    needed: list[str]  # libraries


def _dynamic(path: Path, head: bytes) -> Dynamic:
    """Of a 64-bit ELF file."""
    segments = _segments(path, head)
    raw = b"".join(_bytes(path, s) for s in segments if s.kind == PT_DYNAMIC)
    entries = list(struct.iter_unpack("<QQ", raw[: len(raw) // 16 * 16]))
    address, size = (
        next((value for tag, value in entries if tag == wanted), 0)
        for wanted in (DT_STRTAB, DT_STRSZ)
    )
    loaded = (s for s in segments if s.kind == PT_LOAD)
    holder = next((s for s in loaded if s.address <= address < s.address + s.size), None)
    if holder is None:
        return Dynamic(b"", [])
    names = _bytes(path, Segment(PT_LOAD, holder.offset + address - holder.address, address, size))
    libraries = [names[at:].partition(b"\0")[0] for tag, at in entries if tag == DT_NEEDED]
    return Dynamic(names, [name.decode(errors="replace") for name in libraries])


def _changes_rights(path: Path) -> bool:
    """Would the kernel run it with other rights than ours? Then the loader drops LD_PRELOAD."""
    status = path.stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getgid():
        return True
    try:
        return bool(os.getxattr(path, "security.capability")) and os.getuid() != 0
    except OSError:
        return False


def script_interpreter(head: bytes) -> Path | None:
    words = head[2:].split(b"\n", 1)[0].split() if head.startswith(b"#!") else []
    return Path(os.fsdecode(words[0])) if words else None


def _executed(program: Path) -> tuple[Path, bytes]:
    """The file that the kernel will execute, behind scripts, and its first bytes."""
    head = _start(program)
    for _ in range(SCRIPTS_IN_A_ROW):
        if not (interpreter := script_interpreter(head)):
            break
        program, head = interpreter, _start(interpreter)
    return program, head


def _is_elf(head: bytes) -> bool:
    return head.startswith(b"\x7fELF") and len(head) >= 64


def before_all(program: Path) -> list[str]:
    """The libraries that must stay in front of what is preloaded."""
    program, head = _executed(program)
    if not _is_elf(head):
        return []
    return [name for name in _dynamic(program, head).needed if FIRST.match(name)]


def obstacle(program: Path, library: Path) -> str:
    """Why `library` cannot be preloaded into `program`; empty if it can, or nobody can tell."""
    program, head = _executed(program)
    why = ""
    if not _is_elf(head):
        pass
    elif _machine(head) != _machine(_start(library)):
        why = f"and {library.name} are for different processors"
    elif (loader := _loader(program, head)) is None:
        why = "is statically linked, so no library can be preloaded"
    elif "ld-musl" in loader:
        why = "uses musl, but the interposer needs glibc"
    elif _changes_rights(program):
        why = "is setuid, setgid or has capabilities, so the system ignores LD_PRELOAD"
    elif TSAN in _dynamic(program, head).names:
        why = "is built with ThreadSanitizer, which would miss the replaced locks"
    return f"{program} {why}" if why else ""
