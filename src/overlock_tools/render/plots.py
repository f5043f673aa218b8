# SPDX-License-Identifier: MIT
"""Drawings of results: as SVG for the report, in colours that its style sheet sets, and as PNG.

Up to eight series have a colour each. Of more nobody can tell the lines apart: then the best lock,
the best peer, the baseline and the collapsed have one, the others are thin and grey, and every line
has its name at its end.
"""

import io
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from overlock_tools.analyze.derived import View
from overlock_tools.model.histograms import Times
from overlock_tools.model.quantities import duration, per_unit, seconds, si

# Okabe and Ito's colours, which the colour-blind can tell apart, darkened until text can be read in
# them on white, lightened until it can on black; and a grey. (light, dark)
SERIES = (
    ("#b34700", "#ff8b3d"),
    ("#0069a8", "#5db8f5"),
    ("#007a57", "#2fd0a2"),
    ("#a3478a", "#eb9ccd"),
    ("#856200", "#e8b800"),
    ("#3f4aa8", "#9fa8ff"),
    ("#8c4a2f", "#d39b80"),
    ("#666b70", "#9aa4af"),
)
GREY = len(SERIES) - 1
INK = "#1b1f24"
MARKERS = "osD^vPX*"
COLLAPSED_SIGN = "▼"

# Inches. So narrow that text is still readable when a phone shows it at 360 pixels.
WIDTH = 5.2
LETTER = 0.078  # width of one of the small labels, at most
MOST_LETTERS = 40  # of a name
ROW = 0.2
LINE = 0.155  # from one label to the next, where they are closest
SMALL, TEXT = 9, 10


@dataclass(frozen=True)
class Style:
    """How one variant is drawn wherever it appears."""

    colour: int  # index of SERIES
    marker: str
    dashed: bool  # peers, so that they are not told by colour alone
    bold: bool
    role: str = ""  # why it stands out

    @property
    def ink(self) -> str:
        return SERIES[self.colour][0]

    @property
    def dashes(self) -> tuple[int, tuple[float, ...]]:
        return (0, (4, 2)) if self.dashed else (0, ())


def styles(view: View) -> dict[str, Style]:
    return _own_colours(view) if len(view.variants) <= len(SERIES) else _by_role(view)


def _own_colours(view: View) -> dict[str, Style]:
    """The baseline of a program comes last, so that a lock looks alike in all results of a page."""
    peers, baseline = view.result.peers, view.result.baseline
    ordered = sorted(view.variants, key=lambda v: v == baseline and v in peers)
    return {
        v: Style(i, MARKERS[i], v in peers, bold=True, role="baseline" if v == baseline else "")
        for i, v in enumerate(ordered)
    }


def _by_role(view: View) -> dict[str, Style]:
    peers = view.result.peers
    found = {v: Style(GREY, "", v in peers, bold=False) for v in view.variants}
    for variant in view.fallen:
        found[variant] = Style(0, "v", variant in peers, bold=False, role="collapsed")
    for chosen, colour, marker, role in (
        (view.result.baseline, 5, "s", "baseline"),
        (view.best_peer, 1, "D", "best peer"),
        (view.best_lock, 2, "o", "best lock"),
    ):
        if chosen in found:
            found[chosen] = Style(colour, marker, chosen in peers, bold=True, role=role)
    return found


@dataclass(frozen=True)
class Frame:
    """What a figure that stands alone has around it."""

    title: str
    below: Sequence[str] = ()

    @cached_property
    def lines(self) -> list[str]:
        return [line for text in self.below for line in textwrap.wrap(text, 70)]

    @property
    def top(self) -> float:
        return 0.4

    @property
    def bottom(self) -> float:
        return 0.16 * len(self.lines) + 0.15


class Canvas:
    """A figure whose margins are known in inches: no layout has to be searched for."""

    def __init__(self, view: View, height: float, frame: Frame | None) -> None:
        mpl.rcParams.update(
            {
                "font.size": TEXT,
                "svg.fonttype": "none",  # text stays text
                "svg.hashsalt": "overlock",  # the same figure is the same file
                "text.parse_math": False,  # a dollar is a dollar
            }
        )
        self.view, self.frame = view, frame
        self.styles = styles(view)
        self.below = frame.bottom if frame else 0.0
        self.height = height + self.below + (frame.top if frame else 0.0)
        self.top = height + self.below
        self.figure = Figure(figsize=(WIDTH, self.height))
        self.figure.patch.set_alpha(0)
        if frame:
            self._framed(frame)

    def _framed(self, frame: Frame) -> None:
        title = "\n".join(textwrap.wrap(frame.title, 60))
        self.text(0.08, self.height - 0.1, title, size=11, weight="bold", va="top")
        for i, line in enumerate(frame.lines):
            self.text(0.08, self.below - 0.08 - 0.16 * i, line, size=SMALL, va="top")

    def text(self, x: float, y: float, text: str, **how: object) -> Artist:
        """At inches from the lower left."""
        options = {"color": INK, "size": SMALL, **how}
        return self.figure.text(x / WIDTH, y / self.height, text, **options)  # type: ignore[arg-type]

    def axes(self, left: float, width: float, bottom: float, height: float) -> Axes:
        """A plot at inches from the left and above what the frame has below."""
        place = (
            left / WIDTH,
            (bottom + self.below) / self.height,
            width / WIDTH,
            height / self.height,
        )
        axes = self.figure.add_axes(place)
        axes.patch.set_alpha(0)
        axes.tick_params(colors=INK, which="both", labelsize=SMALL, length=3)
        for name, spine in axes.spines.items():
            spine.set_visible(name in ("left", "bottom"))
            spine.set_color(INK)
            spine.set_linewidth(0.7)
        axes.grid(True, color=INK, alpha=0.13, linewidth=0.6)
        axes.set_axisbelow(True)
        return axes

    def mark(self, artist: Artist, variant: str) -> None:
        """Lets the page find it: a lock that is picked stands out in all figures."""
        artist.set_gid(f"s:{variant}")

    def label(self, variant: str, threads: int) -> str:
        fallen = threads in self.view.collapsed.get(variant, [])
        return f"{_cut(variant)} {COLLAPSED_SIGN}" if fallen else _cut(variant)

    @cached_property
    def label_width(self) -> float:
        return LETTER * max(len(_cut(variant)) for variant in self.view.variants) + 0.2


def _cut(name: str) -> str:
    """As long as leaves room for the plot beside it."""
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"


SHARES = (0, 1.02)  # an axis of them

# Lines over numbers of threads


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


def log_axis(axis: Axis, values: Sequence[float], text: Callable[[float], str]) -> None:
    """A logarithmic axis with several labels, however few decades there are."""
    axes = axis.axes
    low, high = min(values, default=1.0), max(values, default=10.0)
    margin = max((high / low) ** 0.04, 1.15)
    if axis is axes.xaxis:
        axes.set_xscale("log")
        axes.set_xlim(low / margin, high * margin)
    else:
        axes.set_yscale("log")
        axes.set_ylim(low / margin, high * margin)
    decades = high / low
    steps = (1.0,) if decades >= 50 else (1.0, 2.0, 5.0) if decades > 3 else (1, 1.5, 2, 3, 5, 7)
    axis.set_major_locator(LogLocator(subs=steps, numticks=5 if axis is axes.xaxis else 7))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(float(value)).strip()))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(NullLocator())


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


# Rows: one lock each


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
    gap = 0.25
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


def _sorted(values: dict[str, float], largest: bool = False) -> list[str]:
    return sorted(values, key=values.__getitem__, reverse=largest)


# The figures


def rates(view: View, frame: Frame | None = None) -> Figure:
    return lines(view, Line("rate", f"{view.result.unit} per second", si), frame)


def gaps(view: View, frame: Frame | None = None) -> Figure:
    axis = "longest time between acquisitions of a thread"
    return lines(view, Line("gap", axis, duration), frame)


def ratios(view: View, frame: Frame | None = None) -> Figure:
    """To the baseline, with the interval, the best on top."""
    base = view.result.baseline
    found = {v: r for v in view.variants if (r := view.ratio(v, base, view.judged))}
    values = {variant: ratio.value for variant, ratio in found.items()}
    bars = {v: (r.low, r.high) for v, r in found.items() if r.low is not None and r.high}
    wide = max(values.values(), default=1) > 10 * min(values.values(), default=1)
    panel = Panel(
        f"rate relative to {base}",
        lambda value: f"{si(value).strip()}×",
        [Dots("", "o", values)],
        bars,
        log=wide,
        line=1.0,
    )
    return rows(view, _sorted(values, largest=True), [panel], frame)


def values_at(view: View, measure: str) -> dict[str, float]:
    found = {v: view.value(measure, v, view.at) for v in view.variants}
    return {variant: value for variant, value in found.items() if value is not None}


def latency(view: View, frame: Frame | None = None) -> Figure:
    low, high = values_at(view, "p50"), values_at(view, "max")
    dots = [
        Dots("p50", "o", low),
        Dots("p99", "|", values_at(view, "p99")),
        Dots("p99.99", "^", values_at(view, "p99.99")),
        Dots("max", "s", high, filled=False),
        Dots("longest gap", "D", values_at(view, "gap"), filled=False),
    ]
    bars = {variant: (low[variant], high[variant]) for variant in low}
    panel = Panel(f"waiting to acquire, {view.at} threads", duration, dots, bars, log=True)
    return rows(view, _sorted(values_at(view, "p99")), [panel], frame)


def fairness(view: View, frame: Frame | None = None) -> Figure:
    even, least = values_at(view, "jain"), values_at(view, "least_to_most")
    panels = [
        Panel("Jain's index", "{:g}".format, [Dots("", "o", even)], limits=SHARES),
        Panel("least ÷ most of a thread", "{:g}".format, [Dots("", "o", least)], limits=SHARES),
    ]
    return rows(view, _sorted(even, largest=True), panels, frame)


def cost(view: View, frame: Frame | None = None) -> Figure:
    costs, spinning = values_at(view, "cpu"), values_at(view, "spinning")
    panels = [Panel("CPU time per unit of work", per_unit, [Dots("", "o", costs)], log=True)]
    if spinning:
        bars = {variant: (0.0, share) for variant, share in spinning.items()}
        dots = [Dots("", "|", spinning)]
        panels.append(Panel("share outside the work", "{:.0%}".format, dots, bars, limits=SHARES))
    return rows(view, _sorted(costs), panels, frame)


def handover(view: View, frame: Frame | None = None) -> Figure:
    typical = values_at(view, "handover")
    rare = {
        v: Times([cell.handover for cell in view.cells(v, view.at)]).percentile(99) for v in typical
    }
    bars = {variant: (typical[variant], rare[variant]) for variant in typical}
    dots = [Dots("median", "o", typical), Dots("p99", "|", rare)]
    axis = f"release to next acquisition, {view.at} threads"
    return rows(view, _sorted(typical), [Panel(axis, duration, dots, bars, log=True)], frame)


def queue(view: View, frame: Frame | None = None) -> Figure:
    mean, most = values_at(view, "queue"), values_at(view, "queue_max")
    dots = [Dots("mean", "o", mean), Dots("most", "|", most)]
    panel = Panel(f"other threads waiting, of {view.at - 1}", "{:g}".format, dots)
    return rows(view, _sorted(mean), [panel], frame)


def run_times(view: View, frame: Frame | None = None) -> Figure:
    mean, deviation = values_at(view, "run_time"), values_at(view, "run_time_sd")
    bars = {
        v: (max(t - deviation.get(v, 0), 0.0), t + deviation.get(v, 0)) for v, t in mean.items()
    }
    wide = max(mean.values(), default=1) > 10 * min(mean.values(), default=1)
    axis = f"run time of a thread, mean ± σ, {view.at} threads"
    panel = Panel(axis, seconds, [Dots("", "o", mean)], bars, log=wide)
    return rows(view, _sorted(mean), [panel], frame)


# Writing


def svg(figure: Figure, title: str) -> str:
    """The figure as an element of a page, its colours left to the page's style sheet."""
    text = _svg(figure)
    for i, (light, _) in enumerate(SERIES):
        text = text.replace(light, f"var(--series-{i})")
    text = text.replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="s:([^"]*)"', r' class="s" data-s="\1"', text)
    text = re.sub(r' id="[a-zA-Z]+[a-zA-Z0-9]*_\d+"', "", text)
    text = re.sub(r" font-family: [^;\"]*;?|font: ([^;\"]*?) '[^\"]*?(?=[;\"])", r"", text)
    head, rest = text.split(">", 1)
    return f'{head} role="img" aria-label="{escape(title)}">{rest}'


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def picture(figure: Figure, kind: str) -> bytes:
    """For where there is no page around it: on white; `kind` is png or svg."""
    figure.patch.set_alpha(1)
    figure.patch.set_facecolor("white")
    out = io.BytesIO()
    metadata: dict[str, str | None] = {"Software": None} if kind == "png" else {"Date": None}
    figure.savefig(out, format=kind, dpi=200, metadata=metadata)
    return out.getvalue()
