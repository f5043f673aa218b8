# SPDX-License-Identifier: MIT
"""overlock demo: lock collapse and its cure on this machine, in five minutes."""

from pathlib import Path

import click

from overlock_tools.cli.options import FOLDER, OUTPUT, rounds, seconds


@click.command()
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=OUTPUT,
    help="HTML page to write.",
)
@rounds(1000, 9, "Number of rounds.")
@seconds(0.01, 0.2, most=60)
@click.option(
    "--keep",
    type=FOLDER,
    help="Folder in which to keep the results as JSON.",
)
def command(output: Path, rounds: int, seconds: float, keep: Path | None) -> int:
    """Show lock collapse under overcommit here, and what avoids it.

    Takes five minutes and writes one report.

    \b
    Examples:
      overlock demo
      overlock demo --rounds 3 -o /tmp/report.html
    """
    from overlock_tools.apps import demo

    return demo.run(output, rounds, seconds, keep)
