# SPDX-License-Identifier: MIT
"""The picture of random loads: all ratios, sorted, a line for each number of CPUs."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from overlock_tools.core.analyze import random_loads
from overlock_tools.core.analyze.random_loads import AS_GOOD, Document
from overlock_tools.core.model.quantities import factor
from overlock_tools.core.render import plots
from overlock_tools.core.render.canvas import (
    GREY,
    INK,
    SERIES,
    SMALL,
    WIDTH,
    Frame,
    Sheet,
    log_axis,
)
from overlock_tools.core.system import files

HEIGHT = 3.4
LEFT, BOTTOM = 0.8, 0.55  # of the axes, in inches
ENTRY = 0.19  # a line of the key
LEAST = 0.01  # what is below is drawn there


def write(document: Document, picture: Path) -> None:
    files.write(picture, plots.picture(figure(document), picture.suffix[1:]))


def figure(document: Document) -> Figure:
    groups = random_loads.by_cpus(document.loads)
    below = [
        f"Each line: the ratios of its loads, sorted. Grey: {document.ours} beside itself. "
        f"Dotted: {AS_GOOD} of the best other lock.",
        document.machine,
        document.command,
    ]
    title = f"{document.ours} ÷ the best other lock of each random load"
    key = ENTRY * len(groups)
    sheet = Sheet(HEIGHT + key, Frame(title, below))
    axes = sheet.axes(LEFT, WIDTH - LEFT - 0.15, BOTTOM, HEIGHT - BOTTOM - 0.1)
    drawn: list[float] = [1.0]
    for i, (cpus, loads) in enumerate(groups.items()):
        ink = SERIES[i % GREY][0]
        again = [load.again for load in loads if load.again is not None]
        drawn += _line(axes, again, SERIES[GREY][0], 1.0)
        drawn += _line(
            axes, [load.ratio for load in loads], ink, 1.8, f"{cpus} CPUs, {len(loads)} loads"
        )
    axes.axhline(1.0, color=INK, linewidth=0.8)
    axes.axhline(AS_GOOD, color=INK, linewidth=1, linestyle=(0, (1, 3)))
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the loads (%)", color=INK)
    axes.set_ylabel("rate ÷ the best other lock's", color=INK)
    log_axis(axes.yaxis, drawn, factor)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, fontsize=SMALL)
    return sheet.figure


def _line(
    axes: Axes, ratios: Sequence[float], ink: str, width: float, name: str = ""
) -> list[float]:
    """Each load has the same share of the axis; what was drawn."""
    heights = sorted(max(ratio, LEAST) for ratio in ratios)
    shares = [100 * (i + 0.5) / len(heights) for i in range(len(heights))]
    marker = "o" if len(heights) <= 50 else ""
    axes.plot(
        shares, heights, color=ink, linewidth=width, marker=marker, markersize=2.5, label=name
    )
    return heights
