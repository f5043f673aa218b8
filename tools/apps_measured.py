#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What docs/apps-measured.md says: results of `overlock apps run`, shortened.

tools/apps_measured.py FOLDER writes into docs/measured/apps.json, of the programs in that folder:
of each lock and number of threads the median rate, the ratio to glibc's with its interval, or why
there is none. Other programs stay as they are: each says what it was measured on.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from overlock_tools.errors import Fail
from overlock_tools.papers import compared
from overlock_tools.results import Result, from_file
from overlock_tools.tables import factor, si

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/apps.json"
NONE = "·"


@dataclass(frozen=True)
class Program:
    raw: dict[str, Any]

    @property
    def threads(self) -> list[str]:
        return list(self.raw["threads"])

    @property
    def locks(self) -> dict[str, dict[str, dict[str, Any]]]:
        found: dict[str, dict[str, dict[str, Any]]] = self.raw["locks"]
        return found

    @property
    def baseline(self) -> str:
        return str(self.raw["baseline"])

    def cell(self, lock: str, threads: str) -> str:
        numbers = self.locks[lock].get(threads)
        if not numbers:
            return NONE
        if "why" in numbers:
            return str(numbers["why"])
        if lock == self.baseline:
            return f"{si(numbers['rate']).strip()}/s"
        low, high = (factor(value) for value in numbers["interval"])
        mark = "**" if numbers["interval"][0] > 1 or numbers["interval"][1] < 1 else ""
        return f"{mark}{factor(numbers['ratio'])}×{mark} ({low} – {high})"


@cache
def programs() -> dict[str, Program]:
    if not FILE.exists():
        raise Fail(f"no {FILE.name} in docs/measured; tools/apps_measured.py makes it")
    return {name: Program(raw) for name, raw in json.loads(FILE.read_text()).items()}


def known(program: str) -> Program:
    if program not in programs():
        raise Fail(f"{program} was not measured; there are {', '.join(programs())}")
    return programs()[program]


def about(program: Program) -> str:
    raw = program.raw
    return f"{raw['unit'].capitalize()} per second. On {raw['machine']}:\n\n    {raw['command']}\n"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _numbers(result: Result) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for lock in result.variants:
        for n in result.threads:
            if given_up := result.given_up(lock, n):
                yield lock, n, {"why": _short(given_up.why)}
                continue
            rate, base = result.median_rate(lock, n), (result.baseline, n)
            if rate is None:
                continue
            numbers: dict[str, Any] = {"rate": _rounded(rate)}
            ratio = compared(result, (lock, n), base) if lock != result.baseline else None
            if ratio and ratio.low is not None and ratio.high is not None:
                numbers["ratio"] = _rounded(ratio.value)
                numbers["interval"] = [_rounded(ratio.low), _rounded(ratio.high)]
            elif lock != result.baseline:
                continue
            yield lock, n, numbers


def _short(why: str) -> str:
    return "cut" if why.startswith("cut") else "< 0.1×" if "tenth" in why else why


def shortened(result: Result) -> dict[str, Any]:
    host = str(result.machine["kernel"]).partition("-")[0]
    locks: dict[str, dict[str, Any]] = {}
    for lock, n, numbers in _numbers(result):
        locks.setdefault(lock, {})[str(n)] = numbers
    return {
        "unit": result.unit,
        "machine": f"{result.machine['cpu']}, {result.cpus} CPUs, Linux {host}",
        "command": result.command,
        "baseline": result.baseline,
        "threads": [str(n) for n in result.threads],
        "locks": locks,
    }


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: tools/apps_measured.py FOLDER")
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    if not files:
        sys.exit(f"no results in {sys.argv[1]}; `overlock apps run -o` makes them")
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    for result in map(from_file, files):
        found[result.kind.removeprefix("program-")] = shortened(result)
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
