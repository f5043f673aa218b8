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


def _all(guests: Sequence[Guest], names: str) -> float:
    """The sum of counters."""
    return float(sum(_count(guest, name) for guest in guests for name in names.split()))


def _count(guest: Guest, name: str) -> float:
    """Of events, which are in capitals; EVENT@N: at a position. Else of each context."""
    event, _, position = name.partition("@")
    if position:
        return float(dict(guest["positions"].get(event, ())).get(int(position), 0))
    if event.isupper():
        return float(guest["events"].get(event, 0))
    return float(sum(context[name] for context in guest["contexts"]))


def _by(value: float, whole: float) -> float | None:
    return value / whole if whole else None


def _share(ones: str, of: str) -> "Measure":
    """Counters by counters."""
    return lambda run, answer, guests: _by(_all(guests, ones), _all(guests, of))


def _rate(answer: Answer, guests: Sequence[Guest]) -> float:
    return _all(guests, "turns") / float(answer["time_ns"]) * 1e9


def _neighbour(run: Run, answer: Answer, guests: Sequence[Guest]) -> float:
    return _rate(answer, [guest for guest in answer["guests"] if guest["name"] == "neighbour"])


def _per_context(answer: Answer, guest: Guest) -> list[float]:
    """Times of a million turns in ms, as if each went on as it did."""
    return [answer["time_ns"] / max(c["turns"], 1) for c in guest["contexts"]]


def _spread(run: Run, answer: Answer, guests: Sequence[Guest]) -> float:
    times = [_per_context(answer, guest) for guest in guests]
    return mean(pstdev(one) / mean(one) for one in times)


def _longest_queue(run: Run, answer: Answer, guests: Sequence[Guest]) -> float:
    """The most contexts ahead when a ticket is taken, and it, by all."""
    ahead = [place for guest in guests for place, _ in guest["positions"].get("QUEUE", ())]
    return (max(ahead, default=-1) + 1) / len(guests[0]["contexts"])


def _overtaken(within: Callable[[Guest, int, int], bool]) -> "Measure":
    """Of waiters that had been preempted beside others: who acquired after so many others."""

    def found(run: Run, answer: Answer, guests: Sequence[Guest]) -> float | None:
        entries = [(guest, *entry) for guest in guests for entry in guest["overtakers"]]
        several = [entry for entry in entries if entry[2] > 1]
        soon = sum(count for guest, n, rivals, count in several if within(guest, n, rivals))
        return _by(soon, sum(count for *_, count in several))

    return found


ACQUIRING = "acquiring"
Measure = Callable[[Run, Answer, Sequence[Guest]], float | None]
MEASURES: dict[str, Measure] = {
    # turns per second, and those of the neighbour VM
    "rate": lambda run, answer, guests: _rate(answer, guests),
    "neighbour": _neighbour,
    # ms for a million turns of each thread, as if they came to it evenly, and their deviation
    "run_time": lambda run, answer, g: (
        answer["time_ns"] * len(g[0]["contexts"]) / max(_all(g, "turns"), 1)
    ),
    "run_time_sd": lambda run, answer, guests: pstdev(
        [t for g in guests for t in _per_context(answer, g)]
    ),
    # standard deviation of the threads' run times by their mean
    "spread": _spread,
    # stalls by acquisitions; shares of them with the lock free, or behind a holder that runs
    "stalls": _share("STALL", "ACQUIRE"),
    "stalls_free": _share("STALL_FREE", "STALL"),
    "stalls_running": _share("stalls_held_running", "STALL"),
    # stalls behind a holder without a CPU, by acquisitions
    "stalls_off_cpu": _share("stalls_held_off_cpu", "ACQUIRE"),
    # LHP and LWP as Teabe et al. say it, for the same work: what began in one slice and ended in
    # another, given up or lost
    "psp": _share("holder_changed_slice waiter_changed_slice", "turns"),
    # LHP per second and VM
    "lhp": lambda run, answer, g: _all(g, "LHP") / answer["time_ns"] * 1e9 / len(g),
    # shares of the CPU time: spent waiting for locks; between asking for a lock and having it
    "spinning": _share("spun_ns", "ran_ns"),
    ACQUIRING: lambda run, answer, g: _by(
        sum(guest["waits"]["total_ns"] for guest in g), _all(g, "ran_ns")
    ),
    # share of the CPUs' time that was idle
    "idle": lambda run, answer, g: answer["idle_ns"] / answer["time_ns"] / run.place.machine.cpus,
    # by acquisitions
    "hypercalls": _share("parks kicks", "ACQUIRE"),
    "invalidations": lambda run, answer, g: _by(answer["invalidations"], _all(g, "ACQUIRE")),
    # shares of the transactions that commit, and of the aborts by conflicts
    "tx_committed": _share("TX_COMMIT", "TX_START"),
    "tx_conflicts": _share("TX_CONFLICT", "TX_CONFLICT TX_CAPACITY TX_EXPLICIT TX_OTHER"),
    # most that ever waited or held, by all
    "longest_queue": _longest_queue,
    # share of the steals before queueing; those from the second place by the first, and so on
    "steals_first": _share("STEAL@0", "STEAL"),
    "steals_second": _share("STEAL@2", "STEAL@1"),
    "steals_third": _share("STEAL@3", "STEAL@2"),
    # shares that have acquired after so many others: of R rivals, or of the vCPUs
    "overtaken_half": _overtaken(lambda guest, n, rivals: 2 * n <= rivals),
    "overtaken_within_rivals": _overtaken(lambda guest, n, rivals: n <= rivals),
    "overtaken_within_contexts": _overtaken(lambda guest, n, rivals: n <= len(guest["contexts"])),
}


def value_of(name: str, run: Run, answer: Answer) -> float | None:
    """None: the run has nothing to measure it by."""
    return MEASURES[name](run, answer, list(_guests(run, answer)))
