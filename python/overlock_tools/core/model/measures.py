# SPDX-License-Identifier: MIT
"""A cell, which is one lock at one number of threads in one round, and what is said of cells."""

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from overlock_tools.core.model import stats
from overlock_tools.core.model.histograms import Times


@dataclass
class Cell:
    """One lock variant, at one number of threads, in one round."""

    round: int
    variant: str
    threads: int  # of each copy
    work: float  # in the result's unit
    seconds: float
    cpu_seconds: float
    voluntary: int = 0
    involuntary: int = 0
    per_thread: list[int] = field(default_factory=list)  # of all copies, in order
    copies: list[int] = field(default_factory=list)  # work of each copy
    wrong: str = ""
    drained: bool = True
    drain_seconds: float = 0.0
    cut: bool = False  # stopped after `seconds`, unfinished: its rate is at most what it says
    work_seconds: float | None = None  # CPU seconds of the turns' own work, without the lock
    gap_ns: float | None = None  # longest time between two of one thread's turns, less its work
    latency: str = ""  # of acquiring: histograms.py
    handover: str = ""  # from a release to the next one's having the lock
    hold: str = ""  # from having the lock to its release
    queue_mean: float | None = None  # others waiting, seen by one that begins to wait
    queue_max: int | None = None
    finish_ns: list[int] = field(default_factory=list)  # with fixed work: each thread's run time
    slice_us: float | None = None  # as the kernel reports it
    steal_seconds: float | None = None  # of a guest's vCPUs, all together: ready, but not run
    throttled: int | None = None  # periods of a CPU quota in which it was stopped, from its start
    arrivals: int = 0  # threads that ever came
    events: dict[str, int] = field(default_factory=dict)
    wait_ns: int | None = None  # of all waits; this and the next three with counters
    spin_ns: int | None = None  # of those, neither parked nor yielded
    hold_ns: int | None = None  # only with OVERLOCK_HISTOGRAMS=1, as the next
    handover_ns: int | None = None
    replays: list[dict[str, Any]] = field(default_factory=list)  # in guests: docs/counters.md
    simulated: dict[str, float] = field(default_factory=dict)  # exact counters: docs/simulator.md

    @property
    def rate(self) -> float:
        return self.work / self.seconds

    @property
    def rate_or_bound(self) -> float:
        """For ratios: nothing done counts as one, the least that can be distinguished."""
        return max(self.work, 1.0) / self.seconds


Cells = Sequence[Cell]


@dataclass(frozen=True)
class Measure:
    """Something that is said of the cells of one variant at one number of threads."""

    name: str
    heading: str
    unit: str  # "ns", "s", "s/M", "/s" or none
    of: Callable[[Cells], float | None]  # None: these cells do not tell
    what: str


def _most(of: Callable[[Cell], float | None]) -> Callable[[Cells], float | None]:
    """Of all rounds together."""

    def value(cells: Cells) -> float | None:
        return max((v for v in map(of, cells) if v is not None), default=None)

    return value


def _median(of: Callable[[Cell], float | None]) -> Callable[[Cells], float | None]:
    """The median over rounds."""

    def value(cells: Cells) -> float | None:
        known = [v for v in map(of, cells) if v is not None]
        return stats.median(known) if known else None

    return value


def _wait(percent: float) -> Callable[[Cells], float | None]:
    """Of the samples of all rounds together: medians of percentiles would hide the rare."""

    def value(cells: Cells) -> float | None:
        times = Times([cell.latency for cell in cells])
        return times.percentile(percent) if times.count else None

    return value


def _typical(of: Callable[[Cell], str]) -> Callable[[Cells], float | None]:
    """The median of all samples of all rounds."""

    def value(cells: Cells) -> float | None:
        times = Times([of(cell) for cell in cells])
        return times.percentile(50) if times.count else None

    return value


def _jain(cell: Cell) -> float | None:
    return stats.jain([float(n) for n in cell.per_thread]) if cell.per_thread else None


def _least_to_most(cell: Cell) -> float | None:
    if not cell.per_thread:
        return None
    return min(cell.per_thread) / max(*cell.per_thread, 1)


def _spinning(cell: Cell) -> float | None:
    if cell.work_seconds is None or not cell.cpu_seconds:
        return None
    return max(0.0, 1 - cell.work_seconds / cell.cpu_seconds)


def _one_copy(cell: Cell) -> float | None:
    """Ouyang & Lange report one virtual machine, picked at random: the same whenever asked."""
    if len(cell.copies) < 2:
        return None
    draw = random.Random(f"{cell.round} {cell.variant} {cell.threads}")  # noqa: S311 - no secret
    return max(draw.choice(cell.copies), 1) / cell.seconds


def _cost(cell: Cell) -> float:
    return cell.cpu_seconds / max(cell.work, 1.0) * 1e6


def _switches(cell: Cell) -> float:
    return (cell.voluntary + cell.involuntary) / cell.seconds


def _events(*names: str) -> Callable[[Cell], float | None]:
    """So many of these; None where they were not counted."""

    def value(cell: Cell) -> float | None:
        return sum(cell.events[n] for n in names) if set(names) <= cell.events.keys() else None

    return value


def _per_million(of: Callable[[Cell], float | None]) -> Callable[[Cell], float | None]:
    def value(cell: Cell) -> float | None:
        found, all_of_them = of(cell), cell.events.get("ACQUIRE")
        return 1e6 * found / all_of_them if found is not None and all_of_them else None

    return value


STALLS, PREEMPTIONS = ("STALL_HELD", "STALL_FREE"), ("LHP", "LWP")


def _waiters_share(cell: Cell) -> float | None:
    stalls = _events(*STALLS)(cell)
    return cell.events["STALL_FREE"] / stalls if stalls else None


def _of_events(one: str, other: str) -> Callable[[Cell], float | None]:
    def value(cell: Cell) -> float | None:
        total = cell.events.get(other, 0)
        return cell.events.get(one, 0) / total if total else None

    return value


def _spun(cell: Cell) -> float | None:
    """Of the contexts' time, in which they may have had no CPU; as the wait's."""
    if cell.spin_ns is None:
        return None
    return cell.spin_ns * 1e-9 / (cell.seconds * cell.threads * max(len(cell.copies), 1))


def _per_second(*names: str) -> Callable[[Cell], float | None]:
    """Of a simulation's exact counters."""

    def value(cell: Cell) -> float | None:
        if not set(names) <= cell.simulated.keys():
            return None
        return sum(cell.simulated[name] for name in names) / cell.seconds

    return value


CONTENDED = ("held_running", "held_off_cpu", "free")  # seconds in which a context waited


def _contended(name: str) -> Callable[[Cell], float | None]:
    def value(cell: Cell) -> float | None:
        total = sum(cell.simulated.get(each, 0) for each in CONTENDED)
        return cell.simulated[name] / total if total else None

    return value


def _run_times(cells: Cells) -> list[float]:
    return [ns * 1e-9 for cell in cells if not cell.cut for ns in cell.finish_ns]


def _run_time(cells: Cells) -> float | None:
    times = _run_times(cells)
    return statistics.fmean(times) if times else None


def _run_time_sd(cells: Cells) -> float | None:
    times = _run_times(cells)
    return statistics.stdev(times) if len(times) > 1 else None


# One list: a new measure is a line here.
MEASURES = (
    Measure("rate", "rate", "/s", _median(lambda c: c.rate), "work per second"),
    Measure("one_copy", "one copy", "/s", _median(_one_copy), "rate of one copy picked at random"),
    Measure("jain", "Jain", "", _median(_jain), "Jain's index of the threads' shares; 1 is even"),
    Measure(
        "least_to_most", "min/max", "", _median(_least_to_most), "least to most work of a thread"
    ),
    Measure(
        "gap",
        "gap",
        "ns",
        _most(lambda c: c.gap_ns),
        "longest time between acquisitions of a thread, minus its work",
    ),
    Measure("p50", "p50", "ns", _wait(50), "waiting to acquire, the median"),
    Measure("p90", "p90", "ns", _wait(90), "waiting, 90th percentile"),
    Measure("p99", "p99", "ns", _wait(99), "waiting, 99th percentile"),
    Measure("p99.9", "p99.9", "ns", _wait(99.9), "waiting, 99.9th percentile"),
    Measure("p99.99", "p99.99", "ns", _wait(99.99), "waiting, 99.99th percentile"),
    Measure("max", "max", "ns", _wait(100), "the longest sampled wait"),
    Measure(
        "handover",
        "hand-over",
        "ns",
        _typical(lambda c: c.handover),
        "from a release until a waiter has the lock",
    ),
    Measure("hold", "hold", "ns", _typical(lambda c: c.hold), "from acquisition to release"),
    Measure("queue", "queue", "", _median(lambda c: c.queue_mean), "others waiting, on average"),
    Measure("queue_max", "max queue", "", _most(lambda c: c.queue_max), "others waiting, at most"),
    Measure(
        "spinning",
        "spinning",
        "",
        _median(_spinning),
        "share of CPU time outside the workload's work",
    ),
    Measure("acquired", "N", "", _median(_events("ACQUIRE")), "acquisitions, where counted"),
    Measure(
        "stalls",
        "Nh+Nw",
        "",
        _median(_events(*STALLS)),
        "waits for a preempted holder or waiter, by the definition of Ouyang & Lange 2013",
    ),
    Measure(
        "stalls_per_million",
        "Nh+Nw per M",
        "",
        _median(_per_million(_events(*STALLS))),
        "the same, per million acquisitions",
    ),
    Measure("waiters", "Nw share", "", _median(_waiters_share), "of these, the waiters' share"),
    Measure(
        "psp",
        "PSP",
        "",
        _median(_events(*PREEMPTIONS)),
        "preempted holders and waiters, by the definition of Teabe et al. 2017",
    ),
    Measure(
        "psp_per_million",
        "PSP per M",
        "",
        _median(_per_million(_events(*PREEMPTIONS))),
        "the same, per million acquisitions",
    ),
    Measure(
        "lhp",
        "LHP",
        "/s",
        _median(_per_second("holders_preempted")),
        "simulated: lock holders that lose their CPU, per second",
    ),
    Measure(
        "lwp",
        "LWP",
        "/s",
        _median(_per_second("waiters_preempted")),
        "simulated: waiters that lose their CPU, per second",
    ),
    Measure(
        "off_cpu",
        "holder off",
        "",
        _median(_contended("held_off_cpu")),
        "simulated: share of the contended time in which the holder has no CPU",
    ),
    Measure(
        "free",
        "lock free",
        "",
        _median(_contended("free")),
        "simulated: share of the contended time in which no context holds the lock",
    ),
    Measure(
        "hypercalls",
        "hypercalls",
        "/s",
        _median(_per_second("hypercalls")),
        "simulated: halts, kicks and exits of virtual CPUs, per second",
    ),
    Measure(
        "steals_first",
        "first steals",
        "",
        _median(_of_events("STEAL@0", "STEAL")),
        "share of the steals by a waiter that was not queued",
    ),
    Measure(
        "steals_further",
        "2nd ÷ 1st",
        "",
        _median(_of_events("STEAL@2", "STEAL@1")),
        "steals by the second of the queue, by those of the first",
    ),
    Measure("spun", "spun", "", _median(_spun), "share of the time spent spinning"),
    Measure("cpu", "CPU s/M", "s/M", _median(_cost), "CPU seconds per million units of work"),
    Measure("switches", "switches", "/s", _median(_switches), "context switches per second"),
    Measure("run_time", "run time", "s", _run_time, "mean run time of a thread, with fixed work"),
    Measure("run_time_sd", "σ", "s", _run_time_sd, "standard deviation of the threads' run times"),
)

BY_NAME = {measure.name: measure for measure in MEASURES}


def value_of(measure: str, cell: Cell) -> float | None:
    """Of one cell by itself."""
    return BY_NAME[measure].of([cell])


def comparable(measure: str, cell: Cell, value: float) -> float:
    """Its value for ratios: 0 counts as the least that can be distinguished."""
    if measure == "rate":
        return cell.rate_or_bound
    return max(value, 1.0) if BY_NAME[measure].unit == "ns" else value
