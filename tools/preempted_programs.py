#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Table 1 of Ouyang & Lange 2013 and of Teabe et al. 2017, for programs: who was preempted.

    python tools/preempted_programs.py 'pbzip2=pbzip2 -p{threads} -b1 -k -f -c FILE' ...

Runs each program under `overlock run --counters` with as many threads as CPUs, and with twice as
many, and prints a table: acquisitions N, stalls behind a preempted holder (Nh) and behind a
preempted waiter (Nw), preemptions of holders and waiters (PSP), and the share of the threads' time
that was spent spins. docs/counters.md defines them. A program is told "go", and ends by itself.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

TIMES = (1, 2)
COLUMNS = "| program | threads | N | Nh, of a million | Nw, of a million | PSP | spins |"


def counted(lock: str, command: list[str], folder: Path) -> Counter[str]:
    """Of all sites of one run; and the time that it took."""
    file = folder / "report.json"
    run = [sys.executable, "-m", "overlock_tools", "run", "--lock", lock, "--counters"]
    began = time.monotonic_ns()
    subprocess.run(
        [*run, "--output", str(file), "--", *command],
        input=b"go\n",
        stdout=subprocess.DEVNULL,
        check=True,
    )
    found = Counter({"ns": time.monotonic_ns() - began})
    for site in json.loads(file.read_text())["sites"]["sites"]:
        found.update({name: site["stalls"][name] for name in ("N", "Nh", "Nw")})
        found.update({"PSP": site["preemptions"]["PSP"] or 0, "spin_ns": site["spin_ns"]})
    return found


def row(name: str, threads: int, found: Counter[str]) -> str:
    million = found["N"] / 1e6
    shares = (found["Nh"] / million, found["Nw"] / million)
    spins = found["spin_ns"] / (threads * found["ns"])
    numbers = f"{shares[0]:,.0f} | {shares[1]:,.0f} | {found['PSP']:,} | {spins:.1%}"
    return f"| {name} | {threads} | {found['N']:,} | {numbers.replace('%', ' %')} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("--lock", default="ticket")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(COLUMNS + "\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for program in options.programs:
            name, _, command = program.partition("=")
            for threads in (len(os.sched_getaffinity(0)) * times for times in TIMES):
                words = shlex.split(command.replace("{threads}", str(threads)))
                sums: Counter[str] = Counter()
                for _ in range(options.rounds):
                    sums.update(counted(options.lock, words, Path(folder)))
                print(row(name, threads, sums), flush=True)


if __name__ == "__main__":
    main()
