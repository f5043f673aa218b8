# SPDX-License-Identifier: MIT
"""The rates of all locks in a grid of scenarios: which is best where, how far others are behind."""

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Required, TypedDict

import numpy as np
from numpy.typing import NDArray

from overlock_tools.core.model import defs
from overlock_tools.core.system import files, reading
from overlock_tools.core.system.errors import Fail

FORMAT = "overlock-grid"
LIKE_BEST = 0.95  # share of the best rate from which a lock is as good
COLLAPSED = 0.1
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
    said = (found["title"], found["command"], found["axes"])
    locks = list(map(defs.renamed, found["locks"]))
    return Grid(*said, locks, rate, jain, longest_us, found["validated"])
