# SPDX-License-Identifier: MIT
"""CPU-bound neighbours: processes of overlock-hog on the CPUs that are measured."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from overlock_tools.bench.conditions import proc
from overlock_tools.bench.conditions.base import Measured
from overlock_tools.core.system import native
from overlock_tools.core.system.errors import MISSING, Fail


@dataclass(frozen=True)
class Kind:
    """What overlock-hog is told; 0 is the kernel's own slice, or no pause."""

    policy: str = "other"
    slice_ms: float = 0
    busy_ms: float = 0
    period_ms: float = 0

    def arguments(self) -> list[str]:
        return [
            self.policy,
            str(round(self.slice_ms * 1e6)),
            str(round(self.busy_ms * 1e3)),
            str(round(self.period_ms * 1e3)),
        ]


class Hogs:
    """Some that run, and what they have had of the CPUs since they began."""

    def __init__(self, pids: list[int], cpus: int) -> None:
        self.pids, self.cpus = pids, cpus
        self.then = time.monotonic()
        self.before = {pid: proc.Ran.of(pid) for pid in pids}

    def ran(self) -> list[proc.Ran]:
        """Each one's, up to now; one that has ended, or is not counted, is left out."""
        pairs = [(self.before[pid], proc.Ran.of(pid)) for pid in self.pids]
        return [after.since(before) for before, after in pairs if before and after]

    def elapsed(self) -> float:
        return max(time.monotonic() - self.then, 1e-9)


@contextmanager
def running(count: int, kind: Kind, measured: Measured, refused: str) -> Iterator[Hogs]:
    """So many of them; `refused` says what to do if the kernel does not let them be so."""
    with ExitStack() as stack:
        pids = [stack.enter_context(_hog(kind, measured, refused)) for _ in range(count)]
        yield Hogs(pids, len(measured.cpus))


@contextmanager
def _hog(kind: Kind, measured: Measured, refused: str) -> Iterator[int]:
    # A process group of its own, for Ctrl-C must not end it before it has been looked at; not a
    # session of its own, to which a scheduler with autogroups would give a share of its own.
    child = subprocess.Popen(
        [native.file("overlock-hog"), str(os.getpid()), *kind.arguments()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        os.sched_setaffinity(child.pid, measured.cpus)
        assert child.stdout is not None
        said = child.stdout.readline().strip()
        if said != "ready":
            raise Fail(f"{refused} ({said or 'overlock-hog ended'})", MISSING)
        yield child.pid
    finally:
        child.kill()
        child.communicate()
