# SPDX-License-Identifier: MIT
"""The rule of run.py holds, and it catches a lock made one instruction longer."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from overlock_tools.core.model import defs
from tests.lib.instructions import run
from tests.mutant import changed


@dataclass(frozen=True)
class Counted:
    done: subprocess.CompletedProcess[str]
    columns: dict[str, dict[str, float]]


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Counted:
    out = tmp_path_factory.mktemp("counted") / "counts.json"
    done = subprocess.run(
        [sys.executable, run.__file__, "--json", out], capture_output=True, text=True, check=False
    )
    assert out.exists(), done.stderr
    return Counted(done, json.loads(out.read_text()))


def test_no_lock_takes_more_than_its_kind(counted: Counted) -> None:
    done, columns = counted.done, counted.columns
    assert done.returncode == 0, done.stdout + done.stderr
    locks = set(defs.load().locks)
    for column in ("table", "counted", "timed"):
        assert set(columns[column]) == locks
    assert locks - set(columns["interposed"]) == {
        lock.id for lock in defs.load().locks.values() if "elides" in lock.traits
    }
    assert set(columns["inlined"]) == locks | {"self", "node"}
    timed = {lock.id for lock in defs.load().locks.values() if lock.gives_up == "timed"}
    assert set(columns["or_fail"]) == timed
    assert all(columns["inlined"][lock] < columns["or_fail"][lock] for lock in timed)
    assert all(lock in done.stdout for lock in locks)


def test_bench_compares_the_form_that_fails(tmp_path: Path) -> None:
    """By the command of docs/locks.md."""
    locks = "rota,examples/or_fail.h"
    command = [sys.executable, "-m", "overlock_tools", "bench", "sections", "--locks", locks]
    short = ["--rounds", "1", "--seconds", "0.01", "--threads", "2", "--no-pilot"]
    out = tmp_path / "found.json"
    subprocess.run([*command, *short, "--json", out], cwd=run.TOP, check=True)
    assert "or_fail" in out.read_text()


def test_columns_are_of_different_builds(counted: Counted) -> None:
    """Each form adds to the one before, or the column would not show what it says."""
    columns = counted.columns
    for lock, known in defs.load().locks.items():
        inlined, table = columns["inlined"][lock], columns["table"][lock]
        assert 3 < inlined < columns["counted"][lock]
        assert table < columns["counted"][lock]
        if {"needs_slice", "elides"} & set(known.traits):
            continue  # they ask the world, or count, on the way in: not the same in each build
        assert inlined < table < columns["interposed"][lock]
        # No clock and no look-up: some hundred instructions, whatever the lock.
        assert columns["counted"][lock] - table <= 110 < columns["timed"][lock] - table


def test_a_longer_lock_is_caught(tmp_path: Path) -> None:
    own = run.TOP / "include/overlock/lock/ticket.h"
    release = "ol_bump_lo_release(&l->word, 1);"
    text = own.read_text()
    folder = tmp_path / "overlock/lock"
    folder.mkdir(parents=True)
    longer = changed(text, (release, "ol_load_relaxed(&l->word);" + release))
    (folder / "ticket.h").write_text(longer)
    wrong = run.excesses(run.measure(tmp_path, inlined_only=True))
    assert any(line.startswith("ticket takes") for line in wrong)
    assert all(line.startswith("ticket") for line in wrong)  # and those built on it
