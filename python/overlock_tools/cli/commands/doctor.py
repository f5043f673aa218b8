# SPDX-License-Identifier: MIT
"""overlock doctor: does preemption hurt here?"""

import json
import math
import os

import click

from overlock_tools.core.system.errors import MISSING, Fail, say


def check_process(pid: int) -> None:
    """Fails once, instead of in every fact."""
    if not os.path.isdir("/proc/self"):
        raise Fail("/proc is not mounted; mount it to examine a process")
    if not os.path.isdir(f"/proc/{pid}"):
        raise Fail(f"process {pid} does not exist or is hidden from you; `ps` lists yours")


def finite(_: click.Context, __: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number of seconds")
    return value


@click.command()
@click.option("--pid", type=click.IntRange(1), metavar="PID", help="Process to examine.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=3.0,
    show_default=True,
    callback=finite,
    help="Duration of the observation.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the source of each fact.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Print all findings and facts, with their sources."
)
def command(pid: int | None, seconds: float, as_json: bool, verbose: bool) -> int:
    """Find out whether preemption hurts here, and what helps.

    Observes the machine, the container and the limits of this shell, or of a running program, for
    a few seconds, and answers with one verdict and what to do first. It needs no privilege and
    writes nothing; threads of the program are stopped for some 50 µs at a time to see where they
    are. A fact that cannot be determined is listed as unknown, with the reason. Exit code 3: only
    the facts of the native probe are missing.

    \b
    Examples:
      overlock doctor
      overlock doctor --pid "$(pidof server)" --seconds 10
      overlock doctor --json
    """
    from overlock_tools import doctor
    from overlock_tools.core.system.kernel_files import Tree
    from overlock_tools.core.system.terminal import console
    from overlock_tools.doctor import probe
    from overlock_tools.doctor.inside import looked
    from overlock_tools.doctor.show import show
    from overlock_tools.doctor.watch import Clock

    if pid is not None:
        check_process(pid)
    said = probe.run()
    inside = looked(pid, seconds) if pid is not None else None
    report = doctor.examine(Tree(), said, pid, doctor.Looking(seconds, Clock(), inside))
    if as_json:
        click.echo(json.dumps(doctor.as_json(report), indent=2))
    else:
        show(console(), report, verbose)
    if report.probe_lacks:
        say(report.probe_lacks)
        return MISSING
    return 0
