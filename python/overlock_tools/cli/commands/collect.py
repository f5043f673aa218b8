# SPDX-License-Identifier: MIT
"""overlock collect: this machine measured within a time, into one file."""

from pathlib import Path

import click

from overlock_tools.cli.options import OUTPUT


@click.command()
@click.option(
    "--minutes",
    type=click.FloatRange(0.1, 24 * 60),
    default=10.0,
    show_default=True,
    help="Time for all parts together, about: a part is ended after twice its share, or a minute.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the machine in results. [default: its processor and number of CPUs]",
)
@click.option(
    "--only",
    metavar="PARTS",
    help="Parts to measure, such as doctor,sections. [default: all]",
)
@click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="NAME",
    help="Also measure this program of `overlock apps list`; repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="File to write. [default: overlock-NAME-DATE.tar.xz]",
)
def command(
    minutes: float, name: str | None, only: str | None, apps: tuple[str, ...], output: Path | None
) -> int:
    """Measure this machine in so many minutes, into one file.

    Runs doctor, bench, profile, sim calibrate and sim validate, and keeps what they write. What
    cannot be measured is in the list with the reason. Ctrl-C keeps the parts that are done. Needs
    no network and no privilege, and keeps no host name. `overlock report` shows the
    file, and several side by side.

    \b
    Examples:
      overlock collect --minutes 20
      overlock collect --minutes 5 --only doctor,sections -o here.tar.xz
      overlock report here.tar.xz there.tar.xz -o both.html
    """
    from overlock_tools.apps import catalogue
    from overlock_tools.collect import run

    for app in apps:
        catalogue.known(app)
    return run.run(name or run.usual_name(), minutes, only, apps, output)
