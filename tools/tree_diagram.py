#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/img/reduction.svg: all interleavings of two contexts, and the explored ones.

tools/tree_diagram.py [FOLDER]. Each context writes its own word, then exchanges the lock word.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diagrams import DEFINITIONS, OUT, text

NAME = "reduction"
TITLE = "Two contexts with two steps each: six interleavings, of which two differ"
# The steps of each context: the label of the edge, and the word it accesses.
STEPS = {1: (("a1", "own word"), ("a2", "lock")), 2: (("b1", "own word 2"), ("b2", "lock"))}
COLOURS = {1: "#0072b2", 2: "#d55e00"}
FADED = 0.25
LEAF, LEVEL, TOP, DOT = 92, 62, 64, 5

Run = tuple[int, ...]  # the context of each step


def runs(done: Run = ()) -> Iterator[Run]:
    left = [who for who, steps in STEPS.items() if done.count(who) < len(steps)]
    if not left:
        yield done
    for who in left:
        yield from runs((*done, who))


def order(run: Run) -> tuple[int, ...]:
    """The order of accesses to the shared word, the only difference between two runs."""
    return tuple(who for n, who in enumerate(run) if STEPS[who][run[:n].count(who)][1] == "lock")


def explored() -> list[Run]:
    """The first of each kind."""
    first: dict[tuple[int, ...], Run] = {}
    for run in runs():
        first.setdefault(order(run), run)
    return list(first.values())


@dataclass(frozen=True)
class Place:
    x: float
    y: float


def places() -> dict[Run, Place]:
    """A leaf for each run, and each node above the middle of its leaves."""
    leaves = list(runs())
    found = {}
    for run in leaves:
        for depth in range(len(run) + 1):
            below = [n for n, leaf in enumerate(leaves) if leaf[:depth] == run[:depth]]
            x = LEAF * (sum(below) / len(below) + 0.6)
            found[run[:depth]] = Place(x, TOP + depth * LEVEL)
    return found


def edge(node: Run, at: dict[Run, Place], kept: bool) -> list[str]:
    start, end, who = at[node[:-1]], at[node], node[-1]
    name = STEPS[who][node[:-1].count(who)][0]
    shown = "" if kept else f" opacity='{FADED}' stroke-dasharray='4 3'"
    line = f"x1='{start.x:g}' y1='{start.y:g}' x2='{end.x:g}' y2='{end.y:g}'"
    aside, anchor = (-8, "end") if end.x < start.x else (8, "start")
    label = text((start.x + end.x) / 2 + aside, (start.y + end.y) / 2 + 2, name, 12, anchor)
    faint = "" if kept else f" opacity='{2 * FADED}'"
    return [
        f"<line {line} stroke='{COLOURS[who]}' stroke-width='2.5'{shown}/>",
        f"<g{faint}>{label}</g>",
    ]


def leaf(run: Run, place: Place, kept: bool) -> list[str]:
    first = {1: "T1 locks", 2: "T2 locks"}[order(run)[0]]
    return [
        text(place.x, place.y + 20, first, 12, "middle"),
        text(place.x, place.y + 36, "explored" if kept else "skipped", 11, "middle"),
    ]


def draw() -> str:
    at, kept = places(), explored()
    width, height = LEAF * (len(list(runs())) + 0.2), TOP + 4 * LEVEL + 76
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' role='img'"
        f" aria-label='{TITLE}'>",
        DEFINITIONS,
        f"<rect width='{width:g}' height='{height:g}' fill='#fff'/>",
        text(14, 22, TITLE, 14),
        text(14, 42, "a1, b1: T1 and T2 write their own words;", 11),
        text(14, 56, "a2, b2: they exchange the lock word", 11),
    ]
    for node in sorted(at, key=len):
        on_a_kept = any(run[: len(node)] == node for run in kept)
        if node:
            parts += edge(node, at, on_a_kept)
        place = at[node]
        fill = "#333" if on_a_kept else "#bbb"
        parts.append(f"<circle cx='{place.x:g}' cy='{place.y:g}' r='{DOT}' fill='{fill}'/>")
        if len(node) == sum(map(len, STEPS.values())):
            parts += leaf(node, place, node in kept)
    said = "Dashed: equal to an explored one except for the order of steps that commute."
    parts.append(text(14, height - 12, said, 11))
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    (folder / f"{NAME}.svg").write_text(draw())
