# SPDX-License-Identifier: MIT
"""A lock is small, counting every file that only it uses."""

from pathlib import Path

import pytest

from overlock_tools.model import defs
from tests.docs.lock_text import header, included

LOCKS = list(defs.load().locks)
MOST = 165  # lines, with comments and empty ones: about 150, and a tenth more
# Larger than they should be, and why.
LARGE = {
    "mcs_tp": (202, "how a waiter leaves, is passed over and queues anew"),
    "preemptable_ticket": (190, "its line is its parking form's, too"),
    "tx": (207, "how a waiter of its rwlock is passed, beside the transactions"),
    "owner_qspin": (205, "what it does for a preempted owner, at each place in the queue"),
}


def closure(path: Path) -> set[Path]:
    """The header, and what it includes but for the seam."""
    found, todo = set(), [path]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += included(path.read_text())
    return found


def own(lock: str) -> set[Path]:
    """What no other lock includes."""
    others = (closure(header(other)) for other in LOCKS if other != lock)
    return closure(header(lock)).difference(*others) | {header(lock)}


def size(paths: set[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_is_small(lock: str) -> None:
    lines = size(own(lock))
    if lock in LARGE:
        assert MOST < lines <= LARGE[lock][0], LARGE[lock][1]
    else:
        assert lines <= MOST


def test_what_only_one_uses_counts() -> None:
    assert closure(header("twa")) == {header("twa"), header("ticket")}
    assert own("twa") == {header("twa")}
    assert own("ticket") == {header("ticket")}


def test_no_header_is_of_no_lock() -> None:
    """Shared parts aside, which some lock includes."""
    used = set().union(*(closure(header(lock)) for lock in LOCKS))
    assert set(header("x").parent.rglob("*.h")) <= used
