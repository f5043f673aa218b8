# SPDX-License-Identifier: MIT
"""A row's picture: the paper's values and ours on one axis, a line for each check.

What answers say may come from elsewhere. It is put into the picture last, escaped: what draws and
tidies the picture sees only names that are made here.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import inf, isfinite, isnan
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from overlock_tools.core.model.paper_settings import CITED
from overlock_tools.core.model.quantities import plain
from overlock_tools.core.render import plots
from overlock_tools.core.render.canvas import INK, SERIES, SMALL, TEXT, WIDTH, Sheet, log_axis
from overlock_tools.core.system.text import printable
from overlock_tools.lab.reproduce.answers import Answer
from overlock_tools.lab.reproduce.rows import RIG_WORDS, RIGS, Row

# For each rig a mark, here and in the key below the picture.
MARKERS = dict(zip(RIGS, "*Pos^vphX", strict=True))
SIGNS = dict(zip(RIGS, "★✚●■▲▼⬟⬢✖", strict=True))
COLOURS = dict(zip(RIGS, (3, 5, 2, 4, 1, 6, 7, 3, 0), strict=True))  # of SERIES
PAPER_SIGN, BOUND_SIGN = "◇", "▒"

LETTERS = 60  # of a line of a label
# Inches: a label's line, a series' marks, what is between lines, and above marks.
LABEL, BAND, GAP, TOP = 0.15, 0.13, 0.14, 0.05
LEFT, RIGHT = 0.22, 0.28  # with room for a value that is off the axis
MOST_LINES = 14  # of a picture: more would not fit a printed page
FAR = 10  # from which ratio on the axis is logarithmic
LEAST, MOST = 1e-15, 1e15  # what is beyond has no place on an axis

NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
STATED = re.compile(rf"(?:about\s+|≈\s*)?({NUMBER})", re.IGNORECASE)
BOUND = re.compile(rf"([<>≤≥])\s*({NUMBER})", re.IGNORECASE)
NAME = re.compile(r"LABEL(\d+)")


def text(value: object) -> str:
    """On one line, without what is no text. It is still to be escaped."""
    return " ".join(printable(str(value)).split())


def number(value: object) -> float | None:
    if isinstance(value, str):
        return inf if value == "inf" else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return inf
    return None if isnan(found) else found


def stated(paper: object) -> float | None:
    """The paper's number, be it an approximate one."""
    if isinstance(paper, str) and (match := STATED.fullmatch(paper.strip())):
        return float(match[1])
    return number(paper)


def bound(paper: object) -> tuple[float, float] | None:
    """From where to where the paper's statement is true, if it is one such as `> 1`."""
    match = BOUND.fullmatch(paper.strip()) if isinstance(paper, str) else None
    if not match:
        return None
    end = float(match[2])
    return (end, inf) if match[1] in ">≥" else (-inf, end)


def entries(answer: Answer) -> list[Mapping[str, Any]]:
    return [one for one in answer.found if isinstance(one, Mapping)]


@dataclass(frozen=True)
class Series:
    """What one rig found on one machine."""

    answer: Answer
    colour: int


@dataclass(frozen=True)
class Point:
    median: float
    least: float
    most: float


@dataclass
class Line:
    what: str
    at: str
    paper: float | None = None
    bound: tuple[float, float] | None = None
    points: dict[int, Point] = field(default_factory=dict)  # by the number of the series

    @property
    def values(self) -> Iterator[float]:
        yield from (self.paper,) if self.paper is not None else ()
        yield from self.bound or ()
        for point in self.points.values():
            yield from (point.least, point.median, point.most)


def of(row: Row, answers: Sequence[Answer]) -> str:
    """Its pictures; none if there is nothing to place on an axis."""
    series = _series(answers)
    lines = _lines(series)
    shown = {value for line in lines for value in (line.paper, *(line.bound or ()))}
    papers = [Line(text(name), "", float(value)) for name, value in row.values.items()]
    if not lines:
        return _picture(row, papers, [], row.axis)
    if any(line.paper in shown for line in papers):
        return _picture(row, lines, series, row.axis)
    return _picture(row, papers, [], row.axis) + _picture(row, lines, series, "")


def _series(answers: Sequence[Answer]) -> list[Series]:
    """A rig has its own colour, wherever it is; a second machine of it, one that is left."""
    numeric = [one for one in answers if any(map(_point, entries(one)))]
    own = {COLOURS[one.rig] for one in numeric}
    left = [i for i in range(len(SERIES)) if i not in own]
    found: list[Series] = []
    for answer in numeric:
        colour = COLOURS[answer.rig]
        if any(one.colour == colour for one in found):
            colour = left.pop(0) if left else colour
        found.append(Series(answer, colour))
    return found


def _point(found: Mapping[str, Any]) -> Point | None:
    median = number(found.get("median"))
    if median is None:
        return None
    least, most = number(found.get("least")), number(found.get("most"))
    return Point(median, median if least is None else least, median if most is None else most)


def _lines(series: Sequence[Series]) -> list[Line]:
    """Each check once, whoever answered it; those of one measure beside each other."""
    lines: dict[tuple[str, str, str, int], Line] = {}
    for i, one in enumerate(series):
        seen: Counter[tuple[str, str, str]] = Counter()
        for found in entries(one.answer):
            paper, point = found.get("paper"), _point(found)
            key = text(found.get("what", "")), text(found.get("at", "")), text(paper)
            seen[key] += 1
            if point:
                fresh = Line(key[0], key[1], stated(paper), bound(paper))
                lines.setdefault((*key, seen[key]), fresh).points[i] = point
    whats = list(dict.fromkeys(line.what for line in lines.values()))
    return sorted(lines.values(), key=lambda line: whats.index(line.what))


# On paper


def _picture(row: Row, lines: Sequence[Line], series: Sequence[Series], axis: str) -> str:
    if not lines:
        return ""
    values = [value for line in lines for value in line.values]
    title = f"{CITED.get(row.paper, row.paper)}, {row.where}: " + (
        "the paper's values and ours" if series else "the paper's values"
    )
    parts = [lines[i : i + MOST_LINES] for i in range(0, len(lines), MOST_LINES)]
    drawn = "".join(
        f"<figure>{_Drawing(part, values, axis, series).svg(title)}"
        f"<figcaption>{_key(row, part, series)}</figcaption></figure>"
        for part in parts
    )
    return f'<div class="plots">{drawn}</div>'


class _Drawing:
    def __init__(
        self, lines: Sequence[Line], values: Iterable[float], axis: str, series: Sequence[Series]
    ) -> None:
        self.series, self.names = series, [axis]
        befores: list[Line | None] = [None, *lines]
        pairs = zip(lines, befores, strict=False)
        labels = [self._wrapped(line, before) for line, before in pairs]
        heights = [self._height(*one) for one in zip(lines, labels, strict=True)]
        height, below = sum(heights), 0.45 if axis else 0.3
        sheet = Sheet(height + below + 0.05)
        self.figure = sheet.figure
        self.axes = sheet.axes(LEFT, WIDTH - LEFT - RIGHT, below, height)
        self.axes.set_ylim(height, 0)
        self.axes.set_yticks([])
        self.axes.spines["left"].set_visible(False)
        if axis:
            self.axes.set_xlabel("LABEL0", color=INK, size=TEXT)
        _scale(self.axes, list(values))
        top = 0.0
        for line, label, its in zip(lines, labels, heights, strict=True):
            self._line(line, label, top)
            top += its

    @staticmethod
    def _wrapped(line: Line, before: Line | None) -> list[str]:
        """What is measured stands only above the first of its points."""
        same = before is not None and before.what == line.what and line.at
        whole = line.at if same else ", ".join(filter(None, (line.what, line.at)))
        return textwrap.wrap(whole, LETTERS, max_lines=3, placeholder=" …")

    @staticmethod
    def _height(line: Line, label: Sequence[str]) -> float:
        return LABEL * len(label) + BAND * max(len(line.points), 1) + GAP

    def _line(self, line: Line, label: Sequence[str], top: float) -> None:
        for words in label:
            top += LABEL
            self._label(words, top)
        bottom = top + TOP + BAND * max(len(line.points), 1)
        self._bound(line, top + TOP, bottom)
        for place, (i, point) in enumerate(line.points.items()):
            self._point(point, self.series[i], top + TOP + BAND * (place + 0.5))
        if line.paper is not None:
            self._mark(line.paper, (top + TOP + bottom) / 2, "D", INK, hollow=True)

    def _label(self, words: str, y: float) -> None:
        """By a name that svg() replaces."""
        self._text(0, y, f"LABEL{len(self.names)}", color=INK, va="bottom")
        self.names.append(words)

    def _bound(self, line: Line, top: float, bottom: float) -> None:
        if not line.bound:
            return
        left, right = (self._placed(end)[0] for end in line.bound)
        self.axes.fill_between([left, right], top, bottom, color=INK, alpha=0.12, linewidth=0)
        end = left if isfinite(line.bound[0]) else right
        self.axes.plot([end, end], [top, bottom], color=INK, linewidth=1.2)

    def _point(self, point: Point, series: Series, y: float) -> None:
        ink = SERIES[series.colour][0]
        ends = [self._placed(end) for end in (point.least, point.most)]
        self.axes.plot([x for x, _ in ends], [y, y], color=ink, linewidth=2.2, alpha=0.75)
        beyond = [end for end in (point.least, point.most) if self._placed(end)[1]]
        for value in (*beyond, point.median):
            self._mark(value, y, MARKERS[series.answer.rig], ink)

    def _mark(self, value: float, y: float, marker: str, ink: str, hollow: bool = False) -> None:
        """An arrow at the edge, for what is beyond it."""
        x, side = self._placed(value)
        look = {"markersize": 5.5, "zorder": 4.0, "markeredgewidth": 0.8}
        if side:
            marker, look["markersize"] = "<>"[side > 0], 6.5
            words = "∞" if value == inf else "0" if value == 0 else ""
            place, ha = (1.02, "left") if side > 0 else (-0.02, "right")
            self._text(place, y, words, color=ink, ha=ha, va="center_baseline")
        elif hollow:
            look = {"markersize": 7.5, "zorder": 5.0, "markeredgewidth": 1.4}
        fill = "none" if hollow and not side else ink
        style: dict[str, Any] = {"color": ink, "markerfacecolor": fill, "marker": marker, **look}
        self.axes.plot([x], [y], linestyle="", clip_on=False, **style)

    def _text(self, x: float, y: float, words: str, **how: Any) -> None:
        """Across the axes from 0 to 1, at a height of the picture."""
        across = self.axes.get_yaxis_transform()
        self.axes.text(x, y, words, transform=across, size=SMALL, **how)

    def _placed(self, value: float) -> tuple[float, int]:
        """Where on the axis, and whether it is beyond its left (-1) or right (1) end."""
        low, high = self.axes.get_xlim()
        return (low, -1) if value < low else (high, 1) if value > high else (value, 0)

    def svg(self, title: str) -> str:
        drawn = plots.svg(self.figure, title)
        return NAME.sub(lambda found: escape(self.names[int(found[1])]), drawn)


def _scale(axes: Axes, values: Sequence[float]) -> None:
    finite = [value for value in values if LEAST <= abs(value) <= MOST] or [1.0]
    least, most = min(finite), max(finite)
    if least > 0 and most > FAR * least:
        log_axis(axes.xaxis, finite, lambda value: plain(value).strip())
        return
    if 0 in values or least <= 0 or least == most:
        least = min(least, 0.0)
    margin = max(0.06 * (most - least), 0.02 * max(abs(most), abs(least)))
    axes.set_xlim(least - margin if least else 0.0, most + margin)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(float(value))))
    axes.locator_params(axis="x", nbins=5)


def _tick(value: float) -> str:
    return plain(value).strip() if abs(value) >= 1e4 else f"{value:,.4g}"


# Below it


def _key(row: Row, lines: Sequence[Line], series: Sequence[Series]) -> str:
    paper = escape(CITED.get(row.paper, row.paper))
    items = []
    if any(line.paper is not None for line in lines):
        items.append(f"{PAPER_SIGN} {paper}")
    if any(line.bound for line in lines):
        items.append(f"{BOUND_SIGN} what {paper} states")
    for i, one in enumerate(series):
        if any(i in line.points for line in lines):
            sign = f'<span class="sign" style="color:var(--series-{one.colour})">'
            items.append(f"{sign}{SIGNS[one.answer.rig]}</span> {escape(_named(one, series))}")
    if any(p.least != p.most for line in lines for p in line.points.values()):
        items.append("mark: median; bar: least to most")
    return f'<ul class="key">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _named(one: Series, series: Sequence[Series]) -> str:
    several = len({text(each.answer.machine) for each in series}) > 1
    where = f", {text(one.answer.machine)}" if several else ""
    meets = "" if one.answer.meets else " (not in the paper's condition)"
    return f"{RIG_WORDS[one.answer.rig]}{where}{meets}"
