# SPDX-License-Identifier: MIT
"""The points of validation.toml, and the verdicts on what was measured and simulated there."""

import hashlib
import itertools
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
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
    lock_count: int = 1


@dataclass(frozen=True)
class Judged:
    within: float
    known: float
    steady: float
    low: float
    collapsed: float
    right: float
    held_out: int

    def is_collapse(self, rate: float, alone: float) -> bool:
        """`alone`: the lock's rate with the fewest threads."""
        return rate < self.low and rate < self.collapsed * alone


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


class Kind(StrEnum):
    """Of a point, by its native rounds: validation.toml says what is right for each."""

    STEADY = "steady"
    COLLAPSED = "collapsed"
    UNSTEADY = "unsteady"


@dataclass(frozen=True)
class Compared:
    point: Point
    native: list[float]  # rates of the rounds
    simulated: list[float]  # of the seeds
    alone: tuple[float, float]  # the lock's rate with the fewest threads: native, simulated
    judged: Judged
    by_calibration: Sequence[float] = ()  # of costs drawn from the calibration's ranges

    @property
    def kind(self) -> Kind:
        if self.judged.is_collapse(median(self.native), self.alone[0]):
            return Kind.COLLAPSED
        is_steady = max(self.native) < self.judged.steady * min(self.native)
        return Kind.STEADY if is_steady else Kind.UNSTEADY

    @property
    def factor(self) -> float:
        """Simulated over native."""
        return median(self.simulated) / (median(self.native) or math.inf)

    @property
    def right(self) -> bool:
        rate, within = median(self.simulated), self.judged.within
        if self.kind is Kind.COLLAPSED:
            return self.judged.is_collapse(rate, self.alone[1])
        if self.kind is Kind.UNSTEADY:
            return min(self.native) / within <= rate <= max(self.native) * within
        return 1 / within <= self.factor <= within

    @property
    def held_out(self) -> bool:
        return self.point.is_held_out(self.judged)

    @property
    def bar(self) -> tuple[float, float]:
        """The least and the most that was simulated, by any seed and any calibration."""
        every = [*self.simulated, *self.by_calibration]
        return min(every), max(every)


@dataclass(frozen=True)
class Order:
    """Of two locks at one place, whose native ranges are disjoint."""

    faster: Compared
    slower: Compared

    @property
    def held_out(self) -> bool:
        """If one of the two is."""
        return self.faster.held_out or self.slower.held_out

    @property
    def right(self) -> bool:
        return median(self.faster.simulated) > median(self.slower.simulated)


def orders(compared: Sequence[Compared]) -> Iterator[Order]:
    """Not of two that have collapsed: how little is left of each is not claimed."""
    for a, b in itertools.combinations(compared, 2):
        if (a.point.series, a.point.threads) != (b.point.series, b.point.threads):
            continue
        if a.kind is b.kind is Kind.COLLAPSED:
            continue
        if min(a.native) > max(b.native):
            yield Order(a, b)
        elif min(b.native) > max(a.native):
            yield Order(b, a)


def compare(
    asked: Plan,
    natives: Mapping[str, list[float]],
    simulated: Mapping[str, list[float]],
    by_calibration: Mapping[str, list[float]],
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
                    by_calibration.get(point.name, ()),
                )
            )
    return found


@dataclass(frozen=True)
class Score:
    """Of all points, or of those that nothing was calibrated by: how many, and how many right."""

    points: dict[Kind, tuple[int, int]]
    orders: tuple[int, int]

    def passes(self, judged: Judged) -> bool:
        """Unsteady points do not count: hardly any rate is wrong there."""
        counted = (self.points[Kind.STEADY], self.points[Kind.COLLAPSED], self.orders)
        return all(right >= judged.right * number for number, right in counted)


def score(compared: Sequence[Compared], held_out: bool) -> Score:
    """Of what is held out, or of the rest; no order is left out."""

    def counted(those: Iterable[Compared | Order]) -> tuple[int, int]:
        found = [one.right for one in those if one.held_out == held_out]
        return len(found), sum(found)

    kinds = {kind: counted(one for one in compared if one.kind is kind) for kind in Kind}
    return Score(kinds, counted(orders(compared)))
