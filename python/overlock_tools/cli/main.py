# SPDX-License-Identifier: MIT
"""The overlock command: a group that imports a command only when it is asked for."""

import importlib
import os
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import click

from overlock_tools import __version__
from overlock_tools.cli import commands
from overlock_tools.core.system import called, native
from overlock_tools.core.system.errors import INTERRUPTED, MISSING, USAGE, Fail, say

# What the Debian package only suggests, or pip installs as an extra. By module: how to get it.
NOT_IN_DEBIAN = "(not in Debian; `pip install .` in overlock's sources brings it)"
OPTIONAL = {
    "numpy": "python3-numpy",
    "clang": "python3-clang, to find a lock's operations; with pip: overlock-tools[c]",
    "distributed": "python3-distributed; with pip: overlock-tools[cluster]",
    "matplotlib": "python3-matplotlib; with pip: overlock-tools[plots]",
    "hdrh": f"hdrhistogram {NOT_IN_DEBIAN}",
    "jsonschema": "python3-jsonschema",
    "tree_sitter": f"tree-sitter {NOT_IN_DEBIAN}",
    "tree_sitter_toml": f"tree-sitter-toml {NOT_IN_DEBIAN}",
}


# What commands below others are now.
FORMER: Mapping[tuple[str, ...], str] = {
    ("sim", "papers"): "reproduce --by simulated",
    ("guest", "paper"): "reproduce --by guest",
}

NAMES = sorted(m.name for m in pkgutil.iter_modules(commands.__path__))
called.COMMANDS.update(NAMES)

TASKS: Mapping[str, tuple[str, ...]] = {
    "Find the problem": ("doctor", "profile", "chaos", "demo"),
    "Help a program": ("run", "tune", "sched", "monitord"),
    "Choose a lock, and measure": ("locks", "bench", "apps", "collect", "report", "compare"),
    "Write a lock": ("new", "check", "sim", "tunables"),
    "Kernels and virtual machines": ("guest", "hostd"),
    "The papers": ("reproduce",),
    "The shell": ("completion",),
}


class LazyGroup(click.Group):
    """Finds its commands as modules of overlock_tools.cli.commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return NAMES

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in NAMES:
            return None
        command = importlib.import_module(f"overlock_tools.cli.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 6 - max(map(len, NAMES))
        for task, names in TASKS.items():
            with formatter.section(task):
                found = ((name, self.get_command(ctx, name)) for name in names)
                formatter.write_dl([(n, c.get_short_help_str(room)) for n, c in found if c])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if now := FORMER.get(tuple(args[:2])):
            ctx.fail(f"`overlock {' '.join(args[:2])}` is `overlock {now}` now")
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            near = get_close_matches(args[0], known, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            ctx.fail(f"there is no command {args[0]}{hint}; the commands are {', '.join(known)}")
        return super().resolve_command(ctx, args)


def version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if not is_asked or ctx.resilient_parsing:
        return
    click.echo(f"overlock, version {__version__}")
    click.echo(f"command:  {Path(sys.argv[0]).absolute()}, with {native.PACKAGE}")
    if top := native.checkout():
        click.echo(f"checkout: {top}, {native.commit(top)}")
    try:
        missing = ", ".join(native.missing())
        click.echo(f"programs: {native.folder()}" + (f"; not built: {missing}" if missing else ""))
    except Fail as error:
        click.echo(f"programs: none; {error.message}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success, 1 failure, 2 bad usage, 3 something needed is missing, "
    "130 interrupted.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=version,
    help="Show the version and where this command and its programs are, and exit.",
)
def cli() -> None:
    """Spinlocks that keep working when threads or vCPUs outnumber the CPUs.

    \b
    Examples:
      overlock doctor --pid PID         does preemption hurt it, and what helps?
      overlock profile -- ./server      which lock or loop does it wait for?
      overlock run --spins -- ./server  make its waiting loops yield
      overlock check ./mine.c           is your lock correct? every interleaving
    """


def usage_message(error: click.UsageError, args: Sequence[str]) -> str:
    """click's parser does not say in which command an option lacks its argument."""
    text = error.format_message().rstrip(".")
    command = [args[0]] if args and args[0] in NAMES else []
    path = error.ctx.command_path if error.ctx else " ".join(["overlock", *command])
    return f"{text}; see `{path} --help`"


# click before 8.2, Debian 12's, prints the help itself.
NO_ARGS = getattr(click.exceptions, "NoArgsIsHelpError", ())


def refused(error: click.ClickException, args: Sequence[str]) -> int:
    if isinstance(error, NO_ARGS):
        click.echo(error.message)
        return 0
    if isinstance(error, click.UsageError):
        say(usage_message(error, args))
        return USAGE
    say(error.format_message())
    return error.exit_code


def run(args: list[str] | None = None) -> int:
    try:
        code = cli.main(args, prog_name="overlock", standalone_mode=False)
    except Fail as error:
        say(error.message)
        return error.code
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        say(f"this needs the package {OPTIONAL[error.name]}")
        return MISSING
    except click.ClickException as error:
        return refused(error, sys.argv[1:] if args is None else args)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:  # the reader, `head` say, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    sys.exit(run())
