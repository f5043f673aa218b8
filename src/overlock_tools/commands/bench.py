# SPDX-License-Identifier: MIT
"""overlock bench: compare locks on this machine."""

import math
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from overlock_tools import files, machine, measure, outside, tables, verdict
from overlock_tools.errors import FAILED, INTERRUPTED, Fail
from overlock_tools.measure import Plan, Workload
from overlock_tools.results import Result
from overlock_tools.terminal import Running
from overlock_tools.terminal import console as terminal


@contextmanager
def no_interruption() -> Iterator[None]:
    """What is complete is being written: another Ctrl-C must not lose it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def measured(plan: Plan, result: Result, console: Console) -> bool:
    """Runs the plan; true if it was interrupted."""

    def line() -> str:
        rounds, rest = divmod(len(result.cells) * plan.rounds, plan.cells)
        return "" if rest else f"round {rounds} of {plan.rounds} done"

    running = Running(console, lambda: tables.matrix(result, len(result.cells), plan.cells), line)
    try:
        with running.shown():
            measure.run(plan, result, running.update)
    except KeyboardInterrupt:
        return True
    return False


def show(result: Result, console: Console) -> None:
    for threads in result.threads:
        if any(cell.threads == threads for cell in result.cells):
            console.print(tables.detail(result, threads), "")
            events = tables.counters(result, threads)
            if events:
                console.print(events, "")
    if len(result.threads) > 1 and result.overall():
        console.print(tables.overall(result), "")
    if result.settings.get("counters"):
        console.print("These are rates of the counted build: compare them with no other's.")
    for line in result.verdict:
        console.print(line)
    for line in result.warnings:
        console.print(f"warning: {line}", style="yellow")


def bench(workload: Workload, options: dict[str, Any]) -> int:
    json_file: Path | None = options["json_file"]
    if json_file:
        files.check_writable(json_file)
    names = [name for text in options["locks"] or ["all"] for name in text.split(",") if name]
    headers = [Path(name) for name in names if outside.is_header(name)]
    wanted = [outside.lock_id(Path(n)) if outside.is_header(n) else n for n in names]
    with measure.loaded_headers(headers, options["counters"]) as loaded:
        known = measure.subjects(loaded, options["counters"])
        plan = planned(workload, options, ",".join(wanted), known, loaded)
        return run_and_show(plan, known, json_file)


def planned(
    workload: Workload,
    options: dict[str, Any],
    locks: str,
    known: measure.Subjects,
    loaded: list[str],
) -> Plan:
    variants = measure.parse_variants(locks, known)
    cpus = options["cpus"]
    if cpus and cpus > machine.cpus():
        raise Fail(f"--cpus {cpus}: this process may use only {machine.cpus()}")
    baseline = measure.parse_variants(options["baseline"], known)[0]
    return Plan(
        workload=workload,
        variants=variants if baseline in variants else [baseline, *variants],
        threads=measure.parse_threads(options["threads"], cpus or machine.cpus()),
        baseline=baseline,
        cs_ns=options["cs_ns"],
        ncs_ns=options["ncs_ns"],
        rounds=options["rounds"],
        seconds=options["seconds"],
        cpus=cpus,
        counters=options["counters"],
        loaded=loaded,
    )


def run_and_show(plan: Plan, known: measure.Subjects, json_file: Path | None) -> int:
    console = terminal()
    result = measure.new_result(plan, shlex.join(["overlock", *sys.argv[1:]]), known)
    console.print(machine.headline(result.machine))
    about = round(plan.cells * plan.seconds * 1.25)
    console.print(
        f"{plan.workload.title}: {plan.cs_ns:g} ns in, {plan.ncs_ns:g} ns out; "
        f"{plan.cells} cells of {plan.seconds:g} s, about {about} s",
        highlight=False,
    )
    if warning := machine.busy_now():
        console.print(f"warning: {warning}", style="yellow")
        result.warnings.append("at the start " + warning)
    interrupted = measured(plan, result, console)
    with no_interruption():
        result.verdict = verdict.sentences(result)
        show(result, console)
        if json_file and result.cells:
            files.write(json_file, result.to_json())
            console.print(f"written: {json_file}")
        if interrupted:
            kept = f"{len(result.cells)} of {plan.cells} cells are complete and kept"
            console.print(f"interrupted: {kept}")
            return INTERRUPTED
    return FAILED if any(result.wrong()) else 0


@click.group()
def command() -> None:
    """Compare locks, and glibc's own, on this machine.

    All contenders of a run are interleaved, round after round; ratios come with a bootstrap
    interval over the rounds.

    \b
    Example:
      overlock bench sections --locks ticket,preemptable_ticket,pthread_mutex --threads 1x,4x
    """


class Within(click.FloatRange):
    """click's own lets nan pass."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"nan is not in the range from {self.min:g} to {self.max:g}.", param, ctx)
        return number


def _add(workload: Workload) -> None:
    @command.command(workload.name, help=f"{workload.title}: {workload.what}." + EXAMPLES)
    @click.option(
        "--locks",
        "--lock",
        multiple=True,
        metavar="LIST",
        help="Locks, with settings after @ (preemptable_ticket@tau=0), headers (./mine.h), or all. "
        "[default: all]",
    )
    @click.option("--threads", default="1x,2x,4x", show_default=True, help="Numbers, or 2x: CPUs.")
    @click.option("--cs-ns", default=70.0, show_default=True, type=Within(0, 1e9), help="Inside.")
    @click.option(
        "--ncs-ns", default=330.0, show_default=True, type=Within(0, 1e9), help="Outside."
    )
    @click.option("--rounds", default=7, show_default=True, type=click.IntRange(1, 100_000))
    @click.option(
        "--seconds",
        default=0.3,
        show_default=True,
        type=Within(0.01, 3600),
        help="Per cell.",
    )
    @click.option("--baseline", default="ticket", show_default=True, help="Ratios are to this one.")
    @click.option("--cpus", type=click.IntRange(1), help="Use only so many CPUs.")
    @click.option("--counters", is_flag=True, help="The counted build: why, not how fast.")
    @click.option(
        "--json",
        "json_file",
        type=click.Path(path_type=Path),
        help="Write the result to this file, for `overlock report`.",
    )
    def run(**options: Any) -> int:
        return bench(workload, options)


EXAMPLES = """

\b
Examples:
  overlock bench sections
  overlock bench sections --threads 4,8,16 --json result.json
  overlock bench sections --locks ticket,preemptable_ticket@tau=0,preemptable_ticket@tau=inf
  overlock bench sections --lock ./mine.h --locks all --counters
"""

for _workload in measure.WORKLOADS:
    _add(_workload)
