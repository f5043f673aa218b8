#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a mix of `overlock sim` takes from a counted guest: docs/measured/mixes.json.

    tools/mixes.py RESULT.json...    of `overlock guest run --variant counted --lock ticket`

adds the loads of these results to that file, and prints what a mix's file says of each.
"""

import json
import sys
from pathlib import Path
from typing import Any

import kept_json
from overlock_tools.core.system import files

MEASURED = Path(__file__).parents[1] / "docs/measured/mixes.json"
CUT = 0.9999  # of the sections; in the longest, the host took the vCPU's CPU
EDGES = [0, *(1 << n for n in range(4, 24))]


def main() -> None:
    measured = json.loads(files.read_text(MEASURED)) if MEASURED.exists() else {"loads": {}}
    for name in sys.argv[1:]:
        result = json.loads(files.read_text(Path(name)))
        measured["loads"][_load(result)] = of_load(result)
    kept_json.write(MEASURED, measured)
    for load, of in measured["loads"].items():
        print(f"{load}:", *said(of, measured["faster"]), sep="\n  ")


def _load(result: dict[str, Any]) -> str:
    words = result["command"].split()
    return str(words[words.index("--load") + 1])


def of_load(result: dict[str, Any]) -> dict[str, Any]:
    from hdrh.histogram import HdrHistogram

    (cell,) = result["cells"]
    histogram = HdrHistogram.decode(cell["hold"])
    held = [
        [int(step.value_iterated_to), int(step.count_added_in_this_iter_step)]
        for step in histogram.get_recorded_iterator()
    ]
    return {
        "command": result["command"].partition(" --json")[0],
        "machine": f"{result['machine']['cpu']}, Linux {result['machine']['kernel']}",
        "unit": result["unit"],
        "vcpus": cell["threads"],
        "seconds": cell["seconds"],
        "cpu_seconds": cell["cpu_seconds"],
        "work": cell["work"],
        "acquisitions": cell["events"]["ACQUIRE"],
        "slow_paths": cell["events"]["SLOW_PATH"],
        "sleeps": cell["voluntary"],
        "held_ns": held,
    }


def said(of: dict[str, Any], faster: float) -> list[str]:
    """Lengths as on hardware, where all takes `faster` times less than when translated."""
    bins, mean = _bins(of["held_ns"], faster)
    each = of["cpu_seconds"] * 1e9 / of["acquisitions"] / faster
    idle = of["vcpus"] * of["seconds"] - of["cpu_seconds"]
    return [
        f"sections = {max(1, round(of['acquisitions'] / of['work']))}",
        f"section = {{ bins_ns = {bins} }} # mean {mean:.0f} ns",
        f"think: mean_ns = {max(0, round(each - mean))}",
        f"wait: every = {round(of['acquisitions'] / of['sleeps'])}, "
        f"mean_ns = {round(idle * 1e9 / of['sleeps'] / faster)}",
        f"slow paths: {of['slow_paths'] / of['acquisitions']:.2%}",
    ]


def _bins(held: list[list[int]], faster: float) -> tuple[list[list[int]], float]:
    """By doublings; in parts of 10,000."""
    wanted, total, kept = sum(n for _, n in held) * CUT, 0.0, 0
    counts = [0] * len(EDGES)
    for ns, n in held:
        if kept >= wanted:
            break
        kept += n
        total += ns / faster * n
        counts[next(i for i, edge in enumerate(EDGES) if edge > ns / faster) - 1] += n
    bins = [
        [EDGES[i], EDGES[i + 1] - 1, round(n / kept * 10_000)]
        for i, n in enumerate(counts)
        if round(n / kept * 10_000)
    ]
    return bins, total / kept


main()
