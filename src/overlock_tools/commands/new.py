# SPDX-License-Identifier: MIT
"""overlock new: a header for a lock of one's own."""

import re
from importlib.resources import files as package_files
from pathlib import Path

import click

from overlock_tools import defs, files
from overlock_tools.errors import Fail

# Names whose ol_<name>_lock() would be a function that <overlock/ops.h> already has.
TAKEN = {"find"}


def check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise Fail(
            f"{name!r} cannot name a lock: begin with a-z, go on with a-z, 0-9 or _, 40 at most"
        )
    if name in defs.load().locks or name in TAKEN:
        raise Fail(f"there is a lock {name} already; choose another name")


def scaffold(name: str) -> str:
    """The template, for a lock of that name."""
    template = package_files("overlock_tools").joinpath("new_lock.h.in").read_text()
    return template.replace("@NAME@", name).replace("@UPPER@", name.upper())


@click.command()
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Where to write NAME.h  [default: here]",
)
def command(name: str, folder: Path) -> None:
    """Write NAME.h, a lock that works, to start your own from.

    \b
    Examples:
      overlock new mine
      overlock new mine --dir ~/locks
    """
    check_name(name)
    header = folder / f"{name}.h"
    if header.exists():
        raise Fail(f"{header} is there already; remove it or choose another name")
    files.check_writable(header)
    files.write(header, scaffold(name))
    shown = str(header) if "/" in str(header) else f"./{header}"
    click.echo(f"{shown} is a working lock. Next:")
    click.echo(f"  overlock bench sections --locks {shown},ttas,pthread_mutex")
    click.echo(f"  overlock run --lock {shown} -- PROGRAM")
    click.echo(f"  $EDITOR {shown}")
