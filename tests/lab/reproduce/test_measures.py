# SPDX-License-Identifier: MIT
"""Each measure of the papers' claims, by an answer small enough to count by hand."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from overlock_tools.lab.reproduce.simulated.measures import MEASURES, value_of
from overlock_tools.sim.resolve import Run

CONTEXT = {
    "turns": 100,
    "ran_ns": 800.0,
    "spun_ns": 200.0,
    "parks": 3,
    "kicks": 2,
    "holder_changed_slice": 4,
    "waiter_changed_slice": 6,
    "stalls_held_off_cpu": 5,
    "stalls_held_running": 10,
}
TX = {"TX_START": 100, "TX_COMMIT": 80, "TX_CONFLICT": 15, "TX_OTHER": 5}
VM = {
    "name": "vm",
    "contexts": [CONTEXT, CONTEXT | {"turns": 300}],
    "waits": {"total_ns": 80.0},
    "events": {"ACQUIRE": 500, "STALL": 50, "STALL_FREE": 20, "LHP": 7, "STEAL": 12} | TX,
    "positions": {"QUEUE": [[0, 9], [1, 1]], "STEAL": [[0, 6], [1, 3], [2, 2], [3, 1]]},
    "overtakers": [[1, 4, 1], [3, 4, 2], [9, 4, 1], [0, 1, 50]],
}
NEIGHBOUR = VM | {"name": "neighbour", "contexts": [CONTEXT | {"turns": 40}], "overtakers": []}
ANSWER = {"time_ns": 2000.0, "guests": [NEIGHBOUR, VM, VM], "idle_ns": 1000.0, "invalidations": 250}
RUN = cast(
    Run,
    SimpleNamespace(
        place=SimpleNamespace(
            scenario=SimpleNamespace(
                values={"guest": [{"name": "neighbour"}, {"name": "vm", "count": 2}]}, measured=[1]
            ),
            machine=SimpleNamespace(cpus=4),
        )
    ),
)
EXPECTED: dict[str, float] = {
    "rate": 800 / 2000e-9,
    "neighbour": 40 / 2000e-9,
    "run_time": 2000 * 2 / 800,
    "run_time_sd": (20 - 2000 / 300) / 2,
    "spread": 0.5,
    "stalls": 0.1,
    "stalls_free": 0.4,
    "stalls_running": 0.4,
    "stalls_off_cpu": 20 / 1000,
    "psp": 40 / 800,
    "lhp": 14 / 2000e-9 / 2,
    "spinning": 0.25,
    "acquiring": 0.05,
    "idle": 0.125,
    "hypercalls": 20 / 1000,
    "tx_committed": 0.8,
    "tx_conflicts": 0.75,
    "invalidations": 0.25,
    "longest_queue": 1.0,
    "steals_first": 0.5,
    "steals_second": 2 / 3,
    "steals_third": 0.5,
    "overtaken_half": 0.25,  # of those with rivals
    "overtaken_within_rivals": 0.75,
    "overtaken_within_contexts": 0.25,
}


def test_every_measure_is_expected() -> None:
    assert set(EXPECTED) == set(MEASURES)


@pytest.mark.parametrize("name", EXPECTED)
def test_it_is_as_counted(name: str) -> None:
    assert value_of(name, RUN, ANSWER) == pytest.approx(EXPECTED[name])


def test_nothing_to_measure_by_is_no_value() -> None:
    idle: dict[str, Any] = ANSWER | {"guests": [VM | {"events": {}, "overtakers": []}] * 3}
    assert value_of("stalls_free", RUN, idle) is None
    assert value_of("overtaken_half", RUN, idle) is None
