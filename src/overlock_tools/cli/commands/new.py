# SPDX-License-Identifier: MIT
"""overlock new: a template for your own lock."""

import re
from importlib.resources import files as package_files
from pathlib import Path

import click

from overlock_tools.model import defs
from overlock_tools.system import files
from overlock_tools.system.errors import Fail

# Names whose ol_<name>_lock() would be a function that <overlock/ops.h> already has.
TAKEN = {"find"}


def check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise Fail(
            f"{name!r} is not a valid lock name: expected a-z, then a-z, 0-9 or _, at most 40 "
            "characters"
        )
    if name in defs.load().locks or name in TAKEN:
        raise Fail(f"a lock named {name} already exists; choose another name")


def scaffold(name: str) -> str:
    """The template, for a lock of that name."""
    template = package_files("overlock_tools.cli").joinpath("new_lock.h.in").read_text()
    return template.replace("@NAME@", name).replace("@UPPER@", name.upper())


@click.command()
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Folder for NAME.h.  [default: current folder]",
)
def command(name: str, folder: Path) -> None:
    """Write NAME.h, a working lock, as a template for your own.

    \b
    Examples:
      overlock new mine
      overlock new mine --dir ~/locks
    """
    check_name(name)
    header = folder / f"{name}.h"
    if header.exists():
        raise Fail(f"{header} already exists; remove it or choose another name")
    files.check_writable(header)
    files.write(header, scaffold(name))
    shown = str(header) if "/" in str(header) else f"./{header}"
    click.echo(f"{shown} is a working lock. Next:")
    click.echo(f"  overlock bench sections --locks {shown},ttas,pthread_mutex")
    click.echo(f"  overlock run --lock {shown} -- PROGRAM")
    click.echo(f"  $EDITOR {shown}")
