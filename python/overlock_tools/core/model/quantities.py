# SPDX-License-Identifier: MIT
"""Quantities as text: rates, times, ratios and counts, in about three significant digits."""

from overlock_tools.core.model.measures import Measure
from overlock_tools.core.model.stats import Ratio

SHARES = ("spinning", "spun", "waiters", "off_cpu", "free")  # measures that are shown in percent


def si(value: float | None) -> str:
    """A rate in three significant digits, with the unit's prefix."""
    if value is None:
        return "·"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor * 0.9995:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "


def plain(value: float | None) -> str:
    """A small number with three digits, a large one as a rate is."""
    if value is None:
        return ""
    return si(value) if value >= 999.5 else f"{value:.3g}"


def duration(ns: float | None) -> str:
    """A time in three significant digits, in the unit that fits."""
    if ns is None:
        return ""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size * 0.9995:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def seconds(value: float) -> str:
    return duration(value * 1e9)


def per_unit(per_million: float) -> str:
    """CPU time per unit of work, of what is kept as seconds per million."""
    return seconds(per_million * 1e-6)


def factor(value: float) -> str:
    """A ratio in about three significant digits, never in powers of ten."""
    if value >= 100:
        digits = max(0, len(str(int(value))) - 3)
        return f"{round(value / 10**digits) * 10**digits:,}"
    if value < 5e-5:
        return "< 0.0001" if value else "0"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.01 else f"{value:.4f}"


def span(low: str, high: str) -> str:
    """`1.2 M – 1.4 M` as `1.2 – 1.4 M`."""
    prefix = low[-1]
    return f"{low[:-1].strip() if prefix == high[-1] else low.strip()} – {high.strip()}"


def ratio_text(ratio: Ratio | None) -> tuple[str, str]:
    if ratio is None:
        return "", ""
    if ratio.low is None or ratio.high is None:
        return f"{factor(ratio.value)}×", ""
    return f"{factor(ratio.value)}×", f"{factor(ratio.low)} – {factor(ratio.high)}"


def shown(measure: Measure, value: float | None) -> str:
    """A measure's value with its unit, as short as it can be read."""
    if value is None:
        return ""
    if measure.name in SHARES:
        return f"{value:.0%}"
    if measure.name == "cpu":  # its heading has the unit
        return plain(value)
    texts = {"ns": duration, "s": seconds, "/s": si}
    if measure.unit in texts:
        return texts[measure.unit](value).strip()
    return f"{value:.2f}" if value < 10 else plain(value).strip()


def count(threads: int) -> str:
    return f"{threads} thread" + ("" if threads == 1 else "s")
