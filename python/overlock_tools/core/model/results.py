# SPDX-License-Identifier: MIT
"""The result of a measurement: cells, what they were measured on, and what follows from them.

schema/result.json describes the file.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Required, TypedDict

from overlock_tools.core.model import defs, stats
from overlock_tools.core.model.measures import BY_NAME, MEASURES, Cell
from overlock_tools.core.model.paper_settings import NUMBERED
from overlock_tools.core.model.workloads import WITHOUT_A_LOCK
from overlock_tools.core.system import files, reading
from overlock_tools.core.system.errors import Fail

FORMAT = "overlock-result"
GUEST = "guest-"  # kinds that begin so were measured in virtual machines
SIMULATED = "sim-"  # so, in the simulator
SIMULATED_GUEST = "sim-guest-"  # and what contends there are vCPUs
PROGRAM = "program"  # so, programs through `overlock run`; with a name after it, of apps/
VERSION = 2


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
    outside: list[GivenUp] = field(default_factory=list)  # the field, as the pilot round chose it
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
        return self.kind.startswith((GUEST, SIMULATED_GUEST))

    @property
    def simulated(self) -> bool:
        return self.kind.startswith(SIMULATED)

    @property
    def of_program(self) -> bool:
        return self.kind.startswith(PROGRAM)

    def worded(self, text: str) -> str:
        """What contends is called a thread, in a guest a vCPU; a simulation's rounds are seeds."""
        text = re.sub(r"\bthread(?=s?\b)", "vCPU", text) if self.in_guests else text
        return re.sub(r"\bround(?=s?\b)", "seed", text) if self.simulated else text

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

    def variant_called(self, text: str) -> str:
        """By the name that its lock has now."""
        return defs.now_called(text, dict.fromkeys(v.partition("@")[0] for v in self.variants))

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
        return BY_NAME[measure].of(cells) if cells else None

    def paired(
        self, ours: str, theirs: str, threads: list[int]
    ) -> list[tuple[list[float], list[float]]]:
        """Rates of two variants in the rounds in which both are complete at all of `threads`."""
        return stats.paired(
            [(self.rates_by_round(ours, n), self.rates_by_round(theirs, n)) for n in threads]
        )

    def rates_by_round(self, variant: str, threads: int) -> dict[int, float]:
        return {cell.round: cell.rate_or_bound for cell in self.of(variant, threads)}

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
    field: int | None
    latency: bool
    counters: bool
    as_in: str | None
    otherwise: str
    loaded: dict[str, str]
    cflags: str
    build: str
    plugins: dict[str, str]


class Machine(TypedDict, total=False):
    cpu: str
    simulated: str
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
    simulation: dict[str, Any]


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
    _name_paper(body)
    result = reading.made(Result, body, "the result")
    for name, table in TABLES.items():
        reading.checked(table, body.get(name, {}), name)
    _name_locks(result)
    for cell in result.cells:
        _check_cell(cell)
    _check_ranges(result)
    return result


def _name_paper(body: dict[str, Any]) -> None:
    """In older results it has a number."""
    settings = body.get("settings")
    if isinstance(settings, dict) and settings.get("as_in") in NUMBERED:
        settings["as_in"] = NUMBERED[settings["as_in"]]
    if body.get("kind") == "guest-torture-004":
        body["kind"] = "guest-torture-dice2019"


def _name_locks(result: Result) -> None:
    """In older results they have the names that they had then."""
    given_up = (*result.collapsed, *result.impossible, *result.hung, *result.outside)
    of_variants: tuple[Cell | GivenUp, ...] = (*result.cells, *given_up)
    for one in of_variants:
        one.variant = defs.renamed(one.variant)
    result.baseline = defs.renamed(result.baseline)
    result.variants = list(map(defs.renamed, result.variants))
    in_force = result.native.get("in_force", {})
    for variant, words in list(in_force.items()):
        lock, space, rest = words.partition(" ")
        del in_force[variant]
        in_force[defs.renamed(variant)] = defs.renamed(lock) + space + rest


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
    return from_text(files.read_text(path), str(path))


def from_text(text: str, where: str) -> Result:
    try:
        return _checked(reading.parsed(text))
    except (ValueError, ArithmeticError) as error:
        reason = str(error).splitlines()[0]
        raise Fail(
            f"{where} is not a result of overlock bench ({reason}); create one with "
            "`overlock bench sections --json FILE`"
        ) from error


def named(result: Result) -> Result:
    """A workload that takes no lock goes by its own name, not by that of the lock it was given."""
    if result.kind not in WITHOUT_A_LOCK or len(result.variants) > 1:
        return result
    name = result.kind
    cells = [replace(cell, variant=name) for cell in result.cells]
    return replace(result, variants=[name], baseline=name, cells=cells)
