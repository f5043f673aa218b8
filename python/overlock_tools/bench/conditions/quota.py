# SPDX-License-Identifier: MIT
"""A CPU quota, as containers have: whoever runs when it is used up stops, holding what it holds."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from overlock_tools.bench.conditions import cgroup, proc
from overlock_tools.bench.conditions.base import Measured, Proof, Scenario, number
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail

PERIOD_MS = 100.0  # the kernel's own
LEAST_US = 1000  # the kernel takes no shorter quota and no shorter period
OVER = 0.05  # what CPUs take before the kernel notices; it takes most of that back


@dataclass(frozen=True)
class Reading:
    """At one time: the group's throttling and the CPU seconds of what is in it."""

    when: float
    cpu_s: float
    throttling: cgroup.Throttling

    @classmethod
    def now(cls, group: cgroup.Group, pid: int) -> "Reading":
        return cls(time.monotonic(), proc.cpu_seconds(pid), group.tree.throttling(group.path))


@dataclass(frozen=True)
class Quota(Scenario):
    cpus: float
    period_us: int

    name: ClassVar[str] = "quota"
    metavar: ClassVar[str] = "CPUS[:MS]"
    help: ClassVar[str] = (
        "Run in a cgroup with a quota of CPUS (1.5) per period of MS. [default: 100]"
    )

    @classmethod
    def parse(cls, text: str) -> "Quota":
        cpus, _, period = text.partition(":")
        quota = cls(
            number("quota", cpus, 0.01, 10_000, "1.5 or 1.5:20"),
            round(1000 * number("quota", period or f"{PERIOD_MS:g}", 1, 1000, "1.5:20")),
        )
        if quota.us < LEAST_US:
            raise Fail(f"--quota {text}: less than 1 ms per period; give a longer period")
        return quota

    @property
    def us(self) -> int:
        return round(self.cpus * self.period_us)

    @contextmanager
    def applied(self, measured: Measured) -> Iterator[Callable[[], Proof]]:
        self.check(len(measured.cpus))
        with cgroup.limited(cgroup.ours(), measured.pid, self.us, self.period_us) as group:
            before = Reading.now(group, measured.pid)
            yield lambda: self.proof(group, before, Reading.now(group, measured.pid))

    def check(self, cpus: int) -> None:
        """It must be the tightest limit there is, or it would not be what is measured."""
        least = min(cpus, machine.quota_cpus() or cpus)
        if self.cpus >= least:
            raise Fail(f"--quota {self.cpus:g}: only {least:g} CPUs are available; give less")

    def proof(self, group: cgroup.Group, before: Reading, now: Reading) -> Proof:
        elapsed = now.when - before.when
        cpu_s = now.cpu_s - before.cpu_s
        seen = now.throttling.since(before.throttling)
        quota_us, period_us = group.tree.limit_of(group.path)
        period_s = self.period_us * 1e-6
        return Proof(
            asked={"cpus": self.cpus, "period_ms": self.period_us / 1000},
            seen={
                "quota_us": quota_us,
                "period_us": period_us,
                "seconds": elapsed,
                "cpu_seconds": cpu_s,
                "periods": seen.periods,
                "throttled": seen.throttled,
                "throttled_seconds": seen.throttled_s,
            },
            held=seen.throttled > 0 and cpu_s <= self.cpus * (elapsed + period_s) * (1 + OVER),
            words=f"a quota of {self.cpus:g} CPUs per {1000 * period_s:g} ms, exhausted in "
            f"{seen.throttled} of {seen.periods} periods; {cpu_s / elapsed:.2f} CPUs used",
        )
