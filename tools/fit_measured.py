#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures programs that count the CPUs, natively and under `overlock run --fit`, below CPU quotas.

Each program starts as many threads as it counts by itself, or as `nproc` tells who starts it. In
turns, natively and under --fit, it works in a control group of its own with a quota, or without.
What it did is written into docs/measured/fit.json after each program and quota, so Ctrl-C loses
the one at work. Needs root, and the programs: `overlock apps install NAME`.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kept_json
from apps_measured import rounded
from lock_pages import table
from overlock_tools.apps import executor
from overlock_tools.apps.app import Workspace
from overlock_tools.apps.asked import Asked
from overlock_tools.apps.catalogue import APPS
from overlock_tools.bench.conditions import cgroup
from overlock_tools.core.model import stats
from overlock_tools.core.model.quantities import duration, si
from overlock_tools.core.system import machine, native
from overlock_tools.core.system.errors import INTERRUPTED, MISSING, Fail, say
from overlock_tools.core.system.terminal import console

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/fit.json"
PERIOD_US = 100_000
OWN, BY_NPROC, MANY = 0, 987_654, 4_096  # threads: the program counts, or nproc does
QUOTAS = (0.0, 0.5, 1.0, 1.5)  # 0: none
NATIVE, FIT = "native", "fit"
TICKS = os.sysconf("SC_CLK_TCK")
READY_S, PATIENCE_S = 120.0, 120.0
# How each comes to its number of threads.
PROGRAMS = {
    "lightgbm": (OWN, "libgomp counts"),
    "onnxruntime": (OWN, "it counts"),
    "openblas": (OWN, "it counts"),
    "tbb": (MANY, "oneTBB counts"),
    "stencil-llvm": (BY_NPROC, "`nproc`, libomp"),
    "llama": (BY_NPROC, "`nproc`"),
    "blis": (BY_NPROC, "`nproc`"),
}
Cell = dict[str, float]
Found = dict[str, Any]


@dataclass
class Program:
    app: Asked
    threads: int

    def words(self, variant: str) -> list[str]:
        """It begins to start when it is told a line: by then it is in its group."""
        command = shlex.join(self.app.command(self.threads))
        variables = {
            name: value for name, value in self.app.variables(self.threads).items() if self.threads
        }
        setting = "".join(f"{name}={value} " for name, value in variables.items())
        script = f"exec env {setting}{command}".replace(str(BY_NPROC), '"$(nproc)"')
        under = [str(native.file("overlock")), "run", "--fit", "--"] if variant == FIT else []
        return ["sh", "-c", 'read go; exec "$@"', "sh", *under, "sh", "-c", script]


class Running:
    def __init__(self, program: Program, variant: str) -> None:
        self.name = program.app.name
        self.process = subprocess.Popen(
            program.words(variant),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(executor.base()),
            text=True,
        )

    def ask(self, line: str) -> dict[str, Any]:
        """What it answers."""
        self.say(line)
        assert self.process.stdout
        said = self.process.stdout.readline()
        if not said:
            raise Fail(f"{self.name} has ended")
        answer: dict[str, Any] = json.loads(said)
        if answer["wrong"]:
            raise Fail(f"the work of {self.name} is wrong: {answer['wrong']}")
        return answer

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def cpu_s(self) -> float:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def limited(pid: int, quota: float) -> Iterator[cgroup.Group | None]:
    group = (
        cgroup.limited(cgroup.ours(), pid, round(quota * PERIOD_US), PERIOD_US)
        if quota
        else nullcontext()
    )
    with group as entered:
        yield entered


def stops(group: cgroup.Group | None) -> int:
    return group.tree.throttling(group.path).throttled if group else 0


def quantile(times: list[list[int]], part: float) -> float:
    """Of pairs of a time and how often it was seen, the least first."""
    left = part * sum(n for _, n in times)
    for ns, n in times:
        left -= n
        if left <= 0:
            return float(ns)
    return float(times[-1][0])


def measure(program: Program, variant: str, quota: float, seconds: float) -> Cell:
    running = Running(program, variant)
    try:
        with limited(running.process.pid, quota) as group:
            running.say("go")
            running.ask("0.3")
            before, cpu = stops(group), running.cpu_s()
            answer = running.ask(f"{seconds:g}")
            cell = {
                "rate": answer["work"] / answer["seconds"],
                "p99_ns": quantile(answer["ns"], 0.99),
                "cpu_s": (running.cpu_s() - cpu) / answer["work"],
                "stops": (stops(group) - before) / answer["seconds"],
                "threads": running.threads(),
            }
            running.end()
            return cell
    finally:
        running.end()


# What is kept


def in_turns(program: Program, quota: float, options: argparse.Namespace) -> dict[str, list[Cell]]:
    cells: dict[str, list[Cell]] = {NATIVE: [], FIT: []}
    for turn in range(options.rounds):
        for variant in (NATIVE, FIT) if turn % 2 else (FIT, NATIVE):
            cells[variant].append(measure(program, variant, quota, options.seconds))
    return cells


def come_to(cells: dict[str, list[Cell]]) -> Found:
    """Medians with their ranges, and the ratio of the pairs, with its lower bound at 95 %."""
    found: Found = {}
    for variant, those in cells.items():
        columns = {name: [cell[name] for cell in those] for name in those[0]}
        found[variant] = {
            name: [rounded(value) for value in (stats.median(values), min(values), max(values))]
            for name, values in columns.items()
        }
    rates = {variant: [cell["rate"] for cell in those] for variant, those in cells.items()}
    ratio = stats.ratio(rates[FIT], rates[NATIVE], stats.both_ends(stats.CONFIDENCE))
    low = None if ratio.low is None else rounded(ratio.low)
    return found | {"ratio": [rounded(ratio.value), low], "rounds": len(rates[FIT])}


@cache
def commit() -> str:
    """Asked first: later the file of results has changed."""
    return native.commit(TOP)


def keep(file: Path, name: str, quota: float, found: Found) -> None:
    kept = json.loads(file.read_text()) if file.exists() else {}
    facts = machine.facts()
    host = str(facts["kernel"]).partition("-")[0]
    here = f"{facts['cpu']}, {facts['cpus_online']} CPUs, Linux {host}"
    about = {"commit": commit(), "date": time.strftime("%Y-%m-%d"), "machine": here}
    kept.setdefault(name, {})[f"{quota:g}"] = found | about
    kept_json.write(file, {one: kept[one] for one in PROGRAMS if one in kept})


# Tables


@cache
def kept() -> Found:
    if not FILE.exists():
        raise Fail("no fit.json in docs/measured; tools/fit_measured.py makes it", MISSING)
    return dict(json.loads(FILE.read_text()))


HEADINGS = [
    *("program", "quota", "threads", "rate", "÷ native (at least)"),
    *("p99 of a unit", "CPU time of a unit", "stops a second"),
]


def _both(one: Found, name: str, words: Any) -> str:
    return f"{words(one[NATIVE][name][0])} → {words(one[FIT][name][0])}"


def rows(found: Found) -> Iterator[list[str]]:
    for program, quotas in found.items():
        for quota, one in quotas.items():
            value, low = one["ratio"]
            least = "" if low is None else f" ({low:.3g})"
            yield [
                f"`{program}`, {PROGRAMS[program][1]}",
                "none" if quota == "0" else quota,
                _both(one, "threads", lambda n: f"{n:g}"),
                _both(one, "rate", lambda n: si(n).strip()),
                f"{value:.3g}{least}",
                _both(one, "p99_ns", duration),
                _both(one, "cpu_s", lambda s: duration(s * 1e9)),
                _both(one, "stops", lambda n: f"{n:.1f}"),
            ]


def rates_table() -> str:
    return table(HEADINGS, list(rows(kept())))


def about_table() -> str:
    said = {
        (one["machine"], one["commit"], one["date"], one["rounds"])
        for quotas in kept().values()
        for one in quotas.values()
    }
    headings = ["machine", "commit", "date", "rounds"]
    return table(headings, [[str(word) for word in line] for line in sorted(said)])


# The command


@contextmanager
def set_up(name: str) -> Iterator[Program]:
    kind = APPS[name]
    folder = Path(tempfile.mkdtemp(prefix="overlock-fit-"))
    try:
        app = kind(Workspace(folder, kind.parameters({}), [1], executor.base(), None))
        assert isinstance(app, Asked)
        app.set_up()
        yield Program(app, PROGRAMS[name][0])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", default=[], choices=PROGRAMS, metavar="NAME")
    parser.add_argument("--quota", action="append", default=[], type=float, help="CPUs; 0: none")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    return parser.parse_args()


def main() -> int:
    options = parsed()
    out = console()
    commit()
    for name in options.only or PROGRAMS:
        if lacking := APPS[name].missing():
            say(f"{name} is left out; it needs {', '.join(lacking)}: overlock apps install {name}")
            continue
        with set_up(name) as program:
            for quota in options.quota or QUOTAS:
                found = come_to(in_turns(program, quota, options))
                keep(options.output, name, quota, found)
                (row,) = rows({name: {f"{quota:g}": found}})
                out.print(" | ".join(row), highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("interrupted: what was complete is kept")
        sys.exit(INTERRUPTED)
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
