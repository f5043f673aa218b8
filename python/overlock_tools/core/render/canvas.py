# SPDX-License-Identifier: MIT
"""A figure's colours, margins and axes.

Up to eight series have a colour each. With more, lines cannot be told apart: then the best lock,
the best peer, the baseline and the collapsed have one, the others are thin and grey, and every line
has its name at its end.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from overlock_tools.core.analyze.derived import View

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


class Sheet:
    """A figure whose margins are known in inches: no layout has to be searched for."""

    def __init__(self, height: float, frame: Frame | None = None) -> None:
        mpl.rcParams.update(
            {
                "font.size": TEXT,
                "svg.fonttype": "none",  # text stays text
                "svg.hashsalt": "overlock",  # the same figure is the same file
                "text.parse_math": False,  # a dollar is a dollar
            }
        )
        self.frame = frame
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


class Canvas(Sheet):
    """Of a result."""

    def __init__(self, view: View, height: float, frame: Frame | None) -> None:
        super().__init__(height, frame)
        self.view = view
        self.styles = styles(view)

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
