# SPDX-License-Identifier: MIT
"""overlock new: a template for your own lock."""

import re
from importlib.resources import files as package_files
from pathlib import Path

import click

from overlock_tools.core.model import defs
from overlock_tools.core.ordinary import wrapping
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail

# Names whose ol_<name>_lock() would be a function that <overlock/ops.h> already has.
TAKEN = {"find"}


def check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise Fail(
            f"{name!r} is not a valid lock name: expected a-z, then a-z, 0-9 or _, at most 40 "
            "characters"
        )
    lists = defs.load()
    if name in (*lists.locks, *lists.aliases, *TAKEN):
        raise Fail(f"a lock named {name} already exists; choose another name")


def scaffold(name: str) -> str:
    """The template, for a lock of that name."""
    template = package_files("overlock_tools.cli").joinpath("new_lock.h.in").read_text()
    return template.replace("@NAME@", name).replace("@UPPER@", name.upper())


@click.command()
@click.argument("name", required=False)
@click.option(
    "--wrap",
    "wrapped",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="C, C++ or Rust file with a lock of its own: write the file that describes it.",
)
@click.option(
    "--type", "type_name", metavar="NAME", default="", help="With --wrap: the lock's type."
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Folder for the new file.  [default: current folder]",
)
def command(name: str | None, wrapped: Path | None, type_name: str, folder: Path) -> None:
    """Write NAME.h, a working lock, as a template for your own.

    With a lock that you have, write a table for it.

    \b
    Examples:
      overlock new mine
      overlock new mine --dir ~/locks
      overlock new --wrap mine.c     # writes mine_checked.c, to check
    """
    if wrapped and not name:
        return wrap(wrapped, folder, type_name)
    if not name or wrapped or type_name:
        raise Fail("expected either NAME, as in `overlock new mine`, or --wrap FILE")
    check_name(name)
    header = folder / f"{name}.h"
    shown = _written(header, scaffold(name))
    click.echo(f"{shown} is a working lock. Next:")
    click.echo(f"  overlock bench sections --locks {shown},ttas,pthread_mutex")
    click.echo(f"  overlock run --lock {shown} -- PROGRAM")
    click.echo(f"  $EDITOR {shown}")
    return None


def wrap(file: Path, folder: Path, type_name: str) -> None:
    made, text = wrapping.wrapper(file, folder, type_name)
    shown = _written(made, text)
    click.echo(f"{shown} has the table of the lock of {file}. Next:")
    click.echo(f"  $EDITOR {shown}")
    click.echo(f"  overlock check {shown}")
    click.echo(f"  overlock bench sections --locks {shown},ttas,pthread_mutex")


def _written(path: Path, text: str) -> str:
    """Its name for a command line."""
    if path.exists():
        raise Fail(f"{path} already exists; remove it or choose another name")
    files.check_writable(path)
    files.write(path, text)
    return str(path) if "/" in str(path) else f"./{path}"
