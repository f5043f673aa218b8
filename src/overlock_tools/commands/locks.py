# SPDX-License-Identifier: MIT
"""overlock locks: the list of locks."""

import dataclasses
import json

import click
from rich.console import Console
from rich.table import Table

from overlock_tools import defs

TRAITS = {
    "fits4": "4 bytes",
    "fifo": "FIFO",
    "yields": "yields or sleeps",
    "private": "one process only",
    "alone": "needs no library",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def command(as_json: bool) -> None:
    """List the locks, and what each can and cannot do.

    \b
    Examples:
      overlock locks
      overlock locks --json
    """
    locks = defs.load().locks.values()
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(lock) for lock in locks], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("lock", "bytes", "timed", "traits", "source", "what it is"):
        table.add_column(heading, justify="right" if heading == "bytes" else "left")
    for lock in locks:
        timed = "yes" if lock.gives_up == "timed" else "no"
        traits = ", ".join(TRAITS.get(t, t) for t in lock.traits if t != "fits4")
        table.add_row(lock.id, str(lock.size), timed, traits, lock.source, lock.what)
    Console(soft_wrap=False).print(table)
