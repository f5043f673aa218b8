# SPDX-License-Identifier: MIT
"""Processes that a test started, seen from outside; waiting for what happens, never for a time."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

HANG_S = 300.0  # ends only what hangs: all that tests wait for takes seconds on two idle CPUs
Found = TypeVar("Found")


def read(file: Path | str) -> str:
    """The file's text; empty if what it is about has just ended."""
    try:
        return Path(file).read_text()
    except OSError:
        return ""


def children(pid: int) -> list[int]:
    """Also of threads that are not the first."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for file in files for word in read(file).split()]


def descendants(pid: int) -> set[int]:
    found = set(children(pid))
    return found.union(*map(descendants, found))


def gone(pid: int) -> bool:
    """Ended, although its parent may not have waited for it yet."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] in ([], ["Z"], ["X"])


def until(happens: Callable[[], Found]) -> Found:
    """What `happens` gives, once that is true."""
    end = time.monotonic() + HANG_S
    while not (found := happens()):
        assert time.monotonic() < end, f"it did not happen within {HANG_S:g} s"
        time.sleep(0.01)
    return found


def read_until(child: subprocess.Popen[str], line: str) -> None:
    """Reads what it prints, up to a line with that text."""
    assert child.stdout is not None
    for text in child.stdout:
        if line in text:
            return
    pytest.fail(f"it never said {line!r}")
