# SPDX-License-Identifier: MIT
"""Traced runs of the simulator itself, and of a story whose every event is known."""

import json
import subprocess
from functools import cache
from typing import Any

from tests.conftest import NATIVE
from tests.processes import HANG_S

KINDS = ["run", "lose", "ready", "wait", "acquire", "release", "park", "kick", "throttle", "refill"]
REASONS = ["slice", "preempted", "yielded", "blocked", "throttled"]
US = 10**6  # in ps


def answer(guests: list[dict[str, Any]], cpus: int = 2, ms: float = 60, **more: Any) -> Any:
    return _answer(json.dumps(_scenario(guests, cpus, ms, more)))


def _scenario(
    guests: list[dict[str, Any]], cpus: int, ms: float, more: dict[str, Any]
) -> dict[str, Any]:
    return {
        "machine": {"cpus": cpus, "cores_per_socket": cpus},
        "host": {"scheduler": "round_robin"},
        "time_us": ms * 1000,
        "trace": True,
        "guests": guests,
        **more,
    }


@cache
def _answer(scenario: str) -> Any:
    program = NATIVE / "overlock-sim"
    ran = subprocess.run(
        [program], input=scenario, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def vm(lock: str, contexts: int = 3, **more: Any) -> dict[str, Any]:
    return {"name": "vm", "kind": "kernel", "lock": lock, "contexts": contexts, **more}


def story() -> dict[str, Any]:
    """A holds, B and C wait; B loses CPU 1 to D, A releases; B is back after 90 us, then C."""
    a, b, c, d = range(4)
    said: list[tuple[Any, ...]] = [
        *(
            (0, what, who, cpu)
            for who, cpu in ((a, 0), (b, 1), (c, 2))
            for what in ("ready", "run")
        ),
        (0, "ready", d, 0),
        (1, "wait", a, 0),
        (1, "acquire", a, 0),
        (2, "wait", b, 0),
        (3, "wait", c, 0),
        (5, "lose", b, 1, "slice"),
        (5, "run", d, 1),
        (10, "release", a, 0),
        (95, "lose", d, 1, "slice"),
        (95, "run", b, 1),
        (96, "acquire", b, 0),
        (98, "release", b, 0),
        (99, "acquire", c, 0),
        (100, "release", c, 0),
    ]
    return {
        "from": 0,
        "until": 110 * US,
        "full": False,
        "cpus": 3,
        "kinds": KINDS,
        "reasons": REASONS,
        "guests": [{"name": "vm", "kind": "kernel", "lock": "ticket"}],
        "contexts": [{"guest": 0, "number": i + 1} for i in range(4)],
        "vcpus": [],
        "locks": [{"guest": 0, "number": 0}],
        "events": [
            [
                at * US,
                KINDS.index(what),
                who,
                0 if what == "ready" else other,
                *map(REASONS.index, why),
            ]
            for at, what, who, other, *why in said
        ],
    }
