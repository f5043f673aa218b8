# SPDX-License-Identifier: MIT
"""`overlock bench --replay`: every lock under what a recorded program does with its locks."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from overlock_tools.bench import bench
from overlock_tools.bench.bench import Asked
from overlock_tools.core.model import plan as plans
from overlock_tools.core.model.workloads import Workload
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.terminal import console as terminal
from overlock_tools.core.trace import format as traces
from overlock_tools.core.trace import plan

NAME = "replay"
LEAST_S, MOST_S = plans.SECONDS, 1.0  # of a cell, unless it is said


@contextmanager
def plan_file(replayed: plan.Plan) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="overlock-replay-") as file:
        file.write(plan.packed(replayed))
        file.flush()
        yield Path(file.name)


def _compare_cpus(trace: traces.Trace, here: int, console: Console) -> None:
    allowed = trace.machine.get("cpus_allowed")
    if isinstance(allowed, list) and len(allowed) != here:
        console.print(
            f"recorded on {len(allowed)} CPUs, replayed on {here}: waits differ", style="yellow"
        )


def run(path: Path, asked: Asked) -> int:
    trace = traces.read(path)
    replayed = plan.of(trace)
    console = terminal()
    for line in replayed.introduced(path, trace):
        console.print(line, highlight=False)
    if asked["turns"] or asked["phases"]:
        raise Fail("--turns and --phases do not apply to a replay: its threads repeat the trace")
    _compare_cpus(trace, asked["cpus"] or machine.cpus(), console)
    seconds = min(max(replayed.duration_ns / 1e9, LEAST_S), MOST_S)
    with plan_file(replayed) as file:
        options = asked.options | {
            "threads": str(len(replayed.ops)),
            "seconds": asked["seconds"] if asked["seconds"] is not None else seconds,
            "replay": file,
            "trace": path,
            "turns": None,
            "as_in": None,
        }
        given = asked.given | {"threads", "seconds"}
        return bench.single(Workload(NAME, f"{trace.program}, replayed"), Asked(options, given))
