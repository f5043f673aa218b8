#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what OpenMP's settings do for a team with more threads than CPUs.

tools/openmp.py writes docs/measured/openmp.json: how many critical sections, sections under
omp_set_lock() and omp_set_nest_lock(), and barriers a team passes per second, by setting and number
of threads, and under `overlock run`. One object file runs on LLVM's runtime and on GNU's. Each
round runs every setting once, in random order. Ctrl-C ends it with the rounds that are complete.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import kept_json
from overlock_tools.core.system import machine, native
from overlock_tools.core.system.errors import INTERRUPTED, MISSING, Fail, say
from overlock_tools.run import config

TOP = Path(__file__).resolve().parent.parent
FILE = TOP / "docs/measured/openmp.json"
SOURCE = TOP / "tools/openmp_load.c"
LIBRARIES = {"llvm": ":libomp.so.5", "gnu": "gomp"}  # as -l names them
FIT = "OMP_NUM_THREADS"  # as many threads as CPUs, whatever the place says


@dataclass(frozen=True)
class Setting:
    name: str
    runtime: str = "llvm"
    variables: dict[str, str] = field(default_factory=dict)
    locked: bool = False  # under overlock run, with the lock of that name


DEFAULT, GNU, FITS = Setting("queuing"), Setting("libgomp", "gnu"), Setting(FIT)
LOCKS = (
    DEFAULT,
    FITS,
    *(
        Setting(f"KMP_LOCK_KIND={kind}", variables={"KMP_LOCK_KIND": kind})
        for kind in ("tas", "futex", "ticket", "drdpa")
    ),
    GNU,
    Setting(config.OPENMP_PRESET, locked=True),
)
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
BARRIERS = (
    Setting("libomp"),
    FITS,
    Setting("OMP_WAIT_POLICY=passive", variables=PASSIVE),
    GNU,
    Setting("libgomp, passive", "gnu", PASSIVE),
)
LOADS = {"critical": LOCKS, "lock": LOCKS, "nested": LOCKS, "barrier": BARRIERS}

Round = dict[str, dict[str, dict[str, float]]]  # rates by load, setting and threads


def build(folder: Path) -> dict[str, Path]:
    """The program by runtime."""
    compiled = folder / "load.o"
    subprocess.run(["cc", "-O2", "-fopenmp", "-c", "-o", compiled, SOURCE], check=True)
    for runtime, library in LIBRARIES.items():
        done = subprocess.run(
            ["cc", "-o", folder / runtime, compiled, f"-l{library}"],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise Fail(f"-l{library} cannot be linked; install libomp5", MISSING)
    return {runtime: folder / runtime for runtime in LIBRARIES}


@contextmanager
def programs() -> Iterator[dict[str, Path]]:
    with tempfile.TemporaryDirectory(prefix="overlock-openmp-") as name:
        yield build(Path(name))


def rate(program: Path, load: str, setting: Setting, threads: int, seconds: float) -> float:
    team = len(os.sched_getaffinity(0)) if setting.name == FIT else threads
    env = {**os.environ, "OMP_NUM_THREADS": str(team), **setting.variables}
    command = [str(program), load, str(seconds)]
    if setting.locked:
        command = [str(native.file("overlock")), "run", "--lock", setting.name, "--", *command]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fail(f"{load}, {setting.name}, {threads} threads: {done.stderr.strip() or 'it died'}")
    return float(done.stdout.split()[-1])


def one_round(built: dict[str, Path], threads: list[int], seconds: float) -> Round:
    rates: Round = {load: {one.name: {} for one in settings} for load, settings in LOADS.items()}
    for load, settings in LOADS.items():
        for n in threads:
            for one in random.sample(settings, len(settings)):
                rates[load][one.name][str(n)] = rate(built[one.runtime], load, one, n, seconds)
    return rates


def measure(threads: list[int], rounds: int, seconds: float) -> Iterator[Round]:
    with programs() as built:
        for number in range(1, rounds + 1):
            print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
            yield one_round(built, threads, seconds)


def until_interrupted(rounds: Iterator[Round]) -> tuple[list[Round], bool]:
    """Those that are complete, and whether it was interrupted."""
    complete: list[Round] = []
    try:
        for one in rounds:
            complete.append(one)
    except KeyboardInterrupt:
        return complete, True
    return complete, False


def shortened(rounds: list[Round], load: str) -> dict[str, dict[str, dict[str, float]]]:
    def numbers(name: str, place: str) -> dict[str, float]:
        rates = [one[load][name][place] for one in rounds]
        return {"median": median(rates), "least": min(rates), "most": max(rates)}

    return {
        name: {place: numbers(name, place) for place in places}
        for name, places in rounds[0][load].items()
    }


def teams() -> list[int]:
    cpus = len(os.sched_getaffinity(0))
    return sorted({1, cpus, 4 * cpus, 8 * cpus})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-o", "--output", type=Path, default=FILE, help="file to write")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds [default: 5]")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a cell [default: 0.5]")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be above 0")
    threads = teams()
    rounds, interrupted = until_interrupted(measure(threads, options.rounds, options.seconds))
    if not rounds:
        raise Fail("interrupted before the end of the first round; nothing is written", INTERRUPTED)
    loads = {load: {"rates": shortened(rounds, load)} for load in LOADS}
    found = {
        "command": "make openmp",
        "machine": machine.headline(machine.facts()),
        "cpus": len(os.sched_getaffinity(0)),
        "rounds": len(rounds),
        "threads": threads,
        "loads": loads,
    }
    kept_json.write(options.output, found)
    if interrupted:
        say(f"interrupted: {options.output} has {len(rounds)} of {options.rounds} rounds")
    return INTERRUPTED if interrupted else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
