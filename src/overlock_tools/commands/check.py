# SPDX-License-Identifier: MIT
"""overlock check: explore what a lock can do, whoever loses its CPU and whenever."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from overlock_tools.checking.job import DPOR, LOCKS, SC, SEARCHES, Search, Size
from overlock_tools.errors import Fail
from overlock_tools.options import Within

EMITTERS = ("genmc",)
SECONDS = 60.0
MOST_CLOCK = 100


Command = Callable[..., int]


def _listed(kind: str) -> Any:
    """Completes with what overlock-check knows; with nothing where it is not built."""

    def complete(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
        from overlock_tools.checking import lists

        try:
            table: dict[str, str] = getattr(lists.load(), kind)
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
@click.option("--contexts", type=int, metavar="C", help="That contend.  [default: 2]")
@click.option("--acquisitions", type=int, metavar="A", help="By each context.  [default: 2]")
@click.option("--size", "sizes", multiple=True, metavar="CxA", help="Both at once; repeatable.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME|all",
    shell_complete=_listed("models"),
    help="Of memory; repeatable.  [default: sc]",
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME|all",
    shell_complete=_listed("scenarios"),
    help="What the contexts do; repeatable.  [default: lock]",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="KIND=N",
    shell_complete=_listed("budgets"),
    help="So many of the world's ill turns for each context; repeatable.",
)
@click.option(
    "--clock",
    type=click.IntRange(0, MOST_CLOCK),
    metavar="N",
    help="Concrete clocks, with slices of N ticks; 0: there are none.  "
    "[default: 2 for locks that judge their slices, else 0]",
)
@click.option("--search", type=click.Choice(SEARCHES), default=DPOR, show_default=True)
@click.option(
    "--seconds",
    type=Within(0, 1_000_000),
    default=SECONDS,
    show_default=True,
    help="For each check; 0 for no limit.",
)
@click.option("--executions", type=click.IntRange(1), help="At most so many in each check.")
@click.option("--seed", type=click.IntRange(0), help="Of a random search (pct).")
@click.option("--jobs", type=click.IntRange(1), help="At once.  [default: the CPUs]")
@_path("--json", "json_file", "Write the results to this file.")
@_path("--trace", "trace_file", "Write what failed as a timeline for ui.perfetto.dev.")
@click.option("--replay", metavar="LOCK@SCHEDULE", help="Tell one execution step by step.")
@click.option("--weaken", metavar="LOCK", help="Drop each of its memory orders: is it missed?")
@click.option("--weaken-line", metavar="FILE:LINE:ORDER", default="", help="Drop just this order.")
@click.option(
    "--emit",
    nargs=2,
    type=(click.Choice(EMITTERS), str),
    metavar="genmc LOCK",
    help="Print a client for another checker.",
)
@click.option("--list", "listing", is_flag=True, help="The scenarios, models, budgets and locks.")
@click.option("--no-cache", is_flag=True, help="Explore again what is known.")
def command(**options: Any) -> int:
    """Explore every interleaving of a lock, under an adversary that may take any CPU anywhere.

    Says "exhausted: holds" only if nothing of the stated size was left out. What fails is told step
    by step, with a command that replays it.

    Exit codes: 0 all exhausted and hold, 1 something fails, 2 bad usage, 3 not exhausted or the
    checker is not built, 130 interrupted.

    \b
    Examples:
      overlock check ticket
      overlock check all --model all --size 2x2 --size 3x1 --scenario all
      overlock check ./mine.h --model tso --budget stop=1 --trace mine.json
      overlock check preemptable_ticket@tau=0 --contexts 6 --acquisitions 4 --search pct
      overlock check --weaken mcs
    """
    if options["emit"]:
        from overlock_tools.genmc import emit

        click.echo(emit(options["emit"][1]), nl=False)
        return 0
    if options["listing"]:
        return _list()
    return _check(options)


def _list() -> int:
    from overlock_tools.checking import lists, view
    from overlock_tools.terminal import console

    view.listing(console(), lists.load())
    return 0


def _check(options: dict[str, Any]) -> int:
    from overlock_tools.checking import session
    from overlock_tools.terminal import console

    if options["replay"] and options["weaken"]:
        raise Fail("--replay and --weaken exclude each other")
    terms = session.Terms(
        at_once=options["jobs"] or len(os.sched_getaffinity(0)),
        cached=not options["no_cache"],
        json_file=options["json_file"],
        trace_file=options["trace_file"],
    )
    asked = _asked(options)
    if options["replay"]:
        return session.replay(options["replay"], asked, terms, console())
    if options["weaken"]:
        return session.weakened(options["weaken"], asked, terms, console())
    return session.check(asked, terms, console())


def _asked(options: dict[str, Any]) -> Any:
    from overlock_tools.checking import plan

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
