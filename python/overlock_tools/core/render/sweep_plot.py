# SPDX-License-Identifier: MIT
"""The picture of a sweep: rates over the tunable, medians with the range of their rounds."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model import quantities, stats
from overlock_tools.core.model.results import Result
from overlock_tools.core.model.sweep import Sweep
from overlock_tools.core.render.canvas import INK, SERIES, SMALL, WIDTH, Canvas, Frame, log_axis
from overlock_tools.core.system import machine

HEIGHT = 3.6
LEFT, BOTTOM = 0.8, 0.55  # of the axes, in inches
ENTRY = 0.19  # a line of the key


def figure(plan: Sweep, result: Result) -> Figure:
    tunable = plan.tunable
    lines = [
        (lock, variants, threads)
        for lock, variants in plan.series(result).items()
        for threads in result.threads
    ]
    below = [
        f"Medians and ranges over {result.settings['rounds']} rounds. Dotted line: the default.",
        machine.headline(result.machine),
        plan.command(result),
    ]
    frame = Frame(f"{result.title}: {tunable.name}", below)
    key = ENTRY * len(lines)
    canvas = Canvas(View(result), HEIGHT + key, frame)
    axes = canvas.axes(LEFT, WIDTH - LEFT - 0.15, BOTTOM, HEIGHT - BOTTOM - 0.1)
    places = positions(plan.values)
    axes.axvline(places[str(tunable.default)], color=INK, linewidth=1, linestyle=(0, (1, 3)))
    heights: list[float] = []
    for i, (lock, variants, threads) in enumerate(lines):
        rates = {places[plan.parted(v)[1]]: result.rates(v, threads) for v in variants}
        measured = {place: found for place, found in rates.items() if found}
        _line(axes, measured, SERIES[i % len(SERIES)][0], f"{lock}, {threads} threads")
        heights += (rate for found in measured.values() for rate in found if rate > 0)
    ticks = _readable(plan.values)
    axes.set_xticks([places[value] for value in ticks], ticks, rotation=45 if len(ticks) > 8 else 0)
    axes.set_xlabel(f"{tunable.name} ({'ns' if tunable.is_time else tunable.unit})", color=INK)
    axes.set_ylabel(f"{result.unit}/s", color=INK)
    log_axis(axes.yaxis, heights, quantities.si)
    if heights:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, fontsize=SMALL)
    return canvas.figure


def positions(values: Sequence[str]) -> dict[str, float]:
    """Equal ratios are equally far apart; 0 and inf stand a step beyond the others."""
    finite = [math.log2(int(value)) for value in values if value not in ("0", "inf")]
    step = (finite[-1] - finite[0]) / (len(finite) - 1) if len(finite) > 1 else 1.0
    ends = {"0": min(finite, default=0.0) - step, "inf": max(finite, default=0.0) + step}
    return {v: ends[v] if v in ends else math.log2(int(v)) for v in values}


def _readable(values: Sequence[str]) -> Sequence[str]:
    """As many as have room."""
    every = math.ceil(len(values) / 12)
    return values[::every]


def _line(axes: Axes, rates: dict[float, list[float]], ink: str, name: str) -> None:
    medians = [stats.median(found) for found in rates.values()]
    axes.plot(list(rates), medians, color=ink, marker="o", markersize=4, linewidth=1.8, label=name)
    lows, highs = map(min, rates.values()), map(max, rates.values())
    axes.vlines(list(rates), list(lows), list(highs), color=ink, linewidth=0.9)
