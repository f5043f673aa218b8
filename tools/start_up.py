#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a program takes that does nothing: natively, preloaded by hand, by `overlock run`.

The ways take turns, so that what else the machine does hits all alike. Exits with 1 if the median
of `overlock run` is above its limit.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from overlock_tools import files, machine, native
from overlock_tools.choices import PRESET
from overlock_tools.errors import Fail, say

LIMIT_MS = 15.0
BY_PYTHON = "overlock-tools run"  # what the launcher leaves all else to
BY_LAUNCHER = "overlock run"
Environment = dict[str, str]


@dataclass(frozen=True)
class Way:
    """Wall-clock times, in the order in which they were taken."""

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
    for command, env in every.values():  # once unmeasured: files come into memory
        once(command, env)
    taken: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(rounds):
        for name, (command, env) in every.items():
            taken[name].append(once(command, env))
    return [Way(name, ms) for name, ms in taken.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="/bin/true", help="by its full name [%(default)s]")
    parser.add_argument("--lock", default=PRESET, help="[%(default)s]")
    parser.add_argument("--rounds", type=int, default=100, help="starts of each [%(default)s]")
    parser.add_argument("--json", metavar="FILE", type=Path, help="all times, to that file")
    asked = parser.parse_args()
    if asked.rounds < 1 or not asked.program.startswith("/"):
        parser.error("--rounds is at least 1, and --program begins with /")
    measured = measure(asked.program, asked.lock, asked.rounds)
    natively = median(measured[0].ms)
    print(f"{asked.program} under {asked.lock}, {asked.rounds} starts of each, in turns; ms")
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
