# SPDX-License-Identifier: MIT
"""The points of validation.toml, and the verdicts on what was measured and simulated there."""

import hashlib
import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

PLAN = Path(__file__).with_name("validation.toml")


@dataclass(frozen=True)
class Series:
    name: str
    locks: list[str]
    threads: list[int]
    cs_ns: float
    ncs_ns: float
    quota_cpus: float | None = None
    copies: int = 1


@dataclass(frozen=True)
class Judged:
    within: float
    steady: float
    collapsed: float
    right: float
    held_out: int


@dataclass(frozen=True)
class Plan:
    judged: Judged
    native: dict[str, Any]
    simulated: dict[str, Any]
    series: list[Series]


@dataclass(frozen=True)
class Point:
    series: Series
    lock: str
    threads: int

    @property
    def name(self) -> str:
        return f"{self.series.name}/{self.lock}/{self.threads}"

    def is_held_out(self, judged: Judged) -> bool:
        """By its name: nobody chooses."""
        number = int(hashlib.sha256(self.name.encode()).hexdigest(), 16)
        return number % judged.held_out == 0


def plan() -> Plan:
    raw = tomllib.loads(PLAN.read_text())
    return Plan(
        Judged(**raw["judged"]),
        raw["native"],
        raw["simulated"],
        [Series(**series) for series in raw["series"]],
    )


def points(asked: Plan) -> list[Point]:
    return [
        Point(series, lock, threads)
        for series in asked.series
        for threads in series.threads
        for lock in series.locks
    ]


# Judged


@dataclass(frozen=True)
class Compared:
    point: Point
    native: list[float]  # rates of the rounds
    simulated: list[float]  # of the seeds
    alone: tuple[float, float]  # the lock's rate with the fewest threads: native, simulated
    judged: Judged

    @property
    def steady(self) -> bool:
        return max(self.native) < self.judged.steady * min(self.native)

    @property
    def factor(self) -> float:
        """Simulated over native."""
        return median(self.simulated) / (median(self.native) or math.inf)

    @property
    def both_collapsed(self) -> bool:
        mine, theirs = median(self.native), median(self.simulated)
        return (
            mine < self.judged.collapsed * self.alone[0]
            and theirs < self.judged.collapsed * self.alone[1]
        )

    @property
    def right(self) -> bool:
        if self.steady:
            return 1 / self.judged.within <= self.factor <= self.judged.within
        return self.both_collapsed

    @property
    def held_out(self) -> bool:
        return self.point.is_held_out(self.judged)


@dataclass(frozen=True)
class Order:
    """Of two locks at one place, whose native ranges are disjoint."""

    faster: Compared
    slower: Compared

    @property
    def right(self) -> bool:
        return median(self.faster.simulated) > median(self.slower.simulated)


def orders(compared: Sequence[Compared]) -> Iterator[Order]:
    for a, b in itertools.combinations(compared, 2):
        if (a.point.series, a.point.threads) != (b.point.series, b.point.threads):
            continue
        if min(a.native) > max(b.native):
            yield Order(a, b)
        elif min(b.native) > max(a.native):
            yield Order(b, a)


def compare(
    asked: Plan, natives: Mapping[str, list[float]], simulated: Mapping[str, list[float]]
) -> list[Compared]:
    """Rates by the points' names; of the points that both have."""
    found = []
    for point in points(asked):
        alone = Point(point.series, point.lock, point.series.threads[0]).name
        if all(rates.get(name) for rates in (natives, simulated) for name in (point.name, alone)):
            found.append(
                Compared(
                    point,
                    natives[point.name],
                    simulated[point.name],
                    (median(natives[alone]), median(simulated[alone])),
                    asked.judged,
                )
            )
    return found


@dataclass(frozen=True)
class Score:
    """Of all points, or of those that nothing was calibrated by."""

    steady: int
    steady_right: int
    other: int
    other_right: int
    orders: int
    orders_right: int

    def passes(self, judged: Judged) -> bool:
        return (
            self.steady_right >= judged.right * self.steady
            and self.other_right == self.other
            and self.orders_right == self.orders
        )


def score(compared: Sequence[Compared]) -> Score:
    steady = [one for one in compared if one.steady]
    other = [one for one in compared if not one.steady]
    pairs = list(orders(compared))
    return Score(
        len(steady),
        sum(one.right for one in steady),
        len(other),
        sum(one.right for one in other),
        len(pairs),
        sum(pair.right for pair in pairs),
    )
