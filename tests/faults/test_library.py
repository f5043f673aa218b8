# SPDX-License-Identifier: MIT
"""The library's locks exclude whichever system call fails beneath them."""

from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from tests.faults.conftest import AFTER_START, WHOLE, Denial, Deny, queues

LOCKS = [lock.id for lock in defs.load().locks.values() if "elides" not in lock.traits]
# Some park only near the end of a time slice, if they know when it is.
PARK = [
    lock
    for lock in LOCKS
    if {"needs_park", "needs_slice"} & set(defs.load().lock(lock).traits) == {"needs_park"}
]
USED = ("futex", "sched_yield", "rseq", "mmap")
BENEATH = [d for d in (*WHOLE, *AFTER_START) if d.words[0] in USED]


@pytest.mark.parametrize("denial", [d for d in BENEATH if d.late or d in WHOLE], ids=str)
@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_excludes(deny: Deny, locks: Path, lock: str, denial: Denial) -> None:
    rounds = "10" if queues(lock) else "1000"
    ended = deny(denial, [locks, "count", lock, "4", rounds])
    assert (ended.code, ended.out, ended.err) == (0, "lost 0, overlaps 0\n", "")


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("lock", PARK)
def test_a_waiter_sleeps_though_it_cannot_park(
    deny: Deny, locks: Path, lock: str, error: str
) -> None:
    """It gives its CPU up several times: a real-time waiter lets the holder run."""
    ended = deny(Denial(("futex", error)), [locks, "park", lock])
    assert (ended.code, ended.out, ended.err) == (0, "slept\n", "")
