# SPDX-License-Identifier: MIT
"""overlock apps: real programs under each lock."""

from pathlib import Path
from typing import Any

import click

from overlock_tools.cli import options
from overlock_tools.cli.options import Command, Within
from overlock_tools.core.model import defs


def _apps() -> list[str]:
    from overlock_tools.apps.catalogue import APPS

    return [*APPS, "all"]


def _locks() -> list[str]:
    return [*defs.load().locks, "all", "native"]


NAMES = click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=options.completing(_apps)
)


def _scenarios(function: Command) -> Any:
    from overlock_tools.apps.campaign import SCENARIOS

    found = [click.option(f"--{s.name}", metavar=s.metavar, help=s.help) for s in SCENARIOS]
    return options.together(*found)(function)


@click.group()
def command() -> None:
    """Run real Debian 12 programs under each lock.

    Every cell checks the program's work.

    \b
    Examples:
      overlock apps list
      overlock apps install leveldb memcached
      overlock apps run pbzip2 leveldb --threads 1x,4x
      overlock apps compare apps-results
    """


json = options.file("--json", "Write the result to FILE as JSON.")
# Options of a single counting run.
probed = options.together(
    click.option(
        "--lock",
        default="tas_yield",
        show_default=True,
        shell_complete=options.LOCKS,
        help="Lock to count with.",
    ),
    click.option(
        "--threads",
        default="4x",
        show_default=True,
        help="Number of threads, or a multiple of the CPUs (4x).",
    ),
    options.seconds(0.2, 1.0, "Measured time of each program."),
)


def _probe(given: dict[str, Any]) -> Any:
    from overlock_tools.apps import executor, probe
    from overlock_tools.core.system import machine

    threads = probe.threads_of(given["threads"], machine.cpus())
    return probe.Probe(executor.checked(given["lock"]), threads, given["seconds"])


@command.command(name="list")
@click.option(
    "--facts", is_flag=True, help="Measure how much locks matter in each installed program."
)
@probed
@json
def list_command(facts: bool, json_file: Path | None, **given: Any) -> int:
    """List the programs, the packages that each needs, and the locks that Overlock replaces.

    \b
    Examples:
      overlock apps list
      overlock apps list --facts --threads 8
    """
    from overlock_tools.apps import listing

    return listing.show(_probe(given) if facts else None, json_file)


@command.command()
@NAMES
@probed
@json
def csd(names: tuple[str, ...], json_file: Path | None, **given: Any) -> int:
    """Measure how long programs hold their locks.

    The table corresponds to Figure 3 of Teabe et al. 2017.

    \b
    Examples:
      overlock apps csd leveldb memcached
      overlock apps csd all --seconds 5 --json csd.json
    """
    from overlock_tools.apps import campaign, probe
    from overlock_tools.core.system.terminal import console

    return probe.csd(campaign.chosen(names), _probe(given), json_file, console())


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
    help="Equivalence margin: an interval within ±PERCENT counts as no difference.",
)
@click.option(
    "--fail-on-regression", "fails", is_flag=True, help="Exit with 1 if a lock is a regression."
)
@json
def compare(paths: tuple[Path, ...], margin: float, fails: bool, json_file: Path | None) -> int:
    """Check whether a lock makes a program slower, by Rao & Dunlap's method and by intervals.

    The intervals are over rounds. RESULT: a file of `overlock apps run`, or a folder of such files.

    \b
    Examples:
      overlock apps compare apps-results
      overlock apps compare apps-results --margin 2 --fail-on-regression
    """
    from overlock_tools.apps import comparing
    from overlock_tools.core.system.terminal import console

    return comparing.show_comparison(paths, margin / 100, fails, json_file, console())


@command.command()
@PATHS
@json
def advise(paths: tuple[Path, ...], json_file: Path | None) -> int:
    """Recommend a lock for each program, with the expected gain, or recommend glibc's mutex.

    Half of the rounds select the lock; the other half estimate its gain.

    \b
    Examples:
      overlock apps advise apps-results
    """
    from overlock_tools.apps import comparing
    from overlock_tools.core.system.terminal import console

    return comparing.show_advice(paths, json_file, console())


@command.command()
@NAMES
@click.option(
    "--dry-run", is_flag=True, help="Only print the missing packages; exit with 3 if there are any."
)
def install(names: tuple[str, ...], dry_run: bool) -> int:
    """Install the Debian packages that programs need: print their names, then run apt.

    OVERLOCK_NO_INSTALL=1 in the environment has the effect of --dry-run.

    \b
    Examples:
      overlock apps install leveldb memcached
      overlock apps install all --dry-run
    """
    from overlock_tools.apps import catalogue, installing
    from overlock_tools.core.system.terminal import console

    wanted = catalogue.APPS if names == ("all",) else names
    return installing.install([catalogue.known(name) for name in wanted], dry_run, console())


@command.command()
@NAMES
@click.option(
    "--locks",
    "--lock",
    multiple=True,
    metavar="LIST",
    shell_complete=options.completing(_locks),
    help="Locks (with tunables after @: preemptable_ticket@tau=0), headers (./mine.h), settings of "
    "the program without a lock of ours (KMP_LOCK_KIND=tas), spins (as run --spins), or all. "
    "native is always measured.  "
    "[default: three that collapse and three that do not]",
)
@options.baseline("native", options.completing(_locks))
@click.option(
    "--threads",
    default="1x,4x",
    show_default=True,
    help="Numbers of threads, or multiples of the CPUs (2x). They set a program's threads, clients "
    "or jobs: see `overlock apps list`.",
)
@options.rounds(10000, 10, "Number of rounds; Rao & Dunlap 2012 ran 10.")
@options.seconds(0.2, 2.0)
@click.option(
    "--warm-up",
    type=Within(0, 3600),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="Warm-up before the measured time, for programs that run until stopped.",
)
@options.seed(2**31)
@options.parameters("Parameter of the program, such as megabytes=16; repeatable.")
@click.option(
    "--pilot/--no-pilot",
    default=True,
    show_default=True,
    help="Skip cells that collapse in round 1 in later rounds.",
)
@options.BUDGET
@click.option(
    "--counters", is_flag=True, help="Use the instrumented library: events instead of speed."
)
@click.option("--histograms", is_flag=True, help="Also record how long locks are held.")
@options.IF_BUSY
@options.folder("Folder for the results, one file per program.", "apps-results")
@_scenarios
def run(**given: Any) -> int:
    """Measure programs natively and under each lock.

    The locks are interleaved in every round, and every cell checks the program's work. Repeat the
    command to complete an interrupted measurement.

    \b
    Examples:
      overlock apps run pbzip2
      overlock apps run leveldb --threads 1x,4x,16x --locks all --seconds 10
      overlock apps run all --budget 60 --neighbours 2 -o results
      overlock apps run omp-histogram --locks KMP_LOCK_KIND=tas --threads 1,4x
      overlock apps run memcached --counters --rounds 1
    """
    from overlock_tools.apps import campaign

    return campaign.run(given)
