# SPDX-License-Identifier: MIT
"""Options that more than one command has."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from overlock_tools.core.model import defs
from overlock_tools.core.model.drawn_loads import Half
from overlock_tools.core.model.plan import MOST_THREADS
from overlock_tools.core.system import files
from overlock_tools.core.system.errors import Fail

Command = Callable[..., int]
Option = Callable[[Command], Any]


class Within(click.FloatRange):
    """click's own lets nan pass."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"nan is not in the range from {self.min:g} to {self.max:g}.", param, ctx)
        return number


class Output(click.Path):
    """A file that is written; `-` is standard output."""

    def __init__(self) -> None:
        super().__init__(dir_okay=True, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        return files.chosen(str(super().convert(value, param, ctx)))


class Folder(click.Path):
    """One that results are written to."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "-":
            self.fail("`-` is standard output; give a folder", param, ctx)
        return super().convert(value, param, ctx)


OUTPUT, FOLDER = Output(), Folder()
CFLAGS = click.option(
    "--cflags", metavar="FLAGS", default="", help="Compiler options for a C, C++ or Rust file."
)


def together(*options: Option) -> Option:
    """Several options as one, in their order."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def explicit() -> set[str]:
    """The options that were given, by what click calls their values."""
    context = click.get_current_context()
    given = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)
    return {name for name in context.params if context.get_parameter_source(name) in given}


def completing(listed: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """Completes the last name of a list; nothing as long as the lists are not built."""

    def complete(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
        before, comma, last = word.rpartition(",")
        try:
            names = [name for name in listed() if name.startswith(last)]
        except Fail:
            return []
        return [CompletionItem(before + comma + name) for name in names]

    return complete


LOCKS = completing(lambda: defs.load().locks)
TUNABLES = completing(lambda: defs.load().tunables)


def file(name: str, what: str, key: str = "json_file", metavar: str | None = None) -> Option:
    return click.option(name, key, type=OUTPUT, metavar=metavar, help=what)


def locks(what: str, complete: Any = LOCKS) -> Option:
    return click.option(
        *("--locks", "--lock"), multiple=True, metavar="LIST", shell_complete=complete, help=what
    )


def baseline(lock: str, complete: Any = LOCKS, what: str = "Denominator of the ratios.") -> Option:
    return click.option(
        "--baseline", default=lock, show_default=True, shell_complete=complete, help=what
    )


def seed(most: int | None = None) -> Option:
    kind = click.IntRange(0, most)
    return click.option("--seed", type=kind, help="Seed of the order in each round.")


def stops(who: str, where: str, runs: int, length: str) -> Option:
    """When a thread or a vCPU loses its CPU, and for how long."""
    return together(
        click.option(
            "--runs",
            type=click.IntRange(1, 1_000_000),
            default=runs,
            show_default=True,
            help="Number of runs; each has the next seed.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0, 2**63),
            default=1,
            show_default=True,
            help="Seed of the first run. The same seed makes the same decisions; an even one has "
            f"some of the {where} alone.",
        ),
        click.option(
            "--rate",
            type=Within(0, 1),
            default=0.05,
            show_default=True,
            help=f"Share of the visits of a site at which the {who} loses its CPU; after 64 visits "
            "less and less. 0: none, for comparison.",
        ),
        click.option(
            "--length",
            default=length,
            show_default=True,
            metavar="TIME[..TIME]",
            help=f"Time for which a {who} has no CPU.",
        ),
    )


def folder(what: str, default: str | None = None) -> Option:
    """A default, or it must be given."""
    return click.option(
        "-o",
        "--output",
        type=FOLDER,
        help=what,
        **({"default": Path(default), "show_default": True} if default else {"required": True}),
    )


def rounds(most: int, default: int | None, what: str) -> Option:
    shown = default is not None
    kind = click.IntRange(1, most)
    return click.option("--rounds", type=kind, default=default, show_default=shown, help=what)


def seconds(
    least: float,
    default: float | None,
    what: str = "Measured time per cell.",
    most: float = 3600,
) -> Option:
    shown, kind = default is not None, Within(least, most)
    return click.option("--seconds", type=kind, default=default, show_default=shown, help=what)


def parameters(what: str) -> Option:
    return click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help=what)


IF_BUSY = click.option(
    "--if-busy",
    type=click.Choice(("warn", "refuse", "wait")),
    default="warn",
    show_default=True,
    help="Reaction to other load on the CPUs at the start.",
)
RESUME = click.option(
    "--resume", is_flag=True, help="Complete the interrupted result in the --json file."
)
BUDGET = click.option(
    "--budget",
    type=Within(0.01, 100_000),
    metavar="MINUTES",
    help="Time limit; rounds and seconds are chosen to fit.",
)


PLOT = click.option(
    "--plot", type=OUTPUT, metavar="FILE", help="File for the sorted ratios: NAME.png or NAME.svg."
)
# Which random loads: core/model/drawn_loads.py.
RANDOM_LOADS = together(
    click.option(
        "--count",
        type=click.IntRange(1, 100_000),
        default=200,
        show_default=True,
        help="Number of loads.",
    ),
    click.option(
        "--half",
        type=click.Choice([half.value for half in Half]),
        default=Half.JUDGING.value,
        show_default=True,
        help="Odd loads, for judging; even ones, for tuning; or all.",
    ),
    click.option("--only", metavar="K,K", help="Only these loads, by their numbers."),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**31),
        default=1,
        show_default=True,
        help="Seed of the loads.",
    ),
    click.option(
        "--threads-at-most",
        type=click.IntRange(1, MOST_THREADS),
        default=MOST_THREADS,
        show_default=True,
        metavar="N",
        help="Use fewer threads where a load has more.",
    ),
)


KNOWLEDGE_WORDS = ("none", "usual", "all")


def _knowledge(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """The library itself only says that a list is wrong, and goes on without it."""
    if text:
        names = (*KNOWLEDGE_WORDS, *defs.load().sources)
        for name in text.split(","):
            if name not in names:
                raise Fail(f"--knowledge: unknown source {name!r}; expected {', '.join(names)}")
    return text


KNOWLEDGE_OPTION: dict[str, Any] = {
    "metavar": "LIST",
    "callback": _knowledge,
    "shell_complete": completing(lambda: [*KNOWLEDGE_WORDS, *defs.load().sources]),
    "help": "Where locks learn of preemption (OVERLOCK_KNOWLEDGE): none, usual, all, or sources "
    "that `overlock doctor --verbose` names. [default: usual]",
}
KNOWLEDGE = click.option("--knowledge", **KNOWLEDGE_OPTION)
