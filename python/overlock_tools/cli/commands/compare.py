# SPDX-License-Identifier: MIT
"""overlock compare: before and after, or one against another."""

from pathlib import Path
from typing import Any

import click

from overlock_tools.cli.options import Within, file
from overlock_tools.core.analyze import ministat
from overlock_tools.core.render import comparing


@click.command()
@click.argument(
    "inputs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE [FILE]"
)
@click.option("--variants", metavar="X,Y", help="Contenders of one file to compare, two or more.")
@click.option("--control", metavar="LOCK", help="Control lock for the comparison of two files.")
@click.option(
    "--confidence",
    type=click.Choice([f"{c:g}" for c in ministat.CONFIDENCES]),
    default="95",
    show_default=True,
    help="Confidence level in percent.",
)
@click.option(
    "--fail-on-regression",
    "regression",
    metavar="PERCENT",
    type=Within(0, 100),
    help="Exit with 1 if a lock, peers excluded, is significantly slower by more than PERCENT.",
)
@file("--json", "File for the comparison.")
def command(inputs: tuple[Path, ...], **options: Any) -> int:
    """Compare two results, before and after, or contenders of one.

    The machine's speed can change between two runs, so their rates are not compared directly. The
    comparison divides each lock's rate by that of a control in both files: the first peer, else
    the baseline. It also shows how the control's own rate changed.

    Within one file, contenders are compared round by round, and by ministat's method.

    \b
    Examples:
      overlock compare before.json after.json
      overlock compare before.json after.json --fail-on-regression 5
      overlock compare result.json --variants ticket,tas_yield --confidence 99
    """
    return comparing.run(inputs, options)
