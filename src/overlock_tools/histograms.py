# SPDX-License-Identifier: MIT
"""Distributions of times, kept as HdrHistogram V2 in base64: rounds of them can be added up."""

from collections.abc import Sequence
from typing import Any

# 1 ns to an hour, three significant digits.
LEAST_NS, MOST_NS, DIGITS = 1, 3600 * 10**9, 3


def _empty() -> Any:
    from hdrh.histogram import HdrHistogram

    return HdrHistogram(LEAST_NS, MOST_NS, DIGITS)


def packed(ns: Sequence[float], weights: Sequence[float]) -> str:
    """Each time counts as often as its weight says, at least once; empty if there is none."""
    if not ns:
        return ""
    histogram = _empty()
    for value, weight in zip(ns, weights, strict=True):
        clamped = min(max(round(value), LEAST_NS), MOST_NS)
        histogram.record_value(clamped, max(1, round(weight)))
    return str(histogram.encode(), "ascii")


class Times:
    """The distribution of all of them together."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._histogram = _empty()
        for text in filter(None, texts):
            self._histogram.decode_and_add(text)

    @property
    def count(self) -> int:
        return int(self._histogram.total_count)

    @property
    def most(self) -> float:
        return float(self._histogram.get_max_value())

    def percentile(self, percent: float) -> float:
        """The time that so many percent did not exceed, in ns."""
        return float(self._histogram.get_value_at_percentile(percent))
