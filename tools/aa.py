#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that `overlock bench` finds a difference of 5 %, and no difference between equal locks.

Measures one lock under two names, and the same lock with 5 % added to the time of an acquisition.
Each comparison has as many rounds as `overlock bench` by default, with shuffled locks, and gives
the interval of the ratio. Each comparison starts overlock-bench anew, so that memory addresses
vary, too.

Of 100 comparisons, at least 95 must report "no difference" for the two equal locks, and at least 90
must find the slower one. 100 comparisons take about 13 minutes on an idle machine; they are divided
among the numbers of threads.

The added 5 % are a loop after the release, outside the critical section, calibrated with one
thread. Exit code 1: one of the counts was not reached.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from overlock_tools.bench import header_locks, server
from overlock_tools.bench.server import Server
from overlock_tools.cli.commands.new import scaffold
from overlock_tools.core.model import plan, stats
from overlock_tools.core.system import files, machine
from overlock_tools.core.system.errors import FAILED, INTERRUPTED, Fail, say

ONE, TWO, SLOW = "aa_one", "aa_two", "aa_add"  # names of equal length, so that nothing else differs
ADDED = 0.05
EQUAL_OF_100, FOUND_OF_100 = 95, 90
TRIAL_STEPS = 10_000  # steps of the loop to measure its speed: about ten acquisitions
TRIAL_ROUNDS = 15
RELEASE = "\tol_store_release(&l->word, 0u); /* [R] */\n"
DELAY = '\tfor (uint32_t i = {steps}; i; i--)\n\t\t__asm__ __volatile__("" : "+r"(i));\n'


@dataclass(frozen=True)
class Comparison:
    threads: int
    equal: stats.Ratio  # the same lock under its other name
    slow: stats.Ratio


@contextmanager
def bench(slow_steps: int) -> Iterator[list[str]]:
    """The three locks, compiled, as options of overlock-bench; deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="overlock-aa-") as name:
        folder = Path(name)
        options = []
        for lock in (ONE, TWO, SLOW):
            text = scaffold(lock)
            assert RELEASE in text
            if lock == SLOW:
                text = text.replace(RELEASE, RELEASE + DELAY.format(steps=slow_steps))
            header = folder / f"{lock}.h"
            header.write_text(text)
            options.append(f"--lock-so={lock}={header_locks.compile_lock(header, folder)}")
        yield options


def rates(
    child: Server, threads: int, rounds: int, seconds: float, seed: str
) -> dict[str, list[float]]:
    """Rates by lock, one for each round."""
    found: dict[str, list[float]] = {ONE: [], TWO: [], SLOW: []}
    draw = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(rounds):
        order = list(found)
        draw.shuffle(order)
        for lock in order:
            cell = {"workload": "sections", "variant": lock, "threads": threads, "seconds": seconds}
            answer = child.measure(cell)
            if answer["wrong"]:
                raise Fail(f"{lock} with {threads} threads: {answer['wrong']}", FAILED)
            found[lock].append(max(answer["acquisitions"], 1) / answer["seconds"])
    return found


def steps_of_five_percent() -> int:
    """The number of loop steps that take 5 % of one thread's acquisition."""
    with bench(TRIAL_STEPS) as options, server.started(options) as child:
        found = rates(child, 1, TRIAL_ROUNDS, plan.SECONDS / 2, "trial")
    turn, slow_turn = (stats.median([1 / rate for rate in found[lock]]) for lock in (ONE, SLOW))
    if slow_turn < 2 * turn:
        raise Fail("the machine is too busy to measure a turn; try again when it is idle", FAILED)
    return round(ADDED * turn * TRIAL_STEPS / (slow_turn - turn))


def compared(
    options: list[str], threads: int, rounds: int, seconds: float, seed: str
) -> Comparison:
    with server.started(options) as child:
        found = rates(child, threads, rounds, seconds, seed)
    return Comparison(
        threads, stats.ratio(found[TWO], found[ONE]), stats.ratio(found[SLOW], found[ONE])
    )


def differs(ratio: stats.Ratio) -> bool:
    return ratio.above_one or ratio.below_one


def counted(found: list[Comparison]) -> tuple[int, int]:
    """The numbers of "no difference" for the equals, and of slow ones found."""
    return sum(not differs(c.equal) for c in found), sum(c.slow.below_one for c in found)


def told(found: list[Comparison]) -> None:
    for threads in [None, *sorted({c.threads for c in found})]:
        some = [c for c in found if threads in (None, c.threads)]
        equal, slow = counted(some)
        ratios = [
            f"{stats.median([r.value for r in kind]):.4f}"
            for kind in ([c.equal for c in some], [c.slow for c in some])
        ]
        where = "all" if threads is None else f"{threads} thread{'s' * (threads > 1)}"
        print(
            f"{where}: A/A no difference in {equal} of {len(some)} (ratio {ratios[0]}); "
            f"planted 5 % found in {slow} of {len(some)} (ratio {ratios[1]})"
        )


def passed(found: list[Comparison]) -> bool:
    equal, slow = counted(found)
    return 100 * equal >= EQUAL_OF_100 * len(found) and 100 * slow >= FOUND_OF_100 * len(found)


def measured(options: argparse.Namespace, steps: int) -> list[Comparison]:
    threads = plan.parse_threads(options.threads, machine.cpus())
    found: list[Comparison] = []
    with bench(steps) as loaded:
        for i in range(options.comparisons):
            n = threads[i % len(threads)]
            found.append(compared(loaded, n, options.rounds, options.seconds, str(i)))
            if len(found) % 10 == 0:
                equal, slow = counted(found)
                print(f"{len(found)}: {equal} no difference, {slow} found", file=sys.stderr)
    return found


def run(options: argparse.Namespace) -> int:
    if options.json:
        files.check_writable(options.json)
    if warning := machine.busy_now():
        say(f"warning: {warning}")
    then = machine.Load.now()
    steps = steps_of_five_percent()
    found = measured(options, steps)
    others = machine.Load.now().others_since(then)
    told(found)
    print(f"{options.rounds} rounds of {options.seconds:g} s; other work: {others:.0%} of the CPUs")
    if options.json:
        body = {
            "rounds": options.rounds,
            "seconds": options.seconds,
            "steps": steps,
            "others": others,
            "machine": machine.facts(),
            "counts": dict(zip(("equal", "found"), counted(found), strict=True)),
            "comparisons": [asdict(c) for c in found],
        }
        files.write(options.json, json.dumps(body, indent=1) + "\n")
        print(f"written: {options.json}")
    return 0 if passed(found) else FAILED


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--comparisons", type=int, default=100, metavar="N")
    parser.add_argument("--threads", default="1,2", metavar="LIST", help="[default: 1,2]")
    parser.add_argument("--rounds", type=int, default=plan.ROUNDS, help=f"[default: {plan.ROUNDS}]")
    parser.add_argument(
        "--seconds", type=float, default=plan.SECONDS, help=f"[default: {plan.SECONDS}]"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the intervals of all comparisons to FILE"
    )
    options = parser.parse_args()
    if options.comparisons < 1 or options.rounds < stats.least_rounds() or options.seconds < 0.001:
        parser.error(f"at least 1 comparison, {stats.least_rounds()} rounds and 0.001 seconds")
    return options


if __name__ == "__main__":
    os.environ.setdefault(
        "OVERLOCK_NATIVE", str(Path(__file__).resolve().parents[1] / "build" / "native")
    )
    try:
        sys.exit(run(arguments()))
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
