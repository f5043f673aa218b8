# SPDX-License-Identifier: MIT
"""overlock tune: propose a lock and tunables from a program's critical sections."""

from pathlib import Path
from typing import Any

import click

from overlock_tools.preload.live import ROWS


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit codes: 0 success, 1 PROGRAM wrote no report, 2 bad usage, 125 to 127 as in "
    "`overlock run`. PROGRAM's own exit code is discarded.",
)
@click.option(
    "--lock",
    default="pv_preemptable_ticket",
    show_default=True,
    metavar="NAME",
    help="Lock to measure with; one with a queue also measures the queue length.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File for the proposals as JSON.",
)
@click.option(
    "--write",
    "config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File for the proposals as TOML, for `overlock run --config`.",
)
@click.option(
    "--folded",
    metavar="FILE",
    type=click.Path(path_type=Path),
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
    """Propose a lock, tau, csd and spin for PROGRAM, from a run with counters.

    The command explains each proposal. The proposals depend on the length of PROGRAM's critical
    sections, the length of its queues and whether lock holders are preempted. Run it with the work,
    and next to the other load, for which to tune it.

    \b
    Examples:
      overlock tune -- pbzip2 -k FILE
      overlock tune --write locks.toml -- ./server --once
      overlock tune --folded waits.folded --top 5 -- ./server --once
      overlock run --config locks.toml -- ./server --port 8080
    """
    from overlock_tools.preload import tune

    tune.tune(program, args, lock, options)
