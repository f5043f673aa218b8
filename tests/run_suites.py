#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the suites of suites.toml and prints one table of time; exit code 1 unless all passed."""

import argparse
import contextlib
import math
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
# CI ends a run after 90 minutes, set-up and build included, and its table would be lost.
END_AFTER_S = 80 * 60
TAIL_LINES = 60
REASONS = re.compile(r"^(ERROR|E   )|\bFAILED\b")  # as pytest and tests/lint put it
REASON_LINES = 12
LANES = 2  # suites that share, at a time: one for each CPU of the machine that the budgets are for
# A busy machine makes a suite late, and a short one by more than its budget: less is no hang.
HANG_AFTER_S = 15 * 60
HANG_BUDGETS = 10
PASSED, SLOW, FAILED, HANG, NOT_RUN = "passed", "slow", "FAILED", "hang", "not run"
FAILURES = {FAILED, HANG}


@dataclass(frozen=True)
class Suite:
    name: str
    what: str
    command: str
    budget_s: float
    long: bool = False
    shares: bool = False  # the machine, with another such suite


@dataclass(frozen=True)
class Limits:
    hang_after_s: float
    end: float = math.inf  # of the run, by time.monotonic()


@dataclass(frozen=True)
class Outcome:
    suite: Suite
    seconds: float
    verdict: str

    @property
    def failed(self) -> bool:
        return self.verdict in FAILURES


def hang_limit(suite: Suite, hang_after_s: float) -> float:
    return max(HANG_BUDGETS * suite.budget_s, hang_after_s)


def load(path: Path) -> list[Suite]:
    suites = [Suite(**entry) for entry in tomllib.loads(path.read_text())["suite"]]
    names = [suite.name for suite in suites]
    if twice := {name for name in names if names.count(name) > 1}:
        sys.exit(f"{path}: more than one suite is named {', '.join(sorted(twice))}")
    return suites


def allowed(suites: list[Suite]) -> float:
    """The seconds that all but the long suites may take together."""
    short = (suite for suite in suites if not suite.long)
    return sum(suite.budget_s / (LANES if suite.shares else 1) for suite in short)


def chosen(suites: list[Suite], only: list[str], with_long: bool) -> list[Suite]:
    unknown = set(only) - {suite.name for suite in suites}
    if unknown:
        names = ", ".join(suite.name for suite in suites)
        sys.exit(f"unknown suite {', '.join(sorted(unknown))}; expected one of {names}")
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


def verdict(suite: Suite, seconds: float, code: int | None) -> str:
    """`code` is None if the suite was killed, at its own limit or at the end of the run."""
    over = seconds > suite.budget_s
    if code is None:
        return HANG if over else NOT_RUN
    if code:
        return FAILED
    return SLOW if over else PASSED


def run(suite: Suite, log: Path, build: str, limits: Limits) -> Outcome:
    start = time.monotonic()
    if start >= limits.end:
        return Outcome(suite, 0, NOT_RUN)
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
            limit = min(hang_limit(suite, limits.hang_after_s), limits.end - start)
            code: int | None = child.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end_group(child)
            child.wait()
            running.discard(child)
    seconds = time.monotonic() - start
    return Outcome(suite, seconds, verdict(suite, seconds, code))


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
    """Repeats them below the table, because a CI's page may show no more than the end."""
    lines = log.read_text(errors="replace").splitlines() if outcome.failed else []
    told = [line for line in lines if REASONS.search(line)][:REASON_LINES]
    for line in told or lines[-REASON_LINES:]:
        yield f"{outcome.suite.name}: {line[:300]}"


def reports(outcomes: list[Outcome], budgets_s: float, end_after_s: float) -> Iterator[str]:
    """Times that fail nothing, but that somebody should look into."""
    for outcome in outcomes:
        name, seconds, budget = outcome.suite.name, outcome.seconds, outcome.suite.budget_s
        if outcome.verdict == SLOW:
            yield f"{name}: slow, {seconds:.1f} s of a budget of {budget:g} s"
        elif outcome.verdict == HANG:
            yield f"{name}: hang, killed after {seconds:.1f} s; its budget is {budget:g} s"
        elif outcome.verdict == NOT_RUN:
            yield f"{name}: not run, because the time limit of all suites is {end_after_s:g} s"
    if budgets_s > TOTAL_BUDGET_S:
        yield f"the budgets allow {budgets_s:g} s, more than {TOTAL_BUDGET_S} s; lower some"


def tell(outcome: Outcome, log: Path) -> None:
    suite = outcome.suite
    print(f"      {suite.name}: {outcome.verdict} in {outcome.seconds:.1f} s", flush=True)
    if outcome.failed:
        shown = log.relative_to(TOP) if log.is_relative_to(TOP) else log
        print(f"    {shown} ends:", *tail(log), sep="\n", flush=True)


def run_lanes(
    suites: list[Suite], lanes: int, logs: Path, build: str, limits: Limits
) -> Iterator[Outcome]:
    """So many at a time, each begun as another ends."""
    left = iter(suites)
    with ThreadPoolExecutor(lanes) as pool:
        going: set[Future[Outcome]] = set()
        while True:
            while len(going) < lanes and (suite := next(left, None)):
                print(f"{suite.name}: {suite.what} ...", flush=True)
                going.add(pool.submit(run, suite, logs / f"{suite.name}.log", build, limits))
            if not going:
                return
            done, going = wait(going, return_when=FIRST_COMPLETED)
            for future in done:
                tell(future.result(), logs / f"{future.result().suite.name}.log")
                yield future.result()


def run_all(suites: list[Suite], logs: Path, build: str, limits: Limits) -> list[Outcome]:
    alone = [suite for suite in suites if not suite.shares]
    sharing = [suite for suite in suites if suite.shares]
    together = run_lanes(sharing, LANES, logs, build, limits)
    return [*together, *run_lanes(alone, 1, logs, build, limits)]


def print_table(outcomes: list[Outcome], elapsed: float) -> None:
    verdicts = {outcome.verdict for outcome in outcomes}
    seconds = sum(outcome.seconds for outcome in outcomes)
    budget = sum(outcome.suite.budget_s for outcome in outcomes)
    print("", row("suite", "result", "time", "budget", "what"), sep="\n")
    print(*map(outcome_row, outcomes), sep="\n")
    word = FAILED if verdicts & FAILURES else NOT_RUN if NOT_RUN in verdicts else PASSED
    print(row("all", word, f"{seconds:.1f} s", f"{budget:g} s", f"in {elapsed:.1f} s"))


def print_counts(outcomes: list[Outcome]) -> int:
    """The last line, which CI reads. What has not run has not passed."""
    failed = sum(outcome.failed for outcome in outcomes)
    skipped = sum(outcome.verdict == NOT_RUN for outcome in outcomes)
    passed = len(outcomes) - failed - skipped
    counts = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
    print("", counts, sep="\n", flush=True)
    return 0 if passed and passed == len(outcomes) else 1


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
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="suite to run; repeatable"
    )
    parser.add_argument("--long", action="store_true", help="also run the long suites")
    parser.add_argument("--list", action="store_true", help="list the suites and stop")
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument(
        "--hang-after",
        type=float,
        default=HANG_AFTER_S,
        metavar="S",
        help=f"kill a suite after this time or {HANG_BUDGETS} budgets, the longer (%(default)s s)",
    )
    parser.add_argument(
        "--end-after",
        type=float,
        default=END_AFTER_S,
        metavar="S",
        help="end a run without long suites after this time (%(default)s s)",
    )
    parser.add_argument("--suites", type=Path, default=TOP / "tests/suites.toml")
    options = parser.parse_args()
    listed = load(options.suites)
    suites = chosen(listed, options.only, options.long)
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
    bounded = not any(suite.long for suite in suites)
    limits = Limits(options.hang_after, start + options.end_after if bounded else math.inf)
    outcomes = run_all(suites, logs, options.build, limits)
    print_table(outcomes, time.monotonic() - start)
    for outcome in outcomes:
        for line in reasons(outcome, logs / f"{outcome.suite.name}.log"):
            print(line)
    for line in reports(outcomes, allowed(listed), options.end_after):
        print(line)
    return print_counts(outcomes)


if __name__ == "__main__":
    sys.exit(main())
