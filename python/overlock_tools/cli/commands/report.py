# SPDX-License-Identifier: MIT
"""overlock report: results as an HTML page, figures or CSV."""

from pathlib import Path

import click

from overlock_tools.cli.options import OUTPUT

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=PATH, metavar="FILE|DIR...")
@click.option("-o", "--output", type=OUTPUT, help="HTML page to write.")
@click.option(
    "--png", type=OUTPUT, help="PNG file for the rates figure, or folder for all figures."
)
@click.option(
    "--svg", type=OUTPUT, help="SVG file for the rates figure, or folder for all figures."
)
@click.option("--csv", type=OUTPUT, help="CSV file with one line per cell.")
@click.option(
    "--csv-summary", type=OUTPUT, help="CSV file with one line per lock and number of threads."
)
@click.option(
    "--at",
    type=click.IntRange(1),
    metavar="THREADS",
    help="Number of threads in figures that show only one. [default: nearest to 4 per CPU]",
)
def command(inputs: tuple[Path, ...], at: int | None, **outputs: Path | None) -> None:
    """Make an HTML page, figures or CSV of results.

    The results are files of `overlock bench ... --json`; a folder stands for all results in it. The
    page is self-contained. Each figure includes its title, legend and verdict.

    \b
    Examples:
      overlock report result.json -o report.html
      overlock report results/ -o report.html --png pictures/
      overlock report result.json --png collapse.png
    """
    from overlock_tools.core.render import outputs as written

    written.write(inputs, at, {kind: path for kind, path in outputs.items() if path})
