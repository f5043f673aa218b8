# SPDX-License-Identifier: MIT
"""A part of a run as a small picture: what each context did, and what the lock was waiting for."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from overlock_tools.core.render import plots
from overlock_tools.core.render.canvas import INK, LETTER, SERIES, SMALL, WIDTH, Frame, Sheet
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import trace as states
from overlock_tools.sim.explain import duration
from overlock_tools.sim.trace import Trace

Window = tuple[int, int]  # in ps

USES = "takes the lock again and again"
HELD, HELD_OFF, FREE = "held", "held, and the holder has no CPU", "free, and contexts wait for it"


@dataclass(frozen=True)
class Look:
    ink: str
    tall: bool = True  # it has a CPU
    hatch: str = ""
    alpha: float = 1.0


GREEN, ORANGE, BLUE, PINK, GREY = (SERIES[i][0] for i in (2, 0, 1, 3, 7))
LOOKS = {
    states.RUNNING: Look(GREY, alpha=0.25),
    USES: Look(GREEN, alpha=0.45),
    states.HOLDING: Look(GREEN),
    states.SPINNING: Look(ORANGE, alpha=0.75),
    states.PREEMPTED_HOLDING: Look(GREEN, tall=False),
    states.PREEMPTED_WAITING: Look(PINK, tall=False),
    states.PREEMPTED: Look(GREY, tall=False, alpha=0.6),
    states.YIELDED: Look(BLUE, tall=False, alpha=0.6),
    states.PARKED: Look(BLUE, tall=False),
    states.THROTTLED: Look(INK, tall=False),
    HELD: Look(GREEN),
    HELD_OFF: Look(GREEN, hatch="///", alpha=0.45),
    FREE: Look(PINK, hatch="\\\\\\"),
}
LEGEND = {
    "ncols": 2,
    "frameon": False,
    "fontsize": SMALL,
    "labelcolor": INK,
    "handlelength": 1.6,
    "labelspacing": 0.25,
    "borderpad": 0,
    "borderaxespad": 0.2,
}
WORDS = {
    states.RUNNING: "runs without the lock",
    states.HOLDING: "holds the lock",
    states.SPINNING: "spins",
    states.PREEMPTED_HOLDING: "has no CPU, holds the lock",
    states.PREEMPTED_WAITING: "has no CPU, waits for the lock",
    states.PREEMPTED: "has no CPU",
    states.YIELDED: "yielded its CPU",
    states.PARKED: "sleeps",
    states.THROTTLED: "has no CPU: quota",
    HELD_OFF: "lock held, no CPU",
    FREE: "lock free, but waited for",
}

ROW, TALL, LOW = 0.3, 0.72, 0.3  # inches; of a row
RIGHT, AXIS = 0.12, 0.42  # inches
LEGEND_ROW = 0.19
FINE = 300  # shorter than that part of the window, states cannot be told apart
WIDE, WIDER = 0.12, 0.26  # of the window: there is room for a time, for a number and a word

Span = tuple[int, int, str]


def write_svg(trace: Trace, path: Path, window: Window | None = None, title: str = "") -> None:
    files.write(path, svg(trace, window, title))


def svg(trace: Trace, window: Window | None = None, title: str = "") -> str:
    window = window or (trace.start, trace.end)
    if not trace.start <= window[0] < window[1] <= trace.end:
        raise Fail(
            f"the trace has {trace.start / 1e9:g} to {trace.end / 1e9:g} ms; "
            "name a part of that to draw"
        )
    rows = [*_contexts(trace, window), *_locks(trace, window)]
    visible = {
        state for _, spans in rows for one, later, state in spans if later - one >= _least(window)
    }
    keyed = [state for state in LOOKS if state in visible - {HELD}]
    legend = LEGEND_ROW * ((len(keyed) + 1) // 2)
    height = ROW * len(rows) + AXIS + legend
    sheet = Sheet(height, Frame(title) if title else None)
    left = LETTER * max(len(name) for name, _ in rows) + 0.15
    axes = sheet.axes(left, WIDTH - left - RIGHT, AXIS + legend, ROW * len(rows))
    for place, (_, spans) in enumerate(rows):
        _row(axes, len(rows) - 1 - place, spans, window)
    locks = len(trace.holds_of)
    axes.axhline(locks - 0.5, color=INK, linewidth=0.5, alpha=0.5)
    for place, holds in enumerate(holds for _, holds in sorted(trace.holds_of.items())):
        _counts(axes, locks - 1 - place, rows[len(trace.contexts) + place][1], holds, window)
    _axes(axes, [name for name, _ in rows], window)
    _legend(axes, keyed, sheet.height)
    return themed(plots.svg(sheet.figure, title or "timeline"))


def _least(window: Window) -> int:
    return (window[1] - window[0]) // FINE


def _clipped(spans: Sequence[Span], window: Window) -> Iterator[Span]:
    for start, end, state in spans:
        if start < window[1] and end > window[0]:
            yield max(start, window[0]), min(end, window[1]), state


def _contexts(trace: Trace, window: Window) -> Iterator[tuple[str, list[Span]]]:
    for context in trace.contexts:
        segments = [(s.start, s.end, s.state) for s in trace.segments[context]]
        yield trace.name(context), list(_coarse(list(_clipped(segments, window)), window))


def _coarse(spans: Sequence[Span], window: Window) -> Iterator[Span]:
    """Runs of states too short to see become one, which says what they amount to."""
    for short, group in groupby(spans, lambda span: span[1] - span[0] < _least(window)):
        run = list(group)
        if short and len(run) > 2:
            used = any(state == states.HOLDING for *_, state in run)
            longest = max(run, key=lambda span: span[1] - span[0])[2]
            yield run[0][0], run[-1][1], USES if used else longest
        else:
            yield from run


def _locks(trace: Trace, window: Window) -> Iterator[tuple[str, list[Span]]]:
    for lock, holds in sorted(trace.holds_of.items()):
        found: list[Span] = []
        now = window[0]
        for hold in holds:
            if hold.end <= window[0] or hold.start >= window[1]:
                continue
            found += _free(trace, lock, now, hold.start)
            found += _held(trace, hold)
            now = hold.end
        found += _free(trace, lock, now, window[1])
        yield trace.lock_name(lock), list(_joined(list(_clipped(found, window)), window))


def _held(trace: Trace, hold: states.Hold) -> Iterator[Span]:
    for segment in trace.segments_between(hold.who, hold.start, hold.end):
        state = HELD if segment.state in states.ON_CPU else HELD_OFF
        yield max(segment.start, hold.start), min(segment.end, hold.end), state


def _free(trace: Trace, lock: int, start: int, end: int) -> Iterator[Span]:
    """Where somebody waits; a gap otherwise."""
    spans = trace.contended[lock]
    place = bisect_right(spans, start, key=lambda span: span[1])
    while place < len(spans) and spans[place][0] < end:
        yield max(start, spans[place][0]), min(end, spans[place][1]), FREE
        place += 1


def _joined(spans: Sequence[Span], window: Window) -> Iterator[Span]:
    """Short spans, and the gaps between them, as one: held again and again."""
    run: list[Span] = []
    for span in spans:
        if span[1] - span[0] >= _least(window):
            yield from _run(run)
            run = []
            yield span
        else:
            run.append(span)
    yield from _run(run)


def _run(run: Sequence[Span]) -> Iterator[Span]:
    if run:
        yield run[0][0], run[-1][1], USES if len(run) > 2 else run[0][2]


def _row(axes: Axes, y: int, spans: Sequence[Span], window: Window) -> None:
    for start, end, state in spans:
        look = LOOKS[state]
        (bar,) = axes.barh(
            y,
            end - start,
            left=start,
            height=TALL if look.tall else LOW,
            color=look.ink,
            alpha=look.alpha,
            linewidth=0,
        )
        if look.hatch:
            bar.set(facecolor="none", edgecolor=look.ink, hatch=look.hatch, alpha=1, linewidth=0.6)
        if not look.tall and _is_told(start, end, window):
            _say(axes, (start + end) / 2, y + LOW / 2, duration(end - start), "bottom")


def _counts(
    axes: Axes, y: int, spans: Sequence[Span], holds: Sequence[states.Hold], window: Window
) -> None:
    """How often it was acquired, where single sections cannot be seen."""
    for start, end, state in spans:
        if state == USES and end - start > WIDER * (window[1] - window[0]):
            number = sum(start <= hold.start < end for hold in holds)
            _say(axes, (start + end) / 2, y, f"{number:,} sections", "center")


def _is_told(start: int, end: int, window: Window) -> bool:
    """How long it lasted: not where the window cuts it."""
    whole = window[0] < start and end < window[1]
    return whole and end - start > WIDE * (window[1] - window[0])


def _say(axes: Axes, x: float, y: float, text: str, va: str) -> None:
    axes.text(x, y, text, ha="center", va=va, size=SMALL - 1, color=INK)


def _axes(axes: Axes, names: Sequence[str], window: Window) -> None:
    axes.set_ylim(-0.55, len(names) - 0.45)
    axes.set_xlim(*window)
    axes.set_yticks(range(len(names)), list(reversed(names)))
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    ms = window[1] - window[0] >= 10**8
    unit, one = ("ms", 1e9) if ms else ("µs", 1e6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / one:g}")
    axes.locator_params(axis="x", nbins=7)
    axes.set_xlabel(f"simulated time, {unit}", color=INK, size=SMALL, labelpad=1)


def _legend(axes: Axes, keyed: Sequence[str], height: float) -> None:
    handles = []
    for state in keyed:
        look = LOOKS[state]
        patch = Patch(
            facecolor=look.ink, alpha=look.alpha, linewidth=0, label=WORDS.get(state, state)
        )
        if look.hatch:
            patch.set(facecolor="none", edgecolor=look.ink, hatch=look.hatch, alpha=1)
        handles.append(patch)
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.1 / WIDTH, (axes.get_position().y0 * height - AXIS) / height),
        bbox_transform=axes.figure.transFigure,
        **LEGEND,
    )


def themed(element: str) -> str:
    """It stands alone: with the colours of the page around it, light or dark."""

    def colours(dark: bool) -> str:
        inks = "".join(f"--series-{i}:{pair[dark]};" for i, pair in enumerate(SERIES))
        return f"svg{{color:{'#e6edf3' if dark else INK};{inks}}}"

    style = (
        "<style>text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif}"
        f"{colours(False)}@media (prefers-color-scheme:dark){{{colours(True)}}}</style>"
    )
    return re.sub(r">", f">{style}", element, count=1) + "\n"
