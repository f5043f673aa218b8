# SPDX-License-Identifier: MIT
"""overlock check: model-check a lock under an adversary that preempts any context at any step."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from overlock_tools.cli.options import Within
from overlock_tools.modelcheck.job import DPOR, LOCKS, SC, SEARCHES, Search, Size
from overlock_tools.system.errors import Fail

EMITTERS = ("genmc",)
SECONDS = 60.0
MOST_CLOCK = 100


Command = Callable[..., int]


def _listed(kind: str) -> Any:
    """Completes from overlock-check's lists; nothing if the checker is not built."""

    def complete(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
        from overlock_tools.modelcheck import capabilities

        try:
            table: dict[str, str] = getattr(capabilities.load(), kind)
        except Fail:
            return []
        rest = [] if kind == "budgets" else ["all"]
        names = [f"{name}=" if kind == "budgets" else name for name in [*table, *rest]]
        return [CompletionItem(name) for name in names if name.startswith(word)]

    return complete


def _path(name: str, key: str, what: str) -> Callable[[Command], Command]:
    return click.option(name, key, type=click.Path(path_type=Path), metavar="FILE", help=what)


@click.command()
@click.argument(
    "locks", nargs=-1, metavar="[LOCK|all|./mine.h]...", shell_complete=_listed("locks")
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
    help="Memory model; repeatable.  [default: sc]",
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME|all",
    shell_complete=_listed("scenarios"),
    help="Client program of the contexts; repeatable.  [default: lock]",
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
    "--search",
    type=click.Choice(SEARCHES),
    default=DPOR,
    show_default=True,
    help="Search strategy: exhaustive (dpor, plain) or random (pct).",
)
@click.option(
    "--seconds",
    type=Within(0, 1_000_000),
    default=SECONDS,
    show_default=True,
    help="Time limit of each check; 0: no limit.",
)
@click.option("--executions", type=click.IntRange(1), help="Limit of executions per check.")
@click.option("--seed", type=click.IntRange(0), help="Seed of a random search (pct).")
@click.option(
    "--jobs", type=click.IntRange(1), help="Checks to run in parallel.  [default: number of CPUs]"
)
@_path("--json", "json_file", "File for the results.")
@_path("--trace", "trace_file", "File for failing executions as timelines for ui.perfetto.dev.")
@click.option("--replay", metavar="LOCK@SCHEDULE", help="Replay and print one execution.")
@click.option(
    "--weaken",
    metavar="LOCK",
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
    """Explore every interleaving of a lock, with an adversary that preempts at any step.

    "exhausted: holds" means that every execution of the stated size was explored. For a failure,
    the command prints a trace and a command that replays it.

    Exit codes: 0 all checks exhausted and hold, 1 a check fails, 2 bad usage, 3 a check is not
    exhausted or the checker is not built, 130 interrupted.

    \b
    Examples:
      overlock check ticket
      overlock check all --model all --size 2x2 --size 3x1 --scenario all
      overlock check ./mine.h --model tso --budget stop=1 --trace mine.json
      overlock check preemptable_ticket@tau=0 --contexts 6 --acquisitions 4 --search pct
      overlock check --weaken mcs
    """
    if options["emit"]:
        from overlock_tools.modelcheck.genmc import emit

        click.echo(emit(options["emit"][1]), nl=False)
        return 0
    if options["listing"]:
        return _list()
    return _check(options)


def _list() -> int:
    from overlock_tools.modelcheck import capabilities, display
    from overlock_tools.system.terminal import console

    display.listing(console(), capabilities.load())
    return 0


def _check(options: dict[str, Any]) -> int:
    from overlock_tools.modelcheck import campaign
    from overlock_tools.system.terminal import console

    if options["replay"] and options["weaken"]:
        raise Fail("--replay and --weaken exclude each other; give one of them")
    terms = campaign.Terms(
        at_once=options["jobs"] or len(os.sched_getaffinity(0)),
        cached=not options["no_cache"],
        json_file=options["json_file"],
        trace_file=options["trace_file"],
    )
    asked = _asked(options)
    if options["replay"]:
        return campaign.replay(options["replay"], asked, terms, console())
    if options["weaken"]:
        return campaign.weakened(options["weaken"], asked, terms, console())
    return campaign.check(asked, terms, console())


def _asked(options: dict[str, Any]) -> Any:
    from overlock_tools.modelcheck import plan

    weakening = options["weaken"]
    sizes = [Size.parse(word) for text in options["sizes"] for word in text.split(",")]
    if options["contexts"] is not None or options["acquisitions"] is not None or not sizes:
        given = Size(*(2 if options[k] is None else options[k] for k in Size._fields))
        sizes.insert(0, given.checked())
    return plan.Asked(
        locks=options["locks"],
        scenarios=options["scenarios"] or ((plan.ALL,) if weakening else (LOCKS,)),
        models=options["models"] or (("c11",) if weakening else (SC,)),
        sizes=tuple(dict.fromkeys(sizes)),
        budgets=tuple(map(plan.budget, options["budgets"])),
        search=Search(
            options["search"], options["seed"], options["seconds"] or None, options["executions"]
        ),
        weaken_line=options["weaken_line"],
        clock=options["clock"],
    )
