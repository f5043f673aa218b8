# SPDX-License-Identifier: MIT
"""overlock profile: which lock, whose holder was kept off its work, by whom."""

from typing import Any

import click

from overlock_tools.cli import options
from overlock_tools.profile import LOCKS


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit codes: that of PROGRAM; else 0 success, 1 failure, 2 bad usage, 3 the kernel "
    "refuses it or something is not installed, 126 and 127 PROGRAM cannot be executed.",
)
@click.option("--pid", type=click.IntRange(1), metavar="PID", help="Running process to watch.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.05, 86400),
    help="Duration of the observation; by default until the process ends, Ctrl-C or SIGTERM.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    metavar="N",
    help="Locks in the table.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Meanwhile show, each second, what locks the last second was lost to.",
)
@options.file("--json", "File for the report as JSON.", "json_path", "FILE")
@options.file("--folded", "File for the stacks of waits, for flamegraph.pl.", "folded", "FILE")
@options.file("--html", "File for the report as a page for browsers, all in one.", "html", "FILE")
@options.file(
    "--timeline",
    "File for a timeline of threads, waits and holders, for ui.perfetto.dev.",
    "timeline",
    "FILE",
)
@click.option(
    "--locks",
    type=click.IntRange(1, 1 << 22),
    default=LOCKS,
    show_default=True,
    help="Track at most N locks; the waits for the rest are summed.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Then run PROGRAM with and without the advice, in turns, with the same input, and "
    "print the speed-up.",
)
@click.option(
    "--instead",
    metavar="COMMAND",
    help="With --verify: the command to compare with, where the advice is none, such as "
    "'./server --threads 2'.",
)
@click.option(
    "--by",
    type=click.Choice(("auto", "bpf", "looks")),
    default="auto",
    show_default=True,
    help="How to watch. looks: /proc, up to 50 times a second; less exact, but needs no rights.",
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(program: tuple[str, ...], **given: Any) -> int:
    """Show which locks PROGRAM waits for, and what their holders do.

    Splits the waits for each lock by what the holder, or the thread that was woken next, did: it
    ran, was preempted (by whom), was throttled by a quota, waited for I/O or another lock, or was
    being woken. The program and its locks are not changed. Needs root and a Linux kernel with BTF;
    without them it looks at /proc, which tells less, and says so.

    \b
    Examples:
      overlock profile -- ./server --port 8080
      overlock profile --pid "$(pidof server)" --seconds 10
      overlock profile --json before.json --html report.html -- ./server
      overlock profile --live --pid "$(pidof server)"
      overlock profile --timeline t.json --pid "$(pidof server)" --seconds 1
      overlock profile diff before.json after.json
      overlock profile --verify --instead './work 2' -- ./work 16
    """
    from overlock_tools.profile import command as profiling

    return profiling.run(program, given)
