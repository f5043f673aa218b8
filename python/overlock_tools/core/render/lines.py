# SPDX-License-Identifier: MIT
"""Plots with a line for each lock over numbers of threads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from overlock_tools.core.analyze.derived import View
from overlock_tools.core.render.canvas import (
    INK,
    LINE,
    SMALL,
    TEXT,
    WIDTH,
    Canvas,
    Frame,
    Style,
    log_axis,
)


@dataclass(frozen=True)
class Line:
    measure: str
    axis: str
    text: Callable[[float], str]
    ranges: bool = True


def lines(view: View, what: Line, frame: Frame | None = None) -> Figure:
    """Both axes logarithmic; the name of each line at its end."""
    canvas = Canvas(view, max(3.4, LINE * len(view.variants) + 0.7), frame)
    right = canvas.label_width + 0.15
    height = canvas.top - canvas.below - 0.65
    axes = canvas.axes(0.62, WIDTH - 0.62 - right, 0.5, height)
    shown: dict[str, list[tuple[int, float]]] = {}
    for variant in sorted(view.variants, key=lambda v: canvas.styles[v].bold):
        points = [(n, v) for n in view.threads if (v := view.height(what.measure, variant, n))]
        if points:
            shown[variant] = points
            _line(canvas, axes, variant, points, what)
    axes.set_xscale("log", base=2)
    axes.set_xticks(view.threads, [str(n) for n in view.threads])
    axes.xaxis.set_minor_locator(NullLocator())
    log_axis(axes.yaxis, _heights(canvas, shown, what), what.text)
    cpus = view.result.cpus
    axes.set_xlabel(f"threads, on {cpus} CPU{'s' if cpus > 1 else ''}", color=INK, size=TEXT)
    axes.set_title(what.axis, color=INK, size=TEXT, loc="left")
    if min(view.threads) <= cpus < max(view.threads):
        axes.axvline(cpus, color=INK, alpha=0.5, linewidth=1, linestyle=(0, (2, 3)))
    _names_at_ends(canvas, axes, shown, height)
    return canvas.figure


def _heights(canvas: Canvas, shown: dict[str, list[tuple[int, float]]], what: Line) -> list[float]:
    """All that is drawn: the points, and the ranges of those that stand out."""
    found = [y for points in shown.values() for _, y in points]
    for variant, points in shown.items():
        if canvas.styles[variant].bold and what.ranges:
            for low, high in _ranges(canvas.view, variant, points, what).values():
                found += [low, high]
    return found


def _ranges(
    view: View, variant: str, points: list[tuple[int, float]], what: Line
) -> dict[int, tuple[float, float]]:
    spreads = {n: view.spread(what.measure, variant, n) for n, _ in points}
    return {n: (s.least, s.most) for n, s in spreads.items() if s and s.least > 0}


def _line(
    canvas: Canvas, axes: Axes, variant: str, points: list[tuple[int, float]], what: Line
) -> None:
    view, style = canvas.view, canvas.styles[variant]
    bounds = [point for point in points if view.bound(variant, point[0])]
    (drawn,) = axes.plot(
        *zip(*points, strict=True),
        color=style.ink,
        linestyle=style.dashes,
        linewidth=2.0 if style.bold else 0.9,
        marker=style.marker if style.bold else "",
        markersize=4.5,
        markevery=[i for i, point in enumerate(points) if point not in bounds],
        zorder=4 if style.bold else 3 if style.role else 2,
    )
    canvas.mark(drawn, variant)
    if style.bold and what.ranges:
        ranges = _ranges(view, variant, points, what)
        lows, highs = zip(*ranges.values(), strict=True) if ranges else ((), ())
        bars = axes.vlines(list(ranges), lows, highs, color=style.ink, linewidth=0.9)
        canvas.mark(bars, variant)
    if bounds:
        canvas.mark(_hollow(axes, bounds, style), variant)


def _hollow(axes: Axes, points: list[tuple[int, float]], style: Style) -> Artist:
    """Of what was cut or given up: its value is a bound, or one observation."""
    (drawn,) = axes.plot(
        *zip(*points, strict=True),
        linestyle="",
        marker=style.marker or "o",
        markersize=7,
        markerfacecolor="none",
        markeredgecolor=style.ink,
    )
    return drawn


def _names_at_ends(
    canvas: Canvas, axes: Axes, shown: dict[str, list[tuple[int, float]]], height: float
) -> None:
    """In the lines' order, moved apart until none hides another, each joined to its line's end."""
    if not shown:
        return
    to_axes = axes.transLimits.transform
    ends = {v: axes.transScale.transform(points[-1]) for v, points in shown.items()}
    places = {variant: float(to_axes(end)[1]) for variant, end in ends.items()}
    ordered = sorted(places, key=places.__getitem__)
    apart = moved_apart([places[v] for v in ordered], LINE / height)
    for variant, y in zip(ordered, apart, strict=True):
        style = canvas.styles[variant]
        x = float(to_axes(ends[variant])[0])
        (leader,) = axes.plot(
            [x, 1.03, 1.06],
            [places[variant], y, y],
            transform=axes.transAxes,
            color=style.ink,
            linewidth=0.5,
            alpha=0.6,
            clip_on=False,
        )
        canvas.mark(leader, variant)
        name = axes.text(
            1.075,
            y,
            canvas.label(variant, shown[variant][-1][0]),
            transform=axes.transAxes,
            va="center_baseline",
            color=style.ink,
            size=SMALL,
            weight="bold" if style.bold and style.role else "normal",
        )
        canvas.mark(name, variant)


def moved_apart(places: Sequence[float], least: float) -> list[float]:
    """Sorted places, moved as little upward and then downward as their distance needs."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + least) if moved else max(place, 0.0))
    ceiling = max(1.0, least * (len(moved) - 1))
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - least
    return moved
