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
import re
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
from overlock_tools.core.model.quantities import duration, factor, si, span
from overlock_tools.core.model.results import Result, from_file
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import INTERRUPTED, MISSING, Fail, say
from overlock_tools.core.system.terminal import console

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
Found = dict[str, dict[str, Any]]  # what is kept, by program
BUSY = re.compile(r"other work took (?:up to )?(\d+)% of the CPUs")  # a result's warnings


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
    """In-process: what is set up around a measurement is undone if it is interrupted."""
    file = options.kept / situation / f"{program}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    if options.again:
        file.unlink(missing_ok=True)
    before = cells_of(file)
    sys.argv[1:] = words(program, situation, options)  # which the result notes
    code = command.run(sys.argv[1:])
    if cells_of(file) > before or (before and not has(options.output, program, situation)):
        keep(options.output, program, situation, from_file(file))
    return code


def cells_of(file: Path) -> int:
    return len(from_file(file).cells) if file.exists() else 0


# What is kept of a result


def kept(file: Path) -> Found:
    return dict(json.loads(file.read_text())) if file.exists() else {}


def has(file: Path, program: str, situation: str) -> bool:
    return situation in kept(file).get(program, {}).get("situations", {})


def keep(file: Path, program: str, situation: str, result: Result) -> None:
    found = kept(file)
    one = found.setdefault(program, {"unit": result.unit, "situations": {}})
    one["versions"] = result.native["packages"]
    one["situations"][situation] = shortened(result)
    if situation == PAIRS:
        one["bounds"] = bounds(result)
    in_order = [name for name in PROGRAMS if name in found]
    kept_json.write(file, {name: found[name] for name in in_order})


def shortened(result: Result) -> dict[str, Any]:
    proofs = result.scenario.get("proof", {}).values()
    host = str(result.machine["kernel"]).partition("-")[0]
    return {
        "machine": f"{result.machine['cpu']}, {result.cpus} CPUs, Linux {host}",
        "commit": native.commit(TOP),
        "date": result.settings["date"],
        "rounds": len({cell.round for cell in result.cells}),
        "seconds": result.settings["seconds"],
        "cpus": result.cpus,
        "doubts": [proof["words"] for proof in proofs if not proof["held"]],
        "others": max(map(int, BUSY.findall(" ".join(result.warnings))), default=0),
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
    }
    if costs := [c.cpu_seconds / max(c.work, 1) for c in cells if not c.cut]:
        told["cpu_s"] = rounded(stats.median(costs))
    if cut := result.cut(variant, threads):
        told["cut"] = True  # its rate is at most that
    if (p99 := result.value("p99", variant, threads)) is not None:
        told["p99_ns"] = rounded(p99)
    if stops := [cell.throttled for cell in cells if cell.throttled is not None]:
        told["throttled"] = rounded(stats.median(stops))
    known = variant != NATIVE and not (cut or result.cut(NATIVE, threads))
    if known and (ratio := result.ratio(variant, NATIVE, [threads])):
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
def programs() -> Found:
    if not FILE.exists():
        raise Fail("no spins.json in docs/measured; `make spins-measured` makes it", MISSING)
    return kept(FILE)


def there(found: Found, situation: str) -> dict[str, dict[str, Any]]:
    """The programs that were measured in that situation, with what was."""
    pairs = ((name, one["situations"].get(situation)) for name, one in found.items())
    return {name: measured for name, measured in pairs if measured}


def multiples(measured: dict[str, dict[str, Any]]) -> list[str]:
    """Numbers of threads, by CPUs, of all programs measured: 1 thread, 1×, 4×."""

    def called(threads: int, cpus: int) -> str:
        return "1 thread" if threads == 1 else f"{threads / cpus:g}×"

    kinds = {tuple(called(int(n), one["cpus"]) for n in one["cells"]) for one in measured.values()}
    if len(kinds) > 1:
        raise Fail(f"{FILE.name}: programs were measured with {' and '.join(map(str, kinds))}")
    return list(kinds.pop()) if kinds else []


def settings(measured: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(name for cell in measured["cells"].values() for name in cell))


def rate(told: dict[str, Any]) -> str:
    if "rate" not in told:
        return str(told.get("why", NONE))
    median, least, most = map(si, told["rate"])
    bound = "< " if told.get("cut") else ""
    return f"{bound}{median.strip()}/s ({span(least, most)})"


def best(measured: dict[str, Any]) -> float:
    """The program's own best rate: natively, with the number of threads that suits it."""
    own = (cell.get(NATIVE, {}) for cell in measured["cells"].values())
    return max((told["rate"][0] for told in own if "rate" in told), default=0.0)


def rate_rows(found: Found) -> Iterator[list[str]]:
    """A row for each program and setting: the rates alone, and what is left of the best."""
    for program, measured in there(found, ALONE).items():
        top, cells = best(measured), list(measured["cells"].values())
        for setting in settings(measured):
            last = cells[-1].get(setting, {}).get("rate")
            left = factor(last[0] / top) if last and top else NONE
            rates = (rate(cell.get(setting, {})) for cell in cells)
            yield [program, setting, *rates, left]


def rate_headings(found: Found) -> list[str]:
    threads = multiples(there(found, ALONE))
    return ["program", "setting", *threads, f"{threads[-1]} ÷ best"]


def bound_rows(found: Found) -> Iterator[list[str]]:
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


def cost_rows(found: Found, situation: str) -> Iterator[list[str]]:
    """With most threads, and beside it whether anything is lost with as many as CPUs."""
    for program, measured in there(found, situation).items():
        *_, fit, most = (measured["cells"][n] for n in picked(measured))
        for setting in settings(measured):
            told = most.get(setting, {})
            yield [
                program,
                setting,
                ratio(fit.get(setting, {})),
                rate(told),
                ratio(told),
                duration(told.get("p99_ns")) or NONE,
                duration(told["cpu_s"] * 1e9) if "cpu_s" in told else NONE,
                f"{told['throttled']:g}" if "throttled" in told else NONE,
            ]


def picked(measured: dict[str, Any]) -> list[str]:
    """As many threads as CPUs, and the most."""
    return [str(measured["cpus"]), list(measured["cells"])[-1]]


COSTS = [
    *(
        "program",
        "setting",
        "1× ÷ native",
        "4×",
        "4× ÷ native",
        "p99 of a unit",
        "CPU time of a unit",
    ),
    "stops",
]


def about_rows(found: Found) -> Iterator[list[str]]:
    for program, one in found.items():
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        those = one["situations"].values()
        runs = {(run["date"], run["machine"], run["commit"]) for run in those}
        for date, machine, commit in sorted(runs):
            yield [program, one["unit"], versions, machine, commit, date]


ABOUT = ["program", "unit", "versions", "machine", "source", "date"]


def _table(headings: list[str], rows: Iterator[list[str]], names: Sequence[int]) -> str:
    """`names`: the columns with programs' names and settings."""
    quoted = [[f"`{text}`" if i in names else text for i, text in enumerate(row)] for row in rows]
    return table(headings, quoted) if quoted else "Not measured yet.\n"


def rates_table() -> str:
    said = _table(rate_headings(programs()), rate_rows(programs()), (0, 1))
    return said + "".join(f"\n{doubt}\n" for doubt in doubts(programs(), ALONE))


def bounds_table() -> str:
    return _table(BOUNDS, bound_rows(programs()), (0,))


def costs_table(situation: str) -> str:
    said = _table(COSTS, cost_rows(programs(), situation), (0, 1))
    return said + "".join(f"\n{doubt}\n" for doubt in doubts(programs(), situation))


def doubts(found: Found, situation: str) -> Iterator[str]:
    """Where the situation was not what it is called, and where the machine was not idle."""
    measured = there(found, situation)
    for program, one in measured.items():
        yield from (f"`{program}`: {words}." for words in one["doubts"])
    if busy := {program: one["others"] for program, one in measured.items() if one["others"]}:
        names = ", ".join(f"`{program}`" for program in busy)
        took = f"Other work took up to {max(busy.values())} % of the CPUs"
        yield f"{took} while {names} ran: expect noise."


def about_table() -> str:
    return _table(ABOUT, about_rows(programs()), (0,))


def show(file: Path, names: Sequence[str], out: Console) -> None:
    found = {name: one for name, one in kept(file).items() if name in names}
    shown = [("pairs", BOUNDS, list(bound_rows(found)))]
    for name, situation in SITUATIONS.items():
        if name != PAIRS:
            shown.append((situation.words, COSTS, list(cost_rows(found, name))))
    if there(found, ALONE):
        shown.insert(0, ("alone", rate_headings(found), list(rate_rows(found))))
    for title, headings, rows in shown:
        if rows:
            grid = Table(title=title, title_justify="left", box=None, pad_edge=False)
            for heading in headings:
                grid.add_column(heading, no_wrap=True)
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
    parser.add_argument("--seconds", type=float, default=0.5, help="of a cell [default: 0.5]")
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
                show(options.output, names, console())
                say(f"interrupted: {options.output} has the rounds that are complete")
                return INTERRUPTED
    show(options.output, names, console())
    return worst


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
