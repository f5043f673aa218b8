#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The machines of docs/results/machines.md, side by side: rates of locks, and what operations cost.

    tools/machines.py ARCHIVE...      of `overlock collect`, from any machine
    tools/machines.py --here          measures this machine, at the points of those that are kept

Each is kept by its name in docs/measured/machines.json, in the place of an older result of it.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import kept_json
from lock_pages import table
from measured import shortened
from overlock_tools.collect.run import NAME, usual_name
from overlock_tools.core.model import collected, results
from overlock_tools.core.model.quantities import si
from overlock_tools.core.model.results import Result
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail, say
from overlock_tools.core.system.text import printable

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/machines.json"
# Of an archive.
SECTIONS, COSTS = "bench-sections.json", "machine.toml"
SECONDS = 0.12  # of a measurement, as of the machines that are kept
Machine = dict[str, Any]


@cache
def load() -> dict[str, Machine]:
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}


def keep(name: str, found: Machine) -> None:
    kept_json.write(FILE, dict(sorted({**load(), name: found}.items())))
    load.cache_clear()
    print(f"{name} is in {FILE.relative_to(TOP)}")


def kept(result: Result, costs: str, date: str) -> Machine:
    """`costs`: what `overlock sim calibrate` wrote."""
    try:
        priced = {n: float(one["ns"]) for n, one in tomllib.loads(costs)["costs"].items()}
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise Fail(f"{COSTS} is not of `overlock sim calibrate`: {error}") from error
    return {
        **shortened(result),
        "machine": re.sub(r"[|`<>\[\]]", " ", printable(machine.headline(result.machine))),
        "seconds": result.settings["seconds"],
        "date": date,
        "busy": [line.partition(":")[0] for line in result.warnings if "other work" in line],
        "costs": priced,
    }


def from_archive(path: Path) -> tuple[str, Machine]:
    found = collected.read(path)
    if lacking := [name for name in (SECTIONS, COSTS) if name not in found.files]:
        raise Fail(f"{path} has no {lacking[0]}; collect the parts sections and calibrate")
    text = {name: found.files[name].decode(errors="replace") for name in (SECTIONS, COSTS)}
    if not NAME.fullmatch(found.about.name):
        raise Fail(
            f"{path} names no machine: {printable(found.about.name)}; expected {NAME.pattern}"
        )
    result = results.from_text(text[SECTIONS], f"{SECTIONS} of {path}")
    return found.about.name, kept(result, text[COSTS], found.about.date)


def here(rounds: int) -> tuple[str, Machine]:
    others = [one for name, one in load().items() if name != usual_name()]
    threads = sorted({n for one in others for n in one["threads"]})
    locks = list(dict.fromkeys(lock for one in others for lock in one["rates"]))
    with tempfile.TemporaryDirectory() as name:
        rates, costs = Path(name) / "rates.json", Path(name) / COSTS
        overlock(
            *("bench", "sections", "--locks", ",".join(locks), "--json", str(rates)),
            *("--threads", ",".join(map(str, threads)), "--seconds", str(SECONDS)),
            *("--rounds", str(rounds)),
        )
        overlock("sim", "calibrate", "-o", str(costs))
        today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        return usual_name(), kept(results.from_file(rates), costs.read_text(), today)


def overlock(*words: str) -> None:
    command = [sys.executable, "-m", "overlock_tools", *words]
    if subprocess.run(command, check=False).returncode:
        raise Fail(f"overlock {words[0]} {words[1]} failed, see above")


def facts_table() -> str:
    rows = [
        [f"`{name}`", one["machine"], one["date"], f"{one['rounds']} of {one['seconds']} s"]
        for name, one in load().items()
    ]
    busy = [
        f"`{name}`: {'; '.join(one['busy'])}. Expect noise, in rates more than in ratios.\n"
        for name, one in load().items()
        if one["busy"]
    ]
    return "\n".join([table(["name", "machine", "date", "rounds"], rows), *busy])


def rates_table() -> str:
    """Bold: more threads than CPUs."""
    found = load()
    threads = sorted({n for one in found.values() for n in one["threads"]})
    locks = dict.fromkeys(lock for one in found.values() for lock in one["rates"])
    rows = [
        [f"`{lock}`", f"`{name}`", *(rate(one, lock, n) for n in threads)]
        for lock in locks
        for name, one in found.items()
        if lock in one["rates"]
    ]
    return table(["lock", "machine", *(f"{n} thread{'s' * (n > 1)}" for n in threads)], rows)


def rate(one: Machine, lock: str, threads: int) -> str:
    numbers = one["rates"][lock].get(str(threads))
    if not numbers:
        return "·"
    told = si(numbers["median"]).strip()
    return f"**{told}**" if threads > one["cpus"] else told


def left_table() -> str:
    """Of the rate with a thread on each CPU, what two on each leave."""
    found = load()
    rows = []
    for lock in dict.fromkeys(lock for one in found.values() for lock in one["rates"]):
        cells = []
        for one in found.values():
            at = one["rates"].get(lock, {})
            fit, more = (at.get(str(times * one["cpus"])) for times in (1, 2))
            left = more["median"] / fit["median"] if fit and more and fit["median"] else None
            cells.append("·" if left is None else f"{left:.2g}" if left < 99 else f"{left:,.0f}")
        rows.append([f"`{lock}`", *cells])
    return table(["lock", *(f"`{name}`" for name in found)], rows)


def costs_table() -> str:
    found = load()
    every = [one["costs"] for one in found.values()]
    costs = dict.fromkeys(cost for one in every for cost in one)
    rows = [
        [
            f"`{cost}`",
            *(f"{one[cost]:g}" if cost in one else "·" for one in every),
        ]
        for cost in costs
    ]
    return table(["ns", *(f"`{name}`" for name in found)], rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="machines.py", description=__doc__.split("\n")[0])
    parser.add_argument("archives", nargs="*", type=Path, metavar="ARCHIVE")
    parser.add_argument("--here", action="store_true", help="measure this machine")
    parser.add_argument("--rounds", type=int, default=9, help="with --here; default: 9")
    given = parser.parse_args()
    if not given.archives and not given.here:
        parser.error("expected an archive of `overlock collect`, or --here")
    try:
        for path in given.archives:
            keep(*from_archive(path))
        if given.here:
            keep(*here(given.rounds))
    except Fail as error:
        say(error.message)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
