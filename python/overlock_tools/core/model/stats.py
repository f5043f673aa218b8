# SPDX-License-Identifier: MIT
"""Medians, ratios and their bootstrap intervals.

The unit is the round: all contenders of a round ran within seconds of each other, so what the host
did to one it did to all. Hence the ratio is formed within each round and its median taken over the
rounds. On a virtual machine that the host slowed by a quarter in half of the rounds, the ratio of
the two medians of one lock under two names was 0.82, the median of their ratios 1.00.

The interval is a percentile bootstrap over rounds. That of a median is too narrow for few rounds:
of 100 comparisons of equal locks it calls 5 to 13 different. So its percentiles are set where a
single median's interval becomes the exact one, between order statistics, which holds for whatever
distribution the rounds have: outliers, two modes, a lock that varies tenfold. docs/measuring.md
compares it with others.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it takes as long to import as a command to answer
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Rounds = Mapping[int, float]  # values by their rounds
Pairs = Sequence[tuple[Sequence[float], Sequence[float]]]  # a row of rates of each, by round

RESAMPLES = 10_000
CONFIDENCE = 0.95
# Less is no difference, however certain: it would be shown as 1.00, and where the linker and the
# kernel put the code moved one lock under two names by up to 0.03 %.
RESOLUTION = 0.005
NOTHING = 1e-100  # stands for a rate of 0 where a logarithm is taken


@dataclass(frozen=True)
class Ratio:
    value: float
    low: float | None  # None: too few rounds to say
    high: float | None

    @property
    def known(self) -> bool:
        """Whether there is an interval: without one nothing is concluded, not even equality."""
        return self.low is not None and self.high is not None

    @property
    def alike(self) -> bool:
        return self.known and not self.above_one and not self.below_one

    @property
    def above_one(self) -> bool:
        return self.low is not None and self.low > 1 + RESOLUTION

    @property
    def below_one(self) -> bool:
        return self.high is not None and self.high < 1 / (1 + RESOLUTION)

    def within(self, low: float, high: float) -> bool | None:
        """Whether the whole interval lies there; None if only a part does, or there is none."""
        if self.low is None or self.high is None:
            return None
        if low < self.low and self.high < high:
            return True
        return False if self.high < low or high < self.low else None

    @property
    def inverse(self) -> "Ratio":
        return Ratio(
            1 / self.value,
            None if self.high is None else 1 / self.high,
            None if self.low is None else 1 / self.low,
        )


def in_common(tables: Sequence[Rounds]) -> list[list[float]]:
    """A row of each in the rounds that all have; empty without such a round."""
    rounds = sorted(set.intersection(*map(set, tables))) if tables else []
    return [[table[r] for r in rounds] for table in tables] if rounds else []


def paired(tables: Sequence[tuple[Rounds, Rounds]]) -> list[tuple[list[float], list[float]]]:
    """Pairs of rows in the rounds that all of them have."""
    rows = in_common([table for pair in tables for table in pair])
    return list(zip(rows[::2], rows[1::2], strict=True))


def _at_least(successes: int, trials: int, chance: float) -> float:
    """The binomial distribution's upper tail."""
    return sum(
        comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(successes, trials + 1)
    )


@cache
def left_out(rounds: int, confidence: float) -> int | None:
    """How many of the sorted rounds lie beyond each end of the exact interval of their median.

    The median is below the k-th of n rounds when fewer than k of them are below it: tossing coins.
    None: even from the least to the greatest of so few rounds the confidence is not reached.
    """
    beyond = [k for k in range(rounds) if 2 * _at_least(rounds - k, rounds, 0.5) <= 1 - confidence]
    return max(beyond, default=None)


def least_rounds(confidence: float = CONFIDENCE) -> int:
    """Below this an interval would only look like one."""
    return next(n for n in range(2, 100) if left_out(n, confidence) is not None)


@cache
def tail(rounds: int, confidence: float) -> float | None:
    """The bootstrap's percentile, as a fraction, at which a median's interval is the exact one.

    A resample's median is at or below the k-th of n rounds when most of n draws are, each with
    chance k/n. Half of that for the last round inside: surely inside, and not yet the next.
    """
    beyond = left_out(rounds, confidence)
    if beyond is None:
        return None
    return _at_least(rounds // 2 + 1, rounds, (beyond + 1) / rounds) / 2


def _drawn(rounds: int, seed: int = 0) -> "npt.NDArray[np.intp]":
    """Indices of rounds, one row per resample; the same every time, so a result can be redone."""
    import numpy as np

    return np.random.default_rng(seed).integers(0, rounds, (RESAMPLES, rounds), dtype=np.intp)


def _interval(resampled: "Floats", beyond: float | None) -> tuple[float, float] | None:
    import numpy as np

    if beyond is None:
        return None
    low, high = np.exp(np.quantile(resampled, [beyond, 1 - beyond]))
    return float(low), float(high)


def _logs(pairs: Pairs) -> "Floats":
    """Logarithms of ours / theirs, a row per pair, a column per round.

    A lock that never got anywhere has ratio 0, not a division by 0.
    """
    import numpy as np

    ours, theirs = (np.array([pair[i] for pair in pairs], dtype=np.float64) for i in (0, 1))
    logs: Floats = np.log(np.maximum(ours, NOTHING)) - np.log(np.maximum(theirs, NOTHING))
    return logs


def _resampled(logs: "Floats", seed: int = 0) -> "Floats":
    """Of each resample of the rounds, the mean over the rows of their medians."""
    import numpy as np

    drawn = _drawn(logs.shape[1], seed)
    means: Floats = np.mean([_medians(row[drawn]) for row in logs], axis=0)
    return means


def _medians(rows: "Floats") -> "Floats":
    """Of each row; numpy's own takes four times as long on many short rows."""
    import numpy as np

    rows = np.sort(rows, axis=1)
    last = rows.shape[1] - 1
    medians: Floats = (rows[:, last // 2] + rows[:, (last + 1) // 2]) / 2
    return medians


def _ratio(value: float, interval: tuple[float, float] | None) -> Ratio:
    return Ratio(value, *(interval or (None, None)))


@lru_cache(maxsize=10_000)  # tables, figures and verdicts ask for the same
def _geometric_mean_ratio(
    pairs: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...], confidence: float
) -> Ratio:
    import numpy as np

    logs = _logs(pairs)
    value = float(np.exp(np.mean(np.median(logs, axis=1))))
    beyond = tail(logs.shape[1], confidence)
    return _ratio(value, _interval(_resampled(logs), beyond) if beyond else None)


def geometric_mean_ratio(pairs: Pairs, confidence: float = CONFIDENCE) -> Ratio:
    """The geometric mean, over cells, of the median over rounds of ours / theirs.

    All sequences have one value per round, in the order of the rounds: paired() has them so.
    """
    return _geometric_mean_ratio(tuple((tuple(a), tuple(b)) for a, b in pairs), confidence)


def ratio(ours: Sequence[float], theirs: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """The median over rounds of ours / theirs, with its interval."""
    return geometric_mean_ratio([(ours, theirs)], confidence)


def change(before: Pairs, after: Pairs, confidence: float = CONFIDENCE) -> Ratio:
    """What the ratio ours / theirs became between two runs, whose rounds have nothing in common.

    As geometric_mean_ratio: pairs of rates, one pair for each cell.
    """
    import numpy as np

    then, now = _logs(before), _logs(after)
    value = float(np.exp(np.mean(np.median(now, axis=1) - np.median(then, axis=1))))
    beyond = tail(min(then.shape[1], now.shape[1]), confidence)
    if beyond is None:
        return _ratio(value, None)
    return _ratio(value, _interval(_resampled(now, seed=1) - _resampled(then), beyond))


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all had the same, 1/n when one had all."""
    squares = sum(share**2 for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def median(values: Sequence[float]) -> float:
    return float(statistics.median(values))


def rounds_needed(confidence: float = CONFIDENCE) -> int:
    return 2 * least_rounds(both_ends(confidence)) - 1


def both_ends(confidence: float) -> float:
    """An interval whose ends hold at `confidence` each."""
    return 2 * confidence - 1
