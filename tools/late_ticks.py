#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What late ticks change at the points of `overlock sim validate` where FIFO locks collapse.

Takes the native rates of docs/measured/validation.json, and simulates those points with exact
ticks and with ticks that are up to 0.3 and 1 us late: a minute. Writes
docs/measured/late_ticks.json; tools/docs_tables.py makes the table.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import kept_json
from lock_pages import table
from overlock_tools.core.model.quantities import plain
from overlock_tools.core.system import native
from overlock_tools.sim import machines, native_points, validate
from overlock_tools.sim.native_points import Plan, Point

TOP = Path(__file__).resolve().parent.parent
NATIVE = TOP / "docs/measured/validation.json"
FILE = TOP / "docs/measured/late_ticks.json"
LATE_NS = (0, 300, 1000)
FIFO = ("ticket", "ticket_backoff", "mcs", "clh", "twa", "qspin")
SEEDS = 3


def wanted(asked: Plan, rates: validate.Rates) -> list[Point]:
    known = [p for p in native_points.points(asked) if rates.get(p.name)]
    fifo = [p for p in known if p.lock in FIFO]
    return [p for p in fifo if p.threads >= 4 or not _steady(asked, rates[p.name])]


def _steady(asked: Plan, rates: Sequence[float]) -> bool:
    return max(rates) < asked.judged.steady * min(rates)


def measure() -> dict[str, Any]:
    asked, kept = native_points.plan(), validate.read(NATIVE)
    rates = {one["point"]: one["native"] for one in kept["points"]}
    like = replace(kept["simulated"], costs=machines.presets() | kept["simulated"].costs)
    scheduler = validate.SCHEDULERS[kept["machine"]["scheduler"]]

    def simulated(point: Point, late_ns: int) -> list[int]:
        on = (replace(like, tick_jitter_ns=late_ns), scheduler)
        return [
            _rate(validate.told(point, on, asked.simulated, seed)) for seed in range(1, SEEDS + 1)
        ]

    def row(point: Point) -> dict[str, Any]:
        found = {str(late): simulated(point, late) for late in LATE_NS}
        return {
            "point": point.name,
            "held_out": point.is_held_out(asked.judged),
            "steady": _steady(asked, rates[point.name]),
            "native": [round(rate) for rate in rates[point.name]],
            "simulated": found,
        }

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        rows = list(pool.map(row, wanted(asked, rates)))
    return {"format": "overlock-late-ticks", "version": 1, "points": rows}


def _rate(told: dict[str, Any]) -> int:
    done = subprocess.run(
        [native.simulator()], input=json.dumps(told), capture_output=True, text=True, check=True
    )
    return round(validate.rate(json.loads(done.stdout)))


def late_ticks_table() -> str:
    rows = [
        [
            f"`{one['point']}`" + (", held out" if one["held_out"] else ""),
            _shown(one["native"]),
            *(_shown(one["simulated"][str(late)]) for late in LATE_NS),
        ]
        for one in json.loads(FILE.read_text())["points"]
    ]
    heads = ["point", "native", "exact ticks", "up to 0.3 µs late", "up to 1 µs late"]
    return table(heads, rows)


def _shown(rates: Sequence[float]) -> str:
    ends = f"{plain(min(rates)).strip()} – {plain(max(rates)).strip()}"
    return f"{plain(median(rates)).strip()} ({ends})"


if __name__ == "__main__":
    kept_json.write(FILE, measure())
