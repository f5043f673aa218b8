#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rota` judged against the best of the others: tables and a picture of docs/results/judged.md.

    tools/judged.py PART FOLDER...

shortens the results that `overlock bench matrix --loads` wrote to the folders, and keeps them in
docs/measured/judged.json as PART: rates, gaps (longer cells), hogs, quota, or ablation (with the
headers of tools/ablation.py). Loads that were not measured again keep their numbers.
"""

import json
import math
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import kept_json
from ablation import CUTS
from diagrams import text
from lock_pages import table
from overlock_tools.core.analyze import best_peer
from overlock_tools.core.model import loads, stats
from overlock_tools.core.model.measures import BY_NAME
from overlock_tools.core.model.quantities import duration, factor, shown, si
from overlock_tools.core.model.results import Result, from_file

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/judged.json"
PICTURE = TOP / "docs/img/frontier.svg"
OURS = "rota"
PARTS = ("rates", "gaps", "hogs", "quota", "ablation")
KEPT = ("rate", "jain", "least_to_most", "gap", "cpu")
PATH = re.compile(r"(?<=[ ,])[^ ,]*/(\w+\.h)")  # of a header: where it is, is of no interest
BAR = 0.95  # of the rate of the best other lock


# Keeping


def _ratio(bound: stats.Ratio) -> dict[str, float | None]:
    ends = {"value": bound.value, "low": bound.low, "high": bound.high}
    return {name: None if end is None else round(end, 4) for name, end in ends.items()}


def _numbers(result: Result) -> dict[str, dict[str, dict[str, float]]]:
    """Of each variant that was repeated, at each number of threads."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for variant in result.variants:
        for threads in result.threads:
            if len(result.of(variant, threads)) > 1:
                values = {name: result.value(name, variant, threads) for name in KEPT}
                rounded = {k: float(f"{v:.4g}") for k, v in values.items() if v is not None}
                found.setdefault(variant, {})[str(threads)] = rounded
    return found


def shortened(result: Result) -> dict[str, Any]:
    judged = [
        {"threads": list(j.threads), "theirs": j.theirs, "ratio": _ratio(j.bound)}
        for j in best_peer.judge_points(result, OURS)
    ]
    settings = result.settings
    return {
        "command": PATH.sub(r"\1", result.command),
        "machine": f"{result.machine['cpu']}, Linux {result.machine['kernel']}",
        "cpus": result.cpus,
        "rounds": settings["rounds"],
        "seconds": settings["seconds"],
        "threads": result.threads,
        "outside": sorted({entry.variant for entry in result.outside}),
        "judged": judged,
        "numbers": _numbers(result),
        "beside": {
            variant: {
                str(n): _ratio(ratio)
                for n in result.threads
                if (ratio := result.ratio(variant, OURS, [n])) and ratio.known
            }
            for variant in result.variants
            if variant != OURS
        },
    }


def keep(part: str, folders: list[Path]) -> None:
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    paths = [path for folder in folders for path in folder.glob("*.json")]
    results = kept.get(part, {}) | {path.stem: shortened(from_file(path)) for path in paths}
    kept[part] = {name: results[name] for name in loads.BY_NAME if name in results}
    ordered = {name: kept[name] for name in PARTS if name in kept}
    kept_json.write(FILE, ordered)
    known.cache_clear()
    if part == "gaps":
        PICTURE.write_text(frontier())


# Tables


@cache
def known() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def _bounds(ratio: dict[str, float | None]) -> str:
    """The value, and in brackets the lower bound; bold where that reaches the bar."""
    low = ratio["low"]
    if low is None:
        return factor(ratio["value"] or 0)
    said = f"{factor(ratio['value'] or 0)} (≥ {factor(low)})"
    return f"**{said}**" if low >= BAR else said


def ratios(part: str) -> str:
    """A row for each load, a column for each number of threads."""
    found = known()[part]
    counts = sorted({n for load in found.values() for n in load["threads"]})
    rows = []
    for name, load in found.items():
        cells = {tuple(j["threads"]): j for j in load["judged"]}
        row = [f"{name}: {loads.BY_NAME[name].what}"]
        for n in counts:
            j = cells.get((n,))
            row.append(f"{_bounds(j['ratio'])} `{j['theirs']}`" if j else "·")
        if len(counts) > 1:
            row.append(_bounds(load["judged"][-1]["ratio"]))
        rows.append(row)
    every = ["all"] if len(counts) > 1 else []
    return table(["load", *(f"{n} threads" if n > 1 else "1 thread" for n in counts), *every], rows)


def summary() -> str:
    """A row for each load: rates at all numbers of threads, fairness at the most."""
    rows = []
    for name, load in known()["rates"].items():
        *points, every = load["judged"]
        worst = min(points, key=lambda j: j["ratio"]["value"])
        row = [
            f"{name}: {loads.BY_NAME[name].what}",
            _bounds(every["ratio"]),
            f"{factor(worst['ratio']['value'])} ({worst['threads'][0]}, `{worst['theirs']}`)",
        ]
        rows.append([*row, *_beside_the_fastest(name)])
    headings = ["load", "rate ÷ the best at each", "least (threads, the best)"]
    return table([*headings, "longest gap, ours and the fastest's", "Jain, both"], rows)


def _beside_the_fastest(name: str) -> list[str]:
    """The longest gaps and Jain's indices with the most threads."""
    load = known()["gaps"].get(name)
    if not load:
        return ["", ""]
    n = str(load["threads"][-1])
    numbers = {v: of[n] for v, of in load["numbers"].items() if n in of}
    fastest = max((v for v in numbers if v != OURS), key=lambda v: numbers[v]["rate"])
    both = (numbers[OURS], numbers[fastest])
    gaps, evens = ([shown(BY_NAME[key], of[key]) for of in both] for key in ("gap", "jain"))
    return [f"{gaps[0]}, {gaps[1]} (`{fastest}`)", ", ".join(evens)]


def qualities(part: str) -> str:
    """What else was measured, of our lock and the fastest others."""
    rows = []
    for name, load in known()[part].items():
        for n in map(str, load["threads"]):
            numbers = {v: of[n] for v, of in load["numbers"].items() if n in of}
            fastest = sorted(numbers, key=lambda v: -numbers[v]["rate"])
            chosen = list(dict.fromkeys([OURS, *fastest]))[:3]
            for v in chosen:
                cells = [
                    shown(BY_NAME[key], numbers[v][key]) if key in numbers[v] else ""
                    for key in KEPT
                ]
                rows.append([name, n, f"`{v}`", *cells])
    headings = [BY_NAME[key].heading for key in KEPT]
    return table(["load", "threads", "lock", *headings], rows)


def ablation() -> str:
    """Rate and longest gap without each mechanism, relative to those of the whole lock."""
    found = known()["ablation"]
    places = [(name, str(n)) for name, load in found.items() for n in load["threads"]]
    rows = []
    for cut in CUTS:
        row = [cut.what]
        for name, n in places:
            numbers = found[name]["numbers"]
            if n not in numbers[cut.name]:
                row.append("**collapses**")
                continue
            gap = numbers[cut.name][n]["gap"] / numbers[OURS][n]["gap"]
            row.append(f"{_told(found[name]['beside'][cut.name][n])}, {gap:.1f}")
        rows.append(row)
    return table(["without", *(f"{name}, {n} threads" for name, n in places)], rows)


def _told(ratio: dict[str, float]) -> str:
    """Bold where the interval excludes 1."""
    said = factor(ratio["value"])
    return f"**{said}**" if ratio["low"] > 1 or ratio["high"] < 1 else said


# The picture

SHOWN = ("A", "B", "C", "E")
WIDTH, HEIGHT, LEFT, GAP, EDGE = 330, 240, 64, 110, 52
OUR_COLOUR, THEIR_COLOUR = "#b34700", "#0069a8"


class Panel:
    """A load at the most threads: the rate upwards, the longest gap to the right."""

    def __init__(self, name: str, column: int, row: int) -> None:
        load = known()["gaps"][name]
        self.threads = str(load["threads"][-1])
        self.title = f"{name}: {loads.BY_NAME[name].what}, {self.threads} threads"
        self.points: dict[str, tuple[float, float]] = {
            v: (of[self.threads]["gap"], of[self.threads]["rate"])
            for v, of in load["numbers"].items()
            if self.threads in of
        }
        self.left = LEFT + column * (WIDTH + GAP + LEFT)
        self.top = EDGE + row * (HEIGHT + 90)
        gaps = [gap for gap, _ in self.points.values()]
        self.low, self.high = math.log10(min(gaps) / 1.3), math.log10(max(gaps) * 1.3)
        self.most = max(rate for _, rate in self.points.values()) * 1.08

    def x(self, gap: float) -> float:
        return self.left + WIDTH * (math.log10(gap) - self.low) / (self.high - self.low)

    def y(self, rate: float) -> float:
        return self.top + HEIGHT * (1 - rate / self.most)

    def axes(self) -> list[str]:
        bottom, right = self.top + HEIGHT, self.left + WIDTH
        parts = [text(self.left, self.top - 14, self.title, 13)]
        for share in (0, 0.25, 0.5, 0.75, 1):
            rate = share * self.most / 1.08
            y = self.y(rate)
            ends = f"x1='{self.left}' x2='{right}' y1='{y:.1f}' y2='{y:.1f}'"
            parts.append(f"<line {ends} stroke='#ddd'/>")
            parts.append(text(self.left - 6, round(y + 4, 1), si(rate).strip(), 11, "end"))
        steps = (1, 2, 5) if self.high - self.low < 1.6 else (1, 5)
        for gap in (1e6 * k * 10**p for p in range(4) for k in steps):
            if self.low <= math.log10(gap) <= self.high:
                x = self.x(gap)
                ends = f"y1='{self.top}' y2='{bottom}' x1='{x:.1f}' x2='{x:.1f}'"
                parts.append(f"<line {ends} stroke='#eee'/>")
                parts.append(text(round(x, 1), bottom + 15, duration(gap), 11, "middle"))
        parts.append(text(self.left, bottom + 32, "longest gap of a thread", 11))
        return parts

    def draw(self) -> list[str]:
        parts = self.axes()
        taken: list[tuple[float, float]] = []
        for variant, (gap, rate) in sorted(self.points.items(), key=lambda p: -p[1][1]):
            x, y = self.x(gap), self.y(rate)
            colour = OUR_COLOUR if variant == OURS else THEIR_COLOUR
            parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4.5' fill='{colour}'/>")
            label = y + 4
            while any(abs(x - ax) < 120 and abs(label - ay) < 13 for ax, ay in taken):
                label += 2
            taken.append((x, label))
            if label > y + 6:
                ends = f"x1='{x:.1f}' y1='{y:.1f}' x2='{x + 8:.1f}' y2='{label - 4:.1f}'"
                parts.append(f"<line {ends} stroke='{colour}' stroke-width='0.7'/>")
            said = text(round(x + 9, 1), round(label, 1), variant, 11)
            parts.append(said.replace("#222", colour))
        return parts


def frontier() -> str:
    names = [name for name in SHOWN if name in known()["gaps"]]
    panels = [Panel(name, i % 2, i // 2) for i, name in enumerate(names)]
    width = 2 * (LEFT + WIDTH + GAP)
    height = EDGE + (len(panels) + 1) // 2 * (HEIGHT + 90)
    title = "Acquisitions per second against the longest gap of a thread: up and left is better"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img'"
        f" aria-label='{title}'>",
        f"<rect width='{width}' height='{height}' fill='#fff'/>",
        text(14, 20, title, 14),
    ]
    for panel in panels:
        parts += panel.draw()
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    part, *folders = sys.argv[1:]
    if part not in PARTS:
        sys.exit(f"tools/judged.py: {part}: expected one of {', '.join(PARTS)}")
    keep(part, list(map(Path, folders)))


if __name__ == "__main__":
    main()
