# SPDX-License-Identifier: MIT
"""A guest's files as the kernel unpacks them: a cpio archive of the kind `newc`, compressed."""

import gzip
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from overlock_tools.core.system.errors import MISSING, Fail

Contents = dict[str, tuple[int, bytes]]
PROGRAM, DATA = 0o755, 0o644
TRAILER = "TRAILER!!!"


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    """Of the kernel's Documentation/driver-api/early-userspace/buffer-format.rst."""
    links, size, length = 1, len(data), len(name) + 1
    fields = (number, mode, 0, 0, links, 0, size, 0, 0, 0, 0, length, 0)
    head = "070701" + "".join(f"{field:08x}" for field in fields)
    return _padded(head.encode() + name.encode() + b"\0") + _padded(data)


def archive(contents: Mapping[str, tuple[int, bytes]]) -> bytes:
    """Files by their names inside, each with its permissions; folders are made as needed.

    A name that ends in a slash is a folder, which may be empty.
    """
    folders = {str(folder) for name in contents for folder in Path(name).parents} - {"."}
    folders |= {name.rstrip("/") for name in contents if name.endswith("/")}
    files = {name: entry for name, entry in contents.items() if not name.endswith("/")}
    entries = [(folder, stat.S_IFDIR | 0o755, b"") for folder in sorted(folders)]
    entries += [(name, stat.S_IFREG | mode, data) for name, (mode, data) in files.items()]
    packed = [_entry(number, *entry) for number, entry in enumerate(entries, 1)]
    return b"".join([*packed, _entry(0, TRAILER, 0, b"")])


def compressed(data: bytes) -> bytes:
    """The same bytes from the same files: no time in it."""
    return gzip.compress(data, 1, mtime=0)


def program(name: str, package: str) -> Path:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if not found:
        raise Fail(f"{name} is missing; install {package}, or run `make guest`", MISSING)
    return Path(found)


def libraries(path: Path, roots: Sequence[Path] = ()) -> list[Path]:
    """What the program is linked with, its loader included; none if it is static. Below `roots` are
    libraries that are not installed."""
    folders = [root / part for part in ("usr/lib", "lib") for root in roots]
    known = os.pathsep.join(str(folder / "x86_64-linux-gnu") for folder in folders)
    environment = {**os.environ, "LD_LIBRARY_PATH": known}
    listed = subprocess.run(
        ["ldd", path], capture_output=True, text=True, check=False, env=environment
    ).stdout
    if missing := re.search(r"(\S+) => not found", listed):
        raise Fail(f"{path.name} needs {missing[1]}, which is not here", MISSING)
    return [Path(word) for word in re.findall(r"(/\S+) \(0x", listed)]


def with_libraries(path: Path) -> Contents:
    """A program, and what it is linked with."""
    found = {path: f"usr/bin/{path.name}"} | {one: str(one).lstrip("/") for one in libraries(path)}
    return {name: (PROGRAM, one.read_bytes()) for one, name in found.items()}


def contents(
    init: Path, loads: Iterable[Path], modules: Iterable[tuple[str, bytes]], extra: Iterable[Path]
) -> Contents:
    """Busybox and /init, the scripts of the loads, modules by name, programs with libraries."""
    busybox = program("busybox", "busybox-static")
    if libraries(busybox):
        raise Fail(f"{busybox} is not static; install busybox-static instead of busybox", MISSING)
    programs = {"init": init, "bin/busybox": busybox, **{f"loads/{one.name}": one for one in loads}}
    found = {name: (PROGRAM, path.read_bytes()) for name, path in programs.items()}
    found |= {f"modules/{name}": (DATA, data) for name, data in modules}
    for path in extra:
        found |= with_libraries(path)
    return found
