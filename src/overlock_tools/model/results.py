# SPDX-License-Identifier: MIT
"""The result of a measurement: cells, what they were measured on, and what follows from them.

schema/result.json describes the file.
"""

import json
import random
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Required, TypedDict

from overlock_tools.model import stats
from overlock_tools.model.histograms import Times
from overlock_tools.model.workloads import WITHOUT_A_LOCK
from overlock_tools.system import files, reading
from overlock_tools.system.errors import Fail

FORMAT = "overlock-result"
GUEST = "guest-"  # kinds that begin so were measured in virtual machines
PROGRAM = "program"  # so, programs through `overlock run`; with a name after it, of apps/
VERSION = 2


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
    arrivals: int = 0  # threads that ever came
    events: dict[str, int] = field(default_factory=dict)
    wait_ns: int | None = None  # of all waits; this and the next three with counters
    spin_ns: int | None = None  # of those, neither parked nor yielded
    hold_ns: int | None = None  # only with OVERLOCK_HISTOGRAMS=1, as the next
    handover_ns: int | None = None

    @property
    def rate(self) -> float:
        return self.work / self.seconds

    @property
    def rate_or_bound(self) -> float:
        """For ratios: nothing done in the time counts as one, the least that could be told."""
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
    """000 reports one virtual machine picked at random: the same one whenever it is asked."""
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


def _spun(cell: Cell) -> float | None:
    """Of the contexts' time, in which they may have had no CPU; as the wait's."""
    if cell.spin_ns is None:
        return None
    return cell.spin_ns * 1e-9 / (cell.seconds * cell.threads * max(len(cell.copies), 1))


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
    Measure("spun", "spun", "", _median(_spun), "share of the time spent spinning"),
    Measure("cpu", "CPU s/M", "s/M", _median(_cost), "CPU seconds per million units of work"),
    Measure("switches", "switches", "/s", _median(_switches), "context switches per second"),
    Measure("run_time", "run time", "s", _run_time, "mean run time of a thread, with fixed work"),
    Measure("run_time_sd", "σ", "s", _run_time_sd, "standard deviation of the threads' run times"),
)
_BY_NAME = {measure.name: measure for measure in MEASURES}


def value_of(measure: str, cell: Cell) -> float | None:
    """Of one cell by itself."""
    return _BY_NAME[measure].of([cell])


def comparable(measure: str, cell: Cell, value: float) -> float:
    """Its value for ratios: what is 0 counts as the least that could be told."""
    if measure == "rate":
        return cell.rate_or_bound
    return max(value, 1.0) if _BY_NAME[measure].unit == "ns" else value


@dataclass
class GivenUp:
    """What was measured once, or could not be, and was not tried again."""

    variant: str
    threads: int
    why: str


@dataclass
class Result:
    kind: str  # what was measured: a workload's name, or as GUEST and PROGRAM say
    title: str
    unit: str  # of the rate's numerator, as "acquisitions"
    baseline: str
    command: str
    settings: dict[str, Any]
    machine: dict[str, Any]
    native: dict[str, Any]
    variants: list[str]
    threads: list[int]
    peers: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # peers that are not installed
    parameters: dict[str, Any] = field(default_factory=dict)  # the workload's
    scenario: dict[str, Any] = field(default_factory=dict)  # what was set up, and its proof
    statistic: str = "median"
    cells: list[Cell] = field(default_factory=list)
    collapsed: list[GivenUp] = field(default_factory=list)  # in the pilot round
    impossible: list[GivenUp] = field(default_factory=list)
    hung: list[GivenUp] = field(default_factory=list)  # locks that are wrong
    warnings: list[str] = field(default_factory=list)
    complete: bool = False
    verdict: list[str] = field(default_factory=list)

    @property
    def cost_of_measuring(self) -> str:
        """In words; empty if nothing was measured inside a turn, or the cost is not known."""
        ns = self.native.get("measure_ns")
        if not ns or not self.settings.get("latency"):
            return ""
        return f"measuring adds {ns:.0f} ns to each iteration of every lock; --no-latency avoids it"

    @property
    def in_guests(self) -> bool:
        return self.kind.startswith(GUEST)

    @property
    def of_program(self) -> bool:
        return self.kind.startswith(PROGRAM)

    def worded(self, text: str) -> str:
        """What contends for the lock is called a thread, and in a guest a vCPU."""
        return re.sub(r"\bthread(?=s?\b)", "vCPU", text) if self.in_guests else text

    @property
    def cpus(self) -> int:
        return int(self.settings["cpus"])

    @property
    def cpus_of_its_own(self) -> float:
        """What each copy of the program may count on: neighbours share, a quota limits."""
        asked = self.scenario.get("settings", {})
        quota = float(str(asked.get("quota", "inf")).partition(":")[0])
        return min(self.cpus, quota) / int(asked.get("neighbours", 1))

    def __post_init__(self) -> None:
        self._places: dict[tuple[str, int], list[Cell]] = {}
        self._listed: tuple[int, int] = (0, 0)  # which cells are in _places

    def of(self, variant: str, threads: int) -> list[Cell]:
        """Its cells, by round."""
        if self._listed != (id(self.cells), len(self.cells)):
            self._places = {}
            for cell in sorted(self.cells, key=lambda cell: cell.round):
                self._places.setdefault((cell.variant, cell.threads), []).append(cell)
            self._listed = (id(self.cells), len(self.cells))
        return self._places.get((variant, threads), [])

    def cut(self, variant: str, threads: int) -> bool:
        """Whether a run did not finish: what is known of its rate is a bound."""
        return any(cell.cut for cell in self.of(variant, threads))

    def given_up(self, variant: str, threads: int) -> GivenUp | None:
        """Whether the pilot found it collapsed, so that it was not repeated."""
        found = (c for c in self.collapsed if c.variant == variant and c.threads == threads)
        return next(found, None)

    def rates(self, variant: str, threads: int) -> list[float]:
        return [cell.rate for cell in self.of(variant, threads)]

    def median_rate(self, variant: str, threads: int) -> float | None:
        rates = self.rates(variant, threads)
        return stats.median(rates) if rates else None

    def value(self, measure: str, variant: str, threads: int) -> float | None:
        """Over all rounds, as the measure says."""
        cells = self.of(variant, threads)
        return _BY_NAME[measure].of(cells) if cells else None

    def paired(
        self, ours: str, theirs: str, threads: list[int]
    ) -> list[tuple[list[float], list[float]]]:
        """Rates of two variants in the rounds in which both are complete at all of `threads`."""
        tables = [
            {cell.round: cell.rate_or_bound for cell in self.of(variant, n)}
            for n in threads
            for variant in (ours, theirs)
        ]
        rounds = sorted(set.intersection(*(set(table) for table in tables))) if tables else []
        if not rounds:
            return []
        columns = [[table[r] for r in rounds] for table in tables]
        return list(zip(columns[::2], columns[1::2], strict=True))

    def ratio(self, ours: str, theirs: str, threads: list[int]) -> stats.Ratio | None:
        """Geometric mean over `threads` of the ratios of rates; None without a common round.

        What the pilot gave up has one round: then there is no interval.
        """
        pairs = self.paired(ours, theirs, threads)
        return stats.geometric_mean_ratio(pairs) if pairs else None

    def events_per_thousand(self, variant: str, threads: int) -> dict[str, float]:
        """Median over rounds of each event per thousand acquisitions; counted build."""
        cells = [cell for cell in self.of(variant, threads) if cell.events.get("ACQUIRE")]
        if not cells:
            return {}
        return {
            name: stats.median([1000 * c.events[name] / c.events["ACQUIRE"] for c in cells])
            for name in cells[0].events
            if name != "ACQUIRE"
        }

    def wrong(self) -> Iterator[str]:
        for entry in self.hung:
            yield self.worded(f"{entry.variant} with {entry.threads} threads {entry.why}")
        for cell in self.cells:
            if cell.wrong:
                yield self.worded(f"{cell.variant} with {cell.threads} threads: {cell.wrong}")

    def summary(self) -> list[dict[str, Any]]:
        """Per variant and number of threads, what the tables show."""
        return [
            self._summarised(variant, n)
            for n in self.threads
            for variant in self.variants
            if self.of(variant, n)
        ]

    def _summarised(self, variant: str, threads: int) -> dict[str, Any]:
        rates = self.rates(variant, threads)
        ratio = self.ratio(variant, self.baseline, [threads])
        values = {m.name: self.value(m.name, variant, threads) for m in MEASURES}
        return {
            "variant": variant,
            "threads": threads,
            "rounds": len(rates),
            "collapsed": self.given_up(variant, threads) is not None,
            "median": stats.median(rates),
            "least": min(rates),
            "most": max(rates),
            "ratio": asdict(ratio) if ratio else None,
            "measures": {name: v for name, v in values.items() if v is not None},
        }

    def overall(self) -> list[dict[str, Any]]:
        """Per variant, the geometric mean over all numbers of threads."""
        ratios = {v: self.ratio(v, self.baseline, self.threads) for v in self.variants}
        return [{"variant": v, "ratio": asdict(r)} for v, r in ratios.items() if r]

    def to_json(self) -> str:
        return self._written(self.summary(), self.overall())

    def partial_json(self) -> str:
        """While it runs: what can be derived is left out, which takes longer than a cell."""
        return self._written([], [])

    def _written(self, summary: list[dict[str, Any]], overall: list[dict[str, Any]]) -> str:
        body = {
            "format": FORMAT,
            "version": VERSION,
            **asdict(self),
            "summary": summary,
            "overall": overall,
        }
        return json.dumps(body, indent=1) + "\n"


# What readers look up in a result's tables; these have other keys, too.


class Settings(TypedDict, total=False):
    cpus: Required[int]
    rounds: int
    seconds: float
    turns: int | None
    seed: int
    pilot: bool
    latency: bool
    counters: bool
    as_in: str | None
    otherwise: str
    loaded: dict[str, str]
    build: str
    plugins: dict[str, str]


class Machine(TypedDict, total=False):
    cpu: str
    cpus_allowed: list[int]
    quota_cpus: float | None
    kernel: str
    scheduler: str
    libc: str
    virtual: bool


class Native(TypedDict, total=False):
    measure_ns: float
    htm: bool
    tunables: dict[str, str]
    in_force: dict[str, str]


class Proof(TypedDict):
    held: bool
    words: str


class Scenario(TypedDict, total=False):
    settings: dict[str, Any]
    proof: dict[str, Proof]


TABLES = {"settings": Settings, "machine": Machine, "native": Native, "scenario": Scenario}
DERIVED = ("format", "version", "summary", "overall")
KIND = re.compile(r"[\w.-]+")  # it is part of files' names
LEAST_SECONDS = 1e-9


def _checked(body: dict[str, Any]) -> Result:
    if body.get("format") != FORMAT:
        raise ValueError("the format is not " + FORMAT)
    if body.get("version") != VERSION:
        raise ValueError(f"the version is {body.get('version')}, expected {VERSION}")
    if missing := [name for name in DERIVED if name not in body]:
        raise ValueError(f"there is no {missing[0]}")
    body = {name: value for name, value in body.items() if name not in DERIVED}
    result = reading.made(Result, body, "the result")
    for name, table in TABLES.items():
        reading.checked(table, body.get(name, {}), name)
    for cell in result.cells:
        _check_cell(cell)
    _check_ranges(result)
    return result


def _check_cell(cell: Cell) -> None:
    whole = (cell.voluntary, cell.involuntary, cell.arrivals, cell.queue_max or 0)
    lists = (cell.per_thread, cell.copies, cell.finish_ns, cell.events.values())
    if cell.seconds < LEAST_SECONDS or cell.threads < 1 or cell.round < 1:
        raise ValueError("a cell has no time, thread or round")
    if min(cell.work, cell.cpu_seconds, *whole, *(n for each in lists for n in each)) < 0:
        raise ValueError("a cell has a count below 0")


def _check_ranges(result: Result) -> None:
    if not KIND.fullmatch(result.kind):
        raise ValueError("the kind is not a name")
    if not result.variants or not result.threads:
        raise ValueError("there are no variants or threads")
    if min(*result.threads, result.cpus) < 1:
        raise ValueError("threads or CPUs are below 1")
    if not result.cpus_of_its_own > 0:
        raise ValueError("the scenario leaves no CPU")


def from_file(path: Path) -> Result:
    try:
        return _checked(reading.parsed(files.read_text(path)))
    except (ValueError, ArithmeticError) as error:
        reason = str(error).splitlines()[0]
        raise Fail(
            f"{path} is not a result of overlock bench ({reason}); create one with "
            "`overlock bench sections --json FILE`"
        ) from error


def named(result: Result) -> Result:
    """A workload that takes no lock goes by its own name, not by that of the lock it was given."""
    if result.kind not in WITHOUT_A_LOCK or len(result.variants) > 1:
        return result
    name = result.kind
    cells = [replace(cell, variant=name) for cell in result.cells]
    return replace(result, variants=[name], baseline=name, cells=cells)
