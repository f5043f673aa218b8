# SPDX-License-Identifier: MIT
"""overlock report: results as one page, or as a picture."""

import shlex
import sys
from pathlib import Path

import click

from overlock_tools import files, results
from overlock_tools.errors import Fail


@click.command()
@click.argument(
    "inputs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The page to write.")
@click.option(
    "--png", type=click.Path(path_type=Path), help="Also, or only, the first file's rates as PNG."
)
def command(inputs: tuple[Path, ...], output: Path | None, png: Path | None) -> None:
    """Make one self-contained HTML page of the results of `overlock bench ... --json`.

    \b
    Examples:
      overlock report result.json -o report.html
      overlock report result.json --png collapse.png
    """
    if not output and not png:
        raise Fail("nothing to write: give -o report.html, or --png picture.png, or both")
    for path in filter(None, (output, png)):
        files.check_writable(path)
    read = [results.from_file(path) for path in inputs]
    if empty := [str(path) for path, result in zip(inputs, read, strict=True) if not result.cells]:
        raise Fail(f"{empty[0]} has no complete cell; measure for longer")
    if png:
        from overlock_tools import plots

        files.write(png, plots.picture(read[0]))
        click.echo(f"written: {png}")
    if output:
        from overlock_tools import report

        made_by = shlex.join(["overlock", *sys.argv[1:]])
        files.write(output, report.html(read, made_by))
        click.echo(f"written: {output}")
