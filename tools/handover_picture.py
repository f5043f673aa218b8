#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The picture on a lock's page of the site: one contended hand-over, as the model checker runs it.

tools/handover_picture.py LOCK prints it. Needs `overlock-check`.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from html import escape

import handover_story as story
from diagrams import DEFINITIONS, text
from handover_story import ABSENT, HOLDER, PRESENT, Event, Play
from handover_words import Words
from overlock_tools.core.model import defs

MONO = "font-family='DejaVu Sans Mono, Menlo, Consolas, monospace'"
LEFT, TOP, ROW, COLUMN, BAR, LETTER = 22, 66, 19, 92, 9, 6.35
HEADINGS = "value or effect, in hex", "source line"
HALVES = " (high|low half)"
CONTEXTS = (HOLDER, ABSENT, PRESENT)
# How a context is drawn beside its steps, and its entry in the legend.
LOOKS = {
    "holds": ("#009e73", "holds the lock"),
    "runs": ("#d9e4ee", "runs"),
    "relaxes": ("url(#spin)", "spins"),
    "parks": ("#b9a6d3", "sleeps"),
    "off": ("#ffffff", "off its CPU"),
}
AGAIN = "… until T2 runs again"


@dataclass(frozen=True)
class Row:
    """A step, or None where nothing happens, and what each context does at that time."""

    event: Event | None
    looks: tuple[str, ...]


class Scene:
    """The hand-over as rows."""

    def __init__(self, play: Play) -> None:
        self.play, self.events = play, play.events()
        self.words = Words(play.lock, self.events)
        self.released = self._first(lambda e: e["mark"] == "released")
        self.t2_is_back = self._first(lambda e: self._by(e, ABSENT), self.released)

    def _first(self, wanted: Callable[[Event], bool], start: int = 0) -> int:
        all_of_them = range(start, len(self.events))
        return next((n for n in all_of_them if wanted(self.events[n])), len(self.events))

    @staticmethod
    def _by(event: Event, who: int) -> bool:
        return bool(event["context"] == str(who))

    @cached_property
    def rows(self) -> list[Row]:
        found = []
        for n, event in enumerate(self.events):
            if n == self.t2_is_back:
                found.append(Row(None, self._looks(n - 1)))
            if event["file"] != "client.cpp" and not event["mark"]:
                found.append(Row(event, self._looks(n)))
        return found

    def _looks(self, n: int) -> tuple[str, ...]:
        return tuple(self._look(n, who) for who in CONTEXTS)

    def _look(self, n: int, who: int) -> str:
        """What the context does at step `n`; empty before its first step and once it is done."""
        so_far = self.events[: n + 1]
        own = [e for e in so_far if self._by(e, who)]
        if not own or (who == HOLDER and n >= self.released):
            return ""
        marked = n + 1 < len(self.events) and self.events[n + 1]["mark"] == "holds"
        if story.holds(who)(self.events[: n + 2] if marked else so_far):
            return "holds"
        state = str(own[-1]["state"][who - 1])
        if state == "parks" and self.events[n]["state"][who - 1] != "parks":
            state = "off"  # it was kicked, but has no CPU yet
        if who == ABSENT and self.released <= n < self.t2_is_back and state != "parks":
            return "off"
        acts = own[-1] is self.events[n] and bool(own[-1].get("op"))
        return "runs" if acts else state

    @property
    def title(self) -> str:
        """The picture in a sentence."""
        asleep = "parks" in {row.looks[ABSENT - 1] for row in self.rows[-2:]}
        said = f"{self.play.lock}: T1 holds the lock, T2 and T3 wait; T1 releases while T2 "
        said += "sleeps" if asleep else "is off its CPU"
        if story.holds(PRESENT)(self.events):
            return f"{said}: T3 acquires it"
        if self.rows[-1].looks[PRESENT - 1] == "parks":
            return f"{said}, and T3 keeps sleeping"
        return f"{said}: the lock waits for T2"


def mono(x: float, y: float, what: str, fill: str = "#222") -> str:
    place = f"x='{x:g}' y='{y:g}' font-size='10.5' fill='{fill}'"
    return f"<text {place} {MONO}>{escape(what)}</text>"


def bar(x: float, y: float, height: float, look: str) -> str:
    outline = " stroke='#555' stroke-width='0.7' stroke-dasharray='3 2'" if look == "off" else ""
    place = f"x='{x:g}' y='{y:g}' width='{BAR}' height='{height:g}'"
    return f"<rect {place} fill='{LOOKS[look][0]}'{outline}/>"


def draw_row(scene: Scene, row: Row, y: float, values: float, codes: float) -> list[str]:
    looks = list(enumerate(row.looks))
    parts = [bar(LEFT + n * COLUMN, y, ROW, look) for n, look in looks if look]
    base = y + 13
    if row.event is None:
        return [*parts, text(values, base, AGAIN, 11)]
    x = LEFT + (int(row.event["context"]) - 1) * COLUMN + BAR + 4
    return [
        *parts,
        mono(x, base, scene.words.op(row.event)),
        mono(values, base, scene.words.value(row.event)),
        mono(codes, base, scene.words.code(row.event), "#0069a8"),
    ]


def draw_legend(scene: Scene, y: float) -> list[str]:
    used = {look for row in scene.rows for look in row.looks}
    x, parts = float(LEFT), []
    for look, (_, meaning) in LOOKS.items():
        if look in used:
            parts += [bar(x, y, 12, look), text(x + 15, y + 10, meaning, 11)]
            x += 34 + 6.2 * len(meaning)
    return parts


def draw(play: Play) -> str:
    scene = Scene(play)
    events = [row.event for row in scene.rows if row.event]
    value = max(
        len(HEADINGS[0]) - 2 + len(HALVES) * scene.words.halves,
        *(len(scene.words.value(e)) for e in events),
    )
    values = LEFT + len(CONTEXTS) * COLUMN + 6
    codes = values + value * LETTER + 14
    width = codes + max(len(scene.words.code(e)) for e in events) * LETTER + LEFT
    width = max(width, LEFT * 2 + 7.6 * len(scene.title))
    height = TOP + len(scene.rows) * ROW + 40
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' role='img'"
        f" aria-label='{escape(scene.title)}'>",
        f"<desc>{escape(play.text())}</desc>",
        DEFINITIONS,
        f"<rect width='{width:g}' height='{height:g}' fill='#fff'/>",
        text(LEFT, 24, escape(scene.title), 14),
        text(values, TOP - 10, HEADINGS[0] + HALVES * scene.words.halves, 11),
        text(codes, TOP - 10, HEADINGS[1], 11),
    ]
    parts += [text(LEFT + n * COLUMN - 3, TOP - 10, f"T{n + 1}", 12) for n in range(len(CONTEXTS))]
    for n, row in enumerate(scene.rows):
        parts += draw_row(scene, row, TOP + n * ROW, values, codes)
    return "\n".join([*parts, *draw_legend(scene, height - 26), "</svg>\n"])


def of_lock(lock: str) -> str:
    return draw(story.played(lock, "yields" in defs.load().lock(lock).traits))


if __name__ == "__main__":
    print(of_lock(*sys.argv[1:]), end="")
