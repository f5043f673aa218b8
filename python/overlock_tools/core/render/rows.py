# SPDX-License-Identifier: MIT
"""Plots with a row for each lock, at one number of threads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from overlock_tools.core.analyze.derived import View
from overlock_tools.core.render.canvas import INK, ROW, SMALL, TEXT, WIDTH, Canvas, Frame, log_axis


@dataclass(frozen=True)
class Dots:
    """One kind of mark in all rows."""

    name: str  # for the key
    marker: str
    values: dict[str, float]
    filled: bool = True


@dataclass(frozen=True)
class Panel:
    axis: str
    text: Callable[[float], str]
    dots: Sequence[Dots]
    bars: dict[str, tuple[float, float]] = field(default_factory=dict)  # from, to
    log: bool = False
    limits: tuple[float, float] | None = None
    line: float | None = None  # across all rows, as a ratio of 1

    @property
    def values(self) -> list[float]:
        dots = [value for dots in self.dots for value in dots.values.values()]
        return [*dots, *(end for bar in self.bars.values() for end in bar)]


def rows(
    view: View, order: Sequence[str], panels: Sequence[Panel], frame: Frame | None = None
) -> Figure:
    """The first of `order` on top."""
    keyed = any(len(panel.dots) > 1 for panel in panels)
    canvas = Canvas(view, ROW * len(order) + 0.62 + 0.22 * keyed, frame)
    height = ROW * len(order) + 0.08
    gap = 0.5  # for half a label of each of two axes
    left = canvas.label_width + 0.05
    width = (WIDTH - left - 0.2 - gap * (len(panels) - 1)) / len(panels)
    for i, panel in enumerate(panels):
        axes = canvas.axes(left + i * (width + gap), width, 0.5, height)
        _panel(canvas, axes, panel, order)
        if len(panels) > 1 and panel.log:
            axes.xaxis.set_major_locator(LogLocator(numticks=3))
        axes.set_yticks([])
        axes.set_xlabel(panel.axis, color=INK, size=TEXT)
        if keyed:
            _key(axes, panel.dots)
        if not i:
            _row_names(canvas, axes, order, width)
    return canvas.figure


def _row_names(canvas: Canvas, axes: Axes, order: Sequence[str], width: float) -> None:
    for y, variant in enumerate(reversed(order)):
        style = canvas.styles[variant]
        name = axes.text(
            -0.08 / width,
            y,
            canvas.label(variant, canvas.view.at),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center_baseline",
            color=style.ink,
            size=SMALL,
            weight="bold" if style.bold and style.role else "normal",
        )
        canvas.mark(name, variant)


def _panel(canvas: Canvas, axes: Axes, panel: Panel, order: Sequence[str]) -> None:
    positive = [value for value in panel.values if value > 0]
    least = min(positive, default=1.0) if panel.log else -float("inf")
    for y, variant in enumerate(reversed(order)):
        style = canvas.styles[variant]
        if variant in panel.bars:
            low, high = (max(end, least) for end in panel.bars[variant])
            (bar,) = axes.plot(
                [low, high],
                [y, y],
                color=style.ink,
                linewidth=2.2 if style.bold else 1.3,
                solid_capstyle="butt",
                alpha=0.75,
            )
            canvas.mark(bar, variant)
        for dots in panel.dots:
            if variant in dots.values:
                full = dots.filled and not canvas.view.bound(variant, canvas.view.at)
                (dot,) = axes.plot(
                    [max(dots.values[variant], least)],
                    [y],
                    linestyle="",
                    marker=dots.marker,
                    markersize=5,
                    color=style.ink,
                    markerfacecolor=style.ink if full else "none",
                    clip_on=False,
                )
                canvas.mark(dot, variant)
    axes.set_ylim(-0.6, len(order) - 0.4)
    if panel.line is not None:
        axes.axvline(panel.line, color=INK, alpha=0.6, linewidth=1)
    if panel.log and positive:
        log_axis(axes.xaxis, positive, panel.text)
        return
    axes.set_xlim(panel.limits or (0, 1.05 * max(positive, default=1.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: panel.text(float(value))))
    axes.locator_params(axis="x", nbins=4)


def _key(axes: Axes, kinds: Sequence[Dots]) -> None:
    handles = [
        mpl.lines.Line2D(
            [],
            [],
            linestyle="",
            marker=dots.marker,
            markersize=5,
            color=INK,
            markerfacecolor=INK if dots.filled else "none",
        )
        for dots in kinds
    ]
    axes.legend(
        handles,
        [dots.name for dots in kinds],
        loc="lower right",
        bbox_to_anchor=(1.03, 1.0),
        ncols=len(kinds),
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handletextpad=0.1,
        columnspacing=0.9,
        borderaxespad=0,
        borderpad=0.1,
    )
