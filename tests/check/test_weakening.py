# SPDX-License-Identifier: MIT
"""Every memory order of every lock, dropped by itself, must be missed: the checker says by whom."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from overlock_tools import defs

TOP = Path(__file__).parents[2]
SIZES = ("2x1", "3x1")  # the smallest, and one in which somebody waits far from his turn
SCENARIOS = ("lock", "try")


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    lines: list[str] = []
    yield lines
    print("\n\n" + "\n".join(lines))


def weaken(lock: str, folder: Path) -> list[dict[str, Any]]:
    results = folder / f"{lock}.json"
    asked = [f"--size={size}" for size in SIZES] + [f"--scenario={s}" for s in SCENARIOS]
    asked += ["--no-cache", "--json", str(results)]
    done = subprocess.run(
        ["overlock", "check", "--weaken", lock, "--model", "c11", *asked],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    weakened = json.loads(results.read_text())["weakened"]
    assert isinstance(weakened, list)
    return weakened


@pytest.mark.parametrize("lock", defs.load().locks)
def test_every_order_is_needed(lock: str, tmp_path: Path, table: list[str]) -> None:
    orders = weaken(lock, tmp_path)
    assert orders, "a lock without a memory order"
    for order in orders:
        where = f"{order['file']}:{order['line']} {order['order']}"
        table.append(f"{lock:24} {where:36} {order['class']}: {order['words']}")
        assert order["class"] == "caught", order


def test_what_seeded_schedules_cannot_see_is_seen(tmp_path: Path) -> None:
    listed = (TOP / "tests/twins/unseen.txt").read_text().splitlines()
    entries = [line.split(" | ") for line in listed if not line.startswith("#")]
    assert entries
    for lock in {entry[0] for entry in entries}:
        caught = {
            (o["file"], o["order"], o["text"].split("/*")[0].strip())
            for o in weaken(lock, tmp_path)
        }
        for _, file, order, text, _ in (e for e in entries if e[0] == lock):
            assert (file, order, text) in caught
