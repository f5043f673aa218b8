# SPDX-License-Identifier: MIT
"""overlock doctor: does preemption hurt here?"""

import json
import math
import os

import click

from overlock_tools.errors import MISSING, Fail, say


def check_process(pid: int) -> None:
    """Says now what would be told of every fact later."""
    if not os.path.isdir("/proc/self"):
        raise Fail("/proc is not mounted: a process can be looked at only through it")
    if not os.path.isdir(f"/proc/{pid}"):
        raise Fail(f"there is no process {pid}, or not for your eyes; `ps` lists yours")


def finite(_: click.Context, __: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a length of time")
    return value


@click.command()
@click.option("--pid", type=click.IntRange(1), metavar="PID", help="Look at this running program.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=3.0,
    show_default=True,
    callback=finite,
    help="How long to look.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as JSON, with how each was found.")
@click.option("-v", "--verbose", is_flag=True, help="How each fact was found, and what it means.")
def command(pid: int | None, seconds: float, as_json: bool, verbose: bool) -> int:
    """See whether preemption hurts, and what can be done about it.

    Looks at the machine, the container and the limits around this shell, or around a running
    program, for a few seconds. Needs no privilege and writes nothing. What cannot be seen here is
    listed as unknown, with the reason. Exit code 3: the native probe is missing, the rest is there.

    \b
    Examples:
      overlock doctor
      overlock doctor --pid "$(pidof server)" --seconds 10
      overlock doctor --json
    """
    from overlock_tools import doctor
    from overlock_tools.doctor import probe
    from overlock_tools.doctor.show import show
    from overlock_tools.doctor.watch import Clock
    from overlock_tools.terminal import console
    from overlock_tools.tree import Tree

    if pid is not None:
        check_process(pid)
    report = doctor.examine(Tree(), probe.run(), pid, seconds, Clock())
    if as_json:
        click.echo(json.dumps(doctor.as_json(report), indent=2))
    else:
        show(console(), report, verbose)
    if report.probe_lacks:
        say(report.probe_lacks)
        return MISSING
    return 0
