# SPDX-License-Identifier: MIT
"""overlock apps: real programs under each lock."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from overlock_tools.options import Within

Command = Callable[..., int]


def _names(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
    from overlock_tools.apps.catalogue import APPS

    return [CompletionItem(name) for name in (*APPS, "all") if name.startswith(word)]


NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=_names)


def _scenarios(function: Command) -> Command:
    from overlock_tools.apps.session import SCENARIOS

    for one in reversed(SCENARIOS):
        function = click.option(f"--{one.name}", metavar=one.metavar, help=one.help)(function)
    return function


@click.group()
def command() -> None:
    """Real programs of Debian 12 under each lock, their work checked in every cell.

    \b
    Examples:
      overlock apps list
      overlock apps install leveldb memcached
      overlock apps run pbzip2 leveldb --threads 1x,4x
      overlock apps compare apps-results
    """


def _json(function: Command) -> Command:
    kind = click.Path(path_type=Path)
    return click.option("--json", "json_file", type=kind, help="Write it to this file.")(function)


# Of what is counted once.
PROBE = (
    click.option("--lock", default="tas_yield", show_default=True, help="Under this one."),
    click.option("--threads", default="4x", show_default=True, help="A number, or 4x: CPUs."),
    click.option(
        "--seconds", type=Within(0.2, 3600), default=1.0, show_default=True, help="Of each."
    ),
)


def _probed(function: Command) -> Command:
    for option in reversed(PROBE):
        function = option(function)
    return function


def _probe(options: dict[str, Any]) -> Any:
    from overlock_tools import machine
    from overlock_tools.apps import probe, rig

    threads = probe.threads_of(options["threads"], machine.cpus())
    return probe.Probe(rig.checked(options["lock"]), threads, options["seconds"])


@command.command(name="list")
@click.option("--facts", is_flag=True, help="Count whether its locks matter, in each that is here.")
@_probed
@_json
def list_command(facts: bool, json_file: Path | None, **options: Any) -> int:
    """The programs there are, what each needs, and which of its locks are replaced.

    \b
    Examples:
      overlock apps list
      overlock apps list --facts --threads 8
    """
    from overlock_tools.apps import listing

    return listing.show(_probe(options) if facts else None, json_file)


@command.command()
@NAMES
@_probed
@_json
def csd(names: tuple[str, ...], json_file: Path | None, **options: Any) -> int:
    """How long programs hold their locks, beside 002's Figure 3.

    \b
    Examples:
      overlock apps csd leveldb memcached
      overlock apps csd all --seconds 5 --json csd.json
    """
    from overlock_tools.apps import probe, session
    from overlock_tools.terminal import console

    return probe.csd(session.chosen(names), _probe(options), json_file, console())


PATHS = click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="RESULT...",
)


@command.command()
@PATHS
@click.option(
    "--margin",
    type=Within(0.1, 50),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="Less is no difference, if the whole interval lies within.",
)
@click.option("--fail-on-regression", "fails", is_flag=True, help="Exit code 1 if there is one.")
@_json
def compare(paths: tuple[Path, ...], margin: float, fails: bool, json_file: Path | None) -> int:
    """Is a lock a regression for a program? As 001 asked, and by intervals over rounds.

    RESULT: files of `overlock apps run`, or folders of them.

    \b
    Examples:
      overlock apps compare apps-results
      overlock apps compare apps-results --margin 2 --fail-on-regression
    """
    from overlock_tools.apps import comparing
    from overlock_tools.terminal import console

    return comparing.show_comparison(paths, margin / 100, fails, json_file, console())


@command.command()
@PATHS
@_json
def advise(paths: tuple[Path, ...], json_file: Path | None) -> int:
    """Which lock a program is better off with, by how much, or that glibc's is best kept.

    Half of the rounds choose the lock, the other half judge it.

    \b
    Examples:
      overlock apps advise apps-results
    """
    from overlock_tools.apps import comparing
    from overlock_tools.terminal import console

    return comparing.show_advice(paths, json_file, console())


@command.command()
@NAMES
@click.option("--dry-run", is_flag=True, help="Only say which packages; exit code 3 if any.")
def install(names: tuple[str, ...], dry_run: bool) -> int:
    """Install what programs need: says which of Debian's packages, then calls apt.

    OVERLOCK_NO_INSTALL=1 in the environment is as --dry-run.

    \b
    Examples:
      overlock apps install leveldb memcached
      overlock apps install all --dry-run
    """
    from overlock_tools.apps import catalogue, installing
    from overlock_tools.terminal import console

    wanted = catalogue.APPS if names == ("all",) else names
    return installing.install([catalogue.known(name) for name in wanted], dry_run, console())


@command.command()
@NAMES
@click.option(
    "--locks",
    "--lock",
    multiple=True,
    metavar="LIST",
    help="Locks, with settings after @ (preemptable_ticket@tau=0), headers (./mine.h), all, or "
    "native, which is always among them.  [default: three that collapse and three that do not]",
)
@click.option("--baseline", default="native", show_default=True, help="Ratios are to this one.")
@click.option(
    "--threads",
    default="1x,4x",
    show_default=True,
    help="Numbers, or 2x: CPUs; a program's "
    "threads, clients or jobs, as `overlock apps list` says.",
)
@click.option(
    "--rounds", type=click.IntRange(1, 10_000), default=10, show_default=True, help="001's."
)
@click.option(
    "--seconds",
    type=Within(0.2, 3600),
    default=2.0,
    show_default=True,
    help="Counted in each cell.",
)
@click.option(
    "--warm-up",
    type=Within(0, 3600),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="Before that, of programs that go on by themselves; the others have no need.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), help="Of the order in each round.")
@click.option(
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of the program, as in megabytes=16.",
)
@click.option(
    "--pilot/--no-pilot",
    default=True,
    show_default=True,
    help="Do not repeat what collapses in round 1.",
)
@click.option(
    "--budget",
    type=Within(0.01, 100_000),
    metavar="MINUTES",
    help="Choose rounds and seconds so that all ends in time.",
)
@click.option("--counters", is_flag=True, help="The counted library: why, not how fast.")
@click.option("--histograms", is_flag=True, help="And how long locks are held.")
@click.option(
    "--if-busy",
    type=click.Choice(("warn", "refuse", "wait")),
    default="warn",
    show_default=True,
    help="If something else uses the CPUs at the start.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("apps-results"),
    show_default=True,
    help="The folder for the results, one file for each program.",
)
@_scenarios
def run(**options: Any) -> int:
    """Measure programs natively and under each lock; the same command again completes it.

    Locks are interleaved, round after round, and what a program did is checked in every cell.

    \b
    Examples:
      overlock apps run pbzip2
      overlock apps run leveldb --threads 1x,4x,16x --locks all --seconds 10
      overlock apps run all --budget 60 --neighbours 2 -o results
      overlock apps run memcached --counters --rounds 1
    """
    from overlock_tools.apps import session

    return session.run(options)
