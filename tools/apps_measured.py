#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The numbers of docs/results/apps.md: shortened results of `overlock apps run`.

tools/apps_measured.py [--as PAPER] PATH... updates docs/measured/apps.json, openmp_apps.json for
OpenMP's kernels, and openmp_programs.json for programs on libomp. For each program in the
given folders it writes, for each lock, number of threads and number of copies, the median rate and
the ratio to the baseline's with its interval, or the reason why there is none; for a folder with
counters, the counters. With --as, the program is called PROGRAM@PAPER. Other places of the same
program stay, even from another machine, because a ratio is of one run. A file of `overlock apps csd
--json FILE` is copied to docs/measured/csd.json.
"""

import argparse
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kept_json
from overlock_tools.core.analyze.paper_claims import compared
from overlock_tools.core.model.quantities import duration, factor, si
from overlock_tools.core.model.results import Result, from_file
from overlock_tools.core.system.errors import Fail

TOP = Path(__file__).resolve().parent.parent
MEASURED = TOP / "docs/measured"
FILE = MEASURED / "apps.json"
# Programs whose names begin so have a file of their own: their locks are no mutexes.
PROGRAMS = MEASURED / "openmp_programs.json"
OPENMP = {"omp-": MEASURED / "openmp_apps.json", "libomp-": PROGRAMS, "pyomp-": PROGRAMS}
HELD = TOP / "docs/measured/csd.json"
NONE = "·"


@dataclass(frozen=True)
class Program:
    raw: dict[str, Any]

    @property
    def places(self) -> list[str]:
        """Threads, or copies and threads: `8`, `2x2`."""
        return list(self.raw["places"])

    @property
    def locks(self) -> dict[str, dict[str, dict[str, Any]]]:
        found: dict[str, dict[str, dict[str, Any]]] = self.raw["locks"]
        return found

    @property
    def baseline(self) -> str:
        return str(self.raw["baseline"])

    @property
    def counted(self) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = self.raw.get("counted", {})
        return found

    def ratio(self, lock: str, place: str) -> str:
        """The ratio to glibc's rate; bold if the interval excludes 1."""
        numbers = self.locks.get(lock, {}).get(place, {})
        if "ratio" not in numbers:
            return str(numbers.get("why", NONE))
        mark = "**" if numbers["interval"][0] > 1 or numbers["interval"][1] < 1 else ""
        return f"{mark}{factor(numbers['ratio'])}×{mark}"

    def cell(self, lock: str, place: str) -> str:
        numbers = self.locks[lock].get(place, {})
        if lock == self.baseline and numbers:
            return f"{si(numbers['rate']).strip()}/s"
        if "interval" not in numbers:
            return self.ratio(lock, place)
        low, high = (factor(value) for value in numbers["interval"])
        return f"{self.ratio(lock, place)} ({low} – {high})"


def heading(place: str) -> str:
    copies, times, threads = place.rpartition("x")
    words = f"{threads} thread{'s' if threads != '1' else ''}"
    return f"{copies} copies of {words}" if times else words


@cache
def programs(file: Path = FILE) -> dict[str, Program]:
    if not file.exists():
        raise Fail(f"no {file.name} in docs/measured; tools/apps_measured.py makes it")
    return {name: Program(raw) for name, raw in json.loads(file.read_text()).items()}


def file_of(program: str) -> Path:
    return next((file for prefix, file in OPENMP.items() if program.startswith(prefix)), FILE)


def known(program: str) -> Program:
    every = programs(file_of(program))
    if program not in every:
        raise Fail(f"{program} was not measured; there are {', '.join(every)}")
    return every[program]


def about(program: Program) -> str:
    runs: dict[str, list[str]] = program.raw["runs"]
    said = [f"{program.raw['unit'].capitalize()} per second."]
    for machine, commands in runs.items():
        said += [f"On {machine}:", "\n".join(f"    {command}" for command in commands)]
    return "\n\n".join(said) + "\n"


def why(numbers: dict[str, float]) -> list[str]:
    return [
        si(numbers["stalls_per_million"]).strip(),
        f"{numbers['waiters']:.0%}",
        si(numbers["psp_per_million"]).strip(),
        f"{factor(numbers['cpu'])}×" if numbers["cpu"] < 1000 else "> 1000×",
    ]


def held() -> list[list[str]]:
    """How long each program holds its locks, and the shares below the bounds of Teabe et al."""
    found = json.loads(HELD.read_text())["programs"]
    return [
        [
            f"`{one['name']}`",
            *(duration(one[f"{name}_ns"]) for name in ("median", "mean", "p99")),
            *(f"{1 - one[f'over_{name}']:.2%}" for name in ("1_us", "mean_csd", "csd")),
        ]
        for one in found
    ]


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _numbers(result: Result) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for lock in result.variants:
        for n in result.threads:
            no = [c for c in result.impossible if (c.variant, c.threads) == (lock, n)]
            if given_up := result.given_up(lock, n) or next(iter(no), None):
                yield lock, n, {"why": short(given_up.why)}
                continue
            rate, base = result.median_rate(lock, n), (result.baseline, n)
            if rate is None:
                continue
            numbers: dict[str, Any] = {"rate": rounded(rate)}
            ratio = compared(result, (lock, n), base) if lock != result.baseline else None
            if ratio and ratio.low is not None and ratio.high is not None:
                numbers["ratio"] = rounded(ratio.value)
                numbers["interval"] = [rounded(ratio.low), rounded(ratio.high)]
            elif lock != result.baseline:
                continue
            yield lock, n, numbers


def short(why: str) -> str:
    if why.startswith("cut") or "not done within" in why:
        return "cut"
    return "< 0.1×" if "tenth" in why else why


def _place(result: Result, threads: int) -> str:
    copies = result.scenario.get("settings", {}).get("neighbours", "")
    return f"{copies}x{threads}" if copies else str(threads)


def run_on(result: Result, runs: dict[str, list[str]]) -> None:
    """Notes the command under the machine that it ran on."""
    host = str(result.machine["kernel"]).partition("-")[0]
    machine = f"{result.machine['cpu']}, {result.cpus} CPUs, Linux {host}"
    commands = runs.setdefault(machine, [])
    if (command := re.sub(r"-o \S+", "-o results", result.command)) not in commands:
        commands.append(command)


def shortened(result: Result, known: dict[str, Any]) -> dict[str, Any]:
    """The result, merged with earlier ones of the same program."""
    about = {"unit": result.unit, "baseline": result.baseline}
    if any(known.get(name) != value for name, value in about.items()):
        known = {**about, "runs": {}, "places": [], "locks": {}}
    run_on(result, known["runs"])
    known["places"] += [
        place for n in result.threads if (place := _place(result, n)) not in known["places"]
    ]
    for lock, n, numbers in _numbers(result):
        known["locks"].setdefault(lock, {})[_place(result, n)] = numbers
    return known


WHY = ("stalls_per_million", "waiters", "psp_per_million")


def counted(result: Result) -> dict[str, dict[str, float]]:
    """Each lock's counters at most threads, and its CPU time relative to glibc's."""
    most = result.threads[-1]
    rows = {r["variant"]: r["measures"] for r in result.summary() if r["threads"] == most}
    return {
        lock: {
            **{name: rounded(measures[name]) for name in WHY},
            "cpu": rounded(measures["cpu"] / rows[result.baseline]["cpu"]),
        }
        for lock, measures in rows.items()
        if measures.get(WHY[0]) is not None
    }


def _kept(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Results of overlock apps run, for docs/.")
    parser.add_argument("--as", dest="paper", metavar="PAPER", default="")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    options = parser.parse_args()
    files = {file: _kept(file) for file in (FILE, *OPENMP.values())}
    for path in options.paths:
        if not path.is_file() and not any(path.glob("*.json")):
            parser.error(f"{path}: neither a file nor a folder of results")
        if path.is_file():
            shutil.copyfile(path, HELD)
        for result in map(from_file, sorted(path.glob("*.json"))):
            name = result.kind.removeprefix("program-")
            found = files[file_of(name)]
            if why := counted(result):
                if name not in found:
                    parser.error(
                        f"{path}: {name} has counters only; measure it without --counters first"
                    )
                found[name]["counted"] = why
            else:
                key = f"{name}@{options.paper}" if options.paper else name
                found[key] = shortened(result, found.get(key, {}))
    for file, found in files.items():
        if found:
            kept_json.write(file, found)


if __name__ == "__main__":
    main()
