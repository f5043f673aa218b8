#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The results of `overlock sim validate` on all machines: tables, and a picture of all points.

    overlock sim validate --native docs/measured/validation.json -o docs/measured/validation.json
    overlock sim validate --native docs/measured/xeon-16.csv --machine sim/machines/xeon-16.toml \
        --scheduler eevdf -o docs/measured/validation_xeon-16.json
    python tools/simulator_validated.py        # draws docs/img/simulator-validation.svg

tools/docs_tables.py makes the tables.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.ticker import FuncFormatter, NullLocator

from lock_pages import table
from overlock_tools.core.model.quantities import plain
from overlock_tools.core.render import plots
from overlock_tools.core.render.canvas import MARKERS, SERIES, SMALL, WIDTH, Frame, Sheet
from overlock_tools.sim.svg import themed

TOP = Path(__file__).resolve().parent.parent
MEASURED = TOP / "docs/measured"
PICTURE = TOP / "docs/img/simulator-validation.svg"
MACHINES = {
    "2 CPUs, AMD EPYC (virtual)": MEASURED / "validation.json",
    "16 CPUs, Intel Xeon (virtual)": MEASURED / "validation_xeon-16.json",
}
PARTS = {"calibration": "used to calibrate", "held out": "held out"}
Found = dict[str, Any]


def read(file: Path) -> Found:
    return dict(json.loads(file.read_text()))


def judged(found: Found) -> Iterator[Found]:
    return (point for point in found["points"] if "simulated" in point)


def scores_table() -> str:
    rows = []
    for machine, file in MACHINES.items():
        for part, score in read(file)["scores"].items():
            counts = [score["points"][kind] for kind in ("steady", "collapsed", "unsteady")]
            counted = [_of(*count) for count in (*counts, score["orders"])]
            rows.append([machine, PARTS[part], *counted])
    heads = ["machine", "points", "steady: within 1.5×", "both collapsed"]
    return table([*heads, "unsteady: near the range", "orders of locks"], rows)


def _of(number: int, right: int) -> str:
    return f"{right} of {number}" if number else "–"


def wrong_table() -> str:
    rows = [
        [
            f"`{one['point']}`" + (", held out" if one["held_out"] else ""),
            machine.partition(",")[0],
            one["kind"],
            _range(one["native"]),
            _range([*one["simulated"], *one["by_calibration"]], median(one["simulated"])),
        ]
        for machine, file in MACHINES.items()
        for one in judged(read(file))
        if not one["right"]
    ]
    return table(["point", "machine", "kind", "native", "simulated"], rows)


def _range(rates: list[float], middle: float | None = None) -> str:
    middle = median(rates) if middle is None else middle
    ends = f"{plain(min(rates)).strip()} – {plain(max(rates)).strip()}"
    return f"{plain(middle).strip()} ({ends})"


def xeon_table() -> str:
    """Native and simulated rates of each lock, at each number of threads."""
    found = read(MACHINES["16 CPUs, Intel Xeon (virtual)"])
    (series,) = found["series"]
    known = {one["point"]: one for one in judged(found)}

    def cell(lock: str, threads: int) -> str:
        one = known[f"{series['name']}/{lock}/{threads}"]
        native, simulated = median(one["native"]), median(one["simulated"])
        return f"{plain(native).strip()} → {plain(simulated).strip()} ({simulated / native:.2f})"

    rows = [[f"`{lock}`", *(cell(lock, n) for n in series["threads"])] for lock in series["locks"]]
    return table(["lock", *(f"{n}" for n in series["threads"])], rows)


def draw() -> str:
    below = [
        "Medians. Between the thin lines: within 1.5 times.",
        "Hollow: held out. Below 100 k both are only judged to have collapsed.",
    ]
    sheet = Sheet(4.2, Frame("Simulated and native rates, acquisitions per second", below))
    axes = sheet.axes(0.75, WIDTH - 0.9, 0.55, 3.45)
    for place, (machine, file) in enumerate(MACHINES.items()):
        for held_out in (False, True):
            those = [one for one in judged(read(file)) if one["held_out"] == held_out]
            axes.plot(
                [median(one["native"]) for one in those],
                [median(one["simulated"]) for one in those],
                color=SERIES[place][0],
                marker=MARKERS[place],
                markersize=4,
                linestyle="none",
                fillstyle="none" if held_out else "full",
                label=None if held_out else machine,
            )
    ends = [30, 1e7]
    axes.plot(ends, ends, color=SERIES[-1][0], linewidth=1)
    for within in (1.5, 1 / 1.5):
        axes.plot(ends, [within * end for end in ends], color=SERIES[-1][0], linewidth=0.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda rate, _: plain(rate).strip()))
        axis.set_minor_locator(NullLocator())
    axes.set_xlabel("native")
    axes.set_ylabel("simulated")
    axes.legend(fontsize=SMALL - 1, frameon=False, loc="upper left")
    return themed(plots.svg(sheet.figure, "Simulated over native rates of all points"))


if __name__ == "__main__":
    PICTURE.write_text(draw())
