# SPDX-License-Identifier: MIT
"""overlock reproduce: the papers' figures, tables and numbers, and whether they hold here."""

import shlex
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from overlock_tools.cli import options
from overlock_tools.core.model.paper_settings import CITED
from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.reproduce.rows import RIGS

MINUTES = 15.0


def _papers() -> list[str]:
    from overlock_tools.lab.reproduce import rows

    return [*CITED, *(row.id for row in rows.load())]


def _figures(ctx: click.Context, _: click.Parameter, word: str) -> list[CompletionItem]:
    from overlock_tools.lab.reproduce import rows

    paper = ctx.params.get("paper") or ""
    known = [row.id.removeprefix(f"{paper}-") for row in rows.load() if row.paper == paper]
    return [CompletionItem(name) for name in known if name.startswith(word)]


def _rigs(_: click.Context, __: click.Parameter, text: str | None) -> list[str]:
    asked = text.split(",") if text else list(RIGS)
    for rig in asked:
        if rig not in RIGS:
            raise Fail(f"--by {rig}: expected of {', '.join(RIGS)}")
    return asked


@click.command()
@click.argument("paper", required=False, shell_complete=options.completing(_papers))
@click.argument("figure", required=False, shell_complete=_figures)
@click.option(
    "--minutes",
    type=click.FloatRange(0, 10_000),
    default=MINUTES,
    show_default=True,
    help="Time in all: what decides most rows in the least time comes first. 0: run nothing.",
)
@click.option("--all", "is_whole", is_flag=True, help="Run everything, however long it takes.")
@click.option(
    "--by",
    "rigs",
    callback=_rigs,
    metavar="RIGS",
    help=f"Ways to answer: some of {','.join(RIGS)}.  [default: all]",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Dask scheduler for the simulations: tcp://HOST:8786. Whoever else reaches it can run "
    "code as you.",
)
@click.option(
    "--guest-options",
    "guest",
    default="",
    metavar="WORDS",
    help="Options for `overlock guest run`, after those of each measurement: '--accel kvm "
    "--seconds 5'. Such answers are kept beside the others.",
)
@click.option("--again", is_flag=True, help="Also run what this machine has decided before.")
@click.option(
    "--read",
    "others",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Answers of another machine, to show beside ours; repeatable.",
)
@click.option(
    "--kept/--no-kept", default=True, help="Show the answers that come with Overlock, or not."
)
@click.option("--page", type=options.OUTPUT, help="Write a page of all rows: one HTML file.")
@click.option("--pdf", type=options.OUTPUT, help="Write the page as PDF; needs Chromium.")
@options.folder("Folder of answers and results.", "overlock-reproduce")
def command(  # noqa: PLR0913, PLR0917 - the options
    paper: str | None,
    figure: str | None,
    minutes: float,
    is_whole: bool,
    rigs: list[str],
    cluster: str | None,
    guest: str,
    again: bool,
    others: tuple[Path, ...],
    kept: bool,
    page: Path | None,
    pdf: Path | None,
    output: Path,
) -> int:
    """Find out which results of five papers hold, and show them.

    Each row is a figure, a table or a number of a paper. It is answered in the ways that this
    machine has: by the model checker, natively, in guests, with real programs, by the simulator.
    Measurements go on in rounds until a row is decided. Each answer says by which way it was found,
    and whether that meets the paper's condition. Ctrl-C keeps what is done; the same command goes
    on. Answers of other machines and of Overlock's own runs are shown with their machine.

    \b
    Examples:
      overlock reproduce                       what 15 minutes decide
      overlock reproduce teabe2017 fig7        one figure, and all that is known
      overlock reproduce ouyang2013 --by proof
      overlock reproduce teabe2017 fig7 --by guest --guest-options=--slice-page
      overlock reproduce --all --page papers.html
      overlock reproduce --minutes 0 --page papers.html    only show what is known
    """
    from overlock_tools.lab.reproduce import command as reproduce
    from overlock_tools.lab.reproduce import rows
    from overlock_tools.lab.reproduce.run import Chosen

    budget_s = None if is_whole else 60 * minutes
    try:
        words = shlex.split(guest)
    except ValueError as error:
        raise Fail(f"--guest-options {guest}: {error}") from error
    chosen = Chosen(rows.chosen(paper, figure), rigs, budget_s, again, cluster, words)
    return reproduce.run(chosen, reproduce.Shown(output, others, kept, page, pdf))
