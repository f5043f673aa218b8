# SPDX-License-Identifier: MIT
"""A grid of scenarios as one picture: which lock is best where, or how far one is behind."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray

from overlock_tools.core.model import defs
from overlock_tools.core.render import plots
from overlock_tools.core.render.canvas import GREY, INK, LETTER, SERIES, SMALL, WIDTH, Frame, Sheet
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail
from overlock_tools.sim.grid import LIKE_BEST, Grid
from overlock_tools.sim.svg import LEGEND, themed

INCH = 0.12  # height of a row of cells
HEAD, BETWEEN, FOOT = 0.2, 0.12, 0.42
LEGEND_ROW = 0.19
TINY = 6.5
PANELS, ROWS, COLUMNS = 2, 1, 2  # axes of a map: first those of the panels
# How many times faster the best is, and the colours from there to the next.
BEHIND = (1 / LIKE_BEST, 1.5, 2, 5, 10, 100)
RAMP = ("#dbe9e1", "#b9d8c8", "#f1dfae", "#f0b46c", "#e0813f", "#b9441f", "#6b1607")


@dataclass(frozen=True)
class Key:
    """What a colour means."""

    colour: str
    text: str


@dataclass(frozen=True)
class Shape:
    """The axes by what they become: panels beside and below each other, rows and columns."""

    across: list[str]
    down: list[str]
    rows: list[str]
    outer: list[str]  # of the columns, groups
    inner: list[str]
    names: tuple[str, str]  # of the columns' axes


def write(grid: Grid, path: Path, lock: str | None = None) -> None:
    lock = lock and defs.now_called(lock, dict.fromkeys(grid.locks))
    if lock is None:
        title, cells, keys = grid.title, *_best(grid)
    elif lock in grid.locks:
        title, cells, keys = (
            f"how many times faster the best lock is than {lock}",
            *_behind(grid, lock),
        )
    else:
        raise Fail(f"--of {lock}: the grid has {', '.join(grid.locks)}")
    files.write(path, svg(grid, title, cells, keys))


def _best(grid: Grid) -> tuple[NDArray[np.int_], list[Key]]:
    best = grid.best
    names = [*grid.named, None]
    cells = np.array([names.index(lock) for lock in best])
    keys = [
        Key(SERIES[i][0], f"{lock}, {best.count(lock) / len(best):.0%}")
        for i, lock in enumerate(grid.named)
    ]
    if None in best:
        keys.append(Key(SERIES[GREY][0], f"another, {best.count(None) / len(best):.0%}"))
    return cells, keys


def _behind(grid: Grid, lock: str) -> tuple[NDArray[np.int_], list[Key]]:
    with np.errstate(divide="ignore"):
        times = 1 / grid.share[:, grid.locks.index(lock)]
    cells = np.searchsorted(BEHIND, times, side="left")
    words = [f"≤ {bound:.2f}×" if bound < 1.1 else f"≤ {bound:g}×" for bound in BEHIND]
    keys = [
        Key(colour, f"{text}, {(cells == i).mean():.0%}")
        for i, (colour, text) in enumerate(zip(RAMP, [*words, f"> {BEHIND[-1]:g}×"], strict=True))
    ]
    return cells, keys


def shape(axes: dict[str, list[str]]) -> Shape:
    """Up to five axes; a map of fewer has panels, rows or columns of one."""
    if len(axes) > PANELS + ROWS + COLUMNS:
        raise Fail(f"a map has {PANELS + ROWS + COLUMNS} axes at most; this grid has {len(axes)}")
    missing = PANELS + ROWS + COLUMNS - len(axes)
    across, down, rows, outer, inner = [[""]] * missing + list(axes.values())
    *_, first, second = [""] * missing + list(axes)
    return Shape(across, down, rows, outer, inner, (first, second))


def svg(grid: Grid, title: str, cells: NDArray[np.int_], keys: Sequence[Key]) -> str:
    form = shape(grid.axes)
    table = cells.reshape(len(form.across), len(form.down), len(form.rows), -1)
    marks = np.zeros(cells.shape, dtype=bool)
    marks[list(grid.validated.values())] = True
    marks = marks.reshape(table.shape)
    tall = INCH * len(form.rows)
    legend = LEGEND_ROW * math.ceil(len(keys) / 2) + (LEGEND_ROW if grid.validated else 0)
    sheet = Sheet(HEAD + (tall + BETWEEN + HEAD) * len(form.down) + FOOT + legend, Frame(title))
    left = LETTER * max(map(len, form.rows)) * TINY / SMALL + 0.1
    wide = (WIDTH - left - 0.06) / len(form.across) - 0.06
    for x, load in enumerate(form.across):
        from_left = left + (wide + 0.06) * x
        fitting = SMALL * wide / (LETTER * max(1, len(load)))
        sheet.text(from_left, sheet.top - 0.12, load, size=min(TINY + 1, fitting), weight="bold")
        for y, name in enumerate(form.down):
            bottom = FOOT + legend + (tall + BETWEEN + HEAD) * (len(form.down) - 1 - y)
            axes = sheet.axes(from_left, wide, bottom, tall)
            _panel(axes, table[x, y], marks[x, y], form, keys)
            axes.set_yticks([] if x else np.arange(len(form.rows)) + 0.5, [] if x else form.rows)
            axes.set_xlabel(
                " · ".join(filter(None, form.names)) if y == len(form.down) - 1 else "",
                size=TINY,
                color=INK,
                labelpad=1,
            )
            if not x:
                sheet.text(
                    0.08, bottom + sheet.below + tall + 0.04, name, size=TINY + 1, weight="bold"
                )
    _legend(sheet, keys, bool(grid.validated), legend)
    return themed(plots.svg(sheet.figure, title))


def _panel(
    axes: Axes, cells: NDArray[np.int_], marks: NDArray[np.bool_], form: Shape, keys: Sequence[Key]
) -> None:
    for row, line in enumerate(cells):
        runs = [(value, len(list(same))) for value, same in groupby(line.tolist())]
        ends = accumulate(length for _, length in runs)
        spans = [(end - length, length) for end, (_, length) in zip(ends, runs, strict=True)]
        axes.broken_barh(spans, (row, 1), facecolors=[keys[value].colour for value, _ in runs])
    axes.set_xlim(0, cells.shape[1])
    axes.set_ylim(len(cells), 0)
    rows, columns = np.nonzero(marks)
    axes.plot(columns + 0.5, rows + 0.5, "o", color=INK, markersize=2.2)
    axes.grid(False)
    for number in range(1, len(form.outer)):
        axes.axvline(number * len(form.inner), color=INK, linewidth=0.8)
    many = len(form.inner)
    places = [many * number + many / 2 for number in range(len(form.outer))]
    axes.set_xticks(places, form.outer)
    axes.tick_params(length=0, labelsize=TINY, pad=1.5)


def _legend(sheet: Sheet, keys: Sequence[Key], marked: bool, height: float) -> None:
    handles = [Patch(facecolor=key.colour, linewidth=0, label=key.text) for key in keys]
    top = sheet.below + height
    sheet.figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.1 / WIDTH, top / sheet.height),
        **LEGEND,
    )
    if marked:
        sheet.text(0.1, sheet.below + 0.06, "●  measured natively, too")
