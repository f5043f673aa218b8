#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures programs whose waiting loops spin: natively, under `overlock run --spins`, by settings.

tools/spins_measured.py runs `overlock apps run` for each program and situation, keeps its results
in --kept and writes what they come to into docs/measured/spins.json. A program's settings are
its own remedies, as overlock_tools/apps lists them; fewer threads, the remedy of all, are among the
numbers of threads. Ctrl-C ends it with the rounds that are complete, and the same command goes on.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import kept_json
from apps_measured import rounded, short
from lock_pages import table
from overlock_tools.apps import executor
from overlock_tools.apps.catalogue import APPS
from overlock_tools.cli import main as command
from overlock_tools.core.model import stats
from overlock_tools.core.model.quantities import duration, factor, si
from overlock_tools.core.model.results import Result, from_file
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import INTERRUPTED, MISSING, Fail, say

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/spins.json"
PROGRAMS = (
    *("blis", "llama", "lightgbm", "lightgbm-narrowed", "redis"),
    *("blis-openmp", "openblas", "openblas-openmp", "onnxruntime"),
    *("stencil-gnu", "stencil-active", "stencil-llvm", "tbb", "mpich"),
    *("haproxy", "pgbench-select", "testpmd"),
)
NATIVE, SPINS = executor.NATIVE, executor.SPINS
ALONE, PAIRS = "alone", "pairs"
NONE = "·"


@dataclass(frozen=True)
class Situation:
    words: str
    threads: str
    options: tuple[str, ...] = ()


# The pairs are for the bound of what --spins costs where threads do not outnumber the CPUs.
SITUATIONS = {
    ALONE: Situation("alone", "1,1x,2x,4x"),
    PAIRS: Situation("alone", "1,1x"),
    "neighbours": Situation("two busy neighbours", "1x,4x", ("--background", "2:hogs")),
    "quota-half": Situation("a quota of 0.5 CPU", "1x,4x", ("--quota", "0.5")),
    "quota-one": Situation("a quota of 1 CPU", "1x,4x", ("--quota", "1")),
}


def variants(program: str, situation: str, natively: bool) -> list[str]:
    """Beside the program as it is."""
    spins = [] if natively else [SPINS]
    return spins if situation == PAIRS else [*spins, *APPS[program].free]


def words(program: str, situation: str, options: argparse.Namespace) -> list[str]:
    """The command that measures it."""
    there = SITUATIONS[situation]
    locks = variants(program, situation, options.natively)
    rounds = options.pairs if situation == PAIRS else options.rounds
    return [
        *("apps", "run", program, "--locks", ",".join(locks or [NATIVE])),
        *("--threads", there.threads, *there.options, "--rounds", str(rounds)),
        *("--seconds", f"{options.seconds:g}", "--warm-up", "0.2", "--no-pilot"),
        *("--if-busy", options.if_busy, "-o", str(options.kept / situation)),
    ]


def measured(program: str, situation: str, options: argparse.Namespace) -> int:
    file = options.kept / situation / f"{program}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    if options.again:
        file.unlink(missing_ok=True)
    before = cells_of(file)
    sys.argv[1:] = words(program, situation, options)  # which the result notes
    code = command.run(sys.argv[1:])
    if cells_of(file) > before:
        keep(options.output, program, situation, from_file(file))
    return code


def cells_of(file: Path) -> int:
    return len(from_file(file).cells) if file.exists() else 0


# What is kept of a result


def keep(file: Path, program: str, situation: str, result: Result) -> None:
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    one = found.setdefault(program, {"unit": result.unit, "situations": {}})
    one["versions"] = result.native["packages"]
    one["situations"][situation] = shortened(result)
    if situation == PAIRS:
        one["bounds"] = bounds(result)
    in_order = [name for name in PROGRAMS if name in found]
    kept_json.write(file, {name: found[name] for name in in_order})


def shortened(result: Result) -> dict[str, Any]:
    host = str(result.machine["kernel"]).partition("-")[0]
    return {
        "machine": f"{result.machine['cpu']}, {result.cpus} CPUs, Linux {host}",
        "commit": native.commit(TOP),
        "date": result.settings["date"],
        "rounds": len({cell.round for cell in result.cells}),
        "seconds": result.settings["seconds"],
        "cpus": result.cpus,
        "cells": {
            str(n): {
                variant: told for variant in result.variants if (told := _told(result, variant, n))
            }
            for n in result.threads
        },
    }


def _told(result: Result, variant: str, threads: int) -> dict[str, Any]:
    no = [c for c in result.impossible if (c.variant, c.threads) == (variant, threads)]
    if no:
        return {"why": short(no[0].why)}
    cells = result.of(variant, threads)
    if not cells:
        return {}
    rates = [cell.rate for cell in cells]
    told: dict[str, Any] = {
        "rate": [rounded(value) for value in (stats.median(rates), min(rates), max(rates))],
        "cpu_s": rounded(stats.median([c.cpu_seconds / max(c.work, 1) for c in cells])),
    }
    if result.cut(variant, threads):
        told["cut"] = True
    if (p99 := result.value("p99", variant, threads)) is not None:
        told["p99_ns"] = rounded(p99)
    if stops := [cell.throttled for cell in cells if cell.throttled is not None]:
        told["throttled"] = rounded(stats.median(stops))
    ratio = result.ratio(variant, NATIVE, [threads]) if variant != NATIVE else None
    if ratio:
        told["ratio"] = [value and rounded(value) for value in (ratio.value, ratio.low, ratio.high)]
    return told


def bounds(result: Result) -> dict[str, Any]:
    """By threads, that many pairs, the ratio of --spins to native, and above what it is at 95 %."""
    found = {}
    for n in result.threads:
        for ours, theirs in result.paired(SPINS, NATIVE, [n]):
            ratio = stats.ratio(ours, theirs, stats.both_ends(stats.CONFIDENCE))
            low = ratio.low and rounded(ratio.low)
            found[str(n)] = {"pairs": len(ours), "ratio": rounded(ratio.value), "low": low}
    return found


# Tables


@cache
def programs() -> dict[str, dict[str, Any]]:
    if not FILE.exists():
        raise Fail("no spins.json in docs/measured; `make spins-measured` makes it", MISSING)
    return dict(json.loads(FILE.read_text()))


def multiple(threads: int, cpus: int) -> str:
    """How many threads there are, by CPUs: 1/2×, 1×, 4×."""
    return f"{threads // cpus}×" if threads >= cpus else f"{threads} thread"


def rate(told: dict[str, Any]) -> str:
    if "rate" not in told:
        return str(told.get("why", NONE))
    median, least, most = (si(value).strip() for value in told["rate"])
    bound = "< " if told.get("cut") else ""
    return f"{bound}{median}/s ({least} – {most})"


def best(cells: dict[str, dict[str, Any]]) -> float:
    """The program's own best rate: natively, with the number of threads that suits it."""
    own = [told[NATIVE]["rate"][0] for told in cells.values() if "rate" in told.get(NATIVE, {})]
    return max(own, default=0.0)


def rate_rows(found: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    """A row for each program and setting: the rates alone, and what is left of the best."""
    for program, one in found.items():
        alone = one["situations"].get(ALONE)
        if not alone:
            continue
        cells = alone["cells"]
        top, most = best(cells), list(cells)[-1]
        for setting in dict.fromkeys(name for told in cells.values() for name in told):
            there = [told.get(setting, {}) for told in cells.values()]
            last = cells[most].get(setting, {}).get("rate")
            left = factor(last[0] / top) if last and top else NONE
            yield [program, setting, *map(rate, there), left]


def rates(found: dict[str, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    of_all = [one["situations"][ALONE] for one in found.values() if ALONE in one["situations"]]
    places = {tuple(multiple(int(n), one["cpus"]) for n in one["cells"]) for one in of_all}
    if len(places) != 1:
        raise Fail(f"spins.json has no common numbers of threads: {sorted(places)}")
    (threads,) = places
    return ["program", "setting", *threads, f"{threads[-1]} ÷ best"], list(rate_rows(found))


def bound_rows(found: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    for program, one in found.items():
        for threads, told in one.get("bounds", {}).items():
            low = NONE if told["low"] is None else f"{told['low']:.3f}"
            yield [program, threads, str(told["pairs"]), f"{told['ratio']:.3f}", low]


BOUNDS = ["program", "threads", "pairs", "÷ native", "at least (95 %)"]


def ratio(told: dict[str, Any]) -> str:
    if "ratio" not in told:
        return NONE
    value, low, high = told["ratio"]
    interval = f" ({factor(low)} – {factor(high)})" if low and high else ""
    return f"{factor(value)}×{interval}"


def around_rows(found: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    """Rates beside others and under quotas, and what they cost."""
    for program, one in found.items():
        for name, there in one["situations"].items():
            if name == PAIRS:
                continue
            where = SITUATIONS[name].words
            for n, by_setting in there["cells"].items():
                for setting, told in by_setting.items():
                    costs = [
                        duration(told.get("p99_ns")) or NONE,
                        duration(told["cpu_s"] * 1e9) if "cpu_s" in told else NONE,
                        f"{told['throttled']:g}" if "throttled" in told else NONE,
                    ]
                    yield [program, where, n, setting, rate(told), ratio(told), *costs]


AROUND = [
    "program",
    "situation",
    "threads",
    "setting",
    "rate",
    "÷ native",
    "p99",
    "CPU time",
    "stops",
]


def about_rows(found: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    for program, one in found.items():
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        those = one["situations"].values()
        runs = {(there["machine"], there["commit"], there["date"]) for there in those}
        for machine, commit, date in sorted(runs, key=lambda run: run[2]):
            yield [program, versions, one["unit"], machine, commit, date]


ABOUT = ["program", "versions", "unit", "machine", "commit", "date"]


def _quoted(rows: Iterator[list[str]] | list[list[str]], columns: Sequence[int]) -> list[list[str]]:
    return [[f"`{cell}`" if i in columns else cell for i, cell in enumerate(row)] for row in rows]


def rates_table() -> str:
    headings, rows = rates(programs())
    return table(headings, _quoted(rows, (0, 1)))


def bounds_table() -> str:
    return table(BOUNDS, _quoted(bound_rows(programs()), (0,)))


def around_table() -> str:
    return table(AROUND, _quoted(around_rows(programs()), (0, 3)))


def about_table() -> str:
    return table(ABOUT, _quoted(about_rows(programs()), (0,)))


def show(file: Path, names: Sequence[str], out: Console) -> None:
    every: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    found = {name: one for name, one in every.items() if name in names}
    if not found:
        return
    shown = [(BOUNDS, list(bound_rows(found))), (AROUND, list(around_rows(found)))]
    if any(ALONE in one["situations"] for one in found.values()):
        shown.insert(0, rates(found))
    for headings, rows in shown:
        if rows:
            grid = Table(*headings, box=None, pad_edge=False)
            for row in rows:
                grid.add_row(*row)
            out.print(grid, "")


# The command


def chosen(only: Sequence[str]) -> list[str]:
    for name in only:
        if name not in PROGRAMS:
            raise Fail(f"--only {name}: expected one of {', '.join(PROGRAMS)}")
    here = []
    for name in only or PROGRAMS:
        if lacking := APPS[name].missing():
            say(f"{name} is left out; it needs {', '.join(lacking)}: overlock apps install {name}")
        else:
            here.append(name)
    if not here:
        raise Fail(
            f"no program is installed; `overlock apps install {' '.join(PROGRAMS)}`", MISSING
        )
    return here


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--programs", action="store_true", help="print the programs' names")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="program")
    parser.add_argument("--situation", action="append", default=[], choices=SITUATIONS)
    parser.add_argument("--rounds", type=int, default=9, help="of each cell [default: 9]")
    parser.add_argument("--pairs", type=int, default=30, help="for the bounds [default: 30]")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a cell [default: 1]")
    parser.add_argument("--natively", action="store_true", help="measure without --spins")
    parser.add_argument("--again", action="store_true", help="measure what was measured anew")
    parser.add_argument("--if-busy", choices=("warn", "refuse", "wait"), default="warn")
    parser.add_argument("--kept", type=Path, default=TOP / "build/spins", metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, default=FILE, help="file to update")
    options = parser.parse_args()
    if min(options.rounds, options.pairs) < 1 or options.seconds < 0.2:
        parser.error("--rounds and --pairs must be above 0, --seconds at least 0.2")
    return options


def main() -> int:
    options = parsed()
    if options.programs:
        print(" ".join(PROGRAMS))
        return 0
    names = chosen(options.only)
    left_out = [PAIRS] if options.natively else []
    places = [s for s in options.situation or SITUATIONS if s not in left_out]
    worst = 0
    for situation in places:
        for name in names:
            say(f"{name}, {SITUATIONS[situation].words} ({situation})")
            code = measured(name, situation, options)
            worst = max(worst, code)
            if code == INTERRUPTED:
                show(options.output, names, Console())
                say(f"interrupted: {options.output} has the rounds that are complete")
                return INTERRUPTED
    show(options.output, names, Console())
    return worst


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
