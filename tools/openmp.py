#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what OpenMP's settings do for a team with more threads than CPUs.

tools/openmp.py writes docs/measured/openmp.json: how many critical sections, sections under
omp_set_lock() and omp_set_nest_lock(), and barriers a team passes per second, by setting and number
of threads, and under `overlock run`. One object file runs on LLVM's runtime and on GNU's. Each
round runs every setting once, in random order.
"""

import argparse
import json
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

from overlock_tools.preload import config
from overlock_tools.system import files, machine, native
from overlock_tools.system.errors import MISSING, Fail, say

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

Rates = dict[str, dict[str, list[float]]]  # by setting and threads, one of each round


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


def measure(load: str, threads: list[int], rounds: int, seconds: float) -> Rates:
    settings = LOADS[load]
    rates: Rates = {one.name: {str(n): [] for n in threads} for one in settings}
    with programs() as built:
        for number in range(1, rounds + 1):
            print(f"{load}: round {number} of {rounds}", file=sys.stderr, flush=True)
            for n in threads:
                for one in random.sample(settings, len(settings)):
                    rates[one.name][str(n)].append(rate(built[one.runtime], load, one, n, seconds))
    return rates


def shortened(rates: Rates) -> dict[str, dict[str, dict[str, float]]]:
    def numbers(rounds: list[float]) -> dict[str, float]:
        return {"median": median(rounds), "least": min(rounds), "most": max(rounds)}

    return {
        name: {place: numbers(rounds) for place, rounds in places.items()}
        for name, places in rates.items()
    }


def main() -> int:
    cpus = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-o", "--output", type=Path, default=FILE, help="file to write")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds [default: 5]")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a cell [default: 0.5]")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be above 0")
    threads = sorted({1, cpus, 4 * cpus, 8 * cpus})
    loads = {
        load: {"rates": shortened(measure(load, threads, options.rounds, options.seconds))}
        for load in LOADS
    }
    found = {
        "command": "make openmp",
        "machine": machine.headline(machine.facts()),
        "cpus": cpus,
        "rounds": options.rounds,
        "threads": threads,
        "loads": loads,
    }
    files.write(options.output, json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
