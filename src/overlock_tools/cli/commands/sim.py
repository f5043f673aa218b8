# SPDX-License-Identifier: MIT
"""overlock sim: simulate locks under a host's scheduler."""

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from overlock_tools.cli.options import Within, completing
from overlock_tools.model import defs


def _scenarios(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
    """Ready scenarios, and the shell's own names of files."""
    from overlock_tools.simulate import scenario

    names = [name for name in scenario.ready() if name.startswith(word)]
    return [*map(CompletionItem, names), CompletionItem(word, type="file")]


@click.command()
@click.argument("scenario", required=False, metavar="SCENARIO", shell_complete=_scenarios)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change a parameter, such as machine.cpus=4 or guest.NAME.contexts=8; a list for "
    "sweep.PATH sweeps it; repeatable.",
)
@click.option(
    "--locks",
    "--lock",
    multiple=True,
    metavar="LIST",
    shell_complete=completing(lambda: [*defs.load().locks, "all"]),
    help="Locks to compare (with tunables after @: preemptable_ticket@tau=0), or all.",
)
@click.option("--seeds", metavar="N|LIST", help="Number of seeds, or a list: 1,5,9.")
@click.option("--time", "time_ms", type=Within(0.001, 1e9), metavar="MS", help="Simulated time.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Runs at a time on this machine.  [default: CPUs]"
)
@click.option("--cluster", metavar="ADDRESS", help="Dask scheduler to run on: tcp://HOST:8786.")
@click.option(
    "--limit",
    type=Within(0, 1e7),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of each run; 0: none.",
)
@click.option(
    "-o",
    "--json",
    "--output",
    "output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the result, for `overlock report`; a folder if a sweep has several results.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder for finished runs, which are not repeated.  [default: beside the result]",
)
@click.option(
    "--explain",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=1,
    metavar="[N]",
    help="Tell in words why the N longest waits of one run took so long.  [N: 1]",
)
@click.option("--at", type=Within(0, 1e9), metavar="MS", help="Time of the wait to explain.")
@click.option(
    "--timeline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File for a timeline of one run, for ui.perfetto.dev.",
)
@click.option(
    "--svg",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File for a picture of one run.",
)
@click.option("--window", metavar="MS-MS", help="Part of the run to trace, as in 10-30.")
@click.option(
    "--only",
    multiple=True,
    metavar="CLAIM",
    help="Of papers: only claims whose ids begin so, such as 000 or 004-fig2; repeatable.",
)
@click.option("--quiet", is_flag=True, help="Print only failures, and the files written.")
@click.option(
    "--list", "listing", is_flag=True, help="List ready scenarios, and what scenarios can name."
)
@click.option(
    "--print",
    "print_only",
    is_flag=True,
    help="Print the resolved runs as JSON, one per line, and run nothing.",
)
def command(**options: Any) -> int:
    """Simulate locks on a machine, under a scheduler, with threads or virtual machines.

    SCENARIO is a TOML file, or a ready scenario that --list shows. The result depends on nothing
    but the scenario, its seeds and the build. `papers` instead of a scenario repeats the papers'
    experiments, and judges what they say.

    \b
    Exit codes: 0 success, 1 a run failed (a lock does not exclude or deadlocks, a run exceeds its
    limit), 2 bad usage, 3 the simulator is not built, 130 interrupted.

    \b
    Examples:
      overlock sim collapse
      overlock sim collapse --locks ticket,tas_yield --seeds 5 -o collapse.json
      overlock sim collapse --set machine.cpus=24 --set 'sweep.guest.app.contexts=["1x","4x"]'
      overlock sim sweep.toml -o results/ --cluster tcp://scheduler:8786
      overlock sim two-vms --print
      overlock sim waiter-preemption --lock ticket --explain --timeline ticket.json
      overlock sim papers --only 004 -o papers.json
    """
    from overlock_tools.simulate import campaign, papers

    if options["scenario"] == papers.WORD:
        return papers.run(options)
    if options["only"]:
        raise click.UsageError("--only is for `overlock sim papers`")
    return campaign.run(options)
