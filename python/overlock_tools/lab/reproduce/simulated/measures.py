# SPDX-License-Identifier: MIT
"""What is taken of one run for the papers' claims: numbers of overlock-sim's answer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import mean, pstdev
from typing import Any

from overlock_tools.sim.resolve import Run

Answer = Mapping[str, Any]
Guest = Mapping[str, Any]


def _guests(run: Run, answer: Answer) -> Iterator[Guest]:
    """Those whose locks are compared, with their copies."""
    scenario, at = run.place.scenario, 0
    for number, guest in enumerate(scenario.values["guest"]):
        count = guest.get("count", 1)
        if number in scenario.measured:
            yield from answer["guests"][at : at + count]
        at += count


def _events(guests: Sequence[Guest], name: str) -> float:
    return float(sum(guest["events"].get(name, 0) for guest in guests))


def _all(guests: Sequence[Guest], name: str) -> float:
    return float(sum(context[name] for guest in guests for context in guest["contexts"]))


def _by(value: float, whole: float) -> float | None:
    return value / whole if whole else None


def _rate(run: Run, answer: Answer, guests: Sequence[Guest]) -> float:
    return _all(guests, "turns") / float(answer["time_ns"]) * 1e9


def _neighbour(run: Run, answer: Answer, guests: Sequence[Guest]) -> float:
    others = [guest for guest in answer["guests"] if guest["name"] == "neighbour"]
    return _all(others, "turns") / float(answer["time_ns"]) * 1e9


def _psp(run: Run, answer: Answer, guests: Sequence[Guest]) -> float | None:
    """As Teabe et al. say it: what began in one slice and ended in another, given up or lost."""
    changed = _all(guests, "holder_changed_slice") + _all(guests, "waiter_changed_slice")
    return _by(changed, _all(guests, "turns"))


def _per_context(answer: Answer, guest: Guest) -> list[float]:
    """Times of a million turns in ms, as if each went on as it did."""
    return [answer["time_ns"] / max(c["turns"], 1) for c in guest["contexts"]]


def _spread(run: Run, answer: Answer, guests: Sequence[Guest]) -> float:
    times = [_per_context(answer, guest) for guest in guests]
    return mean(pstdev(one) / mean(one) for one in times)


def _positions(guests: Sequence[Guest], event: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for guest in guests:
        for place, count in guest["positions"].get(event, ()):
            found[place] = found.get(place, 0) + count
    return found


def _longest_queue(run: Run, answer: Answer, guests: Sequence[Guest]) -> float:
    """The most contexts ahead when a ticket is taken, and it, by all."""
    most = max(_positions(guests, "QUEUE"), default=-1) + 1
    return most / len(guests[0]["contexts"])


def _steals(place: int, by: int | None) -> "Measure":
    def found(run: Run, answer: Answer, guests: Sequence[Guest]) -> float | None:
        counts = _positions(guests, "STEAL")
        whole = sum(counts.values()) if by is None else counts.get(by, 0)
        return _by(counts.get(place, 0), whole)

    return found


def _overtaken(within: Callable[[Guest, int, int], bool]) -> "Measure":
    """Of waiters that had been preempted beside others: who acquired after so many others."""

    def found(run: Run, answer: Answer, guests: Sequence[Guest]) -> float | None:
        entries = [(guest, *entry) for guest in guests for entry in guest["overtakers"]]
        several = [entry for entry in entries if entry[2] > 1]
        soon = sum(count for guest, n, rivals, count in several if within(guest, n, rivals))
        return _by(soon, sum(count for *_, count in several))

    return found


ACQUIRING = "acquiring"
ABORTS = ("TX_CONFLICT", "TX_CAPACITY", "TX_EXPLICIT", "TX_OTHER")
Measure = Callable[[Run, Answer, Sequence[Guest]], float | None]
MEASURES: dict[str, tuple[str, Measure]] = {
    "rate": ("turns per second", _rate),
    "neighbour": ("turns per second of the neighbour VM", _neighbour),
    "run_time": (
        "ms for a million turns of each thread, as if they came to it evenly",
        lambda run, answer, g: answer["time_ns"] * len(g[0]["contexts"]) / max(_all(g, "turns"), 1),
    ),
    "run_time_sd": (
        "their standard deviation",
        lambda run, answer, guests: pstdev([t for g in guests for t in _per_context(answer, g)]),
    ),
    "spread": ("standard deviation of the threads' run times by their mean", _spread),
    "stalls": (
        "stalls by acquisitions",
        lambda run, answer, g: _by(_events(g, "STALL"), _events(g, "ACQUIRE")),
    ),
    "stalls_free": (
        "share of the stalls with the lock free",
        lambda run, answer, g: _by(_events(g, "STALL_FREE"), _events(g, "STALL")),
    ),
    "stalls_running": (
        "share of the stalls behind a holder that runs",
        lambda run, answer, g: _by(_all(g, "stalls_held_running"), _events(g, "STALL")),
    ),
    "stalls_off_cpu": (
        "stalls behind a holder without a CPU, by acquisitions",
        lambda run, answer, g: _by(_all(g, "stalls_held_off_cpu"), _events(g, "ACQUIRE")),
    ),
    "psp": ("LHP and LWP by turns: for the same work", _psp),
    "lhp": (
        "LHP per second and VM",
        lambda run, answer, g: _events(g, "LHP") / answer["time_ns"] * 1e9 / len(g),
    ),
    "spinning": (
        "share of the CPU time that was spent waiting for locks",
        lambda run, answer, g: _by(_all(g, "spun_ns"), _all(g, "ran_ns")),
    ),
    ACQUIRING: (
        "time between asking for a lock and having it, by the CPU time",
        lambda run, answer, g: _by(
            sum(guest["waits"]["total_ns"] for guest in g), _all(g, "ran_ns")
        ),
    ),
    "idle": (
        "share of the CPUs' time that was idle",
        lambda run, answer, g: answer["idle_ns"] / answer["time_ns"] / run.place.machine.cpus,
    ),
    "hypercalls": (
        "hypercalls by acquisitions",
        lambda run, answer, g: _by(_all(g, "parks") + _all(g, "kicks"), _events(g, "ACQUIRE")),
    ),
    "tx_committed": (
        "share of the transactions that commit",
        lambda run, answer, g: _by(_events(g, "TX_COMMIT"), _events(g, "TX_START")),
    ),
    "tx_conflicts": (
        "share of the aborts by conflicts",
        lambda run, answer, g: _by(_events(g, "TX_CONFLICT"), sum(_events(g, e) for e in ABORTS)),
    ),
    "invalidations": (
        "copies invalidated by acquisitions",
        lambda run, answer, g: _by(answer["invalidations"], _events(g, "ACQUIRE")),
    ),
    "longest_queue": ("most that ever waited or held, by all", _longest_queue),
    "steals_first": ("share of the steals that happen before queueing", _steals(0, None)),
    "steals_second": ("steals from the second place by those from the first", _steals(2, 1)),
    "steals_third": ("steals from the third place by those from the second", _steals(3, 2)),
    "overtaken_half": (
        "share that has acquired after R/2 others",
        _overtaken(lambda guest, n, rivals: 2 * n <= rivals),
    ),
    "overtaken_within_rivals": (
        "share that has acquired after R others",
        _overtaken(lambda guest, n, rivals: n <= rivals),
    ),
    "overtaken_within_contexts": (
        "share that has acquired after as many others as there are vCPUs",
        _overtaken(lambda guest, n, rivals: n <= len(guest["contexts"])),
    ),
}


def value_of(name: str, run: Run, answer: Answer) -> float | None:
    """None: the run has nothing to measure it by."""
    return MEASURES[name][1](run, answer, list(_guests(run, answer)))
