# SPDX-License-Identifier: MIT
"""Every memory order of every lock, dropped by itself, must be missed: the checker says by whom."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model import defs
from overlock_tools.core.system.errors import FAILED
from tests.check.claim_cases import Run

# The smallest, one in which somebody waits far from his turn, and two in which a node or a slot is
# used by others than before. A failure is proof however it was found, and a seed finds it again.
SIZES = ("2x1", "3x1", "3x2", "4x1")
SEARCH = ("--search", "pct", "--seed", "1", "--executions", "5000")
SCENARIOS = ("lock", "try", "noid")
LOCKS = defs.load().locks


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    lines: list[str] = []
    yield lines
    print("\n\n" + "\n".join(lines))


@cache
def weaken(lock: str) -> list[dict[str, Any]]:
    """Of the lock's own header, and of those that it shares with others."""
    asked = [f"--size={size}" for size in SIZES] + [f"--scenario={s}" for s in SCENARIOS]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        asked += [*SEARCH, "--no-cache", "--json", out.name]
        done = subprocess.run(
            ["overlock", "check", "--weaken", lock, "--model", "c11", *asked],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, FAILED), done.stdout + done.stderr
        weakened = json.loads(Path(out.name).read_text())["weakened"]
    assert isinstance(weakened, list)
    return weakened


def where(order: dict[str, Any]) -> str:
    return f"{order['file']}:{order['line']} {order['order']}"


def is_caught(order: dict[str, Any]) -> bool:
    return bool(order["class"] == "caught")


@pytest.mark.parametrize("lock", LOCKS)
def test_every_order_is_needed(lock: str, table: list[str]) -> None:
    orders = weaken(lock)
    assert orders, "a lock without a memory order"
    for order in orders:
        table.append(f"{lock:24} {where(order):36} {order['class']}: {order['words']}")
    assert [where(o) for o in orders if o["file"] == f"{lock}.h" and not is_caught(o)] == []


def missed_by_readers(order: dict[str, Any]) -> bool:
    """Of the queued rwlock, whose table is the writers' side."""
    return bool(
        Run("", "", "qrw_with_readers", "2x2 c11 order roles=rw", (), "fails").explore(
            "--weaken", f"{order['file']}:{order['line']}:{order['order']}"
        )["failure"]
    )


def test_every_order_of_a_shared_header_is_needed_by_a_lock() -> None:
    """Of the locks that include it one may need an order that another could do without."""
    orders = [order for lock in LOCKS for order in weaken(lock)]
    caught = {where(o) for o in orders if is_caught(o)}
    rest = [o for o in orders if where(o) not in caught]
    assert [where(o) for o in rest if not missed_by_readers(o)] == []
