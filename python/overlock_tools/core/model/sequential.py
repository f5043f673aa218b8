# SPDX-License-Identifier: MIT
"""Rounds that stop when the question is decided: a sign test that one may look at after each round.

Whoever looks at an ordinary interval after each round, and stops when it suits, is wrong more often
than the interval says. So a bet is placed on each round: that its value lies on the claimed side of
a bound. If the median does not lie there, the bets gain nothing on average, and the capital ever
grows to 1 / alpha with a chance of alpha at most (Ville's inequality). Nothing is assumed but that
the rounds are alike. Six rounds on one side decide; five do not.
"""

from collections.abc import Sequence
from math import inf

ALPHA = 0.05  # of each bound: the chance that what is decided is wrong
STAKES = (0.5, 0.9)  # parts of the capital that are bet, half of it in each way
MOST_ROUNDS = 40  # a median that is not decided by then is too near to its bound


def surely_above(
    values: Sequence[float], bound: float, alpha: float = ALPHA, on_it: int = 0
) -> bool:
    """Whether the median of all rounds that might be is above it; rounds in the order they came.

    A round on the bound tells nothing; with on_it = 1 it is for the claim, which is then that the
    median is not below the bound; with -1 it is against it.
    """
    if bound == -inf:
        return True
    capital = [1.0 / len(STAKES)] * len(STAKES)
    for value in values:
        won = on_it if value == bound else 1 if value > bound else -1
        capital = [had * (1 + won * stake) for had, stake in zip(capital, STAKES, strict=True)]
        if sum(capital) >= 1 / alpha:
            return True
    return False


def surely_below(
    values: Sequence[float], bound: float, alpha: float = ALPHA, on_it: int = 0
) -> bool:
    return surely_above([-value for value in values], -bound, alpha, on_it)


def within(values: Sequence[float], low: float, high: float, alpha: float = ALPHA) -> bool | None:
    """Whether the median lies between them, or on one of them; None: not decided."""
    if surely_below(values, low, alpha, -1) or surely_above(values, high, alpha, -1):
        return False
    inside = low <= 0 or surely_above(values, low, alpha, 1)
    return True if inside and surely_below(values, high, alpha, 1) else None
