# SPDX-License-Identifier: MIT
"""overlock locks: the list of locks."""

import dataclasses
import json

import click
from rich.text import Text

from overlock_tools import defs
from overlock_tools.terminal import console

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
    out = console()
    for lock in locks:
        timed = "can time out" if lock.gives_up == "timed" else "cannot time out"
        traits = [TRAITS.get(t, t) for t in lock.traits if t != "fits4"]
        facts = [f"{lock.size} bytes", timed, *traits, f"source: {lock.source}"]
        out.print(Text(lock.id, style="bold"), Text(lock.what))
        out.print(Text("    " + " · ".join(facts), style="dim"))
