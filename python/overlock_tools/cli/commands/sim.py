# SPDX-License-Identifier: MIT
"""overlock sim: simulate locks under a host's scheduler."""

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from overlock_tools.cli.options import (
    IF_BUSY,
    OUTPUT,
    PLOT,
    RANDOM_LOADS,
    Option,
    Within,
    baseline,
    completing,
    locks,
)
from overlock_tools.core.model import defs


class Scenarios(click.Group):
    """`overlock sim SCENARIO`, and commands beside it: no scenario has the name of one."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args and args[0] in self.commands:
            below = self.commands[args[0]]
            return below.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        return click.Command.invoke(self, ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return click.Command.collect_usage_pieces(self, ctx)


def _scenarios(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
    """Ready scenarios, the commands beside them, and the shell's own names of files."""
    from overlock_tools.sim import scenario

    names = [name for name in (*scenario.ready(), *command.commands) if name.startswith(word)]
    return [*map(CompletionItem, names), CompletionItem(word, type="file")]


def _schedulers() -> list[str]:
    from overlock_tools.sim import lists

    return list(lists.load().hosts)


def _machines() -> list[str]:
    from overlock_tools.sim import machines

    return list(machines.named())


LOCKS = completing(lambda: [*defs.load().locks, "all"])
JOBS = click.option(
    "--jobs", type=click.IntRange(1), help="Runs at a time on this machine.  [default: CPUs]"
)
CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Dask scheduler to run on: tcp://HOST:8786. Whoever else reaches it can run code as you.",
)
CACHE = click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder for finished runs, which are not repeated.  [default: beside the result]",
)
LIMIT = click.option(
    "--limit",
    type=Within(0, 1e7),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of each run; 0: none.",
)
CALIBRATIONS = 5


def _output(what: str, *names: str) -> Option:
    return click.option("-o", *names, "--output", "output", type=OUTPUT, metavar="FILE", help=what)


def _runs(what: str) -> Option:
    kind = click.IntRange(1, 1000)
    return click.option("--runs", type=kind, default=CALIBRATIONS, show_default=True, help=what)


@click.group(cls=Scenarios, context_settings={"allow_interspersed_args": True})
@click.argument("scenario", required=False, metavar="SCENARIO", shell_complete=_scenarios)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change a parameter, such as machine.cpus=4 or guest.NAME.contexts=8; a list for "
    "sweep.PATH sweeps it; repeatable.",
)
@locks("Locks to compare (with tunables after @: preemptable_ticket@tau=0), or all.", LOCKS)
@click.option("--seeds", metavar="N|LIST", help="Number of seeds, or a list: 1,5,9.")
@click.option("--time", "time_ms", type=Within(0.001, 1e9), metavar="MS", help="Simulated time.")
@JOBS
@CLUSTER
@LIMIT
@_output(
    "File for the result, for `overlock report`; a folder if a sweep has several results.", "--json"
)
@CACHE
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
    type=OUTPUT,
    metavar="FILE",
    help="File for a timeline of one run, for ui.perfetto.dev.",
)
@click.option(
    "--svg",
    type=OUTPUT,
    metavar="FILE",
    help="File for a picture of one run.",
)
@click.option("--window", metavar="MS-MS", help="Part of the run to trace, as in 10-30.")
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
    """Simulate locks on a machine, under a scheduler, in VMs.

    SCENARIO is a TOML file, or a ready scenario that --list shows. The result depends on nothing
    but the scenario, its seeds and the build.

    \b
    Exit codes: 0 success, 1 a run failed (a lock does not exclude or deadlocks,
    a run exceeds its limit), 2 bad usage, 3 the simulator is not built,
    130 interrupted.

    \b
    Examples:
      overlock sim collapse
      overlock sim collapse --locks ticket,tas_yield --seeds 5 -o collapse.json
      overlock sim collapse --set 'sweep.machine.cpus=[4,24]' -o results
      overlock sim sweep.toml -o results/ --cluster tcp://scheduler:8786
      overlock sim vms --print
      overlock sim waiter-preemption --lock ticket --explain --svg ticket.svg
    """
    from overlock_tools.sim import campaign

    return campaign.run(options)


@command.command()
@_output("File of the machine, for scenarios.  [default: standard output]")
@_runs("Number of measurements, whose medians are written.")
@click.option("--title", help="Name of the machine in results.  [default: its processor]")
def calibrate(**options: Any) -> int:
    """Measure what operations cost on this machine, for simulations of it.

    Nothing else should run meanwhile. Costs that cannot be measured keep their presets.

    \b
    Examples:
      overlock sim calibrate -o here.toml
      overlock sim collapse --set machine=./here.toml
    """
    from overlock_tools.sim import calibrate

    return calibrate.run(options)


@command.command()
@_output("File for the points with their verdicts; finished runs are kept beside it.")
@click.option(
    "--native",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measure nothing: take the rates, and the machine, of a result that was written here or "
    "on another machine; or the rates of a CSV file: `lock,1,2,4`, then a line for each lock.",
)
@click.option(
    "--cs-ns",
    type=Within(0, 1e9),
    default=70,
    show_default=True,
    metavar="NS",
    help="Length of the sections that a CSV file's rates are of.",
)
@click.option(
    "--ncs-ns",
    type=Within(0, 1e9),
    default=330,
    show_default=True,
    metavar="NS",
    help="The same, between sections.",
)
@click.option(
    "--machine",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Machine, as `overlock sim calibrate` writes it.  [default: calibrate first]",
)
@click.option(
    "--scheduler",
    metavar="NAME",
    shell_complete=completing(_schedulers),
    help="Scheduler that is simulated.  [default: the kernel's]",
)
@_runs("Number of measurements that calibrate the machine.")
@IF_BUSY
@JOBS
@CLUSTER
@LIMIT
@CACHE
@click.pass_context
def validate(ctx: click.Context, /, **options: Any) -> int:
    """Compare the simulator with this machine: the same locks, measured and simulated.

    The points, and the numbers by which they are right, are in validation.toml of the package.
    Measuring takes about ten minutes, during which nothing else should run.

    \b
    Exit codes: 0 the wanted shares are reached, 1 they are missed or a run
    failed, 2 bad usage, 3 the simulator is not built, 130 interrupted.

    \b
    Examples:
      overlock sim validate -o validation.json
      overlock sim validate --native validation.json --machine here.toml
      overlock sim validate --native a.csv --machine b.toml --scheduler eevdf
    """
    from overlock_tools.sim import validate

    overlock = ctx.find_root().command

    def bench(words: list[str]) -> int:
        code = overlock.main(words, prog_name="overlock", standalone_mode=False)
        return code if isinstance(code, int) else 0

    return validate.run(options, bench)


@command.command()
@click.argument("scenario", default="which-lock", metavar="[SCENARIO]", shell_complete=_scenarios)
@_output("File for the rates of all locks; finished runs are kept beside it.")
@click.option(
    "--read",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Simulate nothing: show an earlier result.",
)
@click.option(
    "--svg",
    type=OUTPUT,
    metavar="FILE",
    help="File for the map: which lock is best where.",
)
@click.option(
    "--of",
    metavar="LOCK",
    shell_complete=completing(lambda: list(defs.load().locks)),
    help="Draw how far this lock is behind the best, instead of the best.",
)
@locks("Locks to compare.  [default: the scenario's, or all]", LOCKS)
@JOBS
@CLUSTER
@LIMIT
@CACHE
@click.option("--quiet", is_flag=True, help="Print only failures, and the files written.")
def grid(**options: Any) -> int:
    """Simulate all locks in every combination of a scenario's axes: which lock is best where?

    Without SCENARIO: 2,100 scenarios of CPUs, contexts, sections, schedulers and loads, which take
    one or two hours. Ctrl-C keeps finished runs, and the same command goes on.

    \b
    Examples:
      overlock sim grid -o grid.json --svg map.svg
      overlock sim grid --read grid.json --svg ticket.svg --of ticket
      overlock sim grid axes.toml --locks ticket,mcs,tas -o mine.json
    """
    from overlock_tools.sim import grid_campaign

    return grid_campaign.run(options)


@command.command("random")
@RANDOM_LOADS
@locks("Locks to judge by.  [default: all]", LOCKS)
@baseline("rota", LOCKS, "Lock to judge.")
@click.option(
    "--machine",
    default="typical",
    show_default=True,
    metavar="NAME|FILE",
    shell_complete=completing(_machines),
    help="Machine: one that --list shows, or a file.",
)
@click.option(
    "--cpus", default="16", show_default=True, metavar="N,N", help="Numbers of CPUs of it."
)
@click.option(
    "--scheduler",
    default="eevdf",
    show_default=True,
    metavar="NAME",
    shell_complete=completing(_schedulers),
    help="Scheduler that is simulated.",
)
@click.option(
    "--seeds",
    type=click.IntRange(2, 1000),
    default=2,
    show_default=True,
    help="Runs of each lock: half choose the best lock, half judge.",
)
@click.option(
    "--time",
    "time_ms",
    type=Within(0.001, 1e9),
    metavar="MS",
    help="Simulated time.  [default: 50, and 12 more for each thread of a CPU]",
)
@click.option(
    "--read",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Simulate nothing: show earlier results, of `overlock bench random` too; repeatable.",
)
@_output("File for the verdict; finished runs are kept beside it.", "--json")
@PLOT
@JOBS
@CLUSTER
@LIMIT
@CACHE
@click.option("--quiet", is_flag=True, help="Do not show how many runs are done.")
def random_command(**options: Any) -> int:
    """Simulate a lock, and the others, under loads that are drawn.

    The loads are those of `overlock bench random`, on machines that yours is not. How much a lock
    differs from itself is told by its seeds. Ctrl-C keeps finished runs, and the same command goes
    on.

    \b
    Examples:
      overlock sim random --count 10 -o drawn.json
      overlock sim random --cpus 16,64 --machine xeon-16 -o d.json --plot d.svg
      overlock sim random --half tuning --locks tas_yield,pv_byte --only 4,8
      overlock sim random --read here.json --read drawn.json --plot both.svg
    """
    from overlock_tools.sim import random_loads

    return random_loads.run(options)
