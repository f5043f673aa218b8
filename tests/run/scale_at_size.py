# SPDX-License-Identifier: MIT
"""No limits on threads, mutexes and forks: nothing is lost, and what it costs.

A part of the suite `run-long`. pytest -s on this file prints the table of docs/run.md#how-it-works.
OVERLOCK_SCALE=0.01 makes everything a hundred times smaller.
"""

import os
import time

import pytest

from tests.run.conftest import Compile, environment, run

SCALE = float(os.environ.get("OVERLOCK_SCALE", "1"))
# glibc, FIFO in place, the default, and one that lies outside the mutex.
CONTENDERS = (None, "ticket", "tas_yield", "partitioned_ticket")
PARTS = {"alive": 10_000, "churn": 1_000_000, "mutexes": 1_000_000, "forks": 2_000}


def fails_for_want_of_threads(stderr: str) -> bool:
    return "Resource temporarily unavailable" in stderr


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("lock", CONTENDERS, ids=lambda lock: lock or "glibc")
def test_nothing_is_lost(program: Compile, lock: str | None, part: str) -> None:
    n = max(10, round(PARTS[part] * SCALE))
    start = time.monotonic()
    done = run([program("scale.c"), part, str(n)], environment(lock), timeout=1200)
    if fails_for_want_of_threads(done.stderr):
        pytest.skip(f"this machine allows no {n} threads")
    assert done.returncode == 0, done
    said = dict(line.split() for line in done.stdout.splitlines())
    took = time.monotonic() - start
    figures = ", ".join(f"{name} {value}" for name, value in said.items())
    print(f"\n{lock or 'glibc'}: {part} {n}: {figures}, {took:.1f} s", end="")
    assert said["lost"] == "0"
