# SPDX-License-Identifier: MIT
"""What was measured under KVM and Xen before there were rows answers them, by the rows' bounds."""

from typing import Any

import pytest

import guest_measured
import reproduced
from guest_measured import Load
from overlock_tools.lab.reproduce.answers import Answer, State

ROW = ("ouyang2013-fig5-gain", "xen")


def rates(ours: list[float], theirs: list[float]) -> dict[str, Load]:
    ends = ("least", "median", "most")
    locks = {"preemptable_ticket": ours, "ticket": theirs}
    cells = {lock: {"1×4": dict(zip(ends, told, strict=True))} for lock, told in locks.items()}
    load = Load({"rates": cells, "machine": "here"})
    return {old.load: load for old in reproduced.OLD}


@pytest.mark.parametrize(
    ("ours", "theirs", "state"),
    [
        ([500.0, 600.0, 700.0], [100.0, 200.0, 400.0], State.HOLDS),
        ([500.0, 600.0, 700.0], [100.0, 200.0, 600.0], State.OPEN),  # one round is above another's
        ([50.0, 60.0, 70.0], [100.0, 200.0, 400.0], State.NOT),
    ],
)
def test_a_ratio_lies_between_the_ends_of_its_rounds(
    monkeypatch: pytest.MonkeyPatch, ours: list[float], theirs: list[float], state: State
) -> None:
    monkeypatch.setattr(guest_measured, "loads", lambda: rates(ours, theirs))
    (one,) = (one for one in reproduced.of_guests() if (one.row, one.rig) == ROW)
    assert one.state == state
    assert one.found[0]["least"] == pytest.approx(ours[0] / theirs[2], 0.01)
    assert one.found[0]["count"] == 3
    assert "six rounds: these 3 are of 2026-11-22" in one.lacks


def test_kept_answers_are_those_of_what_was_measured() -> None:
    """Of a bound that changes, `tools/reproduced.py --guests` tells what is so then."""

    def told(answers: Any) -> dict[Any, Answer]:
        return {one.key: one for one in answers if one.rig in ("nested", "xen")}

    assert told(reproduced.known()) == told(reproduced.of_guests())
    assert len(told(reproduced.known())) >= 15
