# SPDX-License-Identifier: MIT
"""Archives of what was collected on a machine, and of what somebody sent: nothing is trusted."""

import io
import lzma
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.text import printable

ENDING = ".tar.xz"
MOST_BYTES = 256 << 20  # of all files; a result of this project has some MB
MOST_FILES = 1000
MEMORY = 256 << 20  # of the decompressor
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


def pack(path: Path, members: Mapping[str, bytes]) -> None:
    """The same files make the same bytes."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(members.items()):
            assert NAME.fullmatch(name), name
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    files.write(path, lzma.compress(tar.getvalue(), preset=6))


def unpack(path: Path) -> dict[str, bytes]:
    """In memory. An archive with anything but plain files, or with too much, is refused whole."""
    try:
        return _members(_decompressed(path))
    except OSError as error:
        raise Fail(f"{path} cannot be read: {error.strerror or error}") from error
    except (lzma.LZMAError, tarfile.TarError, EOFError, ValueError) as error:
        why = printable(str(error))[:200]
        raise Fail(f"{path} is not an archive of `overlock collect`: {why}") from error


def _decompressed(path: Path) -> bytes:
    reader = lzma.LZMADecompressor(memlimit=MEMORY)
    found = bytearray()
    with path.open("rb") as file:
        while not reader.eof and (block := file.read(1 << 20)):
            found += reader.decompress(block, MOST_BYTES + 1 - len(found))
            while not (reader.needs_input or reader.eof) and len(found) <= MOST_BYTES:
                found += reader.decompress(b"", MOST_BYTES + 1 - len(found))
            if len(found) > MOST_BYTES:
                raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    if not reader.eof:
        raise ValueError("it is cut off")
    return bytes(found)


def _members(tar: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for entry in archive:
            if not entry.isreg() or entry.sparse or not NAME.fullmatch(entry.name):
                raise ValueError(f"it has {entry.name!r}, which is no plain file of a result")
            if entry.name in found or len(found) == MOST_FILES:
                raise ValueError("it has a file twice, or too many")
            content = archive.extractfile(entry)
            assert content is not None
            found[entry.name] = content.read()
            if len(found[entry.name]) != entry.size:
                raise ValueError(f"{entry.name} is cut off")
    return found
