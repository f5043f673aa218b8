# SPDX-License-Identifier: MIT
"""overlock run: another lock for an unmodified program."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import click

from overlock_tools.cli.options import KNOWLEDGE_OPTION, completing
from overlock_tools.core.model import defs
from overlock_tools.core.model.defs import Option
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.trace import MOST_EVENTS
from overlock_tools.run import interpose, live, run
from overlock_tools.run.starting import CANNOT_START

# In the order of the help. What is in none of them is a tunable.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Options": ("spins", "fit", "lock", "openmp", "site", "counters", "output", "check"),
    "Other locks and ways to wait": (
        *("config", "rwlock", "spinlock", "barrier", "defer", "knowledge", "monitor"),
    ),
    "Reports": (
        *("json", "histograms", "counters_signal", "stacks", "folded", "weight", "top"),
        *("deadlock_timeout", "record", "record_events"),
    ),
    "How PROGRAM is started": ("children", "print"),
}


def _chosen(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    return str(files.chosen(name)) if name is not None else None


# What click is told of an option beside its names and its help; run/options.def has the kinds.
KINDS: dict[str, dict[str, Any]] = {
    "FLAG": {"is_flag": True, "metavar": None},
    "LOCK": {"shell_complete": completing(lambda: [*defs.load().locks, interpose.ADAPTIVE])},
    "SPINLOCK": {"shell_complete": completing(interpose.spinlocks)},
    "KNOWLEDGE": KNOWLEDGE_OPTION,
    "TEXTS": {"multiple": True},
    "OUTPUT": {"callback": _chosen},
    "ROWS": {"type": click.IntRange(min=1)},
    "EVENTS": {"type": click.IntRange(1000, MOST_EVENTS), "metavar": None},
}


def _option(option: Option) -> click.Option:
    more: dict[str, Any] = {"metavar": option.argument or None, "help": option.what}
    if option.kind == "CHOICE":
        more = {"type": click.Choice(option.argument.split("|")), "help": option.what}
    if option.preset or option.kind == "SWITCH":
        more |= {"default": option.unset, "show_default": True}
    if option.kind == "ROWS":
        more["help"] += f" [default: {live.ROWS}]"
    words = f"{option.word}/--no-{option.name}" if option.kind == "SWITCH" else option.word
    return click.Option([words, option.name], **more | KINDS.get(option.kind, {}))


@cache
def options() -> list[click.Option]:
    """Those of the table; then those that hold what a flag has behind `=`; then the tunables."""
    table = defs.load().options.values()
    behind = [click.Option([f"--{name.replace('_', '-')}"], hidden=True) for name in run.behind()]
    tunables = [
        click.Option(
            [tunable.option, tunable.name],
            metavar="N",
            help=f"{tunable.what} [default: {tunable.default}]",
        )
        for tunable in defs.load().tunables.values()
    ]
    order = [name for names in SECTIONS.values() for name in names]
    by_name = {option.name: _option(option) for option in table}
    return [*(by_name.pop(name) for name in order), *by_name.values(), *behind, *tunables]


def with_values(args: list[str]) -> list[str]:
    """`--counters=1s` as `--counters-what=1s`: what follows a bare one may be the program."""
    valued = {name for option in options() if not option.is_flag for name in option.opts}
    own: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        arg = rest.pop(0)
        name, equals, value = arg.partition("=")
        if equals and f"{name}-what" in valued:
            arg = f"{name}-what={value}"
        own.append(arg)
        if arg in valued and rest:
            own.append(rest.pop(0))
    return own + rest


class RunCommand(click.Command):
    """Has the options of the table; its own failures end with 125, for 2 may be the program's."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, help_option = super().get_params(ctx)
        return [*own, *options(), help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        *params, about = self.get_params(ctx)
        rest = {param.name: param.get_help_record(ctx) for param in params}
        for title, names in SECTIONS.items():
            self._section(formatter, title, [rest.pop(name) for name in names])
        self._section(formatter, "Tunables", [*rest.values(), about.get_help_record(ctx)])

    @staticmethod
    def _section(
        formatter: click.HelpFormatter, title: str, records: Iterable[tuple[str, str] | None]
    ) -> None:
        with formatter.section(title):
            formatter.write_dl([record for record in records if record])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_values(args))

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
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(program: str, args: tuple[str, ...], **given: Any) -> None:
    """Run PROGRAM with other locks, or other ways of waiting.

    Overlock replaces mutexes of every type, condition variables, C11's mtx_* and cnd_*, and the
    locks and critical sections of LLVM's OpenMP runtime. Waiters for spinlocks yield. Rwlocks are
    replaced on request. Mutexes that are process-shared, robust or have a
    priority protocol stay with glibc. Without counters PROGRAM replaces this process, so signals,
    streams and exit code are its own. OVERLOCK_DISABLE=1 leaves everything to glibc.

    \b
    Examples:
      overlock run --spins -- ./compute --threads 8
      overlock run --spins=dry-run -- ./compute --threads 8
      overlock run --fit -- ./server --port 8080
      overlock run --fit=2 --spins -- ./compute
      overlock run -- ./openmp-program
      overlock run --counters=1s -- ./server --port 8080
      overlock run --lock tas_yield --spin-ns 1000 -- sysbench mutex run
      overlock run --site 'leveldb*Mutex=pv_byte' --output now.json -- ./server
      overlock run --config locks.toml --counters-signal USR2 -- ./server
      overlock run --folded waits.folded --top 5 -- ./server --port 8080
      overlock run --rwlock qrw --spinlock tas_yield --barrier barrier -- ./server
      overlock run --check --deadlock-timeout 5s --output found.json -- ./server
      overlock run --record server.trace -- ./server --port 8080
      overlock run --no-children -- ./supervisor --workers 4
      overlock run --print systemd -- /usr/sbin/memcached
    """
    run.run(program, args, given)
