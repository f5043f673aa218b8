# SPDX-License-Identifier: MIT
"""overlock run: another lock for an unmodified program."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from overlock_tools import choices, defs, files, interposing, live
from overlock_tools.errors import Fail

CANNOT_START = 125
CANNOT_EXECUTE = 126
NOT_FOUND = 127


def tunable_options() -> list[click.Parameter]:
    return [
        click.Option(
            [tunable.option, tunable.name],
            metavar="N",
            help=f"{tunable.what} [default: {tunable.default}]",
        )
        for tunable in defs.load().tunables.values()
    ]


def tunable_names() -> list[str]:
    return list(defs.load().tunables)


def with_interval(args: list[str], params: list[click.Parameter]) -> list[str]:
    """`--counters` takes a value only after `=`: what follows it may be the program."""
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
        if arg.startswith("--counters="):
            arg = "--counters-every" + arg.removeprefix("--counters")
        own.append(arg)
        if arg in valued and rest:
            own.append(rest.pop(0))
    return own + rest


class RunCommand(click.Command):
    """Has an option per tunable; its own failures end with 125, for 2 may be the program's."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, help_option = super().get_params(ctx)
        return [*own, *tunable_options(), help_option]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_interval(args, self.get_params(ctx)))

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        try:
            return super().make_context(info_name, args, *rest, **more)
        except click.UsageError as error:
            text = error.format_message().rstrip(".")
            raise Fail(f"{text}; see `overlock run --help`", CANNOT_START) from error
        except Fail as error:
            raise Fail(error.message, CANNOT_START) from error


def find_program(name: str) -> Path:
    """As a shell finds it."""
    if "/" in name:
        path = Path(name)
    elif found := shutil.which(name):
        return Path(found)
    else:
        dead = [Path(d) / name for d in os.get_exec_path() if (Path(d) / name).is_file()]
        if not dead:
            raise Fail(f"there is no program {name} on PATH; check its name", NOT_FOUND)
        path = dead[0]
    if not path.exists():
        raise Fail(f"there is no program {path}; check its name", NOT_FOUND)
    if path.is_dir() or not os.access(path, os.X_OK):
        what = "is a folder" if path.is_dir() else "is not executable"
        raise Fail(f"{path} {what}; name a program", CANNOT_EXECUTE)
    return path


def check_reporting(options: dict[str, Any]) -> None:
    if options["as_json"] and not options["every"]:
        raise Fail("--json goes with --counters=1s; at the end, --output FILE is JSON already")
    if options["every"]:
        live.parse_interval(options["every"])
        if "%p" in (options["output"] or ""):
            raise Fail("--counters=1s writes one file for all processes; name it without %p")
        if options["check"] or options["deadlock_timeout"]:
            raise Fail(
                "--check and --deadlock-timeout report by themselves; leave --counters=1s out"
            )


def report_variables(output: str | None) -> dict[str, str]:
    """The counted library's report; the program's process is this one, after execve()."""
    where = {"OVERLOCK_PID": str(os.getpid())}
    if output is not None:
        files.check_writable(Path(output))
        return where | {"OVERLOCK_OUTPUT": str(Path(output).absolute())}
    try:
        os.close(os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY))
    except OSError:
        raise Fail("there is no terminal to report to; add --output FILE") from None
    return where


def execute(program: Path, args: tuple[str, ...], variables: dict[str, str]) -> NoReturn:
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; it is not the program's wish
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execve(program, args, variables)  # noqa: S606 - it is what this command is for
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_EXECUTE
        raise Fail(f"{program} cannot be executed: {error.strerror}", code) from error


def follow(
    program: Path, args: tuple[str, ...], variables: dict[str, str], options: dict[str, Any]
) -> NoReturn:
    """Stays, and reports while the program runs."""
    interval = live.parse_interval(options["every"])

    def start(records: Path) -> "subprocess.Popen[bytes]":
        env = variables | {"OVERLOCK_LIVE": str(records)}
        return subprocess.Popen(args, executable=program, env=env)

    with open(options["output"] or "/dev/tty", "w", encoding="utf-8") as out:
        try:
            code = live.run(start, interval, out, options["as_json"])
        except OSError as error:
            wrong = NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_EXECUTE
            raise Fail(f"{program} cannot be executed: {error.strerror}", wrong) from error
    sys.exit(code)


def prepare(program: Path, options: dict[str, Any]) -> dict[str, str]:
    output: str | None = options["output"]
    check_reporting(options)
    counters = any(options[name] for name in ("counters", "every", "histograms")) or bool(output)
    checks = interposing.checks(options["check"], options["deadlock_timeout"])
    flavour = "-checked" if checks else "-counted" if counters else ""
    library = interposing.fit_for(program, flavour)
    ours = interposing.chosen(
        options["lock"], options["sites"], options["config"], options, counters=bool(flavour)
    )
    ours |= interposing.other_kinds(options["rwlock"], options["spinlock"]) | checks
    if flavour:
        ours |= report_variables(output)
    if not counters:
        ours["OVERLOCK_QUIET"] = "1"
    if options["histograms"]:
        ours["OVERLOCK_HISTOGRAMS"] = "1"
    return interposing.outer()[0] | interposing.preloaded(library, ours)


@click.command(
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    epilog="Exit codes: 125 overlock could not start the program, 126 it cannot be executed, "
    "127 there is none of that name; else the program's own.",
)
@click.option(
    "--lock",
    metavar="NAME",
    help=f"A lock of `overlock locks`, or a header (./mine.h). [default: {choices.PRESET}]",
)
@click.option(
    "--site",
    "sites",
    multiple=True,
    metavar="PATTERN=NAME",
    help="Another lock for some mutexes, or `glibc`: those that a function initialises, or locks "
    "first ('leveldb*Mutex=mcs'), that an object's functions do ('libfoo.so:*=glibc'), or of that "
    "name ('&global_lock=ticket'). The first that fits decides.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Lock, tunables and sites from a TOML file, as `overlock tune --write` writes it; options "
    "on the command line come first.",
)
@click.option(
    "--rwlock",
    type=click.Choice(["glibc", "qrw"]),
    default="glibc",
    show_default=True,
    help="What serves pthread rwlocks, std::shared_mutex among them.",
)
@click.option(
    "--spinlock",
    default="glibc",
    show_default=True,
    metavar="NAME",
    help="What serves pthread spinlocks: glibc, or a lock of 4 bytes without a line.",
)
@click.option(
    "--counters",
    is_flag=True,
    help="Count, and report when the program exits; with --counters=1s, also every second of its "
    "run, and overlock stays until it has ended.",
)
@click.option("--counters-every", "every", metavar="TIME", hidden=True)
@click.option(
    "--histograms",
    is_flag=True,
    help="Keep the times of waits, holds and hand-overs as well, at two looks at the clock per "
    "acquisition; implies --counters.",
)
@click.option(
    "--deadlock-timeout",
    metavar="TIME",
    help="A thread that has waited so long for a mutex (5s) tells who waits for whom, with "
    "stacks, once, and waits on.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Tell of mutexes that are unlocked by others or while free, locked twice by one thread, "
    "destroyed while held, or initialised twice.",
)
@click.option("--json", "as_json", is_flag=True, help="With --counters=1s: lines of JSON.")
@click.option(
    "--output",
    metavar="FILE",
    help="Report as JSON to this file, not to the terminal; implies --counters. With %p in the "
    "name, for its process id, programs started by the program report too.",
)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(program: str, args: tuple[str, ...], **options: Any) -> None:
    """Run PROGRAM with another lock inside its pthread mutexes.

    Mutexes of every kind, condition variables and C11's mtx_* and cnd_* are served, rwlocks and
    spinlocks on demand; mutexes that are process-shared, robust or have a priority protocol are
    left to glibc. The program replaces this process: signals, streams and exit code are its own.
    OVERLOCK_DISABLE=1 leaves all to glibc.

    \b
    Examples:
      overlock run -- pbzip2 -k FILE
      overlock run --lock pv_preemptable_ticket --tau-ns 2000 -- sysbench mutex run
      overlock run --lock twa --counters -- ./server --port 8080
      overlock run --site 'leveldb*Mutex=mcs' --site 'libjemalloc.so:*=glibc' -- ./server
      overlock run --config locks.toml -- ./server --port 8080
      overlock run --counters=1s -- ./server --port 8080
      overlock run --rwlock qrw --spinlock tas_yield -- ./server --port 8080
      overlock run --check --deadlock-timeout 5s --output found.json -- ./server
      overlock run --output locks.json -- python3 script.py
    """
    path = find_program(program)
    try:
        variables = prepare(path, options)
    except Fail as error:
        raise Fail(error.message, CANNOT_START) from error
    if options["every"]:
        follow(path, (program, *args), variables, options)
    execute(path, (program, *args), variables)
