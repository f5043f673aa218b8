# SPDX-License-Identifier: MIT
"""Threads come and go: after each phase half of them leave and new ones take their place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from overlock_tools.bench.conditions import proc
from overlock_tools.bench.conditions.base import Measured, Proof, Scenario, whole


@dataclass(frozen=True)
class Phases(Scenario):
    count: int

    name: ClassVar[str] = "phases"
    metavar: ClassVar[str] = "N"
    help: ClassVar[str] = "Run N phases; replace half of the threads after each phase."

    @classmethod
    def parse(cls, text: str) -> "Phases":
        return cls(whole("phases", text, 2, 1000, "--phases 4"))

    def cell_options(self) -> dict[str, str]:
        return {"phases": str(self.count)}

    @contextmanager
    def applied(self, measured: Measured) -> Iterator[Callable[[], Proof]]:
        ever: dict[int, set[int]] = {}  # the threads of each process
        at_once: dict[int, int] = {}

        def look() -> bool:
            for pid in proc.children(measured.pid):
                now = proc.threads(pid)
                ever.setdefault(pid, set()).update(now)
                at_once[pid] = max(at_once.get(pid, 0), len(now))
            return came() > 0

        def came() -> int:
            """The most that came in one process while others left."""
            return max((len(ever[pid]) - at_once[pid] for pid in ever), default=0)

        def proof() -> Proof:
            return Proof(
                asked={"phases": self.count},
                seen={"came": came(), "threads_at_once": max(at_once.values(), default=0)},
                held=came() > 0,
                words=f"{self.count} phases, between which half of the threads are replaced",
            )

        with proc.looking(look):
            yield proof
