# SPDX-License-Identifier: MIT
"""Distributions of times, kept as HdrHistogram V2 in base64: rounds of them can be added up."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from overlock_tools.core.system.errors import Fail

# 1 ns to an hour, three significant digits.
LEAST_NS, MOST_NS, DIGITS = 1, 3600 * 10**9, 3


def _empty() -> Any:
    from hdrh.histogram import HdrHistogram

    return HdrHistogram(LEAST_NS, MOST_NS, DIGITS)


def _add(histogram: Any, text: str) -> None:
    """What packed() made; the library trusts the sizes that the text begins with."""
    from hdrh.codec import HdrHistogramEncoder
    from hdrh.histogram import HdrHistogram

    try:
        decoded = HdrHistogramEncoder.decode(text.encode())
        if _range_of(decoded.payload) != (LEAST_NS, MOST_NS, DIGITS):
            raise ValueError("another range")
        histogram.add(HdrHistogram(LEAST_NS, MOST_NS, DIGITS, hdr_payload=decoded))
    except Exception as error:  # the library has many kinds, with no base of their own
        raise Fail("the result's distributions of times are damaged; measure again") from error


def _range_of(head: Any) -> tuple[int, int, int]:
    return head.lowest_trackable_value, head.highest_trackable_value, head.significant_figures


def packed(ns: Sequence[float], weights: Sequence[float]) -> str:
    """Each time counts as often as its weight says, at least once; empty if there is none."""
    if not ns:
        return ""
    histogram = _empty()
    for value, weight in zip(ns, weights, strict=True):
        clamped = min(max(round(value), LEAST_NS), MOST_NS)
        histogram.record_value(clamped, max(1, round(weight)))
    return str(histogram.encode(), "ascii")


PERCENTS = (50, 90, 99, 99.9, 99.99, 100)


@dataclass(frozen=True)
class _Summary:
    count: int
    at: dict[float, float]  # ns, by percent


@lru_cache(maxsize=50_000)  # tables, figures and verdicts ask for the same; a sum has 270 KB
def _summary(texts: tuple[str, ...]) -> _Summary:
    import numpy as np

    histogram = _empty()
    for text in texts:
        _add(histogram, text)
    # The library's own look-up is a loop over all its counts in Python: 400 times as slow.
    summed = np.cumsum(np.ctypeslib.as_array(histogram.counts))
    at = {}
    for percent in PERCENTS:
        wanted = histogram.get_target_count_at_percentile(percent)
        value = histogram.get_value_from_index(int(np.searchsorted(summed, wanted)))
        at[percent] = float(histogram.get_highest_equivalent_value(value))
    return _Summary(int(histogram.total_count), at)


class Times:
    """The distribution of all of them together."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(filter(None, texts))

    @property
    def count(self) -> int:
        return _summary(self._texts).count if self._texts else 0

    @property
    def spread(self) -> list[tuple[float, int]]:
        """Times that occurred, in ns, each with how often."""
        import numpy as np

        histogram = _empty()
        for text in self._texts:
            _add(histogram, text)
        counts = np.ctypeslib.as_array(histogram.counts)
        return [
            (float(histogram.get_value_from_index(int(place))), int(counts[place]))
            for place in np.flatnonzero(counts)
        ]

    @property
    def mean(self) -> float:
        return sum(ns * times for ns, times in self.spread) / self.count

    def share_above(self, ns: float) -> float:
        return sum(times for each, times in self.spread if each > ns) / self.count

    def percentile(self, percent: float) -> float:
        """The time that so many percent of PERCENTS did not exceed, in ns."""
        return _summary(self._texts).at[percent]
