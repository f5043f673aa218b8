# SPDX-License-Identifier: MIT
"""Counted guests: what `overlock guest sched --json` leaves answers rows as other results do."""

import json
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model.measures import Cell
from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.reproduce import rows, run
from overlock_tools.lab.reproduce.checks import Verdict
from overlock_tools.lab.reproduce.rigs import counted, measured
from overlock_tools.lab.reproduce.rigs.base import Known

LOCKS = {"ticket": 50, "i_spin@csd=200000": 5000, "i_spin_pv@csd=200000": 6000}
SLICES = {"taken": 200, "within": 150}


def left(folder: Path, threads: int, rounds: int = 6, **more: Any) -> Path:
    """What a command leaves: with ticket, one acquisition of ten is preempted."""
    cells = [
        {
            "lock": lock,
            "threads": threads,
            "rates": [done * 10.0] * rounds,
            "work": [[done // 2, done // 2]] * rounds,
            "seconds": [0.1] * rounds,
            "acquired": [done] * rounds,
            "lhp": [0] * rounds,
            "lwp": [5 if lock == "ticket" else 0] * rounds,
        }
        for lock, done in LOCKS.items()
    ]
    file = folder / f"{threads}.json"
    file.write_text(json.dumps({"cells": cells, "schedulers": {"sched": [SLICES]}, **more}))
    return file


def test_each_round_is_a_cell(tmp_path: Path) -> None:
    boot = counted.from_file(left(tmp_path, 8, rounds=3))
    assert boot.threads == {8}
    assert [cell.round for cell in boot.of("ticket", 8)] == [1, 2, 3]
    (one, *_) = boot.of("ticket", 8)
    assert (one.rate, one.work, one.per_thread) == (500.0, 50.0, [25, 25])
    assert one.events == {"ACQUIRE": 50, "LHP": 0, "LWP": 5}
    assert not boot.of("ticket", 4)
    assert boot.native["slices_by"] == "overlock sched: 75 % of 200 ended as told"


@pytest.mark.parametrize("wrong", ["", "[]", '{"cells": [{"lock": "a"}], "schedulers": {}}'])
def test_what_is_no_such_result_is_refused(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(wrong)
    with pytest.raises(Fail, match="is not a result of overlock guest sched"):
        counted.from_file(file)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("fig7-rate", Verdict.HOLDS),  # 100 and 120 times ticket, and 1.2 times
        ("fig7-fewer", Verdict.HOLDS),  # none by 100,000 of a million; none by none is alike
    ],
)
def test_rows_are_judged_by_it(tmp_path: Path, name: str, verdict: Verdict) -> None:
    (row,) = rows.chosen(f"teabe2017-{name}", None)
    way = row.way("sched")
    assert way
    asked = run.asked(row, way, Known())
    for source in asked.sources:
        assert isinstance(source, measured.Measurement)
        threads = {"sched-4": 8, "sched-8": 16}[source.short]
        source.results.append(counted.from_file(left(tmp_path, threads)))
        source.rounds = 6
    judged = asked.judge()
    assert judged.verdict == verdict, judged
    assert all(found["at"].endswith(" threads") for found in judged.found)
    assert judged.knowledge == "slices by overlock sched: 75 % of 200 ended as told"


def test_the_threads_times_for_the_same_work_deviate() -> None:
    cell = Cell(1, "i_spin", 2, 30.0, 1.0, 1.0)
    assert measured._value_of("spread", cell) is None
    cell.per_thread = [10, 20]  # 0.1 and 0.05: 0.075 ± 0.025
    assert measured._value_of("spread", cell) == pytest.approx(1 / 3)
