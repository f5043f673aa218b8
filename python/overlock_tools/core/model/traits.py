# SPDX-License-Identifier: MIT
"""What the traits of locks.def say of a lock, in words."""

from overlock_tools.core.model.defs import Lock

LABELS = {
    "fits4": "4 bytes",
    "fifo": "FIFO",
    "yields": "yields or sleeps",
    "private": "one process only",
    "alone": "needs no library",
    "patient": "FIFO until a timeout",
    "bounded": "overtaking is bounded",
    "late_fifo": "FIFO once queued",
    "avoids": "checks its time slice",
    "polls": "polls if timed",
    "elides": "sections may run more than once",
    "forgives": "may be unlocked while free",
    "by_clock": "sleepers look again by the clock",
}
NEEDS = "needs_"
NEED_LABELS = {"nodes": "queue nodes", "array": "wait array", "rtm": "RTM"}


def labels(lock: Lock) -> list[str]:
    """What it promises, but for its size, which is stated elsewhere."""
    return [LABELS[t] for t in lock.traits if t != "fits4" and not t.startswith(NEEDS)]


def needs(lock: Lock) -> list[str]:
    """What it asks of its world beside atomics."""
    plain = (t.removeprefix(NEEDS) for t in lock.traits if t.startswith(NEEDS))
    return [NEED_LABELS.get(need, need) for need in plain]


def collapses(lock: Lock) -> bool:
    """With more threads than CPUs: it keeps an order, and its waiters keep their CPUs."""
    return bool({"fifo", "late_fifo"} & set(lock.traits)) and "yields" not in lock.traits


def order(lock: Lock) -> str:
    """How often a waiter can be overtaken by later arrivals."""
    if "fifo" in lock.traits:
        return "never"
    if "patient" in lock.traits:
        return "after a waiter times out"
    if "bounded" in lock.traits:
        return "a bounded number of times"
    if "late_fifo" in lock.traits:
        return "until the waiter queues"
    return "without bound"


def preempted_holder(lock: Lock) -> str:
    """What it costs the others that the holder has lost its CPU."""
    cost = "a time slice; " + (
        "the others yield or sleep" if "yields" in lock.traits else "the others spin"
    )
    return f"rare: it checks its time slice; else {cost}" if "avoids" in lock.traits else cost


def preempted_waiter(lock: Lock) -> str:
    """What it costs the others that a waiter has lost its CPU."""
    if "patient" in lock.traits:
        return "the other waiters' timeout"
    if "bounded" in lock.traits:
        return "a time slice, once the bound on overtaking is reached"
    if not {"fifo", "late_fifo"} & set(lock.traits):
        return "nothing"
    if "needs_park" in lock.traits:
        return "a wake-up if the waiter sleeps, else a time slice"
    return "a time slice"


def timed(lock: Lock) -> str:
    """Can a caller give up?"""
    if lock.gives_up != "timed":
        return "no"
    return "polls" if "polls" in lock.traits else "yes"
