# SPDX-License-Identifier: MIT
"""Each kind of lock, in each build of the interposer, at a hundred instructions of each call.

Others each time: a wait has one to two thousand, and to come to one takes a quarter of a second.
"""

import random

import pytest

from tests.run.conftest import Compile
from tests.run.stepping import PAIRS, steps, under
from tests.run.test_stepped import FLAVOURS, library, pytestmark  # noqa: F401 - pytest's

# Words, queues of tickets and of nodes, locks outside of the mutex, those that sleep by themselves.
LOCKS = (
    "tas_yield",
    "paced",
    "rota",
    "ticket",
    "mcs",
    "twa",
    "anderson",
    "owner_qspin",
    "pv_ticket",
)
SAMPLES = 100


@pytest.mark.parametrize(("call", "event"), PAIRS)
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("lock", LOCKS)
def test_at_many_instructions(
    program: Compile, lock: str, flavour: str, call: str, event: str
) -> None:
    if event == "jump" and call == "contended" and lock not in {"tas_yield", "paced", "rota"}:
        pytest.skip("its waiters cannot leave: docs/run.md")
    more = {"OVERLOCK_CHECK": "1"} if flavour == "-checked" else {}
    env = under(lock, library(flavour), OVERLOCK_QUIET="1", **more)
    draw = random.randrange(1 << 30)  # noqa: S311 - a failure names it
    print(lock, flavour, call, event, steps(program, (call, event), SAMPLES, env, draw), end="")
