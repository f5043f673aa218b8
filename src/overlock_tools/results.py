# SPDX-License-Identifier: MIT
"""The result of a measurement: cells, what they were measured on, and what follows from them.

schema/result.json describes the file.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from overlock_tools import files, stats
from overlock_tools.errors import Fail

FORMAT = "overlock-result"
VERSION = 1


@dataclass
class Cell:
    """One lock variant, at one number of threads, in one round."""

    round: int
    variant: str
    threads: int
    work: float  # in the result's unit
    seconds: float
    cpu_seconds: float
    voluntary: int = 0
    involuntary: int = 0
    per_thread: list[int] = field(default_factory=list)
    wrong: str = ""
    drained: bool = True
    cut: bool = False  # stopped after `seconds`, unfinished: its rate is at most what it says
    events: dict[str, int] = field(default_factory=dict)
    wait_ns: int = 0
    hold_ns: int = 0

    @property
    def rate(self) -> float:
        return self.work / self.seconds

    @property
    def rate_or_bound(self) -> float:
        """For ratios: nothing done in the time counts as one, the least that could be told."""
        return max(self.work, 1.0) / self.seconds


@dataclass(frozen=True)
class Measure:
    """Something that is said of the cells of one variant at one number of threads."""

    name: str
    heading: str
    what: str


# One list: a new measure is a line here and a branch nowhere else than in `value_of`.
MEASURES = (
    Measure("rate", "rate", "work per second"),
    Measure("jain", "Jain", "Jain's index of the threads' shares; 1 is even"),
    Measure("cpu", "CPU s/M", "CPU seconds burnt per million units of work"),
    Measure("switches", "switches/s", "context switches per second"),
)


def value_of(measure: str, cell: Cell) -> float:
    match measure:
        case "rate":
            return cell.rate
        case "jain":
            return stats.jain([float(n) for n in cell.per_thread])
        case "cpu":
            return cell.cpu_seconds / max(cell.work, 1.0) * 1e6
        case "switches":
            return (cell.voluntary + cell.involuntary) / cell.seconds
    raise KeyError(measure)


@dataclass
class Result:
    kind: str  # what was measured: a workload's name, or "program"
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
    cells: list[Cell] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    complete: bool = False
    verdict: list[str] = field(default_factory=list)

    @property
    def cpus(self) -> int:
        return int(self.settings["cpus"])

    def of(self, variant: str, threads: int) -> list[Cell]:
        cells = [c for c in self.cells if c.variant == variant and c.threads == threads]
        return sorted(cells, key=lambda cell: cell.round)

    def cut(self, variant: str, threads: int) -> bool:
        """Whether a run did not finish: what is known of its rate is a bound."""
        return any(cell.cut for cell in self.of(variant, threads))

    def rates(self, variant: str, threads: int) -> list[float]:
        return [cell.rate for cell in self.of(variant, threads)]

    def median_rate(self, variant: str, threads: int) -> float | None:
        rates = self.rates(variant, threads)
        return stats.median(rates) if rates else None

    def median_of(self, measure: str, variant: str, threads: int) -> float | None:
        values = [value_of(measure, cell) for cell in self.of(variant, threads)]
        return stats.median(values) if values else None

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
        """Geometric mean over `threads` of the ratios of medians; None without a common round."""
        pairs = self.paired(ours, theirs, threads)
        return stats.geometric_mean_ratio(pairs) if pairs else None

    def wrong(self) -> Iterator[str]:
        for cell in self.cells:
            if cell.wrong:
                yield f"{cell.variant} with {cell.threads} threads: {cell.wrong}"

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
        return {
            "variant": variant,
            "threads": threads,
            "rounds": len(rates),
            "median": stats.median(rates),
            "least": min(rates),
            "most": max(rates),
            "ratio": asdict(ratio) if ratio else None,
            "jain": self.median_of("jain", variant, threads),
            "switches_per_second": self.median_of("switches", variant, threads),
        }

    def overall(self) -> list[dict[str, Any]]:
        """Per variant, the geometric mean over all numbers of threads."""
        ratios = {v: self.ratio(v, self.baseline, self.threads) for v in self.variants}
        return [{"variant": v, "ratio": asdict(r)} for v, r in ratios.items() if r]

    def to_json(self) -> str:
        body = {
            "format": FORMAT,
            "version": VERSION,
            **asdict(self),
            "summary": self.summary(),
            "overall": self.overall(),
        }
        return json.dumps(body, indent=1) + "\n"


def from_file(path: Path) -> Result:
    try:
        body = json.loads(files.read_text(path))
        if body.get("format") != FORMAT:
            raise ValueError("its format is not " + FORMAT)
        if body["version"] != VERSION:
            raise ValueError(f"its version is {body['version']}, this reads {VERSION}")
        for derived in ("format", "version", "summary", "overall"):
            body.pop(derived)
        body["cells"] = [Cell(**cell) for cell in body["cells"]]
        return Result(**body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise Fail(
            f"{path} is not a result of overlock bench ({reason}); make one with "
            "`overlock bench sections --json FILE`"
        ) from error
