#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure a program that build.py has built, natively and with our lock, in turn.

Prints the median rate of each, and the gain: the median of the rounds' ratios, and their range.
"""

import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from programs import NATIVE, OURS, VARIANTS, Program, parser

Rates = dict[str, float]


def measured(program: Program, tree: Path, threads: int, seconds: int) -> Rates:
    """What load.sh printed: a rate for each name."""
    command = ["bash", "-eu", str(program.folder / "load.sh"), str(threads), str(seconds)]
    done = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: float(rate) for name, rate in lines}


def row(threads: int, name: str, found: dict[str, list[float]]) -> str:
    ratios = [ours / native for native, ours in zip(found[NATIVE], found[OURS], strict=True)]
    rates = " | ".join(f"{statistics.median(found[variant]):.4g}" for variant in VARIANTS)
    gain = f"{statistics.median(ratios):.3g}× ({min(ratios):.3g} – {max(ratios):.3g})"
    return f"| {threads} | {name} | {rates} | {gain} |"


def main() -> int:
    cpus = len(os.sched_getaffinity(0))
    arguments = parser(__doc__)
    arguments.add_argument("--threads", default=f"{cpus},{4 * cpus},{8 * cpus}")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=int, default=5, help="of each cell")
    given = arguments.parse_args()
    program = Program(given.program)
    print("| threads | what | native | overlock | gain |\n| --- | --- | --- | --- | --- |")
    for threads in map(int, given.threads.split(",")):
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for turn in range(given.rounds):
            for variant in VARIANTS if turn % 2 else reversed(VARIANTS):
                tree = given.folder.resolve() / variant
                for name, rate in measured(program, tree, threads, given.seconds).items():
                    found[name][variant].append(rate)
        for name, rates in found.items():
            print(row(threads, name, rates), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
