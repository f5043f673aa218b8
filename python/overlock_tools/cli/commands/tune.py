# SPDX-License-Identifier: MIT
"""overlock tune: measure whether another lock makes a program faster, and write it down."""

from typing import Any

import click

from overlock_tools.cli.options import LOCKS, OUTPUT
from overlock_tools.run import trying
from overlock_tools.run.live import ROWS


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit codes: 0 success, 1 PROGRAM or the load failed, 2 bad usage, 125 to 127 as in "
    "`overlock run`. PROGRAM's own exit code is discarded.",
)
@click.option(
    "--lock",
    default="pv_preemptable_ticket",
    show_default=True,
    metavar="NAME",
    shell_complete=LOCKS,
    help="Lock to count with; one with a queue also counts the queue length.",
)
@click.option(
    "--load",
    metavar="COMMAND",
    help="Shell command that drives the server PROGRAM until it has answered; its run time is "
    "the metric, and then PROGRAM is terminated.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=0),
    default=trying.ROUNDS,
    show_default=True,
    help="Number of rounds; fewer than the default prove nothing, and 0 measures nothing.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE",
    type=OUTPUT,
    help="File for the proposals as JSON.",
)
@click.option(
    "--write",
    "config",
    metavar="FILE",
    type=OUTPUT,
    help="File for the proposals as TOML, for `overlock run --config`.",
)
@click.option(
    "--folded",
    metavar="FILE",
    type=OUTPUT,
    help="File for the stacks of waits, as with `overlock run --folded`.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=ROWS,
    show_default=True,
    metavar="N",
    help="Number of call sites in the table.",
)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(program: str, args: tuple[str, ...], lock: str, **options: Any) -> None:
    """Find out whether another lock makes PROGRAM faster.

    The first run counts, and shows what its critical sections are like. If threads wait for
    mutexes in short critical sections, more runs measure the default lock, and the same with tau,
    csd and spin set for PROGRAM, beside glibc's mutex, interleaved. The proposal is glibc's mutex
    unless another is proven to be faster. Run it with the work, and next to the other load, for
    which to tune it. Ctrl-C or SIGTERM ends a server's first run.

    \b
    Examples:
      overlock tune -- pbzip2 -kf FILE
      overlock tune --write locks.toml --load ./requests -- ./server
      overlock tune --folded waits.folded --top 5 -- ./server --once
      overlock run --config locks.toml -- ./server --port 8080
    """
    from overlock_tools.run import tune

    tune.tune(program, args, lock, options)
