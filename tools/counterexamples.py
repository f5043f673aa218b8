#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills docs/results/counterexamples.md with the output of the commands on that page.

A page marks a place by <!-- counterexample: NAME --> and <!-- end -->; COUNTEREXAMPLES has the
command. The broken locks are the mutants of tests/check/mutants that the build has made.
"""

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs/results/counterexamples.md"
PART = re.compile(r"(<!-- counterexample: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
AGAIN = "\nTo replay it:\n"  # the command, in other words, and a schedule of any length


@dataclass(frozen=True)
class Counterexample:
    header: str
    size: str
    property: str
    schedule: str = ""  # if empty, the first that the search finds
    scenario: str = "lock"

    def search(self) -> list[str]:
        """The command that finds one."""
        words = ["overlock", "check", self.header, "--size", self.size]
        return words + (["--scenario", self.scenario] if self.scenario != "lock" else [])

    def command(self) -> list[str]:
        """The command that prints this one."""
        if not self.schedule:
            return self.search()
        words = ["overlock", "check", "--replay", f"{self.header}@{self.schedule}"]
        return [*words, *self.search()[3:]]


def mutant(name: str, lock: str) -> str:
    return f"./build/tests/check/mutants/{name}/overlock/lock/{lock}.h"


# Schedules: the shortest, in steps and context switches, of those that the search and 400 random
# searches (`--search pct --seed N`) find first.
COUNTEREXAMPLES = {
    "second-look": Counterexample(
        mutant("pv_ticket_second_look", "pv_ticket"),
        *("2x1", "use after release", "1*5.2*7.1", "frees"),
    ),
    "no-link": Counterexample(
        mutant("mcs_unlock_no_link", "mcs"), "2x1", "deadlock", "1*5.2*4.1*2.2*2"
    ),
    "grant-before-slot": Counterexample(
        mutant("twa_grant_before_slot", "twa"), "3x1", "deadlock", "3*5.2*3.1*4.3*2.2*6.1*3"
    ),
    "clears-flag": Counterexample(
        mutant("pv_ticket_release_clears_flag", "pv_ticket"),
        *("3x1", "lost wake-up", "2*5.3*2.1*2.1:1.1*2.2*2.3*6"),
    ),
    "kicks-next": Counterexample(
        mutant("pv_preemptable_ticket_kicks_next", "pv_preemptable_ticket"),
        *("3x1", "lost wake-up", "1*4.2.3*2.1*2.2.2:1.2*4.3.3:1.3*2.2*4"),
    ),
    "after-you": Counterexample("./tests/docs/after_you.h", "2x1", "livelock"),
}


def run(command: list[str]) -> str:
    """The output without a terminal, without the user's cache."""
    with TemporaryDirectory(prefix="overlock-") as cache:
        done = subprocess.run(
            [sys.executable, "-m", "overlock_tools", *command[1:]],
            env={**os.environ, "XDG_CACHE_HOME": cache},
            cwd=TOP,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 1:
        raise SystemExit(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def told(printed: str) -> str:
    """From the heading to the legend."""
    lines = printed.partition(AGAIN)[0].splitlines()
    first = next(n for n, line in enumerate(lines) if ": FAILS: " in line)
    return "\n".join(line.rstrip() for line in lines[first:]) + "\n"


def block(name: str) -> str:
    one = COUNTEREXAMPLES[name]
    text = f"```console\n$ {shlex.join(one.command())}\n{told(run(one.command()))}```\n"
    if one.schedule:
        return f"Found by\n\n    {shlex.join(one.search())}\n\n{text}"
    return text


def fill(page: str) -> str:
    names = [name for _, name, _, _ in PART.findall(page)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        blocks = dict(zip(names, pool.map(block, names), strict=True))
    return PART.sub(lambda found: f"{found[1]}{blocks[found[2]]}{found[4]}", page)


def main() -> None:
    PAGE.write_text(fill(PAGE.read_text()))


if __name__ == "__main__":
    main()
