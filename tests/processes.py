# SPDX-License-Identifier: MIT
"""Processes that a test started, seen from outside."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


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


def until(what: Callable[[], Any], seconds: float = 60) -> Any:
    """The first result that is true; the limit is that of a hang."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.02)
    pytest.fail("it did not come to be")


def read_until(child: subprocess.Popen[str], line: str) -> None:
    """Reads what it prints, up to a line with that text."""
    assert child.stdout is not None
    for text in child.stdout:
        if line in text:
            return
    pytest.fail(f"it never said {line!r}")
