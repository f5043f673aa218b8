# SPDX-License-Identifier: MIT
"""An archive of `overlock collect`, unpacked, or its list alone: read, or refused."""

import io
import lzma
import tarfile
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.model import collected
    from overlock_tools.core.system import archive
    from tests.fuzz.hostile import fuzz, is_refused

FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))


def packed(listed: bytes) -> bytes:
    made, entry = io.BytesIO(), tarfile.TarInfo(collected.LIST)
    entry.size = len(listed)
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(listed))
    return made.getvalue()


def take(data: bytes) -> None:
    given = FOLDER / f"given{archive.ENDING}"
    given.write_bytes(lzma.compress(packed(data) if data[:1] == b"{" else data, preset=0))
    if is_refused(lambda: collected.read(given)):
        return
    read = collected.read(given)
    assert all(archive.NAME.fullmatch(name) for name in read.files)
    is_refused(read.results)
    assert sorted(path.name for path in FOLDER.iterdir()) == [given.name], "it left a file"


if __name__ == "__main__":
    fuzz(take, documents=True)
