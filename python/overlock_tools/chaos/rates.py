# SPDX-License-Identifier: MIT
"""How often something fails, and within what bounds."""

from math import exp, lgamma, log, log1p

CONFIDENCE = 0.95


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def at_most(k: int, n: int, p: float) -> float:
    """The chance of at most `k` of `n`, each with chance `p`."""
    if p <= 0:
        return 1.0
    if p >= 1:
        return float(k >= n)
    terms = (exp(_log_choose(n, i) + i * log(p) + (n - i) * log1p(-p)) for i in range(k + 1))
    return min(1.0, sum(terms))


def _where(target: float, k: int, n: int) -> float:
    """The chance at which at most `k` of `n` has the chance `target`, which falls with it."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(k, n, middle) > target else (low, middle)
    return (low + high) / 2


def interval(k: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Clopper and Pearson's: never too narrow."""
    tail = (1 - confidence) / 2
    low = _where(1 - tail, k - 1, n) if k else 0.0
    high = _where(tail, k, n) if k < n else 1.0
    return low, high


def shown(k: int, n: int) -> str:
    low, high = interval(k, n)
    return f"{k} of {n} ({low:.0%} – {high:.0%})"
