# SPDX-License-Identifier: MIT
"""Answers: judged from rounds, kept one by one, and told with what they lack."""

import json
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.core.model.measures import Cell
from overlock_tools.core.system import machine
from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.reproduce import answers, kept, rows, run, show
from overlock_tools.lab.reproduce.answers import Answer, Answers, State
from overlock_tools.lab.reproduce.checks import Verdict, check
from overlock_tools.lab.reproduce.rigs import measured, proof
from overlock_tools.lab.reproduce.rigs.base import Asked, Judged, Known, Place, Source
from overlock_tools.lab.reproduce.rows import Row, Way

HELD = {"measure": "rate", "of": "a", "by": "b", "paper": 3.9, "within": 2}


@pytest.mark.parametrize(
    ("values", "verdicts"),
    [
        ([4.0] * 6, (Verdict.HOLDS, Verdict.HOLDS)),
        ([1.5] * 6, (Verdict.PARTLY, Verdict.PARTLY)),
        ([0.5] * 6, (Verdict.NOT, Verdict.NOT)),
        ([100.0] * 6, (Verdict.PARTLY, Verdict.PARTLY)),
        ([inf] * 6, (Verdict.PARTLY, Verdict.PARTLY)),
        ([4.0] * 5, (Verdict.NOT, Verdict.HOLDS)),
        ([1.5, 2.5] * 6, (Verdict.PARTLY, Verdict.HOLDS)),
    ],
)
def test_rounds_are_judged(values: Sequence[float], verdicts: tuple[Verdict, Verdict]) -> None:
    assert check(HELD).of_rounds(values) == verdicts


def answer(**more: Any) -> Answer:
    told = {"row": "long-small", "rig": "native", "state": State.HOLDS, "machine": "here"}
    return Answer(**{**told, "lacks": "", "found": [], "commands": [], **more})


def row(name: str = "long-small") -> Row:
    return next(one for one in rows.load() if one.id == name)


def test_what_meets_the_condition_comes_before_what_is_simulated() -> None:
    simulated = answer(rig="simulated", state=State.NOT, lacks="all")
    known = Answers([simulated, answer(lacks="vCPUs"), answer(rig="guest", state=State.SHAPE)])
    best = known.best(row())
    assert best
    assert (best.rig, best.state) == ("guest", State.SHAPE)


def test_what_is_not_decided_gives_way() -> None:
    found = [{"what": "rate", "at": "", "paper": 1, "median": 1.0}]
    open_ = answer(state=State.OPEN, found=found)
    known = Answers([open_, answer(rig="simulated", lacks="all")])
    best = known.best(row())
    assert best
    assert best.rig == "simulated"


def test_counts_tell_a_model_from_a_machine() -> None:
    known = Answers(
        [answer(rig="simulated", lacks="all"), answer(row="long-fair", lacks="a queue")]
    )
    told = show.counts([row(), row("long-fair"), row("long-table-times")], known)
    assert told.startswith("3 rows, 2 decided (2 holds): 0 by a rig that meets")
    assert "1 by the simulator alone" in told


def test_answers_are_read_as_written(tmp_path: Path) -> None:
    known = Answers([answer(), answer(rig="proof", state=State.NOT)], {"proof x": 1.5})
    known.write(tmp_path / "answers.json")
    again = answers.read(tmp_path / "answers.json")
    assert list(again) == sorted(known, key=lambda one: rows.RIGS.index(one.rig))
    assert again.took_s == {"proof x": 1.5}


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"format": "overlock-reproduced", "version": 2, "answers": []}', "\udcff"],
)
def test_what_is_no_answer_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(Fail, match=r"bad\.json"):
        answers.read(tmp_path / "bad.json")


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "certain"},
        {"rig": "oracle"},
        {"machine": 7},
        {"found": 7},
        {"found": [{"what": "x"}]},
        {"commands": None},
        {"other": ""},
    ],
)
def test_an_answer_that_is_none_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    Answers([answer()]).write(tmp_path / "a.json")
    body = json.loads((tmp_path / "a.json").read_text())
    body["answers"][0] |= wrong
    (tmp_path / "a.json").write_text(json.dumps(body))
    with pytest.raises(Fail, match="not what `overlock reproduce` writes"):
        answers.read(tmp_path / "a.json")


def test_ours_stays_beside_others(tmp_path: Path) -> None:
    ours = Answers([answer(state=State.NOT)])
    ours.join(Answers([answer(), answer(machine="there")]))
    assert {(one.machine, one.state) for one in ours} == {
        ("here", State.NOT),
        ("there", State.HOLDS),
    }


def test_what_comes_along_names_its_commit_and_machine() -> None:
    for one in kept.load():
        assert all((one.commit, one.machine, one.date, one.commands))
        assert one.row in {known.id for known in rows.load()}
        assert bool(one.lacks) == (not one.meets)
        assert one.decided or one.takes, f"{one.row}: not decided, and nobody says why"
        way = next(known for known in rows.load() if known.id == one.row).way(one.rig)
        assert way, f"{one.row} is not asked of {one.rig} any more"
        assert one.lacks.startswith(way.lacks), f"{one.row}: its row says that more is lacking"


# Running


class Fake(Source):
    """Decides after so many steps."""

    def __init__(self, name: str, seconds: float, steps: int = 1, fails: str = "") -> None:
        super().__init__(name, seconds)
        self.steps, self.fails = steps, fails
        self.done = 0

    def advance(self, _: Place) -> str:
        self.done += 1
        self.is_over = self.done >= self.steps + 2
        return self.fails


class FakeAsked(Asked):
    def __init__(self, source: Fake) -> None:
        self.sources = [source]
        self.source = source

    def judge(self) -> Judged:
        decided = self.source.done >= self.source.steps
        return Judged(Verdict.HOLDS if decided else Verdict.UNDECIDED)


def running(tmp_path: Path, *sources: Fake, budget_s: float | None = None) -> run.Run:
    way = Way("native", "", "", {})
    questions = [
        run.Question(one, way, FakeAsked(source))
        for one, source in zip(rows.load(), sources, strict=False)
    ]
    machines = {"native": "here"}
    return run.Run(questions, Answers(), Place(tmp_path, "b"), budget_s, "c", machines)


def test_steps_end_when_all_is_decided(tmp_path: Path) -> None:
    first, second = Fake("a", 1.0, 1), Fake("b", 2.0, 3)
    running(tmp_path, first, second).all()
    assert (first.done, second.done) == (1, 3)


def test_what_never_decides_ends(tmp_path: Path) -> None:
    endless = Fake("a", 1.0, 10**6)
    endless.is_over = False
    one = running(tmp_path, endless)
    endless.steps = 5
    one.all()
    assert endless.done == 5


def test_the_cheapest_comes_first_and_the_budget_is_kept(tmp_path: Path) -> None:
    cheap, dear = Fake("cheap", 0.5), Fake("dear", 100.0)
    one = running(tmp_path, dear, cheap, budget_s=10.0)
    one.all()
    assert (cheap.done, dear.done) == (1, 0)
    told = answers.read(tmp_path / run.FILE)
    assert {(a.row, a.state, a.takes) for a in told} == {
        (rows.load()[0].id, State.OPEN, "more time"),
        (rows.load()[1].id, State.HOLDS, ""),
    }


def test_a_forecast_follows_the_pace_of_what_was_done(tmp_path: Path) -> None:
    """What an interrupted run has left took no time, and tells nothing."""

    class Slow(Fake):
        def step(self, place: Place) -> None:
            super().step(place)
            self.was_kept = self.name == "kept"
            self.took_s = 0.0 if self.was_kept else 3 * 8.0

    first, second, third = Slow("kept", 6.0), Slow("slow", 8.0), Slow("left", 10.0)
    one = running(tmp_path, first, second, third)
    left = []
    for _ in range(2):
        one.advance(next(one.steps()))
        left.append(one.forecast_s())
    assert left == [18.0, 30.0]


def test_all_begin_before_one_goes_on(tmp_path: Path) -> None:
    """A row that is hard to decide does not use up the time of the others."""
    order: list[str] = []

    class Told(Fake):
        def advance(self, place: Place) -> str:
            order.append(self.name)
            return super().advance(place)

    running(tmp_path, Told("hard", 0.1, 3), Told("easy", 5.0)).all()
    assert order == ["hard", "easy", "hard", "hard"]


def test_what_fails_says_so_and_the_rest_goes_on(tmp_path: Path) -> None:
    bad, good = Fake("bad", 0.1, 9, "no such program"), Fake("good", 1.0)
    one = running(tmp_path, bad, good)
    one.all()
    told = {a.row: a for a in answers.read(tmp_path / run.FILE)}
    assert told[rows.load()[0].id].takes == "no such program"
    assert told[rows.load()[1].id].state == State.HOLDS


class Interrupted(Fake):
    def advance(self, _: Place) -> str:
        raise KeyboardInterrupt


def test_an_interruption_loses_nothing(tmp_path: Path) -> None:
    good, stopped = Fake("good", 0.1), Interrupted("stopped", 1.0)
    with pytest.raises(KeyboardInterrupt):
        running(tmp_path, good, stopped).all()
    told = [a.state for a in answers.read(tmp_path / run.FILE)]
    assert told == [State.HOLDS]


@pytest.mark.parametrize(("cpus", "lacks"), [(2, "8 vCPUs"), (8, "")])
def test_fewer_vcpus_than_the_paper_s_are_told(
    monkeypatch: pytest.MonkeyPatch, cpus: int, lacks: str
) -> None:
    monkeypatch.setattr(machine, "cpus", lambda: cpus)
    one = row("ouyang2013-fig5a-2")
    way = one.way("guest")
    assert way
    asked = run.asked(one, way, Known())
    monkeypatch.setattr(measured.Measurement, "knowledge", "")
    for source in asked.sources:
        monkeypatch.setattr(source, "has", lambda _: True)
        monkeypatch.setattr(source, "results", [None])
        monkeypatch.setattr(source, "cells", cells)
    judged = asked.judge()
    assert judged.verdict != Verdict.NOTHING
    assert lacks in judged.lacks
    assert bool(judged.lacks) == bool(lacks)


def test_one_of_two_measurements_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where all that it has holds."""
    one = row("ouyang2013-fig5-gain")
    way = one.way("guest")
    assert way
    asked = run.asked(one, way, Known())
    first, second = asked.sources
    for source in (first, second):
        monkeypatch.setattr(source, "has", lambda _: True)
        monkeypatch.setattr(source, "cells", cells)
    monkeypatch.setattr(first, "results", [None])
    monkeypatch.setattr(measured.Measurement, "knowledge", "")
    assert asked.judge().verdict == Verdict.NOTHING
    monkeypatch.setattr(second, "results", [None])
    assert asked.judge().verdict == Verdict.HOLDS


def cells(lock: str, _: int) -> list[dict[int, Cell]]:
    work = 4e6 if "preemptable" in lock or "pv" in lock else 1e6
    done = [int(work)] * 2
    return [{n: Cell(n, lock, 2, 2 * work, 1.0, 1.0, copies=done) for n in range(1, 7)}]


# Proofs


def explored(lock: str, finds: str = "", **more: Any) -> Judged:
    raw = {"lock": lock, "size": "2x2", "scenario": "order", "finds": finds, **more}
    asked = proof.Proof(Way("proof", "", "", {"runs": [raw]}), Known())
    for source in asked.sources:
        source.step(Place(Path(), ""))
        assert not source.failed
    return asked.judge()


def test_a_proof_and_a_counterexample() -> None:
    assert explored("ticket", claims=["fifo"]).verdict == Verdict.HOLDS
    judged = explored("preemptable_ticket", claims=["priority"])
    assert judged.verdict == Verdict.NOT
    assert "out of order" in judged.why


def test_what_the_paper_says_can_happen_has_to_be_found() -> None:
    happens = {"tune": ["tau=0"], "claims": ["fifo"]}
    assert explored("preemptable_ticket", "out of order", **happens).verdict == Verdict.HOLDS
    assert explored("ticket", "out of order", claims=["fifo"]).verdict == Verdict.NOT
    assert explored("preemptable_ticket", "deadlock", **happens).verdict == Verdict.UNDECIDED


def test_a_search_that_was_cut_decides_nothing() -> None:
    judged = explored("ticket", claims=["fifo"], options=["--executions=1"])
    assert judged.verdict == Verdict.UNDECIDED
    assert "not all" in judged.found[0]["text"]
