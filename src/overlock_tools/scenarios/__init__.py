# SPDX-License-Identifier: MIT
"""Scenarios: how a machine comes to have fewer CPUs than there are threads that want one.

The first is nothing but more threads and needs nothing of this. The others are set up around a
measurement, combine, prove from outside that they did what they say, and leave nothing behind.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from overlock_tools.scenarios.background import Background
from overlock_tools.scenarios.base import Measured, Proof, Scenario, ended_in_order, uninterrupted
from overlock_tools.scenarios.neighbours import Neighbours
from overlock_tools.scenarios.phases import Phases
from overlock_tools.scenarios.quota import Quota
from overlock_tools.scenarios.slice import Slice

__all__ = ["SCENARIOS", "Proofs", "applied", "cell_options", "words"]

SCENARIOS: tuple[type[Scenario], ...] = (Neighbours, Quota, Background, Phases, Slice)
THREADS = "nothing but more threads than CPUs"


def cell_options(scenarios: Sequence[Scenario]) -> dict[str, str]:
    """What overlock-bench is told with every cell."""
    return {key: value for scenario in scenarios for key, value in scenario.cell_options().items()}


class Proofs:
    def __init__(self, proofs: dict[str, Callable[[], Proof]]) -> None:
        self._proofs = proofs

    def collect(self) -> dict[str, dict[str, Any]]:
        """{scenario: {asked, seen, held, words}}, from the beginning to now."""
        return {name: asdict(proof()) for name, proof in self._proofs.items()}


@contextmanager
def applied(scenarios: Sequence[Scenario], pid: int) -> Iterator[Proofs]:
    """Sets the scenarios up around process `pid`, which must have its affinity but no children yet.

    To be used in the main thread: the helpers end with the thread that began them.
    """
    measured = Measured(pid, frozenset(os.sched_getaffinity(pid)))
    stack = ExitStack()
    with ended_in_order():
        try:
            with uninterrupted():
                begun = {s.name: stack.enter_context(s.applied(measured)) for s in scenarios}
            yield Proofs(begun)
        finally:
            with uninterrupted():
                stack.close()


def words(proofs: dict[str, dict[str, Any]]) -> str:
    """One line for a reader: what was in force."""
    return (
        "; ".join(
            proof["words"] + ("" if proof["held"] else " (NOT HELD)") for proof in proofs.values()
        )
        or THREADS
    )
