#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rates on the locks' pages: a shortened result of `overlock bench`, and its pictures.

tools/measured.py RESULT.json writes docs/measured/sections.json: a few numbers of each lock at each
number of threads. `make site` draws the pictures from it.
"""

import json
import math
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kept_json
from diagrams import text
from overlock_tools.core.analyze.derived import View
from overlock_tools.core.model import defs
from overlock_tools.core.model.quantities import si
from overlock_tools.core.model.results import Result, from_file

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/sections.json"
# Each lock is compared with the baseline to beat, a lock that collapses, and glibc's mutex.
BESIDE = ("tas_yield", "ticket", "pthread_mutex")
COLOURS = ("#b34700", "#0069a8", "#666b70", "#007a57")  # the lock itself first
LEFT, TOP_EDGE, WIDTH, HEIGHT, RIGHT = 70, 40, 430, 250, 150
LEAST_DECADES = 2

Numbers = dict[str, float]  # median, least, most


@dataclass(frozen=True)
class Measured:
    raw: dict[str, Any]

    @property
    def locks(self) -> dict[str, dict[str, Numbers]]:
        """Of each variant, at each number of threads."""
        rates: dict[str, dict[str, Numbers]] = self.raw["rates"]
        return rates

    @property
    def threads(self) -> list[int]:
        return list(self.raw["threads"])

    @property
    def cpus(self) -> int:
        return int(self.raw["cpus"])

    def beside(self, lock: str) -> list[str]:
        return [lock, *(other for other in BESIDE if other != lock and other in self.locks)]

    def text(self, variant: str, threads: int) -> str:
        numbers = self.locks[variant].get(str(threads))
        return si(numbers["median"]).strip() if numbers else "·"

    def how(self) -> str:
        return (
            f"Acquisitions per second, medians of {self.raw['rounds']} rounds; "
            f"{self.raw['machine']}, {self.cpus} CPUs:\n\n    {self.raw['command']}\n"
        )


@cache
def load() -> Measured | None:
    return Measured(json.loads(FILE.read_text())) if FILE.exists() else None


def shortened(result: Result) -> dict[str, Any]:
    view = View(result)
    rates: dict[str, dict[str, Numbers]] = {}
    for variant in (v for v in view.variants if v in defs.load().locks or v in BESIDE):
        for n in view.threads:
            if rate := view.spread("rate", variant, n):
                numbers = {"median": rate.value, "least": rate.least, "most": rate.most}
                rounded = {name: float(f"{value:.4g}") for name, value in numbers.items()}
                rates.setdefault(variant, {})[str(n)] = rounded
    return {
        "command": re.sub(r"--locks \S+", "--locks all", result.command),
        "machine": f"{result.machine['cpu']}, Linux {result.machine['kernel']}",
        "cpus": result.cpus,
        "rounds": result.settings["rounds"],
        "threads": view.threads,
        "rates": rates,
    }


class Plot:
    """Both axes logarithmic."""

    def __init__(self, data: Measured, shown: list[str]) -> None:
        self.data, self.shown = data, shown
        every = [point for v in shown for n in data.locks[v].values() for point in n.values()]
        self.low = math.floor(math.log10(max(min(every), 1)))
        self.high = max(math.ceil(math.log10(max(every))), self.low + LEAST_DECADES)

    def x(self, threads: int) -> float:
        first, last = (math.log2(n) for n in (self.data.threads[0], self.data.threads[-1]))
        return LEFT + WIDTH * (math.log2(threads) - first) / max(last - first, 1)

    def y(self, rate: float) -> float:
        share = (math.log10(max(rate, 10**self.low)) - self.low) / (self.high - self.low)
        return TOP_EDGE + HEIGHT * (1 - share)

    def axes(self) -> list[str]:
        bottom, parts = TOP_EDGE + HEIGHT, []
        for power in range(self.low, self.high + 1):
            y = self.y(10**power)
            line = f"x1='{LEFT}' x2='{LEFT + WIDTH}' y1='{y:.1f}' y2='{y:.1f}'"
            parts.append(f"<line {line} stroke='#ddd'/>")
            parts.append(text(LEFT - 8, round(y + 4, 1), si(10.0**power).strip(), 11, "end"))
        for threads in self.data.threads:
            x = round(self.x(threads), 1)
            parts.append(text(x, bottom + 16, str(threads), 11, "middle"))
        x = self.x(self.data.cpus)
        line = f"x1='{x:.1f}' x2='{x:.1f}' y1='{TOP_EDGE}' y2='{bottom}'"
        parts.append(f"<line {line} stroke='#888' stroke-dasharray='2 4'/>")
        said = f"threads, on {self.data.cpus} CPUs (dotted: one thread per CPU)"
        parts.append(text(LEFT + WIDTH / 2, bottom + 34, said, 11, "middle"))
        return parts

    def line(self, variant: str, colour: str, wide: float) -> list[str]:
        found = {int(n): r for n, r in self.data.locks[variant].items()}
        at = [(self.x(n), found[n]) for n in self.data.threads if n in found]
        points = " ".join(f"{x:.1f},{self.y(r['median']):.1f}" for x, r in at)
        parts = [
            f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='{wide:g}'/>"
        ]
        for x, rate in at:
            ends = f"y1='{self.y(rate['least']):.1f}' y2='{self.y(rate['most']):.1f}'"
            parts.append(f"<line x1='{x:.1f}' x2='{x:.1f}' {ends} stroke='{colour}'/>")
        return parts

    def names(self) -> list[str]:
        """The variants' names at the ends of their lines, moved apart."""
        ends = []
        for n, variant in enumerate(self.shown):
            last = list(self.data.locks[variant].values())[-1]
            ends.append((self.y(last["median"]), variant, COLOURS[n]))
        parts, free = [], 0.0
        for end, variant, colour in sorted(ends):
            y = max(end, free)
            free = y + 15
            label = text(LEFT + WIDTH + 8, round(y + 4, 1), variant, 12)
            parts.append(label.replace("#222", colour))
        return parts

    def draw(self) -> str:
        title = f"{self.shown[0]}: acquisitions per second"
        width, height = LEFT + WIDTH + RIGHT, TOP_EDGE + HEIGHT + 48
        parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img'"
            f" aria-label='{title}'>",
            f"<rect width='{width}' height='{height}' fill='#fff'/>",
            text(14, 22, title, 14),
            *self.axes(),
        ]
        for n, variant in reversed(list(enumerate(self.shown))):
            parts += self.line(variant, COLOURS[n], 2.6 if n == 0 else 1.2)
        return "\n".join([*parts, *self.names(), "</svg>\n"])


def draw(data: Measured, lock: str) -> str:
    return Plot(data, data.beside(lock)).draw()


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    found = shortened(from_file(Path(sys.argv[1])))
    kept_json.write(FILE, found)


if __name__ == "__main__":
    main()
