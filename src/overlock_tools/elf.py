# SPDX-License-Identifier: MIT
"""Can a preloaded library reach this program? What its file says."""

import os
import stat
import struct
from pathlib import Path

PT_INTERP = 3
SCRIPTS_IN_A_ROW = 4  # as many as Linux follows


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""  # executable but not readable: the kernel will say what is wrong with it


def _machine(head: bytes) -> tuple[int, int]:
    """Word size and processor, as the ELF header has them."""
    return head[4], struct.unpack_from("<H", head, 18)[0]


def _loader(path: Path, head: bytes) -> str | None:
    """The dynamic loader that a 64-bit ELF file asks for; None if it is static."""
    offset, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
    with path.open("rb") as file:
        for i in range(count):
            file.seek(offset + i * size)
            kind, _flags, at, _va, _pa, length = struct.unpack_from("<IIQQQQ", file.read(size))
            if kind == PT_INTERP:
                file.seek(at)
                return file.read(length).rstrip(b"\0").decode(errors="replace")
    return None


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


def obstacle(program: Path, library: Path) -> str:
    """Why `library` cannot be preloaded into `program`; empty if it can, or nobody can tell."""
    head = _start(program)
    for _ in range(SCRIPTS_IN_A_ROW):
        if not (interpreter := script_interpreter(head)):
            break
        program, head = interpreter, _start(interpreter)
    if not head.startswith(b"\x7fELF") or len(head) < 64:
        return ""
    if _machine(head) != _machine(_start(library)):
        return f"{program} is for another processor than {library.name}"
    loader = _loader(program, head)
    if loader is None:
        return f"{program} is statically linked, so no library can be put before its own"
    if "ld-musl" in loader:
        return f"{program} uses musl, and the interposer is for glibc"
    if _changes_rights(program):
        return f"{program} is setuid, setgid or has capabilities, so the system ignores LD_PRELOAD"
    return ""
