# SPDX-License-Identifier: MIT
"""A time slice of our choice, for the threads that are measured and a CPU-bound neighbour."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from overlock_tools.bench.conditions import hogs, proc
from overlock_tools.bench.conditions.base import Measured, Proof, Scenario, number
from overlock_tools.core.system.errors import MISSING, Fail


@dataclass(frozen=True)
class Slice(Scenario):
    us: int

    name: ClassVar[str] = "slice"
    metavar: ClassVar[str] = "MS"
    help: ClassVar[str] = "Use time slices of MS ms (0.1 to 100), with a CPU hog on each CPU."

    @classmethod
    def parse(cls, text: str) -> "Slice":
        return cls(round(1000 * number("slice", text, 0.1, 100, "--slice 0.5")))

    @property
    def ms(self) -> float:
        return self.us / 1000

    def cell_options(self) -> dict[str, str]:
        return {"slice_us": str(self.us)}

    @contextmanager
    def applied(self, measured: Measured) -> Iterator[Callable[[], Proof]]:
        seen: set[int] = set()

        def look() -> bool:
            for pid in proc.children(measured.pid):
                seen.update(filter(None, map(proc.slice_us, proc.threads(pid) - {pid})))
            return self.us in seen

        kind = hogs.Kind(slice_ms=self.ms)
        refused = f"--slice {self.ms:g}: the kernel refuses this slice; remove the option"
        with hogs.running(len(measured.cpus), kind, measured, refused) as running:
            self.check_kept(running.pids[0])
            with proc.looking(look):
                yield lambda: self.proof(running, seen)

    def check_kept(self, hog: int) -> None:
        """Kernels before 6.12 take the call and forget the slice."""
        kept = proc.slice_us(hog)
        if kept != self.us:
            said = (
                "does not report slices" if kept is None else f"keeps slices of {kept / 1000:g} ms"
            )
            raise Fail(
                f"--slice {self.ms:g}: this kernel {said}; the option "
                "needs Linux 6.12 with /proc/PID/sched (CONFIG_SCHED_DEBUG); remove it",
                MISSING,
            )

    def proof(self, running: hogs.Hogs, seen: set[int]) -> Proof:
        ran = running.ran()
        turns = max(1, sum(one.turns for one in ran))
        on_cpu_ms = 1000 * sum(one.on_cpu_s for one in ran) / turns
        took = sum(one.on_cpu_s for one in ran) / running.elapsed() / running.cpus
        neighbours = {proc.slice_us(pid) for pid in running.pids}
        return Proof(
            asked={"slice_us": self.us, "neighbours": len(running.pids)},
            seen={
                "slices_us": sorted(seen),
                "neighbours_slices_us": sorted(filter(None, neighbours)),
                "neighbours_share_of_cpus": took,
                "neighbours_mean_on_cpu_ms": on_cpu_ms,
            },
            held=self.us in seen and neighbours == {self.us},
            words=f"time slices of {self.ms:g} ms, and a CPU hog on each CPU; the hogs took "
            f"{100 * took:.0f} % of the CPUs and ran {on_cpu_ms:.2g} ms at a time",
        )
