# SPDX-License-Identifier: MIT
"""Why a wait lasted: what the thread did that everybody waited for."""

from collections.abc import Mapping
from dataclasses import dataclass

from overlock_tools.profile.seen import HOLDER, NEXT, UNKNOWN, Roles


@dataclass(frozen=True)
class Cause:
    name: str  # in JSON
    because: str  # completes: in 71 % of that time ...
    column: str
    parts: tuple[tuple[str, str], ...]  # role and state
    off: bool = True  # nobody gets on meanwhile, whom the lock keeps from it


def _of(role: str, *states: str) -> tuple[tuple[str, str], ...]:
    return tuple((role, state) for state in states)


CAUSES = (
    Cause("holder_running", "its holder was busy", "running", _of(HOLDER, "running"), False),
    Cause(
        "holder_preempted",
        "its holder had no CPU",
        "preempted",
        _of(HOLDER, "preempted", "yielding", "waking"),
    ),
    Cause(
        "holder_throttled",
        "the CPU quota of its holder was used up",
        "throttled",
        _of(HOLDER, "throttled"),
    ),
    Cause("holder_io", "its holder waited for I/O", "I/O", _of(HOLDER, "io")),
    Cause("holder_fault", "its holder waited in a page fault", "fault", _of(HOLDER, "fault")),
    Cause("holder_lock", "its holder waited for another lock", "lock", _of(HOLDER, "lock")),
    Cause("holder_asleep", "its holder slept", "asleep", _of(HOLDER, "asleep")),
    Cause(
        "next_preempted",
        "it was free, but the thread that was woken for it had no CPU",
        "no CPU",
        _of(NEXT, "preempted", "yielding", "throttled"),
    ),
    Cause(
        "wake_up",
        "it was free, and a thread was being woken for it",
        "wake-up",
        _of(NEXT, "running", "waking", "lock", "io", "fault", "asleep"),
    ),
    Cause(
        "turn_preempted",
        "the one whose turn it was had no CPU",
        "next in line preempted",
        (),
    ),
    Cause("others_running", "all threads of the program had CPUs", "others running", (), False),
    Cause(
        "quota_spent",
        "all threads of the program had CPUs, but the spinning used up its CPU quota",
        "quota spent",
        (),
    ),
    Cause(
        "others_preempted",
        "other threads of the program had no CPU",
        "others preempted",
        (),
    ),
    Cause(
        "others_throttled",
        "the CPU quota of other threads of the program was used up",
        "others throttled",
        (),
    ),
    Cause(
        "yields",
        "its waiters yield their CPUs to each other, and the one whose turn it is comes last",
        "waiters yield",
        (),
    ),
    Cause(
        "release_yields",
        "each release of it gives the CPU to other threads",
        "releases yield",
        (),
    ),
    Cause(
        "unknown",
        "of something that cannot be seen",
        "unknown",
        _of(
            UNKNOWN,
            "running",
            "preempted",
            "yielding",
            "throttled",
            "waking",
            "lock",
            "io",
            "fault",
            "asleep",
        ),
        False,
    ),
)
ABLE = ("running", "preempted", "throttled", "waking")  # states in which a thread has work
STOPPED = 0.05  # of the time in which threads have work; a group meets its quota by accident


def is_short_of_quota(times: Mapping[str, int]) -> bool:
    """Whether the quota of its group stops its threads."""
    return times.get("throttled", 0) > STOPPED * sum(times.get(state, 0) for state in ABLE)


BY_NAME = {cause.name: cause for cause in CAUSES}
BY_PART = {part: cause for cause in CAUSES for part in cause.parts}


def split(roles: Roles) -> dict[str, int]:
    """By cause; those that did not occur are left out."""
    sums: dict[str, int] = {}
    for cause in CAUSES:
        ns = sum(roles.get(role, {}).get(state, 0) for role, state in cause.parts)
        if ns:
            sums[cause.name] = ns
    return sums
