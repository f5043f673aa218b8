# SPDX-License-Identifier: MIT
"""overlock sched: a scheduler for this machine that keeps its slices and knows about locks."""

import os
from pathlib import Path
from typing import Any

import click

from overlock_tools.cli.options import Within


@click.command()
@click.option(
    "--slice-us",
    type=click.IntRange(200, 100_000),
    default=3000,
    show_default=True,
    help="Length of a slice.",
)
@click.option(
    "--defer-us",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="Time by which the end of a slice is put off, at most once, for a thread that asks.",
)
@click.option("--seconds", type=Within(0.001, 1e9), help="End after this time.")
@click.option(
    "--keep/--no-keep", default=True, help="End slices by a timer when published, or at a tick."
)
@click.option("--publish/--no-publish", default=True, help="Tell threads of their slices.")
@click.option(
    "--defer/--no-defer", default=True, help="Honour a thread's wish not to be preempted."
)
@click.option(
    "--lead/--no-lead",
    default=True,
    help="Let a waiting thread hand its CPU to the thread it waits for.",
)
@click.option(
    "--socket",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Socket at which programs get their page.  [default: /run/overlock/sched]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON at the end.")
def command(**options: Any) -> int:
    """Replace this machine's scheduler until Ctrl-C.

    docs/scheduler.md describes what it guarantees.

    Needs root and Linux 6.13 or later with sched_ext (CONFIG_SCHED_CLASS_EXT). The kernel puts its
    own scheduler back when the command ends, is killed, or fails to run a thread for 5 s.

    Programs that use liboverlock, or run under `overlock run`, ask for their page when they start.

    \b
    Examples:
      overlock sched                        Ctrl-C ends it and prints a summary
      overlock sched --seconds 60 --json
      overlock sched --slice-us 1000 --no-defer --no-lead
    """
    from overlock_tools.core.system import native

    program = str(native.sched())
    words = [f"--{name}={options[key]}" for name, key in _NUMBERS if options[key] is not None]
    words += [f"--no-{name}" for name in ("keep", "publish", "defer", "lead") if not options[name]]
    words += ["--json"] if options["as_json"] else []
    os.execv(program, [program, *words])  # noqa: S606 - no shell is wanted


_NUMBERS = (
    ("slice-us", "slice_us"),
    ("defer-us", "defer_us"),
    ("seconds", "seconds"),
    ("socket", "socket"),
)
