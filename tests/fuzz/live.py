# SPDX-License-Identifier: MIT
"""Counters that a running program keeps in a file: what is in use of a block, and its records. The
file may end anywhere."""

import tempfile
from io import StringIO
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overlock_tools"]):
    from overlock_tools.core.model import defs
    from overlock_tools.run import live
    from tests.fuzz.hostile import fuzz

FOLDER = Path(tempfile.mkdtemp(prefix="overlock-fuzz-"))
NOBODY = 2**22 + 1  # no process has that id
LAYOUT = defs.load().live


def take(data: bytes) -> None:
    block, used = LAYOUT["block"], LAYOUT["used"]
    text = b"s".ljust(block, b"\0") + bytes(used) + data
    if len(data) % 2:  # else it ends there
        text = text.ljust(2 * block, b"\0")
    (FOLDER / f"{NOBODY}.0").write_bytes(text)
    reader = live.Reader(FOLDER)
    for json_lines in (False, True):
        follower = live.Follower(reader, StringIO(), json_lines)
        follower.tick()
        follower.end()
    reader.holds().pairs()


if __name__ == "__main__":
    fuzz(take)
