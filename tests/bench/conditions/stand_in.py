# SPDX-License-Identifier: MIT
"""Measures nothing under scenarios: processes that spin stand in for overlock-bench.

    stand_in [--quota ...] [--background ...] [--copies-run K] [--slice-run US] [--wait]

Prints the id of the process that is "measured" once the scenarios are in force, and the proofs at
the end, as JSON, one line each. --wait waits for a line, or a signal, before the end.
"""

import ctypes
import json
import os
import platform
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any

import click

from overlock_tools.bench import conditions
from overlock_tools.core.system.errors import INTERRUPTED, Fail, say
from tests.bench.conditions import faults

SETATTR = {"x86_64": 314, "aarch64": 274}
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def take_slice(us: int) -> None:
    """For the calling thread."""
    attributes = struct.pack("IIQiIQQQ", 48, os.SCHED_OTHER, 0, 0, 0, us * 1000, 0, 0)
    number = ctypes.c_long(SETATTR[platform.machine()])
    assert LIBC.syscall(number, 0, attributes, 0) == 0


def cell(seconds: float, slice_us: int, phases: int) -> None:
    """What a cell's process does, as far as it can be seen from outside."""

    def thread(length: float) -> None:
        if slice_us:
            take_slice(slice_us)
        spin(length)

    for _ in range(phases):
        begun = threading.Thread(target=thread, args=[seconds / phases])
        begun.start()
        begun.join()


def measured(parent: int, run: dict[str, Any]) -> None:
    """The process that is measured: it waits to be told, then has its cells, copies at a time."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended before that
        return
    sys.stdin.readline()
    for _ in range(run["cells"]):
        children = []
        for _ in range(run["copies_run"]):
            child = os.fork()
            if not child:
                LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                cell(run["seconds"], run["slice_run"], run["phases_run"])
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
    print("done", flush=True)
    sys.stdin.readline()


def with_scenarios(function: Any) -> Any:
    for scenario in conditions.SCENARIOS:
        function = click.option(f"--{scenario.name}")(function)
    return function


@click.command()
@with_scenarios
@click.option("--fault", type=click.Choice(list(faults.FAULTS)))
@click.option("--seconds", default=0.3)
@click.option("--cells", default=1)
@click.option("--copies-run", default=1)
@click.option("--slice-run", default=0)
@click.option("--phases-run", default=1)
@click.option("--cpus", default=0)
@click.option("--as-measured-by", default=0)
def command(**options: Any) -> None:
    if options["as_measured_by"]:
        measured(options["as_measured_by"], options)
        return
    if options["fault"]:
        faults.FAULTS[options["fault"]]()
    wanted = [s.parse(options[s.name]) for s in conditions.SCENARIOS if options[s.name]]
    child = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, *sys.argv[1:], f"--as-measured-by={os.getpid()}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        if options["cpus"]:
            os.sched_setaffinity(child.pid, sorted(os.sched_getaffinity(0))[: options["cpus"]])
        with conditions.applied(wanted, child.pid) as proofs:
            print(json.dumps({"pid": child.pid}), flush=True)
            print("go", file=child.stdin, flush=True)
            child.stdout.readline()
            print(json.dumps(proofs.collect()), flush=True)
    finally:
        child.kill()
        child.wait()


if __name__ == "__main__":
    try:
        command.main(standalone_mode=False)
    except Fail as error:
        say(error.message)
        sys.exit(error.code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
