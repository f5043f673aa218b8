# SPDX-License-Identifier: MIT
"""What is asked of numbers, whoever has them: a measure of locks, by another lock or another point.

Keys of a check, in claims.toml and rows/:

    measure  what is taken of a run or a round
    of       the locks; with several, each is a check
    by       another lock: the value is a ratio to it, seed by seed or round by round
    by_at    the same, at another point
    at       the point
    take     of several points: each (the default), most, least, mean, or range (most by least)
    paper    the paper's number, or what it says
    within   a number within this factor holds; one on the right side of 1 holds partly
    holds    otherwise: where it must be
    partly   and where it holds partly; as holds, if it is left out
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from statistics import mean
from typing import Any

from overlock_tools.core.model import sequential

TAKES: dict[str, Callable[[list[float]], float]] = {
    "most": max,
    "least": min,
    "mean": mean,
    "range": lambda values: max(values) / min(values),
}
EACH = "each"
Range = tuple[float, float]
Point = dict[str, Any]


class Verdict(StrEnum):
    HOLDS = "holds"
    PARTLY = "partly"
    NOT = "not"
    UNDECIDED = "undecided"  # the rounds or seeds do not agree
    VACUOUS = "vacuous"  # locks are compared under a load that hardly takes them
    NOTHING = "not measured"


WORTH = {Verdict.HOLDS: 1.0, Verdict.PARTLY: 0.5, Verdict.NOT: 0.0}


@dataclass(frozen=True)
class Check:
    scenarios: Sequence[str]  # of the simulator; none of what is measured
    measure: str
    locks: Sequence[str]
    by: str | None
    at: Point
    by_at: Point
    take: str
    paper: float | str
    holds: Range
    partly: Range

    def worst(self, least: float, most: float) -> Verdict:
        """Of all values of a range: one of its ends, since the bounds are ranges too."""
        ends = [self._judged(least, least), self._judged(most, most)]
        return min(ends, key=lambda verdict: WORTH[verdict])

    def best(self, least: float, most: float) -> Verdict:
        return self._judged(least, most)

    def _judged(self, least: float, most: float) -> Verdict:
        for verdict, (low, high) in ((Verdict.HOLDS, self.holds), (Verdict.PARTLY, self.partly)):
            if low <= most and least <= high:
                return verdict
        return Verdict.NOT

    def of_rounds(self, values: Sequence[float]) -> tuple[Verdict, Verdict]:
        """The worst and the best that the median of rounds may be, as far as they decide it."""
        holds = sequential.within(values, *self.holds)
        partly = sequential.within(values, *self.partly) if self.holds != self.partly else holds
        if holds:
            return Verdict.HOLDS, Verdict.HOLDS
        best = (
            Verdict.HOLDS
            if holds is None
            else Verdict.PARTLY
            if partly is not False
            else Verdict.NOT
        )
        return Verdict.PARTLY if partly else Verdict.NOT, best

    def what(self, lock: str, words: Callable[[Point], str]) -> str:
        by = f" ÷ {self.by}" if self.by else ""
        by_at = f" ÷ that with {words(self.by_at)}" if self.by_at else ""
        return f"{self.measure} of {lock}{by}{by_at}"


def check(raw: Mapping[str, Any]) -> Check:
    holds, partly = _bounds(raw)
    return Check(
        listed(raw.get("scenario", [])),
        raw["measure"],
        listed(raw["of"]),
        raw.get("by"),
        raw.get("at", {}),
        raw.get("by_at", {}),
        raw.get("take", EACH),
        raw["paper"],
        holds,
        partly,
    )


def _bounds(raw: Mapping[str, Any]) -> tuple[Range, Range]:
    if "within" not in raw:
        return tuple(raw["holds"]), tuple(raw.get("partly", raw["holds"]))
    number, within = raw["paper"], raw["within"]
    side = (1.0, inf) if number > 1 else (0.0, 1.0)
    return (number / within, number * within), side


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class Found:
    """Of a check, or of one of its points: the median and range of seeds or rounds."""

    what: str
    at: str
    paper: float | str
    median: float | None = None
    least: float | None = None
    most: float | None = None
    worst: Verdict = Verdict.NOTHING
    best: Verdict = Verdict.NOTHING
    vacuous: bool = False
    count: int = 0

    @property
    def verdict(self) -> Verdict:
        if self.vacuous:
            return Verdict.VACUOUS
        return self.worst if self.worst == self.best else Verdict.UNDECIDED


def together(found: Sequence[Found]) -> Verdict:
    """Undecided if the verdict of all depends on values that are; nothing if one is missing."""
    tested = [one for one in found if not one.vacuous]
    if not tested:
        return Verdict.VACUOUS
    if any(one.verdict == Verdict.NOTHING for one in tested):
        return Verdict.NOTHING
    worst, best = _scored([one.worst for one in tested]), _scored([one.best for one in tested])
    return worst if worst == best else Verdict.UNDECIDED


def _scored(verdicts: Sequence[Verdict]) -> Verdict:
    score = mean(WORTH[verdict] for verdict in verdicts)
    return Verdict.HOLDS if score == 1 else Verdict.PARTLY if score >= 0.5 else Verdict.NOT
