# SPDX-License-Identifier: MIT
"""overlock chaos: take the CPU from a program's threads at their worst moments."""

from pathlib import Path
from typing import Any

import click

from overlock_tools.chaos import settings
from overlock_tools.cli.options import OUTPUT, Within, completing, stops


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="Exit codes: 0 no run failed, 1 one failed, or PROGRAM fails without chaos, 2 bad "
    "usage, 3 something is not built, 125 PROGRAM cannot be preloaded, 126 it cannot be executed, "
    "127 it was not found, 130 interrupted.",
)
@stops("thread", "kinds of sites", runs=20, length="1ms..20ms")
@click.option(
    "--at",
    metavar="KIND,...",
    shell_complete=completing(settings.kinds),
    help="Kinds of sites: waiter, holder, before-unlock, after-unlock, before-wait, wake, "
    "after-wake, before-signal, after-signal, once, start, created.  [default: all]",
)
@click.option(
    "--sites",
    multiple=True,
    metavar="PATTERN",
    help="Functions whose calls are sites: [OBJECT:]FUNCTION, with * and ?; repeatable.  "
    "[default: all]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="SITE",
    help="A site as --bisect prints it; repeatable.  [default: all]",
)
@click.option(
    "--timeout",
    type=Within(0.001, 1e6),
    metavar="SECONDS",
    help="Time after which a run is killed and has failed.  [default: ten times that of a run "
    "without chaos, at least 10]",
)
@click.option(
    "--by",
    type=click.Choice(("nap", "steal", "sched")),
    default="nap",
    show_default=True,
    help="Way to take the CPU. nap: the thread sleeps. steal: a real-time thread computes on its "
    "CPU; needs root or `ulimit -r`. sched: a scheduler gives it none; needs root and sched_ext.",
)
@click.option("--stop", is_flag=True, help="End with the first run that fails.")
@click.option(
    "--bisect",
    is_flag=True,
    help="With the seed that fails most surely: find the fewest sites that are enough.",
)
@click.option(
    "--json",
    "json_path",
    type=OUTPUT,
    metavar="FILE",
    help="File for the report as JSON.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Print the report that --json wrote; runs nothing.",
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(program: tuple[str, ...], **options: Any) -> int:
    """Preempt PROGRAM's threads at the worst moments, to find bugs.

    Preempts threads where programs with faults in their synchronisation break: the holder within
    its critical section, a thread between the check of a condition and the wait, one that was woken
    before it has the mutex. PROGRAM is unmodified and keeps its own locks; no privileges are
    needed. What PROGRAM starts is preempted too, so PROGRAM may be a test runner. A run fails if
    it ends with a code other than 0, by a signal, or after the time-out.

    \b
    Examples:
      overlock chaos -- ./server-test
      overlock chaos --bisect --timeout 5 -- ./server-test
      overlock chaos --runs 20 --json found.json -- ctest
      overlock chaos --runs 5 --rate 0.02 -- pytest -x tests
      overlock chaos --at holder,wake --length 50ms -- ./server-test
      overlock chaos --sites 'libqueue.so:*' --sites 'Pool::*' -- ./server-test
      overlock chaos --by steal -- ./server-test
      overlock chaos --report found.json
    """
    from overlock_tools.chaos import command as chaos

    return chaos.run(program, options)
