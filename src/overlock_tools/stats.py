# SPDX-License-Identifier: MIT
"""Medians, ratios and their bootstrap intervals.

The unit that is resampled is the round: all contenders of a round ran within seconds of each other,
so what the host did to one it did to all, and a ratio within rounds is steadier than its parts.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it takes as long to import as a command to answer
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

RESAMPLES = 10_000
CONFIDENCE = 0.95
LEAST_ROUNDS = 3  # below this an interval would only look like one


@dataclass(frozen=True)
class Ratio:
    value: float
    low: float | None  # None: too few rounds to say
    high: float | None

    @property
    def above_one(self) -> bool:
        return self.low is not None and self.low > 1

    @property
    def below_one(self) -> bool:
        return self.high is not None and self.high < 1


def resample(rounds: int) -> "npt.NDArray[np.intp]":
    """Indices of rounds, one row per resample; the same every time, so a result can be redone."""
    import numpy as np

    return np.random.default_rng(0).integers(0, rounds, (RESAMPLES, rounds), dtype=np.intp)


def geometric_mean_ratio(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Ratio:
    """The geometric mean, over cells, of median(ours) / median(theirs).

    All sequences have one value per round, in the order of the rounds.
    """
    import numpy as np

    ours = np.array([pair[0] for pair in pairs], dtype=np.float64)
    theirs = np.array([pair[1] for pair in pairs], dtype=np.float64)
    value = _mean_of_ratios(np.median(ours, axis=1), np.median(theirs, axis=1))
    rounds = ours.shape[1]
    if rounds < LEAST_ROUNDS:
        return Ratio(float(value), None, None)
    drawn = resample(rounds)
    means = _mean_of_ratios(np.median(ours[:, drawn], axis=2), np.median(theirs[:, drawn], axis=2))
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Ratio(float(value), float(low), float(high))


def _mean_of_ratios(ours: "Floats", theirs: "Floats") -> "Floats":
    """Along the first axis. A lock that never got anywhere has ratio 0, not a division by 0."""
    import numpy as np

    least = 1e-100
    logs = np.log(np.maximum(ours, least)) - np.log(np.maximum(theirs, least))
    mean: Floats = np.exp(np.mean(logs, axis=0))
    return mean


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """median(ours) / median(theirs) with its interval."""
    return geometric_mean_ratio([(ours, theirs)])


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all had the same, 1/n when one had all."""
    squares = sum(share**2 for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def median(values: Sequence[float]) -> float:
    return float(statistics.median(values))
