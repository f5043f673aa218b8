#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the suites of suites.toml and prints one table of time; exit code 1 if one failed."""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TOTAL_BUDGET_S = 75 * 60
TAIL_LINES = 60
REASONS = re.compile(r"^(ERROR|E   )|\bFAILED\b")  # as pytest and tests/lint put it
REASON_LINES = 12
LANES = 2  # suites that share, at a time: one for each CPU of the machine that the budgets are for
# A suite over its budget has failed, but by how much is worth knowing; a hang is not waited for.
KILL_AFTER = 2.0


@dataclass(frozen=True)
class Suite:
    name: str
    what: str
    command: str
    budget_s: float
    long: bool = False
    shares: bool = False  # the machine, with another such suite


@dataclass(frozen=True)
class Outcome:
    suite: Suite
    seconds: float
    code: int | None  # None: killed, after KILL_AFTER times its budget

    @property
    def verdict(self) -> str:
        if self.code is None:
            return "HUNG"
        if self.code:
            return "FAILED"
        return "OVER BUDGET" if self.seconds > self.suite.budget_s else "passed"


def load(path: Path) -> list[Suite]:
    suites = [Suite(**entry) for entry in tomllib.loads(path.read_text())["suite"]]
    names = [suite.name for suite in suites]
    if twice := {name for name in names if names.count(name) > 1}:
        sys.exit(f"{path}: more than one suite is named {', '.join(sorted(twice))}")
    total = sum(
        suite.budget_s / (LANES if suite.shares else 1) for suite in suites if not suite.long
    )
    if total > TOTAL_BUDGET_S:
        sys.exit(f"{path}: the budgets allow {total:g} s, more than {TOTAL_BUDGET_S} s")
    return suites


def chosen(suites: list[Suite], only: list[str], with_long: bool) -> list[Suite]:
    unknown = set(only) - {suite.name for suite in suites}
    if unknown:
        names = ", ".join(suite.name for suite in suites)
        sys.exit(f"there is no suite {', '.join(sorted(unknown))}; there are {names}")
    if only:
        return [suite for suite in suites if suite.name in only]
    return [suite for suite in suites if with_long or not suite.long]


def environment(build: str) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "BUILD": build, "PATH": path, "PYTHONUNBUFFERED": "1"}


running: set[subprocess.Popen[bytes]] = set()
stopping = threading.Event()


def end_group(child: subprocess.Popen[bytes]) -> None:
    """A suite's children die with it; the group is ours, so no other process is hit."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def run(suite: Suite, log: Path, build: str) -> Outcome:
    start = time.monotonic()
    with log.open("wb") as out:
        child = subprocess.Popen(
            ["bash", "-c", suite.command],
            cwd=TOP,
            env=environment(build),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        running.add(child)
        if stopping.is_set():  # we were too late for stop() to see
            end_group(child)
        try:
            code: int | None = child.wait(suite.budget_s * KILL_AFTER)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_group(child)
            child.wait()
            running.discard(child)
    return Outcome(suite, time.monotonic() - start, code)


def row(name: str, verdict: str, seconds: str, budget: str, what: str) -> str:
    return f"{name:<14} {verdict:<12} {seconds:>8} {budget:>8}  {what}"


def outcome_row(outcome: Outcome) -> str:
    suite = outcome.suite
    seconds, budget = f"{outcome.seconds:.1f} s", f"{suite.budget_s:g} s"
    return row(suite.name, outcome.verdict, seconds, budget, suite.what)


def tail(log: Path) -> Iterator[str]:
    for line in log.read_text(errors="replace").splitlines()[-TAIL_LINES:]:
        yield f"    | {line}"


def reasons(outcome: Outcome, log: Path) -> Iterator[str]:
    """Once more below the table, for whoever is shown no more than the end."""
    lines = [] if outcome.verdict == "passed" else log.read_text(errors="replace").splitlines()
    told = [line for line in lines if REASONS.search(line)][:REASON_LINES]
    for line in told or lines[-REASON_LINES:]:
        yield f"{outcome.suite.name}: {line[:300]}"


def tell(outcome: Outcome, log: Path) -> None:
    suite = outcome.suite
    print(f"      {suite.name}: {outcome.verdict} in {outcome.seconds:.1f} s", flush=True)
    if outcome.verdict != "passed":
        shown = log.relative_to(TOP) if log.is_relative_to(TOP) else log
        print(f"    {shown} ends:", *tail(log), sep="\n", flush=True)


def run_lanes(suites: list[Suite], lanes: int, logs: Path, build: str) -> Iterator[Outcome]:
    """So many at a time, each begun as another ends."""
    left = iter(suites)
    with ThreadPoolExecutor(lanes) as pool:
        going: set[Future[Outcome]] = set()
        while True:
            while len(going) < lanes and (suite := next(left, None)):
                print(f"{suite.name}: {suite.what} ...", flush=True)
                going.add(pool.submit(run, suite, logs / f"{suite.name}.log", build))
            if not going:
                return
            done, going = wait(going, return_when=FIRST_COMPLETED)
            for future in done:
                tell(future.result(), logs / f"{future.result().suite.name}.log")
                yield future.result()


def run_all(suites: list[Suite], logs: Path, build: str) -> list[Outcome]:
    alone = [suite for suite in suites if not suite.shares]
    sharing = [suite for suite in suites if suite.shares]
    return [*run_lanes(sharing, LANES, logs, build), *run_lanes(alone, 1, logs, build)]


def print_summary(outcomes: list[Outcome], logs: Path, elapsed: float) -> int:
    failed = sum(outcome.verdict != "passed" for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    budget = sum(outcome.suite.budget_s for outcome in outcomes)
    print("", row("suite", "result", "time", "budget", "what"), sep="\n")
    print(*map(outcome_row, outcomes), sep="\n")
    verdict = "FAILED" if failed else "passed"
    print(row("all", verdict, f"{seconds:.1f} s", f"{budget:g} s", f"in {elapsed:.1f} s"))
    for outcome in outcomes:
        for line in reasons(outcome, logs / f"{outcome.suite.name}.log"):
            print(line)
    print("", f"{len(outcomes) - failed} passed, {failed} failed", sep="\n", flush=True)
    return 1 if failed or not outcomes else 0


def stop(number: int, _frame: object) -> None:
    """Leaves by the way that ends the suites at hand and their children."""
    stopping.set()
    for child in list(running):
        end_group(child)
    sys.exit(128 + number)


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this suite")
    parser.add_argument("--long", action="store_true", help="the long suites too")
    parser.add_argument("--list", action="store_true", help="list the suites and stop")
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--suites", type=Path, default=TOP / "tests/suites.toml")
    options = parser.parse_args()
    suites = chosen(load(options.suites), options.only, options.long)
    if options.list:
        for suite in suites:
            print(
                row(
                    suite.name,
                    "long" if suite.long else "",
                    "",
                    f"{suite.budget_s:g} s",
                    suite.what,
                )
            )
        return 0
    logs = TOP / options.build / "suites"
    logs.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    return print_summary(run_all(suites, logs, options.build), logs, time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
