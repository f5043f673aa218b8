# SPDX-License-Identifier: MIT
"""CPU-bound processes beside, which never touch the lock."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from overlock_tools.bench.conditions import hogs
from overlock_tools.bench.conditions.base import Measured, Proof, Scenario, whole
from overlock_tools.core.system.errors import Fail

MOST = 1000
# Real-time hogs together leave half of the CPUs: the machine stays usable, and the kernel's own
# limit (kernel.sched_rt_runtime_us, 95 %) does not interfere.
PERIOD_MS = 10.0
BUSY_MS = 5.0
# A hog that wants the CPU all the time either has one or waits for one. What it lacks to that is
# what we did between reading the clock and reading /proc.
WANTS = 0.9
# Of the time a real-time hog should have: the kernel may delay its waking.
HAS = 0.8


@dataclass(frozen=True)
class Sort:
    policy: str  # as overlock-hog calls it
    number: int  # as the kernel does
    words: str


SORTS = {
    "hogs": Sort("other", os.SCHED_OTHER, "CPU hog"),
    "batch": Sort("batch", os.SCHED_BATCH, "batch process"),
    "realtime": Sort("fifo", os.SCHED_FIFO, "real-time process"),
}


@dataclass(frozen=True)
class Background(Scenario):
    count: int
    sort: str

    name: ClassVar[str] = "background"
    metavar: ClassVar[str] = "N:" + "|".join(SORTS)
    help: ClassVar[str] = "Run N CPU-bound background processes of that kind."

    @classmethod
    def parse(cls, text: str) -> "Background":
        count, _, sort = text.partition(":")
        if sort not in SORTS:
            raise Fail(f"--background: {text!r} is not {cls.metavar}, such as 2:hogs")
        return cls(whole("background", count, 1, MOST, "2:hogs"), sort)

    def kind(self, cpus: int) -> hogs.Kind:
        if self.sort != "realtime":
            return hogs.Kind(SORTS[self.sort].policy)
        busy = BUSY_MS * min(1.0, cpus / self.count)
        return hogs.Kind(SORTS[self.sort].policy, busy_ms=busy, period_ms=PERIOD_MS)

    @contextmanager
    def applied(self, measured: Measured) -> Iterator[Callable[[], Proof]]:
        kind = self.kind(len(measured.cpus))
        refused = (
            f"--background {self.count}:{self.sort}: the kernel refuses this scheduling policy; "
            "run as root, with CAP_SYS_NICE, or with `ulimit -r 1`"
        )
        with hogs.running(self.count, kind, measured, refused) as running:
            yield lambda: self.proof(running, kind)

    def proof(self, running: hogs.Hogs, kind: hogs.Kind) -> Proof:
        elapsed, ran = running.elapsed(), running.ran()
        policies = {os.sched_getscheduler(pid) for pid in running.pids}
        shares = [one.on_cpu_s / elapsed for one in ran]
        wanted = [(one.on_cpu_s + one.waited_s) / elapsed for one in ran]
        took = sum(shares) / running.cpus
        if kind.busy_ms:
            kept = min(shares, default=0) >= HAS * kind.busy_ms / kind.period_ms
        else:
            kept = min(wanted, default=0) >= WANTS
        return Proof(
            asked={"count": self.count, "sort": self.sort, "busy_ms": kind.busy_ms or None},
            seen={
                "running": len(ran),
                "policies": sorted(policies),
                "seconds": elapsed,
                "share_of_cpus": took,
                "share_of_a_cpu": shares,
                "wanted_a_cpu": wanted,
            },
            held=kept and len(ran) == self.count and policies == {SORTS[self.sort].number},
            words=self.words(took, kind),
        )

    def words(self, took: float, kind: hogs.Kind) -> str:
        plural = "" if self.count == 1 else "es" if self.sort != "hogs" else "s"
        duty = f" ({kind.busy_ms:g} of every {kind.period_ms:g} ms)" if kind.busy_ms else ""
        words = f"{self.count} background {SORTS[self.sort].words}{plural}{duty} that took"
        return f"{words} {100 * took:.0f} % of the CPUs"
