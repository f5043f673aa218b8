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

from overlock_tools.bench.conditions.background import Background
from overlock_tools.bench.conditions.base import (
    Measured,
    Proof,
    Scenario,
    deferred,
    ended_in_order,
)
from overlock_tools.bench.conditions.neighbours import Neighbours
from overlock_tools.bench.conditions.phases import Phases
from overlock_tools.bench.conditions.quota import Quota
from overlock_tools.bench.conditions.slice import Slice

__all__ = ["SCENARIOS", "Proofs", "applied", "cell_options", "together", "words"]

SCENARIOS: tuple[type[Scenario], ...] = (Neighbours, Quota, Background, Phases, Slice)
THREADS = "more threads than CPUs, and no other load"


def cell_options(scenarios: Sequence[Scenario]) -> dict[str, str]:
    """What overlock-bench is told with every cell."""
    return {key: value for scenario in scenarios for key, value in scenario.cell_options().items()}


class Proofs:
    def __init__(self, proofs: dict[str, Callable[[], Proof]]) -> None:
        self._proofs = proofs

    def collect(self) -> dict[str, dict[str, Any]]:
        """{scenario: {asked, seen, held, words}}, from the beginning to now."""
        return {name: asdict(_seen(name, proof)) for name, proof in self._proofs.items()}


def _seen(name: str, proof: Callable[[], Proof]) -> Proof:
    try:
        return proof()
    except OSError as error:  # what was to be looked at has ended
        return Proof({}, {}, held=False, words=f"{name} could not be verified: {error.strerror}")


@contextmanager
def applied(scenarios: Sequence[Scenario], pid: int) -> Iterator[Proofs]:
    """Sets the scenarios up around process `pid`, which must have its affinity but no children yet.

    To be used in the main thread: the helpers end with the thread that began them.
    """
    measured = Measured(pid, frozenset(os.sched_getaffinity(pid)))
    stack = ExitStack()
    with ended_in_order():
        try:
            with deferred():
                begun = {s.name: stack.enter_context(s.applied(measured)) for s in scenarios}
            yield Proofs(begun)
        finally:
            with deferred():
                stack.close()


def together(
    earlier: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Of two sessions of one result: what was not seen in both has not held."""
    nothing = {"held": False, "words": "not verified"}
    return {name: _both(earlier.get(name, nothing), proof) for name, proof in now.items()}


def _both(earlier: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    said = f"{earlier['words']}; resumed: {now['words']}"
    return {**now, "held": earlier["held"] and now["held"], "words": said}


def words(proofs: dict[str, dict[str, Any]]) -> str:
    """One line for a reader: what was in force."""
    return (
        "; ".join(
            proof["words"] + ("" if proof["held"] else " (NOT HELD)") for proof in proofs.values()
        )
        or THREADS
    )


def parsed(texts: dict[str, str]) -> list[Scenario]:
    return [s.parse(texts[s.name]) for s in SCENARIOS if s.name in texts]
