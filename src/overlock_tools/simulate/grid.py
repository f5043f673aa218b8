# SPDX-License-Identifier: MIT
"""`overlock sim grid`: all locks in every combination of a scenario's axes; which is best where."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Required, TypedDict

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from overlock_tools.measure.conditions.base import deferred
from overlock_tools.model import stats
from overlock_tools.model.quantities import duration, factor
from overlock_tools.simulate import comparison, resolve, scenario
from overlock_tools.simulate.batch import Answer, Batch, Shown
from overlock_tools.simulate.cache import Cache
from overlock_tools.simulate.campaign import kept_in
from overlock_tools.simulate.resolve import Place
from overlock_tools.simulate.scenario import NONE, Scenario
from overlock_tools.system import files, reading
from overlock_tools.system.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.system.terminal import console

READY = "grid"  # the scenario
FORMAT = "overlock-grid"
LIKE_BEST = 0.95  # share of the best rate from which a lock is as good
COLLAPSED = 0.1
NATIVE = "eevdf"  # the scheduler of the kernels on which points are validated
MOST_NAMED = 7  # locks that a map tells apart


class Kept(TypedDict):
    """The file. A row for each scenario, in the order of the product of the axes."""

    format: Required[str]
    title: str
    command: str
    axes: dict[str, list[str]]
    locks: list[str]
    rate: list[list[float | None]]  # acquisitions per second; None: the run failed
    jain: list[list[float | None]]
    longest_us: list[list[float | None]]  # the longest wait that ended
    validated: dict[str, int]  # scenarios of `overlock sim validate`: the row of each


@dataclass(frozen=True)
class Grid:
    title: str
    command: str
    axes: dict[str, list[str]]
    locks: list[str]
    rate: NDArray[np.float64]  # scenarios x locks
    jain: NDArray[np.float64]
    longest_us: NDArray[np.float64]
    validated: dict[str, int]

    @property
    def scenarios(self) -> list[tuple[str, ...]]:
        return list(itertools.product(*self.axes.values()))

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Of the best rate in that scenario; 0 where a lock failed."""
        rate = np.nan_to_num(self.rate)
        best = rate.max(axis=1, keepdims=True)
        found: NDArray[np.float64] = np.divide(rate, best, out=np.ones_like(rate), where=best > 0)
        return found

    @cached_property
    def named(self) -> list[str]:
        """The fewest locks, greedily, of which one is as good as the best nearly everywhere."""
        good = self.share >= LIKE_BEST
        left = np.ones(len(good), dtype=bool)
        found: list[str] = []
        while left.any() and len(found) < MOST_NAMED:
            number = int(good[left].sum(axis=0).argmax())
            found.append(self.locks[number])
            left &= ~good[:, number]
        return found

    @property
    def best(self) -> list[str | None]:
        """Of each scenario, the first of `named` that is as good as the best; None: another one."""
        columns = [self.locks.index(lock) for lock in self.named]
        good = self.share[:, columns] >= LIKE_BEST
        return [self.named[int(row.argmax())] if row.any() else None for row in good]


@dataclass(frozen=True)
class Regret:
    """How much faster the best lock of each scenario is than this one."""

    lock: str
    like_best: float  # share of the scenarios
    collapsed: float
    median: float
    most_of_ten: float  # in nine of ten scenarios it is no more
    worst: float
    where: tuple[str, ...]
    jain: float  # median
    longest_us: float  # in nine of ten scenarios it is no more


def regrets(grid: Grid) -> list[Regret]:
    """The one that is least often far behind comes first."""
    found = [_regret(grid, number) for number in range(len(grid.locks))]
    return sorted(found, key=lambda one: (one.most_of_ten, one.median, one.lock))


def _regret(grid: Grid, number: int) -> Regret:
    share = grid.share[:, number]
    with np.errstate(divide="ignore"):
        times = 1 / share
    return Regret(
        grid.locks[number],
        float((share >= LIKE_BEST).mean()),
        float((share < COLLAPSED).mean()),
        _quantile(times, 0.5),
        _quantile(times, 0.9),
        float(times.max()),
        grid.scenarios[int(times.argmax())],
        _quantile(grid.jain[:, number], 0.5),
        _quantile(grid.longest_us[:, number], 0.9),
    )


def _quantile(values: NDArray[np.float64], part: float) -> float:
    known = np.sort(values[~np.isnan(values)])
    return float(known[min(len(known) - 1, math.floor(part * len(known)))]) if len(known) else 0.0


# Running


def reduced(told: str, answer: Answer) -> Answer:
    """What is kept of a run: tens of thousands of whole answers would be gigabytes."""
    if "error" in answer:
        return answer
    asked = json.loads(told)["guests"]
    guests = [g for g, of in zip(answer["guests"], asked, strict=True) if of["lock"] != NONE]
    turns = [context["turns"] for guest in guests for context in guest["contexts"]]
    return {
        "failure": answer["failure"],
        "rate": sum(turns) / answer["time_ns"] * 1e9,
        "jain": stats.jain(turns) if any(turns) else 0.0,
        "longest_us": max(guest["waits"]["longest_ns"] for guest in guests) / 1000,
    }


def run(options: Mapping[str, Any]) -> int:
    out = console()
    if options["read"]:
        return _tell(read(options["read"]), options)
    asked = _asked(options)
    places = resolve.places(asked)
    locks = places[0].variants
    answers: dict[int, Answer] = {}
    failures: list[str] = []

    def add(number: int, answer: Answer) -> None:
        answers[number] = answer
        if why := answer.get("error") or answer.get("failure"):
            place, lock = places[number // len(locks)], locks[number % len(locks)]
            failures.append(f"{lock}, {place.point}: {why}")

    told = [run.told for place in places for run in resolve.runs(place)]
    batch = Batch(told, Cache(kept_in(options)), add, reduced)
    if not options["quiet"]:
        out.print(f"{len(places):,} scenarios, {len(locks)} locks", soft_wrap=True)
    shown = Shown(out, options["quiet"], lambda: Text(asked.title, style="bold"))
    with deferred() as asked_to_end:
        batch.simulate(options, shown, asked_to_end)
        if asked_to_end():
            out.print(batch.interrupted(), soft_wrap=True)
            return INTERRUPTED
    grid = _grid(asked, places, [answers[number] for number in range(len(told))])
    if options["output"]:
        files.write(options["output"], document(grid))
    code = _tell(grid, options)
    for failure in failures:
        out.print(f"failed: {failure}", soft_wrap=True)
    return FAILED if failures else code


def _asked(options: Mapping[str, Any]) -> Scenario:
    changes = []
    if options["locks"]:
        names = [name for text in options["locks"] for name in text.split(",") if name]
        changes.append(("locks", names, f"--locks {','.join(options['locks'])}"))
    asked = scenario.load(options["scenario"], changes)
    if not asked.axes:
        raise Fail(f"{asked.file}: it has no axes; add tables such as [axes.CPUs]")
    for path, name in (("sweep", "sweep"), ("seeds", "seeds")):
        if path in asked.values:
            asked.refuse((path,), f"a grid has axes and one seed; remove {name}")
    return asked


def _grid(asked: Scenario, places: Sequence[Place], answers: Sequence[Answer]) -> Grid:
    locks = places[0].variants

    def matrix(name: str) -> NDArray[np.float64]:
        values = [math.nan if one.get("failure") else one.get(name, math.nan) for one in answers]
        return np.array(values, dtype=float).reshape(len(places), len(locks))

    axes = {name: list(axis) for name, axis in asked.axes.items()}
    command = f"overlock sim grid {asked.name}".removesuffix(f" {READY}")
    return Grid(
        asked.title,
        command,
        axes,
        locks,
        matrix("rate"),
        matrix("jain"),
        matrix("longest_us"),
        dict(_validated(places)),
    )


def _validated(places: Sequence[Place]) -> Iterator[tuple[str, int]]:
    """Scenarios that validation.toml has, too: those can be measured on a machine of two CPUs."""
    known = {json.dumps(_essence(place), sort_keys=True): i for i, place in enumerate(places)}
    for series in comparison.plan().series:
        for threads in series.threads:
            quota = series.quota_cpus and series.quota_cpus * resolve.PERIOD_MS * 1000
            wanted = (NATIVE, 2, 1, "threads", threads, series.cs_ns, series.ncs_ns, quota or "inf")
            row = known.get(json.dumps(wanted))
            if row is not None and series.copies == 1:
                yield f"{series.name}/{threads}", row


def _essence(place: Place) -> tuple[Any, ...]:
    told = resolve.told(place, place.variants[0], 1)
    first, parameters = told["guests"][0], told["guests"][0]["parameters"]
    return (
        told["host"]["scheduler"],
        told["machine"]["cpus"],
        len(told["guests"]),
        first["kind"],
        first["contexts"],
        parameters.get("sections_cs"),
        parameters.get("sections_ncs"),
        first["quota_us"],
    )


# Kept


def document(grid: Grid) -> str:
    """A line for each scenario, so that versions can be compared."""
    head = {
        "format": FORMAT,
        "version": 1,
        "title": grid.title,
        "command": grid.command,
        "axes": grid.axes,
        "locks": grid.locks,
        "validated": grid.validated,
    }
    lines = [
        f" {json.dumps(name)}: {json.dumps(of, ensure_ascii=False)}" for name, of in head.items()
    ]
    tables = [
        f' "{name}": [\n' + ",\n".join(_rows(getattr(grid, name))) + "\n ]"
        for name in ("rate", "jain", "longest_us")
    ]
    return "{\n" + ",\n".join([*lines, *tables]) + "\n}\n"


def _rows(values: NDArray[np.float64]) -> Iterator[str]:
    for row in values:
        yield "  " + json.dumps([_digits(value) for value in row], separators=(",", ":"))


def _digits(value: float) -> float | None:
    """Three are what a run of this length can know."""
    if math.isnan(value):
        return None
    short = float(f"{value:.3g}")
    return int(short) if short.is_integer() else short


def read(path: Path) -> Grid:
    try:
        found: Kept = reading.checked(Kept, reading.parsed(files.read_text(path)), "the file")
        if found["format"] != FORMAT:
            raise ValueError(f"its format is {found['format']}")
        return _made(found)
    except ValueError as error:
        raise Fail(
            f"{path} is not a result of overlock sim grid ({error}); create one with "
            "`overlock sim grid -o FILE`"
        ) from error


def _made(found: Kept) -> Grid:
    shape = (math.prod(map(len, found["axes"].values())), len(found["locks"]))
    rate, jain, longest_us = (
        np.array(table, dtype=float)
        for table in (found["rate"], found["jain"], found["longest_us"])
    )
    if {rate.shape, jain.shape, longest_us.shape} != {shape}:
        raise ValueError(f"its tables are not {shape[0]} by {shape[1]}")
    said = (found["title"], found["command"], found["axes"], found["locks"])
    return Grid(*said, rate, jain, longest_us, found["validated"])


# Told


def _tell(grid: Grid, options: Mapping[str, Any]) -> int:
    out = console()
    if not options["quiet"]:
        out.print(_table(grid))
        parts = [f"{lock} {grid.best.count(lock) / len(grid.best):.0%}" for lock in grid.named]
        other = grid.best.count(None)
        parts += [f"others {other / len(grid.best):.0%}"] if other else []
        out.print(f"as good as the best, first named first: {', '.join(parts)}", soft_wrap=True)
    if options["svg"]:
        from overlock_tools.simulate import grid_map

        grid_map.write(grid, options["svg"], options["of"])
    for path in filter(None, (options["output"], options["svg"])):
        out.print(f"written: {path}", soft_wrap=True)
    return 0


def _table(grid: Grid) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("lock", "worst in") else "right")
    for one in regrets(grid):
        table.add_row(*cells(one))
    return table


HEADINGS = (
    "lock",
    f"≥ {LIKE_BEST:.0%} of the best",
    "collapsed",
    "best ÷ it",
    "in 9 of 10 ≤",
    "worst",
    "Jain",
    "longest wait, 9 of 10 ≤",
    "worst in",
)


def cells(one: Regret) -> list[str]:
    return [
        one.lock,
        f"{one.like_best:.0%}",
        f"{one.collapsed:.0%}",
        times(one.median),
        times(one.most_of_ten),
        times(one.worst),
        f"{one.jain:.2f}",
        duration(one.longest_us * 1000).strip(),
        ", ".join(one.where),
    ]


def times(value: float) -> str:
    return factor(value) if value < 999.5 else "∞" if math.isinf(value) else f"{value:,.0f}"
