# SPDX-License-Identifier: MIT
"""Rao & Dunlap's statistics: text as ministat prints it, by Student's t with pooled variances.

Each data set is compared with the first. Unlike ours (stats.py) this knows nothing of rounds, and
takes the values as normal and their variances as equal. Two things differ from the tool: a median
is the mean of the middle two if their number is even, where the tool takes the upper one; and
99.5 % is 99.5 %, where the tool's table has the t of 99.8 %.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import atan2, cos, inf, pi, sin, sqrt, tan

from overlock_tools.core.model import quantities
from overlock_tools.core.model.results import Result
from overlock_tools.core.system.errors import Fail

CONFIDENCES = (80.0, 90.0, 95.0, 98.0, 99.0, 99.5)  # the tool's own
LEAST_VALUES = 3
SYMBOLS = "x+*%#@O"
WIDTH = 74


def _within(angle: float, freedom: int) -> float:
    """How much of Student's distribution lies within t = sqrt(freedom) * tan(angle) of 0.

    The finite series for whole degrees of freedom: Abramowitz and Stegun 26.7.3, 26.7.4.
    """
    odd = freedom % 2
    term = cos(angle) if odd else 1.0
    terms = 0.0 if freedom == 1 else term
    for k in range(2 + odd, freedom - 1, 2):
        term *= (k - 1) / k * cos(angle) ** 2
        terms += term
    return 2 / pi * (angle + sin(angle) * terms) if odd else sin(angle) * terms


@cache
def student_t(confidence: float, freedom: int) -> float:
    """The t that so many percent of the distribution lie within, on both sides of 0."""
    low, high = 0.0, atan2(1, 0)
    for _ in range(60):  # halves until a double has no more digits
        middle = (low + high) / 2
        if _within(middle, freedom) < confidence / 100:
            low = middle
        else:
            high = middle
    return sqrt(freedom) * tan(low)


@dataclass(frozen=True)
class Difference:
    absolute: float
    error: float  # plus or minus, at `confidence`
    relative: float  # both in percent of the first data set's average
    relative_error: float
    pooled: float  # standard deviation
    confidence: float

    @property
    def proven(self) -> bool:
        return abs(self.absolute) > self.error

    def lines(self) -> Iterator[str]:
        if not self.proven:
            yield f"No difference proven at {self.confidence:.1f}% confidence"
            return
        yield f"Difference at {self.confidence:.1f}% confidence"
        yield f"\t{self.absolute:g} +/- {self.error:g}"
        yield f"\t{self.relative:g}% +/- {self.relative_error:g}%"
        yield f"\t(Student's t, pooled s = {self.pooled:g})"


def difference(
    first: Sequence[float], second: Sequence[float], confidence: float = 95.0
) -> Difference:
    """How much greater the second's average is."""
    freedom = len(first) + len(second) - 2
    squares = sum((len(x) - 1) * statistics.variance(x) for x in (first, second))
    pooled = sqrt(squares / freedom)
    average = statistics.fmean(first)
    absolute = statistics.fmean(second) - average
    error = student_t(confidence, freedom) * pooled * sqrt(1 / len(first) + 1 / len(second))
    percent = 100 / average if average else inf
    return Difference(absolute, error, absolute * percent, error * abs(percent), pooled, confidence)


def text(sets: Mapping[str, Sequence[float]], confidence: float = 95.0) -> str:
    """Legend, plot, figures; after each data set but the first, whether it differs from it."""
    _check(sets)
    named = list(zip(SYMBOLS, sets, strict=False))
    lines = [f"{symbol} {name}" for symbol, name in named]
    lines += _plot({symbol: sets[name] for symbol, name in named})
    columns = ("N", "Min", "Max", "Median", "Avg", "Stddev")
    lines.append(" " + f"{columns[0]:>4}" + "".join(f"{column:>14}" for column in columns[1:]))
    first = sets[named[0][1]]
    for symbol, name in named:
        values = sets[name]
        figures = (
            min(values),
            max(values),
            statistics.median(values),
            statistics.fmean(values),
            statistics.stdev(values),
        )
        lines.append(f"{symbol}{len(values):>4}" + "".join(f"{x:>14.8g}" for x in figures))
        if values is not first:
            lines += difference(first, values, confidence).lines()
    return "\n".join(lines) + "\n"


def _check(sets: Mapping[str, Sequence[float]]) -> None:
    if len(sets) > len(SYMBOLS):
        raise Fail(f"{len(sets)} data sets; give at most {len(SYMBOLS)}")
    for name, values in sets.items():
        if len(values) < LEAST_VALUES:
            raise Fail(
                f"{name} has {len(values)} values, but a comparison needs {LEAST_VALUES}; "
                "measure more rounds"
            )


def _plot(sets: Mapping[str, Sequence[float]]) -> list[str]:
    """Every value as its set's symbol, stacked; below, average, median and standard deviation."""
    low = min(min(values) for values in sets.values())
    span = max(max(values) for values in sets.values()) - low or 1.0

    def column(value: float) -> int:
        return min(max(round((value - low) / span * (WIDTH - 1)), 0), WIDTH - 1)

    stacks: list[list[str]] = [[] for _ in range(WIDTH)]
    for symbol, values in sets.items():
        for value in values:
            stacks[column(value)].append(symbol)
    tallest = max(map(len, stacks))
    rows = [
        "".join(stack[height] if height < len(stack) else " " for stack in stacks)
        for height in reversed(range(tallest))
    ]
    for values in sets.values():
        average, spread = statistics.fmean(values), statistics.stdev(values)
        row = [" "] * WIDTH
        left, right = column(average - spread), column(average + spread)
        row[left : right + 1] = "_" * (right + 1 - left)
        row[left] = row[right] = "|"
        row[column(statistics.median(values))] = "M"
        row[column(average)] = "A"
        rows.append("".join(row))
    border = f"+{'-' * WIDTH}+"
    return [border, *(f"|{row}|" for row in rows), border]


def compared(result: Result) -> Iterator[str]:
    """Each lock and the baseline, as Rao & Dunlap 2012 compare them."""
    for n in result.threads:
        base = result.rates(result.baseline, n)
        for variant in result.variants:
            ours = result.rates(variant, n)
            if variant != result.baseline and min(len(ours), len(base)) >= LEAST_VALUES:
                where = result.worded(quantities.count(n))
                sets = {f"{result.baseline}, {where}": base, variant: ours}
                yield text(sets)
