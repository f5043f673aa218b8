#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the time to start a program: natively, with LD_PRELOAD, and with `overlock run`.

The three ways alternate, so that other work affects them equally. Exits with 1 if the median of
`overlock run` is above its limit.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from overlock_tools.core.system import files, machine, native
from overlock_tools.core.system.errors import Fail, say
from overlock_tools.run.config import PRESET

LIMIT_MS = 15.0
BY_PYTHON = "overlock-tools run"  # runs everything that the launcher does not
BY_LAUNCHER = "overlock run"
Environment = dict[str, str]


@dataclass(frozen=True)
class Way:
    """Wall-clock times in the order of measurement."""

    name: str
    ms: list[float]

    def row(self, natively: float) -> str:
        middle = median(self.ms)
        spread = f"{min(self.ms):.2f} to {max(self.ms):.2f}"
        return f"{self.name:<24} {middle:>8.2f} {spread:>18} {middle - natively:>8.2f}"


def ways(program: str, lock: str) -> dict[str, tuple[list[str], Environment]]:
    clean = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "OVERLOCK_NATIVE")}
    clean["OVERLOCK_NATIVE"] = str(native.folder())
    library = str(native.file("liboverlock-run.so"))
    asked = ["run", "--lock", lock, "--", program]
    return {
        "natively": ([program], clean),
        "LD_PRELOAD by hand": ([program], clean | {"LD_PRELOAD": library, "OVERLOCK_LOCK": lock}),
        BY_LAUNCHER: ([str(native.file("overlock")), *asked], clean),
        BY_PYTHON: ([sys.executable, "-m", "overlock_tools", *asked], clean),
    }


def once(command: list[str], env: Environment) -> float:
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, env)
    _, status = os.waitpid(child, 0)
    took = time.perf_counter() - began
    if status:
        raise Fail(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}, not 0")
    return 1000 * took


def measure(program: str, lock: str, rounds: int) -> list[Way]:
    every = ways(program, lock)
    for command, env in every.values():  # warm-up: loads the files into memory
        once(command, env)
    taken: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(rounds):
        for name, (command, env) in every.items():
            taken[name].append(once(command, env))
    return [Way(name, ms) for name, ms in taken.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--program", default="/bin/true", help="absolute path of the program [%(default)s]"
    )
    parser.add_argument("--lock", default=PRESET, help="lock [%(default)s]")
    parser.add_argument(
        "--rounds", type=int, default=100, help="number of starts of each [%(default)s]"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all times to FILE")
    asked = parser.parse_args()
    if asked.rounds < 1 or not asked.program.startswith("/"):
        parser.error("--rounds must be at least 1, and --program an absolute path")
    measured = measure(asked.program, asked.lock, asked.rounds)
    natively = median(measured[0].ms)
    print(f"{asked.program} under {asked.lock}, {asked.rounds} alternating starts of each; ms")
    print(f"{'':<24} {'median':>8} {'range':>18} {'more':>8}")
    for way in measured:
        print(way.row(natively))
    if asked.json:
        facts = {"limit_ms": LIMIT_MS, "machine": machine.facts()}
        document = facts | {"ways": [asdict(way) for way in measured]}
        files.write(asked.json, json.dumps(document, indent=1) + "\n")
    started = next(median(way.ms) for way in measured if way.name == BY_LAUNCHER)
    if started > LIMIT_MS:
        say(f"{BY_LAUNCHER} took {started:.1f} ms, more than {LIMIT_MS:g}; is the machine idle?")
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(130)
