# SPDX-License-Identifier: MIT
"""overlock locks: the locks, and the peers to compare them with."""

import dataclasses
import json

import click
from rich.console import Console
from rich.text import Text

from overlock_tools.bench import peers
from overlock_tools.core.model import defs, one_header, traits
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.terminal import console


def print_locks(out: Console) -> None:
    for lock in defs.load().locks.values():
        timed = "can time out" if lock.gives_up == "timed" else "cannot time out"
        needs = ", ".join(traits.needs(lock))
        facts = [f"{lock.size} bytes", timed, *traits.labels(lock)]
        facts += [f"needs {needs}"] if needs else []
        facts.append(f"source: {lock.source}")
        out.print(Text(lock.id, style="bold"), Text(lock.what))
        out.print(Text("    " + " · ".join(facts), style="dim"))


def print_peers(out: Console) -> None:
    absent = peers.absent()
    for peer in defs.load().peers.values():
        if peer.id in absent:
            out.print(Text(absent[peer.id], style="dim"))
        else:
            out.print(Text(peer.id, style="bold"), Text(peer.what))


def print_barriers(out: Console) -> None:
    for barrier in defs.load().barriers.values():
        out.print(Text(barrier.id, style="bold"), Text(barrier.what))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the locks as JSON.")
@click.option(
    "--header", "name", metavar="LOCK", help="Print this lock as one header, to be copied."
)
def command(as_json: bool, name: str | None) -> None:
    """List the locks, their properties, and other libraries'.

    \b
    Examples:
      overlock locks
      overlock locks --json
      overlock locks --header ttas > ttas.h    # one file; needs no library
    """
    if name:
        if as_json:
            raise Fail("expected either --json or --header LOCK")
        click.echo(one_header.text(name), nl=False)
        return
    if as_json:
        locks = defs.load().locks.values()
        click.echo(json.dumps([dataclasses.asdict(lock) for lock in locks], indent=2))
        return
    out = console()
    print_locks(out)
    out.print("\nOther libraries' locks (peers), for `overlock bench`:\n")
    print_peers(out)
    out.print(f"\nBarriers, for `overlock bench {defs.MEETS}`:\n")
    print_barriers(out)
