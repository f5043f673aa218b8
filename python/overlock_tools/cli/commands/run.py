# SPDX-License-Identifier: MIT
"""overlock run: another lock for an unmodified program."""

from typing import Any

import click

from overlock_tools.cli.options import KNOWLEDGE, completing
from overlock_tools.core.model import defs
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.trace import MOST_EVENTS
from overlock_tools.run import config, interpose, live, profiling, recording, run, settings
from overlock_tools.run.starting import CANNOT_START


def tunable_options() -> list[click.Parameter]:
    return [
        click.Option(
            [tunable.option, tunable.name],
            metavar="N",
            help=f"{tunable.what} [default: {tunable.default}]",
        )
        for tunable in defs.load().tunables.values()
    ]


# Options that take a value only after `=`: what follows them may be the program.
MAY_HAVE_VALUES = {"--counters": "--counters-every", "--spins": "--spins-what"}


def with_values(args: list[str], params: list[click.Parameter]) -> list[str]:
    """`--counters=1s` as `--counters-every=1s`."""
    valued = {
        name
        for param in params
        if isinstance(param, click.Option) and not param.is_flag
        for name in param.opts
    }
    own: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        arg = rest.pop(0)
        name, equals, value = arg.partition("=")
        if equals and name in MAY_HAVE_VALUES:
            arg = f"{MAY_HAVE_VALUES[name]}={value}"
        own.append(arg)
        if arg in valued and rest:
            own.append(rest.pop(0))
    return own + rest


def _chosen(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    return str(files.chosen(name)) if name is not None else None


class RunCommand(click.Command):
    """Has an option per tunable; its own failures end with 125, for 2 may be the program's."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, help_option = super().get_params(ctx)
        return [*own, *tunable_options(), help_option]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_values(args, self.get_params(ctx)))

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        try:
            return super().make_context(info_name, args, *rest, **more)
        except click.UsageError as error:
            text = error.format_message().rstrip(".")
            raise Fail(f"{text}; see `overlock run --help`", CANNOT_START) from error
        except Fail as error:
            raise Fail(error.message, CANNOT_START) from error


@click.command(
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    epilog="Exit codes: 125 overlock failed before it started PROGRAM, 126 PROGRAM cannot be "
    "executed, 127 PROGRAM was not found; otherwise PROGRAM's own.",
)
@click.option(
    "--lock",
    metavar="NAME",
    shell_complete=completing(lambda: [*defs.load().locks, interpose.ADAPTIVE]),
    help=f"Lock for the mutexes: one of `overlock locks`, a header (./mine.h), or "
    f"{interpose.ADAPTIVE} (glibc's mutex that spins before it sleeps). "
    f"[default: {config.PRESET}, and {config.OPENMP_PRESET} for OpenMP's locks]",
)
@click.option(
    "--site",
    "sites",
    multiple=True,
    metavar="PATTERN=NAME",
    help="Lock, or `glibc`, for the mutexes that match PATTERN: the function that initialises or "
    "first locks the mutex ('leveldb*Mutex=pv_byte'), all functions of an object "
    "('libfoo.so:*=glibc'), or the mutex's own name ('&global_lock=glibc'). The first match "
    "decides; repeatable.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="TOML file with lock, tunables and sites, such as `overlock tune --write` writes; options "
    "on the command line take precedence.",
)
@click.option(
    "--rwlock",
    type=click.Choice(["glibc", "qrw"]),
    default="glibc",
    show_default=True,
    help="Lock for pthread rwlocks, including std::shared_mutex.",
)
@click.option(
    "--spinlock",
    default=interpose.SPINLOCK,
    show_default=True,
    metavar="NAME",
    shell_complete=completing(interpose.spinlocks),
    help=f"Lock for pthread spinlocks: {interpose.SPINLOCK} (glibc's, but waiters yield), glibc, "
    "or a 4-byte lock without a queue.",
)
@click.option(
    "--openmp",
    type=click.Choice(interpose.OPENMP),
    default=interpose.OPENMP[0],
    show_default=True,
    help="OpenMP runtimes whose locks and critical sections get --lock: LLVM's and Intel's "
    "(libomp, libiomp5), all (GNU's libgomp too), or none.",
)
@click.option(
    "--spins",
    is_flag=True,
    help="Make waiting loops of PROGRAM and its libraries yield, spin barriers and polls: a thread "
    "that has spun for 5 us lets others run. PROGRAM keeps its own locks unless a lock is named. "
    "--spins=dry-run only lists the loops at the end, --spins=report also says what was gained; "
    "--spins=auto,OBJECT+ADDRESS adds one that is listed.",
)
@click.option("--spins-what", "spins_what", metavar="WORDS", hidden=True)
@KNOWLEDGE
@click.option(
    "--monitor",
    is_flag=True,
    help="Also start `overlock monitord` for PROGRAM alone, which tells its locks which threads "
    "are preempted; needs root, or CAP_BPF and CAP_PERFMON, and Linux 6.13.",
)
@click.option(
    "--counters",
    is_flag=True,
    help="Count lock events and report them when PROGRAM ends, to the terminal or standard error; "
    "overlock keeps running until then. --counters=1s also reports every second.",
)
@click.option("--counters-every", "every", metavar="TIME", hidden=True)
@click.option(
    "--histograms",
    is_flag=True,
    help="Also record wait, hold and hand-over times, at the cost of two clock reads per "
    "acquisition; implies --counters.",
)
@click.option(
    "--counters-signal",
    "signal",
    metavar="NAME",
    help="Also report when the process receives this signal (USR2); implies --counters. A program "
    "that handles the signal itself writes no such report.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Number of call sites in the table. [default: {live.ROWS}]",
)
@click.option(
    "--stacks",
    is_flag=True,
    help="Also report the call stacks of waits, with files and lines; implies --counters.",
)
@click.option(
    "--folded",
    metavar="FILE",
    callback=_chosen,
    help="File for the stacks with their wait times in ns, in the folded format of flamegraph.pl, "
    "inferno and speedscope; implies --stacks.",
)
@click.option(
    "--weight",
    type=click.Choice(profiling.WEIGHTS),
    help="Weight of the stacks: wait time or hold time; implies --stacks, and `hold` implies "
    "--histograms. [default: wait]",
)
@click.option(
    "--deadlock-timeout",
    metavar="TIME",
    help="Wait for a mutex (5s) after which a thread reports the wait-for graph with stacks, once; "
    "it then continues to wait.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Report misuse: a mutex unlocked by another thread or while free, locked twice by one "
    "thread, destroyed while held, or initialised twice.",
)
@click.option(
    "--children/--no-children",
    default=True,
    show_default=True,
    help="Also replace the locks of programs that PROGRAM starts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines; needs --counters=1s.")
@click.option(
    "--output",
    metavar="FILE",
    callback=_chosen,
    help="File for the report as JSON, instead of the terminal; implies --counters. %p in the name "
    "stands for the process id; with it, programs that PROGRAM starts report too.",
)
@click.option(
    "--record",
    metavar="TRACE",
    help="Write down every acquisition and release, for `overlock bench --replay`. PROGRAM keeps "
    "its own locks unless a lock is named. %p in the name stands for the process id; without it, "
    "the process that acquires most has the trace.",
)
@click.option(
    "--record-events",
    type=click.IntRange(1000, MOST_EVENTS),
    default=recording.EVENTS,
    show_default=True,
    help="Events that a process may record; later ones are counted as lost.",
)
@click.option(
    "--print",
    "form",
    type=click.Choice([*settings.FORMS]),
    help="Print the environment for PROGRAM and do not start it: as a systemd drop-in, a file for "
    "a container's --env-file, or shell commands.",
)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(program: str, args: tuple[str, ...], **options: Any) -> None:
    """Run PROGRAM with another lock inside its pthread mutexes.

    Overlock replaces mutexes of every type, condition variables, C11's mtx_* and cnd_*, and the
    locks and critical sections of LLVM's OpenMP runtime. Waiters for spinlocks yield. Rwlocks are
    replaced on request. Mutexes that are process-shared, robust or have a
    priority protocol stay with glibc. Without counters PROGRAM replaces this process, so signals,
    streams and exit code are its own. OVERLOCK_DISABLE=1 leaves everything to glibc.

    \b
    Examples:
      overlock run -- pbzip2 -k FILE
      overlock run --openmp all -- ./openmp-program
      overlock run --lock tas_yield --spin-ns 1000 -- sysbench mutex run
      overlock run --lock pv_byte --counters -- ./server --port 8080
      overlock run --site 'leveldb*Mutex=pv_byte' -- ./server
      overlock run --config locks.toml -- ./server --port 8080
      overlock run --counters=1s -- ./server --port 8080
      overlock run --counters-signal USR2 --output now.json -- ./server
      overlock run --folded waits.folded --top 5 -- ./server --port 8080
      overlock run --monitor -- ./server
      overlock run --rwlock qrw --spinlock tas_yield -- ./server --port 8080
      overlock run --check --deadlock-timeout 5s --output found.json -- ./server
      overlock run --output locks.json -- python3 script.py
      overlock run --spins -- ./compute --threads 8
      overlock run --spins=dry-run -- ./compute --threads 8
      overlock run --record server.trace -- ./server --port 8080
      overlock run --no-children -- ./supervisor --workers 4
      overlock run --lock tas_yield --print systemd -- /usr/sbin/memcached
    """
    run.run(program, args, options)
