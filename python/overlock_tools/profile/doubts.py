# SPDX-License-Identifier: MIT
"""Why a report cannot say that there is no lock trouble: what was seen and could not be judged."""

from typing import Any

from overlock_tools.core.system import native
from overlock_tools.profile import advice, loops, spins
from overlock_tools.profile.naming import Names
from overlock_tools.profile.seen import Seen, Thread

Report = dict[str, Any]

AWAKE = 0.95  # of its time: it never sleeps
LEAST_NS = 100_000_000  # of a thread's time; of less nothing can be said
ENOUGH_LOOKS = 20
LEAST_THREADS = 0.1  # that are told in numbers
# Loops of lib/loops/kinds.def that may work: a function, or a variable, may be of use to others.
UNJUDGED = {
    "wait with calls": "in loops that wait for a word and call functions meanwhile",
    "unoptimized": "in loops compiled without optimization (with -O1 they can be judged)",
}
SLEEPS = ("lock", "io", "fault", "asleep")


def never_sleeps(thread: Thread) -> bool:
    """As threads do that work, and as threads do that spin."""
    whole = sum(thread.times.values())
    slept = sum(thread.times.get(state, 0) for state in SLEEPS)
    return whole >= LEAST_NS and slept <= (1 - AWAKE) * whole


def _of_looks(seen: Seen) -> list[str]:
    """Of threads whose registers may not be read."""
    awake = sum(map(never_sleeps, seen.threads))
    if not awake:
        return []
    never = "never sleep" if awake > 1 else "never sleeps"
    return [f"{awake} of {seen.threads_seen} threads {never}: looks do not tell work from spinning"]


def _of_samples(seen: Seen, names: Names) -> list[str]:
    """Spinning is found in samples of the code that runs."""
    if not seen.times.get("running"):
        return []
    if not seen.sampled_cpus:
        return ["its code was not sampled, so it may spin"]
    if not seen.samples:
        return []
    if not native.has(loops.FINDER):
        return [f"{loops.FINDER} is not built, so it may spin"]
    nowhere = sum(code.seen for code in seen.code if not names.path((code.frame[0], 0)))
    return (
        _part(nowhere, seen, "in no file, as code is that is made at run time")
        + _part(spins.unread(seen, names), seen, "in functions that cannot be told apart")
        + [
            doubt
            for kind, where in UNJUDGED.items()
            for doubt in _part(spins.in_others(seen, names, kind), seen, where)
        ]
    )


def _part(samples: int, seen: Seen, where: str) -> list[str]:
    """Of code of which no loops are known."""
    if samples < advice.LEAST * seen.samples or samples * 1e9 < LEAST_NS * seen.hertz:
        return []
    part = round(100 * samples / seen.samples)
    return [f"{part} % of the code that ran is {where}, so it may spin"]


def _of_space(seen: Seen) -> list[str]:
    if seen.lost.get("threads"):
        return ["some threads were not watched: there are too many"]
    known = seen.samples + sum(stack.seen for stack in seen.stacks)
    if seen.lost.get("records", 0) > advice.LEAST * known:
        return [f"{seen.lost['records']} samples and stacks were lost for want of space"]
    return []


def _of_waits(seen: Seen, locks: list[Report], wanted_ns: int) -> list[str]:
    """Of which nobody knows whether they are for a lock or for work."""
    unknown = [lock for lock in locks if not lock["is_known"]]
    ns = sum(lock["wait_ns"] for lock in unknown)
    if not ns or ns < advice.LEAST * (wanted_ns + ns):
        return []
    asleep = [lock for lock in unknown if lock["address"]]
    yielding = [lock for lock in unknown if not lock["address"]]
    return [
        *_threads(seen, asleep, "wait at futexes of unknown kind"),
        *_threads(seen, yielding, "call sched_yield() for unknown reasons"),
    ]


def _threads(seen: Seen, locks: list[Report], what: str) -> list[str]:
    ns = sum(lock["wait_ns"] for lock in locks)
    if not ns:
        return []
    n = ns / seen.ns if seen.ns else 0
    threads = f"{n:.1f}" if n >= LEAST_THREADS else f"fewer than {LEAST_THREADS}"
    site = max(locks, key=lambda lock: lock["wait_ns"])["site"]["function"]
    return [f"{threads} threads, on average, {what}, {_place(site)}"]


def _place(function: str | None) -> str:
    return f"most in {function}" if function else "at calls that were not seen"


def _of_few_looks(seen: Seen) -> list[str]:
    if seen.by != "looks" or seen.looks >= ENOUGH_LOOKS:
        return []
    return [f"its threads were looked at {seen.looks} times only"]


def of(seen: Seen, locks: list[Report], names: Names, wanted_ns: int) -> list[str]:
    """In words; none: what was seen could be judged."""
    if not any(seen.times.values()):
        return ["it ended before it was watched"]
    looks_alone = seen.by == "looks" and not seen.sampled_cpus
    by = _of_looks(seen) if looks_alone else _of_samples(seen, names)
    return _of_few_looks(seen) + by + _of_space(seen) + _of_waits(seen, locks, wanted_ns)
