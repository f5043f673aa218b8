# SPDX-License-Identifier: MIT
"""overlock check: model-check a lock under an adversary that preempts any context at any step."""

from typing import Any

import click

from overlock_tools.check.job import DPOR, SEARCHES
from overlock_tools.cli.options import CFLAGS, LOCKS, Within, completing, explicit, file

EMITTERS = ("genmc",)
MOST_CLOCK = 100


def _listed(kind: str) -> Any:
    """From overlock-check's lists."""

    def names() -> list[str]:
        from overlock_tools.check import capabilities

        known = capabilities.load()
        if kind == "subjects":
            return [*known.locks, "all", *known.waits]
        table: dict[str, str] = getattr(known, kind)
        return [f"{name}=" for name in table] if kind == "budgets" else [*table, "all"]

    return completing(names)


@click.command()
@click.argument(
    "locks",
    nargs=-1,
    metavar="[LOCK|all|./mine.h|./mine.c|./test.litmus]...",
    shell_complete=_listed("subjects"),
)
@click.option("--contexts", type=int, metavar="C", help="Number of contexts.  [default: 2]")
@click.option(
    "--acquisitions", type=int, metavar="A", help="Acquisitions per context.  [default: 2]"
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="CxA",
    help="Contexts and acquisitions in one option (3x1); repeatable.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME|all",
    shell_complete=_listed("models"),
    help="Memory model; repeatable.  [default: all, or sc if a size or scenario is given]",
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME|all",
    shell_complete=_listed("scenarios"),
    help="Client program of the contexts; repeatable.  [default: all that apply, or lock if a "
    "model or size is given; of walk: any]",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="KIND=N",
    shell_complete=_listed("budgets"),
    help="Allow N adversary events of KIND per context; repeatable.",
)
@click.option(
    "--clock",
    type=click.IntRange(0, MOST_CLOCK),
    metavar="N",
    help="Length of a time slice in ticks of a concrete clock; 0: no clock.  "
    "[default: 2 for locks that read their slice, else 0]",
)
@click.option(
    "--roles",
    metavar="LETTERS",
    default="",
    help="What each context does: r reads, w writes; in wait: w waits, s and b signal and "
    "broadcast, S and B without the lock; in count: d down, u up.",
)
@file("--source", "Folder with the source files that a C file names.", "source", "DIR")
@CFLAGS
@click.option(
    "--type",
    "type_name",
    metavar="NAME",
    default="",
    help="The lock's type, if a C, C++ or Rust file has several locks.",
)
@click.option(
    "--fifo",
    is_flag=True,
    help="The lock of a C, C++ or Rust file is FIFO: grants out of order fail, and waiters may "
    "wait for one that has stopped.",
)
@click.option(
    "--search",
    type=click.Choice(SEARCHES),
    default=DPOR,
    show_default=True,
    help="Search strategy: exhaustive (dpor, plain) or random (pct: priorities, walk: an "
    "adversary that the seed draws).",
)
@click.option(
    "--seconds",
    type=Within(0, 1_000_000),
    help="CPU time limit of each check; 0: no limit.  [default: 60; with --within: none]",
)
@click.option(
    "--within",
    type=Within(0, 1_000_000),
    metavar="SECONDS",
    help="Time limit of all checks together, which share it; 0: no limit.  [default: 60 if no "
    "model, size, scenario and --seconds is given]",
)
@click.option("--executions", type=click.IntRange(1), help="Limit of executions per check.")
@click.option("--seed", type=click.IntRange(0), help="Seed of a random search.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Checks to run in parallel.  [default: number of CPUs]"
)
@file("--json", "File for the results.", metavar="FILE")
@file(
    "--trace", "File for failing executions as timelines for ui.perfetto.dev.", "trace_file", "FILE"
)
@click.option("--replay", metavar="LOCK@SCHEDULE", help="Replay and print one execution.")
@click.option(
    "--native", is_flag=True, help="With --replay: also run it on real threads, step by step."
)
@click.option(
    "--weaken",
    metavar="LOCK",
    shell_complete=LOCKS,
    help="Relax each memory order of LOCK in turn, and report which check fails.",
)
@click.option(
    "--weaken-line", metavar="FILE:LINE:ORDER", default="", help="Relax only this memory order."
)
@click.option(
    "--emit",
    nargs=2,
    type=(click.Choice(EMITTERS), str),
    metavar="genmc LOCK",
    help="Print a client program for another model checker.",
)
@click.option(
    "--list", "listing", is_flag=True, help="List the scenarios, models, budgets and locks."
)
@click.option("--no-cache", is_flag=True, help="Ignore cached results.")
def command(**options: Any) -> int:
    """Explore every interleaving of a lock; an adversary preempts it.

    "exhausted: holds" means that every execution of the stated size was explored. For a failure,
    the command prints a trace and a command that replays it. The last lines say what was not
    explored.

    Without a model, size and scenario, a lock is checked under every model at 2x2 and 3x1, and in
    each other scenario that applies at 2x1, within a minute. If one of them is given, the others
    are sc, 2x2 and lock; so they are for `all` and random searches.

    A litmus test in herd's C syntax (a .litmus file, or a folder with some) is run under sc, tso
    and c11: its outcomes, and whether its condition holds.

    Exit codes: 0 all checks exhausted and hold, 1 a check fails, 2 bad usage, 3 a check is not
    exhausted or the checker is not built, 4 all exhausted and hold, but lines of the lock were not
    reached or loops were cut, 130 interrupted. Of litmus tests: 0 each condition holds (or is as
    the file says), 1 one is not, 2 a file cannot be read.

    \b
    Examples:
      overlock check ticket
      overlock check barrier
      overlock check all --model all --size 2x2 --size 3x1 --scenario all
      overlock check ./mine.c
      overlock check ./mine.h --model tso --budget stop=1 --trace mine.json
      overlock check preemptable_ticket@tau=0 --size 6x4 --search pct
      overlock check ./mine.h --size 5x3 --search walk --seed 1 --seconds 60
      overlock check --weaken mcs
      overlock check ./SB.litmus --model tso --model c11
      overlock check check/foreign/musl_mutex.c --source musl-1.2.3
    """
    if options["emit"]:
        from overlock_tools.lab.genmc import client

        print(client.emit(options["emit"][1]), end="", flush=True)
        return 0

    from overlock_tools.check import campaign, litmus

    if any(map(litmus.is_litmus, options["locks"])):
        return litmus.run(options, explicit())
    return campaign.run(options)
