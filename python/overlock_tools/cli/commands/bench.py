# SPDX-License-Identifier: MIT
"""overlock bench: compare locks on this machine."""

from pathlib import Path
from typing import Any

import click

from overlock_tools.bench import bench, conditions, matrix, random_loads, subjects, sweep
from overlock_tools.cli.options import (
    BUDGET,
    CFLAGS,
    IF_BUSY,
    KNOWLEDGE,
    OUTPUT,
    PLOT,
    RANDOM_LOADS,
    RESUME,
    TUNABLES,
    Within,
    baseline,
    completing,
    explicit,
    file,
    folder,
    locks,
    parameters,
    rounds,
    seconds,
    seed,
    together,
)
from overlock_tools.core.model import defs, loads, paper_settings, plan, stats
from overlock_tools.core.model.workloads import Parameter, Workload
from overlock_tools.core.system.errors import MISSING, Fail

EXAMPLES = """

\b
Examples:
  overlock bench {name}
  overlock bench {name} --threads 4,8,16 --json result.json
  overlock bench {name} --locks ticket,preemptable_ticket@tau=0,peers
  overlock bench {name} --lock ./mine.h --locks all --counters
"""


OF_BARRIERS = EXAMPLES.replace("ticket,preemptable_ticket@tau=0,peers", "barrier,peers").replace(
    "--lock ./mine.h --locks all --counters", "--threads 1x,4x --background 2:hogs"
)
BARRIERS = completing(lambda: [*defs.load().barriers, "all", "peers"])
CONTENDERS = completing(lambda: [*defs.load().locks, *defs.load().peers, "all", "peers"])
LOADS = completing(lambda: [*loads.BY_NAME, "all"])
WORKLOADS = completing(lambda: subjects.subjects().workloads)
BASELINE = baseline("ticket", CONTENDERS)
THREADS = click.option("--threads", help="Numbers of threads, or multiples of the CPUs (2x).")
TURNS = click.option(
    "--turns",
    type=click.IntRange(1, 10**12),
    help="Fixed work: number of iterations of each thread.",
)
AS_IN = click.option(
    "--as-in",
    type=click.Choice(paper_settings.PAPERS),
    help="Settings and statistic of a paper: "
    + ", ".join(f"{paper} {paper_settings.CITED[paper]}" for paper in paper_settings.PAPERS)
    + ".",
)
FIELD = click.option(
    "--field",
    type=click.IntRange(1),
    metavar="N",
    help="Number of contenders, beside the baseline, that are measured after round 1: those with "
    "the best rates. [default: all]",
)
CPUS = click.option("--cpus", type=click.IntRange(1), help="Number of CPUs to use.")
# Options of every measurement; paper_settings.py and plan.py have the defaults.
COMMON = (
    locks(
        "Locks (with tunables after @: preemptable_ticket@tau=0), files (./mine.h, "
        "./mine.c), peers, or all. [default: all]",
        CONTENDERS,
    ),
    CFLAGS,
    THREADS,
    rounds(100000, None, f"Number of rounds. [default: {plan.ROUNDS}]"),
    seconds(
        0.01,
        None,
        "Measured time per cell, or the time limit with --turns. [default: "
        f"{plan.SECONDS}, {plan.LIMIT_SECONDS:g}]",
    ),
    TURNS,
    BASELINE,
    AS_IN,
    seed(),
    click.option(
        "--pilot/--no-pilot",
        default=None,
        help="Skip cells that collapse in round 1 in later rounds. [default: --pilot for a matrix "
        "and with --turns]",
    ),
    FIELD,
    CPUS,
    click.option(
        "--counters", is_flag=True, help="Use the instrumented build: events instead of speed."
    ),
    click.option(
        "--no-latency", is_flag=True, help="Count iterations only; do not measure latencies."
    ),
    KNOWLEDGE,
    IF_BUSY,
    *(click.option(f"--{s.name}", metavar=s.metavar, help=s.help) for s in conditions.SCENARIOS),
)

FILES = (
    file("--json", "File for the result, for `overlock report`."),
    file("--csv", "File for every cell as a CSV line.", "csv_file"),
    RESUME,
)


def _option(parameter: Parameter) -> Any:
    kind: click.ParamType[Any]
    if parameter.values:
        kind = click.Choice(parameter.values)
    elif parameter.unit == "count":
        kind = click.IntRange(int(parameter.least), int(parameter.most))
    else:
        kind = Within(parameter.least, parameter.most)
    return click.option(
        parameter.option,
        parameter.key,
        default=parameter.preset,
        show_default=True,
        type=kind,
        help=parameter.what[:1].upper() + parameter.what[1:] + ".",
    )


def _command(workload: Workload) -> click.Command:
    def run(**options: Any) -> int:
        return bench.single(workload, bench.Asked(options, explicit()))

    examples, common = EXAMPLES, list(COMMON)
    if workload.name == defs.MEETS:
        examples, common[0] = (
            OF_BARRIERS,
            locks("Barriers, peers, or all. [default: all]", BARRIERS),
        )
        common[common.index(BASELINE)] = baseline("pthread_barrier", BARRIERS)
    text = f"{workload.title[:1].upper()}{workload.title[1:]}." + examples.format(
        name=workload.name
    )
    options = [*common, *map(_option, workload.parameters), *FILES]
    return click.command(workload.name, help=text)(together(*options)(run))


@click.command(name="matrix")
@together(*COMMON)
@folder("Folder for the results, one file per workload.")
@click.option(
    "--workloads",
    metavar="LIST",
    shell_complete=WORKLOADS,
    help="Workloads to measure. [default: all]",
)
@click.option(
    "--loads",
    metavar="LIST",
    shell_complete=LOADS,
    help="Loads by which rota is judged, to measure instead: all, or some of "
    f"{', '.join(loads.BY_NAME)}. Then a table judges the baseline against the best of the others.",
)
@BUDGET
def matrix_command(**options: Any) -> int:
    """Measure many workloads, one result file each.

    Repeat the command to complete an interrupted matrix.

    \b
    Examples:
      overlock bench matrix -o results --budget 60
      overlock bench matrix -o results --workloads sections,fairness --threads 1,8
      overlock bench matrix -o judged --loads all --baseline rota --field 8
    """
    return matrix.run(bench.Asked(options, explicit()))


RANDOM = (
    locks("Locks to judge by. [default: peers]", CONTENDERS),
    CFLAGS,
    baseline("rota", CONTENDERS, "Lock to judge; it is measured twice, as a control."),
    rounds(1000, stats.rounds_needed(), "Number of rounds: half choose the best lock, half judge."),
    seconds(0.01, plan.SECONDS),
    FIELD,
    CPUS,
    KNOWLEDGE,
    IF_BUSY,
)


@click.command(name="random")
@RANDOM_LOADS
@together(*RANDOM)
@folder("Folder for the results, one file per load.")
@file("--json", "File for the verdict on all loads.")
@PLOT
def random_command(**options: Any) -> int:
    """Measure a lock, and the others, under loads that are drawn.

    Each load has its own lengths of sections, numbers of threads and locks. Odd loads are for
    judging, even ones for tuning. The lock is judged against the best other lock of each load, and
    is measured twice: how much it differs from itself is chance. Repeat the command to complete an
    interrupted measurement.

    \b
    Examples:
      overlock bench random -o drawn --count 20 --json drawn.json
      overlock bench random -o drawn --count 200 --field 6 --plot drawn.svg
      overlock bench random -o tried --half tuning --baseline ./mine.h
      overlock bench random -o again --only 17,33 --rounds 22
    """
    return random_loads.run(bench.Asked(options, explicit()))


SWEEP = (
    click.option("--values", metavar="LIST", help="Values of the tunable: 0,100,1000,inf."),
    click.option(
        "--from",
        "low",
        metavar="N",
        help="Lowest value. [default: 1/16 of the tunable's default, and 0]",
    ),
    click.option(
        "--to",
        "high",
        metavar="N",
        help="Highest value. [default: 16 times the tunable's default, and inf]",
    ),
    click.option(
        "--steps",
        type=click.IntRange(2, 1000),
        default=sweep.STEPS,
        show_default=True,
        help="Number of values from --from to --to, spaced by equal ratios.",
    ),
    click.option(
        "--workload",
        default="sections",
        show_default=True,
        metavar="NAME",
        shell_complete=WORKLOADS,
        help="Workload to measure.",
    ),
    parameters(
        "Parameter of the workload, such as cs=300; `overlock bench NAME --help` lists them."
    ),
    *(option for option in COMMON if option is not BASELINE),
    *FILES,
    click.option(
        "-o",
        "--output",
        "pictures",
        multiple=True,
        type=OUTPUT,
        help="File for the plot: NAME.png or NAME.svg; repeatable.",
    ),
)


@click.command(name="sweep")
@click.argument("tunable", shell_complete=TUNABLES)
@together(*SWEEP)
def sweep_command(tunable: str, **options: Any) -> int:
    """Measure locks at several values of a TUNABLE (see `overlock tunables`).

    The default value is always included, and each lock is compared with itself at the default.
    Without --lock, the sweep measures all locks that read the tunable.

    \b
    Examples:
      overlock bench sweep tau --lock preemptable_ticket --threads 4x -o tau.png
      overlock bench sweep spin --from 200 --to 20000 --steps 11 --lock tas_yield
      overlock bench sweep wait_slots --values 1,16,4096 --lock twa --threads 16
      overlock bench sweep tau --values 0,400,inf --parameter cs=300
    """
    return sweep.run(tunable, bench.Asked(options, explicit()))


# A replay has as many threads as the trace, and repeats it for as long as is measured.
REPLAY_HAS = [o for o in COMMON if o not in (THREADS, TURNS, AS_IN)]


@click.command(name="replay")
@click.argument("trace", type=click.Path(path_type=Path))
@together(*REPLAY_HAS, *FILES)
def replay_command(trace: Path, **options: Any) -> int:
    """Measure locks under what a recorded program does with its own.

    TRACE is of `overlock run --record`. Each of its threads repeats its sequence of locks with its
    sections, the work between them and its sleeps. `overlock bench --replay TRACE` is the same.

    \b
    Examples:
      overlock run --record server.trace -- ./server --port 8080
      overlock bench --replay server.trace
      overlock bench --replay server.trace --locks ticket,tas_yield,peers
      overlock bench --replay server.trace --seconds 2 --json result.json
    """
    from overlock_tools.bench import replaying  # with NumPy, whose threads would run beside cells

    without = dict.fromkeys(("threads", "turns", "as_in"))
    return replaying.run(trace, bench.Asked(options | without, explicit()))


OTHERS = {
    "matrix": matrix_command,
    "random": random_command,
    "sweep": sweep_command,
    "replay": replay_command,
}


class Workloads(click.Group):
    """A command for each workload that overlock-bench has, and the other ways to measure."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--replay TRACE` is the command `replay TRACE`."""
        if args[:1] == ["--replay"]:
            args = ["replay", *args[1:]]
        elif args and args[0].startswith("--replay="):
            args = ["replay", args[0].removeprefix("--replay="), *args[1:]]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._known(), *OTHERS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OTHERS:
            return OTHERS[cmd_name]
        known = self._known()
        if not known:  # not built: it can still be asked for help, and says what to do
            return _command(Workload(cmd_name, cmd_name))
        return _command(known[cmd_name]) if cmd_name in known else None

    def _known(self) -> dict[str, Workload]:
        try:
            return subjects.subjects().workloads
        except Fail as error:
            if error.code == MISSING:
                return {}
            raise


@click.group(cls=Workloads)
@click.option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="TRACE",
    expose_value=False,
    help="Replay what a program does with its locks, as recorded by `overlock run --record`; the "
    "same as the command replay.",
)
def command() -> None:
    """Compare locks on this machine, other libraries' included.

    The contenders of a run are interleaved in every round. Ratios come with a bootstrap interval
    over the rounds.

    \b
    Examples:
      overlock bench sections --locks ticket,tas_yield,peers --threads 1x,4x
      overlock bench mutexbench --as-in dice2019 --seconds 1
      overlock bench matrix -o results --budget 60
      overlock bench random -o drawn --count 20 --json drawn.json
      overlock bench sweep tau --lock preemptable_ticket --threads 4x -o tau.png
      overlock bench --replay server.trace --locks ticket,tas_yield,peers
    """
