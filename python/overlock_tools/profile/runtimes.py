# SPDX-License-Identifier: MIT
"""Runtimes that keep threads, or what they run, waiting by means of their own.

At the futexes of such a process one sees the runtime's threads at work and at rest, but not who
waits for which of the program's locks.
"""

import contextlib
import re
from pathlib import Path

# By a file that the process has mapped.
MAPPED = (
    ("libjvm.so", "Java's monitors and locks"),
    ("libcoreclr.so", ".NET's monitors"),
    ("beam.smp", "Erlang's processes"),
)
GO = "Go's mutexes and channels"
GO_NOTE = re.compile(rb"\x04\0\0\0.{4}\x04\0\0\0Go\0\0", re.DOTALL)  # its build id
HEAD_BYTES = 8192  # of the file; the linker puts the note there


def unwatched(pid: int, maps: str) -> list[str]:
    found = [locks for name, locks in MAPPED if f"/{name}\n" in maps]
    with contextlib.suppress(OSError), Path(f"/proc/{pid}/exe").open("rb") as file:
        if GO_NOTE.search(file.read(HEAD_BYTES)):
            found.append(GO)
    return found
