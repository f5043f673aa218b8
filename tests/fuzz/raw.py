# SPDX-License-Identifier: MIT
"""What the recorder of `overlock run --record` has left of a process, which may have written over
it: a trace is made of it, or nothing. The bytes lie over the beginning of each table; the file may
end anywhere."""

import shutil
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.model import defs
    from overlock_tools.core.system import symbols
    from overlock_tools.core.trace import format as traces
    from overlock_tools.core.trace import raw
    from tests.fuzz.hostile import fuzz

FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))
LISTS = defs.raw_lists()["record"]
TABLES = ("objects", "locks", "sites", "threads", "chunks")
symbols.tool = lambda: None  # type: ignore[assignment] # what it prints is fuzzed by itself


def record(data: bytes) -> bytes:
    """A byte says how much lies over the head and each table, and where the file ends."""
    (*sizes, end), data = data[:7].ljust(7, b"\0"), data[7:]
    start, size, _ = LISTS["chunks"]
    made = bytearray(start + 3 * size)
    for at, length in zip((0, *(LISTS[name][0] for name in TABLES)), sizes, strict=True):
        made[at : at + min(length, len(data))] = data[:length]
        data = data[length:]
    return bytes(made[: len(made) - end * 16])


def take(data: bytes) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    (FOLDER / "7.0").write_bytes(record(data))
    for each in raw.processes(FOLDER).values():
        for one in each:
            file = FOLDER / "written"
            traces.write(file, raw.trace_of(one, "program"))
            assert (traces.read(file).events["kind"] == one.events["kind"]).all()


if __name__ == "__main__":
    fuzz(take)
