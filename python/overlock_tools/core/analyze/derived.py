# SPDX-License-Identifier: MIT
"""A result as figures and verdicts look at it: each number worked out once."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from overlock_tools.core.analyze.best_peer import Judgement, judge
from overlock_tools.core.model import stats
from overlock_tools.core.model.measures import Cell, comparable, value_of
from overlock_tools.core.model.results import PROGRAM, Result, named
from overlock_tools.core.model.stats import Ratio

# Less than this share of the best at the same number of threads: collapsed, not merely slower.
COLLAPSED = 0.1
# Figures of one number of threads show the one nearest to this overcommit: the papers' middle.
SHOWN_OVERCOMMIT = 4


@dataclass(frozen=True)
class Spread:
    """A measure over all rounds together, and of the rounds by themselves."""

    value: float
    least: float
    most: float


class View:
    def __init__(self, result: Result, at: int | None = None, place: int = 0) -> None:
        result = named(result)
        self.result, self.place = result, place
        self.at = at if at in result.threads else nearest(result)
        self._values: dict[tuple[str, str, int], dict[int, float]] = {}
        self._totals: dict[tuple[str, str, int], float | None] = {}
        self._ratios: dict[tuple[str, str, str, tuple[int, ...]], Ratio | None] = {}

    @property
    def anchor(self) -> str:
        """Where it is on the page."""
        return f"r{self.place}"

    @cached_property
    def name(self) -> str:
        """Short: the workload's, and what was set up around it."""
        result = self.result
        if result.kind == PROGRAM or result.simulated:
            return result.title
        around = ", ".join(result.scenario.get("proof") or ())
        name = result.kind.removeprefix(f"{PROGRAM}-")
        return f"{name} ({around})" if around else name

    @property
    def variants(self) -> list[str]:
        return self.result.variants

    @property
    def threads(self) -> list[int]:
        return self.result.threads

    @cached_property
    def over(self) -> list[int]:
        """Numbers of threads that do not fit the CPUs."""
        return [n for n in self.threads if n > self.result.cpus_of_its_own]

    @cached_property
    def fitting(self) -> list[int]:
        return [n for n in self.threads if n <= self.result.cpus_of_its_own]

    @cached_property
    def judged(self) -> list[int]:
        """Where contenders are compared: overcommitted, or all there is."""
        return self.over or self.threads

    def cells(self, variant: str, threads: int) -> list[Cell]:
        return self.result.of(variant, threads)

    def cut(self, variant: str, threads: int) -> bool:
        return self.result.cut(variant, threads)

    def given_up(self, variant: str, threads: int) -> bool:
        return self.result.given_up(variant, threads) is not None

    def bound(self, variant: str, threads: int) -> bool:
        """Whether what is known is a bound or one observation: cut, nothing done, given up."""
        unfinished = self.unfinished(variant, threads)
        return unfinished or self.value("rate", variant, threads) == 0

    def unfinished(self, variant: str, threads: int) -> bool:
        """Whether there are not all rounds of it."""
        return self.given_up(variant, threads) or self.cut(variant, threads)

    def why(self, variant: str, threads: int) -> str:
        """It was not measured in full; in a word."""
        return "did not finish" if self.cut(variant, threads) else "collapsed"

    def height(self, measure: str, variant: str, threads: int) -> float | None:
        """Where it is drawn on a logarithmic axis: what did nothing is where one turn would be."""
        value = self.value(measure, variant, threads)
        if measure == "rate" and value == 0:
            return stats.median([cell.rate_or_bound for cell in self.cells(variant, threads)])
        return value

    def by_round(self, measure: str, variant: str, threads: int) -> dict[int, float]:
        key = (measure, variant, threads)
        if key not in self._values:
            values = {c.round: value_of(measure, c) for c in self.cells(variant, threads)}
            self._values[key] = {r: v for r, v in values.items() if v is not None}
        return self._values[key]

    def value(self, measure: str, variant: str, threads: int) -> float | None:
        """Over all rounds, as the measure says."""
        key = (measure, variant, threads)
        if key not in self._totals:
            self._totals[key] = self.result.value(measure, variant, threads)
        return self._totals[key]

    def spread(self, measure: str, variant: str, threads: int) -> Spread | None:
        value = self.value(measure, variant, threads)
        rounds = self.by_round(measure, variant, threads).values()
        return Spread(value, min(rounds), max(rounds)) if value is not None and rounds else None

    def has(self, measure: str) -> bool:
        """Not every kind of result knows every measure: a program does not count per thread."""
        return any(
            self.value(measure, variant, n) is not None
            for variant in self.variants
            for n in self.threads
        )

    def known(self, measure: str, threads: int) -> dict[str, Spread]:
        """The variants of which the measure is known there."""
        found = {v: self.spread(measure, v, threads) for v in self.variants}
        return {variant: spread for variant, spread in found.items() if spread}

    def ratio(self, ours: str, theirs: str, threads: Iterable[int]) -> Ratio | None:
        """Of rates: geometric mean over `threads` of the medians of the rounds' ratios."""
        key = ("rate", ours, theirs, tuple(threads))
        if key not in self._ratios:
            self._ratios[key] = self.result.ratio(ours, theirs, list(key[3]))
        return self._ratios[key]

    def between(
        self,
        measure: str,
        ours: tuple[str, int],
        theirs: tuple[str, int],
        confidence: float = stats.CONFIDENCE,
    ) -> Ratio | None:
        """Of any measure: the median of ours / theirs over the rounds that have both.

        Both are a variant at a number of threads.
        """
        one, other = (self._comparable(measure, *place) for place in (ours, theirs))
        pairs = stats.paired([(one, other)])
        return stats.geometric_mean_ratio(pairs, confidence) if pairs else None

    def _comparable(self, measure: str, variant: str, threads: int) -> dict[int, float]:
        values, cells = self.by_round(measure, variant, threads), self.cells(variant, threads)
        return {
            c.round: comparable(measure, c, values[c.round]) for c in cells if c.round in values
        }

    def best(self, variants: list[str], threads: list[int]) -> str | None:
        """The variant with the greatest geometric mean of rates over `threads`; it works."""
        means = {v: self._mean_rate(v, threads) for v in variants if self.works(v, threads)}
        known = {v: mean for v, mean in means.items() if mean is not None}
        return max(known, key=known.__getitem__) if known else None

    def works(self, variant: str, threads: Iterable[int]) -> bool:
        """Neither wrong anywhere, nor fast there because threads starve."""
        return variant not in self.wrong and not any(self.starves(variant, n) for n in threads)

    @cached_property
    def wrong(self) -> set[str]:
        cells = {cell.variant for cell in self.result.cells if cell.wrong}
        return cells | {entry.variant for entry in self.result.hung}

    def starves(self, variant: str, threads: int) -> bool:
        """In every round a thread had no turn at all."""
        cells = [cell for cell in self.cells(variant, threads) if cell.per_thread]
        return bool(cells) and all(min(cell.per_thread) == 0 for cell in cells)

    def _mean_rate(self, variant: str, threads: list[int]) -> float | None:
        """Logarithm of the geometric mean; None unless the variant ran at all of them."""
        cells = [self.cells(variant, n) for n in threads]
        if not threads or not all(cells):
            return None
        medians = [stats.median([cell.rate_or_bound for cell in some]) for some in cells]
        return sum(map(math.log, medians)) / len(medians)

    @cached_property
    def locks(self) -> list[str]:
        return [v for v in self.variants if v not in self.result.peers]

    @cached_property
    def best_lock(self) -> str | None:
        return self.best(self.locks, self.judged)

    @cached_property
    def best_peer(self) -> str | None:
        return self.best(self.result.peers, self.judged)

    @cached_property
    def best_of_all(self) -> str | None:
        return self.best(self.variants, self.judged)

    def top_rate(self, threads: int) -> float:
        return max((self.value("rate", v, threads) or 0.0 for v in self.variants), default=0.0)

    def always_low(self, variant: str, threads: int) -> bool:
        """Whether even its best round is below the bar."""
        rounds = self.by_round("rate", variant, threads).values()
        return max(rounds, default=0.0) < COLLAPSED * self.top_rate(threads)

    @cached_property
    def collapsed(self) -> dict[str, list[int]]:
        """With more threads than CPUs: how far each lock is behind."""
        found: dict[str, list[int]] = {}
        for n in self.over:
            bar = COLLAPSED * self.top_rate(n)
            for variant in self.variants:
                rate = self.value("rate", variant, n)
                if rate is not None and (rate < bar or self.given_up(variant, n)):
                    found.setdefault(variant, []).append(n)
        return found

    @cached_property
    def all_collapsed(self) -> dict[int, float]:
        """Where even the best rate is far below the best with a thread on each CPU: its share."""
        full = max((n for n in self.fitting if n > 1), default=None)
        if full is None:
            return {}
        shares = {n: self.top_rate(n) / (self.top_rate(full) or math.inf) for n in self.over}
        return {n: share for n, share in shares.items() if share < COLLAPSED}

    @cached_property
    def judgements(self) -> list[Judgement]:
        """The best lock against the best peer: at each number of threads, then over all of them."""
        works = [v for v in self.variants if self.works(v, self.judged)]
        peers = [v for v in self.result.peers if v in works]
        return judge(replace(self.result, threads=self.judged, variants=works, peers=peers))

    @cached_property
    def fallen(self) -> list[str]:
        """Those that collapsed at most of the numbers of threads that do not fit."""
        return [v for v, n in self.collapsed.items() if 2 * len(n) > len(self.over)]


def nearest(result: Result) -> int:
    """The number of threads that figures of one number show."""
    over = [n for n in result.threads if n > result.cpus_of_its_own] or result.threads
    return min(over, key=lambda n: abs(math.log(n / (SHOWN_OVERCOMMIT * result.cpus))))
