#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the timelines of docs/: which threads run, spin or have no CPU while they use a lock.

tools/diagrams.py [FOLDER] writes them to docs/img, or to FOLDER.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "docs/img"

LEFT, TOP, UNIT, ROW, BAR = 96, 46, 30, 40, 22
FONT = "font-family='DejaVu Sans, Helvetica, Arial, sans-serif'"

# The states of a thread or lock: fill, and text of the legend.
STATES = {
    "work": ("#d9e4ee", "works without the lock"),
    "hold": ("#009e73", "holds the lock"),
    "spin": ("url(#spin)", "spins"),
    "off": ("#ffffff", "off its CPU"),
    "sleep": ("#f2f2f2", "sleeps"),
    "free": ("url(#free)", "free, but reserved"),
    "held": ("#009e73", "held"),
    "idle": ("#ffffff", "free"),
    "gone": ("#f4d3dd", "lock no longer exists"),
}

DEFINITIONS = """<defs>
<pattern id='spin' width='7' height='7' patternUnits='userSpaceOnUse'
patternTransform='rotate(45)'>
<rect width='7' height='7' fill='#f7dfcd'/><rect width='3' height='7' fill='#d55e00'/></pattern>
<pattern id='free' width='7' height='7' patternUnits='userSpaceOnUse'
patternTransform='rotate(-45)'>
<rect width='7' height='7' fill='#ffffff'/><rect width='2' height='7' fill='#b5589a'/></pattern>
<marker id='tip' markerWidth='8' markerHeight='8' refX='6' refY='3' orient='auto'>
<path d='M0,0 L6,3 L0,6 z' fill='#333'/></marker>
</defs>"""


@dataclass(frozen=True)
class Span:
    state: str
    start: float
    end: float
    label: str = ""


@dataclass(frozen=True)
class Note:
    time: float
    row: int
    text: str


@dataclass(frozen=True)
class Diagram:
    name: str
    title: str
    end: float
    rows: tuple[tuple[str, tuple[Span, ...]], ...]
    notes: tuple[Note, ...] = ()


def x_of(time: float) -> float:
    return LEFT + time * UNIT


def text(x: float, y: float, what: str, size: int = 12, anchor: str = "start") -> str:
    place = f"x='{x:g}' y='{y:g}' text-anchor='{anchor}'"
    return f"<text {place} font-size='{size}' fill='#222' {FONT}>{what}</text>"


def box(x: float, y: float, width: float, height: float, state: str) -> str:
    dashed = " stroke-dasharray='4 3'" if state == "off" else ""
    place = f"x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}'"
    return f"<rect {place} fill='{STATES[state][0]}' stroke='#555'{dashed}/>"


def plate(x: float, y: float, letters: int) -> str:
    """White behind a label, where hatching would make it hard to read."""
    place = f"x='{x - 3.6 * letters:g}' y='{y + 4:g}' width='{7.2 * letters:g}' height='{BAR - 8}'"
    return f"<rect {place} fill='#fff' fill-opacity='0.85'/>"


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    place = f"x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}'"
    return f"<line {place} stroke='#333' marker-end='url(#tip)'/>"


def draw_span(span: Span, y: float) -> list[str]:
    x, width = x_of(span.start), (span.end - span.start) * UNIT
    parts = [box(x, y, width, BAR, span.state)]
    if span.label:
        middle = x + width / 2
        if span.state not in ("off", "idle"):
            parts.append(plate(middle, y, len(span.label)))
        parts.append(text(middle, y + BAR - 7, span.label, 11, "middle"))
    return parts


def draw_note(note: Note) -> list[str]:
    x, y = x_of(note.time), TOP + note.row * ROW
    return [arrow(x, y - 12, x, y - 1), text(x + 5, y - 6, note.text, 11)]


def draw_legend(diagram: Diagram, y: float) -> list[str]:
    used = {span.state for _, spans in diagram.rows for span in spans}
    x, parts = 14.0, []
    for state, (_, meaning) in STATES.items():
        if state in used - {"held", "idle"}:
            parts += [box(x, y, 18, 12, state), text(x + 23, y + 11, meaning, 11)]
            x += 40 + 6.4 * len(meaning)
    return parts


def draw(diagram: Diagram) -> str:
    bottom = TOP + len(diagram.rows) * ROW
    end = x_of(diagram.end)
    width, height = end + 20, bottom + 44
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' role='img'"
        f" aria-label='{diagram.title}'>",
        DEFINITIONS,
        f"<rect width='{width:g}' height='{height:g}' fill='#fff'/>",
        text(14, 22, diagram.title, 14),
    ]
    for number, (name, spans) in enumerate(diagram.rows):
        y = TOP + number * ROW
        parts.append(text(LEFT - 10, y + BAR - 6, name, 12, "end"))
        for span in spans:
            parts += draw_span(span, y)
    for note in diagram.notes:
        parts += draw_note(note)
    parts += [
        text(LEFT - 10, bottom + 10, "time", 11, "end"),
        arrow(LEFT, bottom + 6, end, bottom + 6),
    ]
    return "\n".join([*parts, *draw_legend(diagram, bottom + 22), "</svg>\n"])


HOLDER = Diagram(
    "holder-preemption",
    "Lock-holder preemption: the holder is preempted, and every waiter waits for it",
    22,
    (
        (
            "A",
            (
                Span("work", 0, 2),
                Span("hold", 2, 4),
                Span("off", 4, 16, "no CPU for a whole time slice"),
                Span("hold", 16, 17),
                Span("work", 17, 19),
                Span("off", 19, 22),
            ),
        ),
        (
            "B",
            (Span("work", 0, 3), Span("spin", 3, 17), Span("hold", 17, 19), Span("work", 19, 22)),
        ),
        (
            "C",
            (
                Span("off", 0, 4),
                Span("work", 4, 6),
                Span("spin", 6, 16),
                Span("off", 16, 19),
                Span("hold", 19, 21),
                Span("work", 21, 22),
            ),
        ),
        (
            "the lock",
            (
                Span("idle", 0, 2),
                Span("held", 2, 17, "A"),
                Span("held", 17, 19, "B"),
                Span("held", 19, 21, "C"),
                Span("idle", 21, 22),
            ),
        ),
    ),
    (Note(4, 0, "preempted"),),
)

RELEASES_TO_PREEMPTED = (
    ("A", (Span("hold", 0, 4), Span("work", 4, 16), Span("off", 16, 22))),
    (
        "B, ticket 1",
        (
            Span("work", 0, 1),
            Span("spin", 1, 3),
            Span("off", 3, 16, "no CPU for a whole time slice"),
            Span("hold", 16, 18),
            Span("work", 18, 22),
        ),
    ),
)

WAITER = Diagram(
    "waiter-preemption",
    "Lock-waiter preemption, ticket lock: the free lock waits for the preempted next waiter",
    22,
    (
        *RELEASES_TO_PREEMPTED,
        (
            "C, ticket 2",
            (Span("off", 0, 3), Span("spin", 3, 18), Span("hold", 18, 20), Span("work", 20, 22)),
        ),
        (
            "the lock",
            (
                Span("held", 0, 4, "A"),
                Span("free", 4, 16, "free, but reserved for B"),
                Span("held", 16, 18, "B"),
                Span("held", 18, 20, "C"),
                Span("idle", 20, 22),
            ),
        ),
    ),
    (Note(3, 1, "preempted"), Note(4, 0, "releases")),
)

PREEMPTABLE = Diagram(
    "preemptable",
    "The same with a preemptable ticket lock: C, with one waiter ahead, waits τ, then acquires it",
    22,
    (
        *RELEASES_TO_PREEMPTED,
        (
            "C, ticket 2",
            (Span("off", 0, 3), Span("spin", 3, 6), Span("hold", 6, 8), Span("work", 8, 22)),
        ),
        (
            "the lock",
            (
                Span("held", 0, 4, "A"),
                Span("free", 4, 6),
                Span("held", 6, 8, "C"),
                Span("idle", 8, 16, "free"),
                Span("held", 16, 18, "B"),
                Span("idle", 18, 22),
            ),
        ),
    ),
    (
        Note(3, 1, "preempted"),
        Note(6, 2, "1·τ is over"),
        Note(16, 1, "overtaken: acquires it at once"),
    ),
)

SECOND_LOOK = Diagram(
    "second-look",
    "The old PV ticket lock: the release reads the word again after it has released the lock",
    22,
    (
        (
            "T1",
            (
                Span("work", 0, 2),
                Span("hold", 2, 5),
                Span("off", 5, 18, "no CPU, between two steps of unlock"),
                Span("work", 18, 22, "reads again"),
            ),
        ),
        (
            "T2",
            (
                Span("off", 0, 6),
                Span("work", 6, 8),
                Span("hold", 8, 12),
                Span("work", 12, 16, "frees it"),
                Span("off", 16, 22),
            ),
        ),
        (
            "the lock",
            (
                Span("idle", 0, 2),
                Span("held", 2, 5, "T1"),
                Span("idle", 5, 8, "free"),
                Span("held", 8, 12, "T2"),
                Span("idle", 12, 15, "free"),
                Span("gone", 15, 22, "unmapped, or another lock"),
            ),
        ),
    ),
    (Note(5, 0, "adds 1 to head: released"), Note(18, 0, "use after release")),
)


def spans(*pieces: tuple[str, float]) -> tuple[Span, ...]:
    """One after the other, each with its state and its length."""
    found, at = [], 0.0
    for state, length in pieces:
        found.append(Span(state, at, at + length))
        at += length
    return tuple(found)


SECTION = (("hold", 1.0), ("work", 2.0))

TURNS = Diagram(
    "turns",
    "The lock rota, two CPUs, four threads: who returns from its turn makes another one leave",
    22,
    (
        ("A", spans(("work", 1), *SECTION, *SECTION, ("sleep", 15))),
        ("B", spans(*SECTION * 5, ("sleep", 7))),
        ("C", spans(("sleep", 7), ("spin", 1), *SECTION * 4, ("hold", 1), ("work", 1))),
        ("D", spans(("sleep", 15), ("spin", 1), *SECTION * 2)),
    ),
    (
        Note(7, 2, "returns: sets L"),
        Note(7, 0, "meets L: sleeps"),
        Note(15, 3, "returns: sets L"),
        Note(15, 1, "meets L: sleeps"),
    ),
)

DIAGRAMS = (HOLDER, WAITER, PREEMPTABLE, SECOND_LOOK, TURNS)


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    for diagram in DIAGRAMS:
        (out / f"{diagram.name}.svg").write_text(draw(diagram))


if __name__ == "__main__":
    main()
