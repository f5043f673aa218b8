# SPDX-License-Identifier: MIT
"""overlock tunables: the tunables, their ranges, and the sources of their defaults."""

import dataclasses
import json

import click
from rich.text import Text

from overlock_tools.core.model import defs
from overlock_tools.core.system.terminal import console

WHEN = {"any": "any time", "idle": "only while no thread waits"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the tunables as JSON.")
def command(as_json: bool) -> None:
    """List the tunables: unit, range, default and its source.

    \b
    Examples:
      overlock tunables
      overlock run --lock tas_yield --spin-ns 1000 -- PROGRAM
      overlock bench sections --locks tas_yield@spin=0,tas_yield@spin=800
    """
    tunables = defs.load().tunables.values()
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(tunable) for tunable in tunables], indent=2))
        return
    out = console()
    for tunable in tunables:
        kind = f"{defs.UNITS[tunable.unit]} from {tunable.range}"
        facts = [kind, f"default {tunable.default}", WHEN[tunable.when]]
        out.print(Text(tunable.name, style="bold"), Text(tunable.what))
        out.print(Text("    " + " · ".join(facts), style="dim"))
        out.print(Text(f"    {tunable.option}, {tunable.variable}", style="dim"))
        out.print(Text(f"    default from: {tunable.source}", style="dim"))
