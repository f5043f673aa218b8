# SPDX-License-Identifier: MIT
"""Guests are measured with the options that a user gives, and such answers are kept apart."""

import json
from pathlib import Path

import pytest

from overlock_tools.core.model import histograms
from overlock_tools.core.model.measures import Cell
from overlock_tools.lab.reproduce import answers, rows, run
from overlock_tools.lab.reproduce.answers import Answers
from overlock_tools.lab.reproduce.rigs import measured
from tests.guest.command.conftest import Fake

ROW = "dice2019-fig7-twa"
WORDS = "guest run --load torture-dice2019 --lock twa,native --baseline native --smp 2 --seconds 9"
SMALL = {"command": f"{WORDS} --rounds {{rounds}} --json {{file}}", "round_s": 1.0, "most": 6}


def test_they_are_measured_with_the_options_that_are_given(
    fake: Fake, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what the row would need is not there: a kernel of --dir has other needs."""
    fake("good")
    needs = {**SMALL, "needs": ["no-such-program"]}
    monkeypatch.setattr(measured, "measurements", lambda: {"torture": needs})
    given = ["--accel", "tcg", "--seconds", "0.1", "--dir", str(home)]
    chosen = run.Chosen(rows.chosen(ROW, None), ["guest"], None, guest=given)
    folder = tmp_path / "found"
    run.prepared(chosen, Answers(), {}, folder).all()
    (one,) = answers.read(folder / run.FILE)
    assert one.found[0]["count"] == 6, one
    assert one.machine.endswith(f", guests with --accel tcg --seconds 0.1 --dir {home}")
    assert one.commands[0].endswith(f"torture.json --accel tcg --seconds 0.1 --dir {home}")
    (file,) = folder.glob("measured-*/torture-*-1.json")
    assert json.loads(file.read_text())["settings"]["seconds"] == 0.1


def test_what_other_options_measured_is_not_taken(tmp_path: Path) -> None:
    def asked(*given: str) -> tuple[str, str]:
        chosen = run.Chosen(rows.chosen("ouyang2013-hold", None), ["guest"], 0.0, guest=given)
        plan = run.prepared(chosen, Answers(), {}, tmp_path)
        (source,) = plan.sources
        assert isinstance(source, measured.Measurement)
        return source.file_name, plan.machines["guest"]

    ways = [asked(), asked("--seconds", "5"), asked("--seconds", "6")]
    assert len({name for name, _ in ways}) == len({where for _, where in ways}) == 3
    assert ways[0][0] == "hackbench-1-counted-1"


@pytest.mark.parametrize(("ns", "share"), [([1500.0, 7000.0], 0.01), ([1500.0, 5000.0], 0.0)])
def test_sections_above_2_to_the_14_cycles_are_counted(ns: list[float], share: float) -> None:
    cell = Cell(1, "ticket", 2, 1.0, 1.0, 1.0)
    assert measured._value_of("long_holds", cell) is None
    cell.hold = histograms.packed(ns, [990, 10])
    assert measured._value_of("long_holds", cell) == pytest.approx(share)


def test_an_average_is_compared_with_an_average() -> None:
    """A few long sections move the mean, not the median."""
    cell = Cell(1, "ticket", 2, 1.0, 1.0, 1.0, hold=histograms.packed([100.0, 1000.0], [90, 10]))
    assert measured._value_of("hold", cell) == pytest.approx(100, rel=0.01)
    assert measured._value_of("hold_mean", cell) == pytest.approx(190, rel=0.01)
    (row,) = rows.chosen("teabe2017-fig3-average", None)
    assert [way.asked["check"][0]["measure"] for way in row.ways] == ["hold_mean"]
