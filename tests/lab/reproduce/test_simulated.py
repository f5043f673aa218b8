# SPDX-License-Identifier: MIT
"""What the papers say is judged by numbers, and what claims.toml asks for exists."""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from overlock_tools.lab.reproduce import answers
from overlock_tools.lab.reproduce.checks import EACH, Point, Verdict
from overlock_tools.lab.reproduce.rigs import base
from overlock_tools.lab.reproduce.rigs import simulated as rig
from overlock_tools.lab.reproduce.rigs.base import Judged
from overlock_tools.lab.reproduce.rows import Way
from overlock_tools.lab.reproduce.simulated import claims as papers
from overlock_tools.lab.reproduce.simulated import why
from overlock_tools.lab.reproduce.simulated.claims import Claim, Runs
from overlock_tools.lab.reproduce.simulated.measures import ACQUIRING, MEASURES
from overlock_tools.lab.reproduce.simulated.words import point_words

CHECK = {
    "scenario": "one",
    "measure": "rate",
    "of": "mcs",
    "paper": 2.0,
    "holds": [1.5, 3.0],
    "partly": [1.0, 4.0],
}


Values = Mapping[tuple[str, int, int], float | None]


class Known(Runs):
    """Of one scenario, two points and two seeds: values by lock, point and seed."""

    def __init__(self, values: Values, acquiring: Values) -> None:
        super().__init__({})
        self.values, self.acquiring = values, acquiring

    def points(self, name: str, at: Point) -> list[Point]:
        return [{"n": n} for n in (1, 2) if n in at.get("n", (1, 2))]

    def value(self, name: str, point: Point, lock: str, seed: int, measure: str) -> float | None:
        of = self.acquiring if measure == ACQUIRING else self.values
        return of.get((lock, point["n"], seed))

    def seeds(self, name: str) -> list[int]:
        return [1, 2]

    def locks(self, name: str) -> list[str]:
        return ["ticket", "mcs"]


def claim(*checks: dict[str, Any]) -> Claim:
    return papers._claim({"id": "x", "check": [{**CHECK, **check} for check in checks]})


def judged(values: Values, *checks: dict[str, Any], acquiring: Values | None = None) -> Any:
    return papers.judge(claim(*checks), Known(values, acquiring or {}))


@pytest.mark.parametrize(
    ("least", "most", "verdict"),
    [
        (1.5, 3.0, Verdict.HOLDS),
        (3.1, 3.9, Verdict.PARTLY),
        (5.0, 9.0, Verdict.NOT),
        (2.5, 3.5, Verdict.UNDECIDED),  # their median holds
        (3.5, 4.5, Verdict.UNDECIDED),
        (1.2, 3.5, Verdict.UNDECIDED),  # neither holds, and what is between them does
        (0.5, 9.0, Verdict.UNDECIDED),
    ],
)
def test_a_value_is_decided_where_all_of_the_seeds_range_has_one_verdict(
    least: float, most: float, verdict: Verdict
) -> None:
    values = {("mcs", 1, 1): least, ("mcs", 1, 2): most}
    (found,) = judged(values, {"at": {"n": [1]}}).found
    assert (found.median, found.least, found.most) == ((least + most) / 2, least, most)
    assert found.verdict == verdict


def test_a_claim_is_undecided_only_if_its_verdict_depends_on_what_is() -> None:
    straddling = {("mcs", 1, 1): 2.5, ("mcs", 1, 2): 3.5}
    assert judged({**straddling, ("mcs", 2, 1): 2.0, ("mcs", 2, 2): 2.0}, {}).verdict == (
        Verdict.UNDECIDED  # holds or partly
    )
    assert judged({**straddling, ("mcs", 2, 1): 3.5, ("mcs", 2, 2): 3.5}, {}).verdict == (
        Verdict.PARTLY
    )


BOTH = {"by": "ticket", "holds": [0.0, 9.0]}
ALIKE = {(lock, n, seed): 1.0 for lock in ("ticket", "mcs") for n in (1, 2) for seed in (1, 2)}


def test_locks_that_are_hardly_taken_are_compared_in_vain() -> None:
    light = dict.fromkeys(ALIKE, 0.009)
    assert {one.verdict for one in judged(ALIKE, BOTH, acquiring=light).found} == {Verdict.VACUOUS}
    assert judged(ALIKE, BOTH, acquiring=light).verdict == Verdict.VACUOUS
    assert judged(ALIKE, {"holds": [0.0, 9.0]}, acquiring=light).verdict == Verdict.HOLDS


@pytest.mark.parametrize("where", [("ticket", 1, 1), ("mcs", 1, 2)])
def test_one_lock_with_one_seed_suffices_to_test_a_point(where: tuple[str, int, int]) -> None:
    light = {**dict.fromkeys(ALIKE, 0.009), where: 0.01}
    found = judged(ALIKE, BOTH, acquiring=light)
    assert [one.verdict for one in found.found] == [Verdict.HOLDS, Verdict.VACUOUS]
    assert found.verdict == Verdict.HOLDS


def test_what_is_taken_of_several_points_is_vacuous_if_all_are() -> None:
    light = {place: 0.009 if place[1] == 1 else 0.5 for place in ALIKE}
    (found,) = judged(ALIKE, {**BOTH, "take": "most"}, acquiring=light).found
    assert found.verdict == Verdict.HOLDS


def test_a_ratio_is_taken_seed_by_seed() -> None:
    values = {
        ("mcs", 1, 1): 2.0,
        ("mcs", 1, 2): 30.0,
        ("ticket", 1, 1): 1.0,
        ("ticket", 1, 2): 10.0,
    }
    (found,) = judged(values, {"by": "ticket", "at": {"n": [1]}}).found
    assert (found.median, found.least, found.most) == (2.5, 2.0, 3.0)
    assert found.what == "rate of mcs ÷ ticket"


def test_a_ratio_to_another_point() -> None:
    values = {("mcs", 1, 1): 2.0, ("mcs", 1, 2): 2.0, ("mcs", 2, 1): 4.0, ("mcs", 2, 2): 4.0}
    (found,) = judged(values, {"at": {"n": [2]}, "by_at": {"n": 1}}).found
    assert found.median == 2.0


def test_nothing_by_nothing_is_alike_and_something_by_nothing_is_infinite() -> None:
    values = {("mcs", 1, 1): 1.0, ("mcs", 1, 2): 1.0, ("ticket", 1, 1): 0.0, ("ticket", 1, 2): 0.0}
    (found,) = judged(values, {"by": "ticket", "at": {"n": [1]}}).found
    assert found.median == float("inf")
    assert answers.shown(found)["median"] == "inf"
    values |= {("mcs", 1, 1): 0.0, ("mcs", 1, 2): 0.0}
    (found,) = judged(values, {"by": "ticket", "at": {"n": [1]}}).found
    assert found.median == 1.0
    (found,) = judged({}, {"by": "ticket", "at": {"n": [1]}}).found
    assert found.verdict == Verdict.NOTHING


def test_points_are_taken_together() -> None:
    values = {("mcs", 1, 1): 2.0, ("mcs", 1, 2): 2.0, ("mcs", 2, 1): 6.0, ("mcs", 2, 2): 6.0}
    for take, value in (("most", 6.0), ("least", 2.0), ("mean", 4.0), ("range", 3.0)):
        (found,) = judged(values, {"take": take}).found
        assert found.median == value
    assert len(judged(values, {}).found) == 2


def test_a_number_within_a_factor_holds_and_on_its_side_of_1_partly() -> None:
    (check,) = claim({"paper": 4.0, "within": 2}).checks
    verdicts = [check.worst(value, value) for value in (2.0, 8.0, 1.1, 99.0, 0.9)]
    assert verdicts == [Verdict.HOLDS] * 2 + [Verdict.PARTLY] * 2 + [Verdict.NOT]


@pytest.mark.parametrize(
    ("second", "verdict"),
    [(2.0, Verdict.HOLDS), (3.5, Verdict.PARTLY), (9.0, Verdict.PARTLY)],
)
def test_from_half_of_its_checks_a_claim_holds_partly(second: float, verdict: Verdict) -> None:
    values = {("mcs", 1, 1): 2.0, ("mcs", 1, 2): 2.0, ("mcs", 2, 1): second, ("mcs", 2, 2): second}
    assert judged(values, {}).verdict == verdict
    assert judged(
        {**values, ("mcs", 1, 1): 9.0, ("mcs", 1, 2): 9.0}, {"at": {"n": [1]}}
    ).verdict == (Verdict.NOT)


def test_what_claims_toml_and_why_toml_ask_for_exists() -> None:
    asked = papers.claims().values()
    runs = papers.load(papers.scenarios([*asked]), [1])
    checks = [check for claim in asked for check in (*claim.checks, *claim.numbers.values())]
    for check in checks:
        assert check.measure in MEASURES
        for name in check.scenarios:
            assert runs.points(name, check.at), f"{name} has no point {check.at}"
            for path in (*check.at, *check.by_at):
                assert path in runs.places[name][0].point, f"{name} sweeps no {path}"
            swept = [place.point for place in runs.places[name]]
            assert any(check.by_at.items() <= point.items() for point in swept)
            assert {*check.locks, check.by or check.locks[0]} <= {*runs.locks(name)}


def test_a_claim_is_asked_in_each_of_its_forms() -> None:
    raw = {"id": "x", "scenario": "one", "forms": "slices"}
    forms = {"slices": {"a": {"id": ""}, "b": {"id": "-b", "scenario": "other"}}}
    found = [(one["id"], one["scenario"]) for one in papers._forms(raw, forms)]
    assert found == [("x", "one"), ("x-b", "other")]
    here = papers._in_its_form({"scenario": "one", "at": {"n": 1}}, {"at": {"m": 2}})
    assert here == {"scenario": "one", "at": {"n": 1, "m": 2}}


def test_a_load_of_another_contention_is_named() -> None:
    one = claim({"scenario": "ouyang2013-fig6-contended"}).checks[0]
    assert papers._named(one.scenarios[0], one) == "a load that contends"
    assert not papers._named("ouyang2013-fig6", claim({"scenario": "ouyang2013-fig6"}).checks[0])


class Seeded(Runs):
    """Of one lock, which has the same rate with each seed but some."""

    def __init__(self, seeds: Iterable[int], others: Collection[int] = ()) -> None:
        super().__init__({"one": []})
        told = {seed: 9.0 if seed in others else 2.0 for seed in seeds}
        self.answers = {("one", "", "mcs", seed): rate for seed, rate in told.items()}  # type: ignore[misc]

    def points(self, name: str, at: Point) -> list[Point]:
        return [{}]

    def value(self, name: str, point: Point, lock: str, seed: int, measure: str) -> float | None:
        return self.answers["one", "", lock, seed]  # type: ignore[return-value]

    def locks(self, name: str) -> list[str]:
        return ["mcs"]


def asked(
    monkeypatch: pytest.MonkeyPatch, fails: str = "", others: Collection[int] = ()
) -> rig.Simulated:
    """A row that two claims answer; their runs may fail."""
    both = {"one": claim({}), "two": claim({"holds": [3, 4]})}

    def load(names: Sequence[str], seeds: Iterable[int]) -> Runs:
        found = Seeded(seeds, others)
        found.failures += [fails] if fails else []
        return found

    monkeypatch.setattr(papers, "claims", lambda: both)
    monkeypatch.setattr(papers, "load", load)
    monkeypatch.setattr(papers, "simulate", lambda *_: 1.0)
    monkeypatch.setattr(rig, "Runs", lambda _: Seeded([]))
    return rig.Simulated(Way("simulated", "", "", {"claims": ["one", "two"]}), base.Known(), "row")


def steps(row: rig.Simulated, number: int = 1) -> Judged:
    (source,) = row.sources
    for _ in range(number):
        source.step(base.Place(Path(), ""))
    return row.judge()


def test_claims_of_a_row_are_judged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    row = asked(monkeypatch)
    assert row.judge().verdict == Verdict.NOTHING
    judged = steps(row)
    assert judged.verdict == Verdict.PARTLY
    assert [(one["verdict"], one["count"]) for one in judged.found] == [("holds", 8), ("partly", 8)]


def test_a_run_that_fails_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    row = asked(monkeypatch, "a deadlock")
    assert steps(row).verdict == Verdict.NOTHING
    assert row.sources[0].failed == "a deadlock"


def test_more_seeds_decide_what_eight_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed of eight is elsewhere, and two of sixteen; the range would stay as wide."""
    row = asked(monkeypatch, others=(3, 12))
    judged = steps(row)
    assert (judged.verdict, judged.takes) == (Verdict.UNDECIDED, "more seeds: 8 do not agree")
    judged = steps(row)
    assert judged.verdict == Verdict.PARTLY
    assert [(one["count"], one["most"]) for one in judged.found] == [(16, 9.0), (16, 9.0)]
    assert not row.sources[0].is_over
    steps(row, 3)
    assert row.sources[0].is_over


@pytest.mark.parametrize(("count", "left_out"), [(2, 0), (8, 0), (14, 1), (16, 2), (40, 11)])
def test_ends_miss_the_median_in_one_case_of_128(count: int, left_out: int) -> None:
    """16 values: two of each side may be left out, for 2 × (1 + 16 + 120) ÷ 2^16 is 1 / 239."""
    values = [float(n) for n in range(count)]
    assert papers.sure_ends(values) == (left_out, count - 1 - left_out)


def test_a_simulation_is_forecast_by_the_cpu_time_of_its_seeds() -> None:
    """Of all that ask for it, and it is counted once."""
    known = base.Known({"simulated one, a seed": 3.0})
    source = rig.Simulation("one", known)
    assert source.forecast_s == source.next_s() == source.more_s()
    assert source.forecast_s == 8 * 3.0 / len(os.sched_getaffinity(0))


# Reasons

CLAIMS = papers.claims()
SETTING = re.compile(r"`[^`]*`|pbzip2")
PLACE = re.compile(r"(Figs?\.|Table|§|No) ?[\d.]+\w?|(from )?\d+( to \d+)? (VM|vCPU|CPU|thread)s?")
OTHER_POINT = re.compile(r"(with|between|from|to|and) \d+", re.IGNORECASE)
IN_WORDS = re.compile(r"\b(half|halves|thirds?|quarters?|twice|thrice|double|dozens?|hundred)\b")


@pytest.mark.parametrize("claim", why.reasons())
def test_a_reason_has_no_number_that_is_typed_by_hand(claim: str) -> None:
    for sentence in why.reasons()[claim]["text"]:
        left = re.sub(r"\{[^}]*\}", "", SETTING.sub("", sentence))
        left = OTHER_POINT.sub("", PLACE.sub("", left))
        assert not re.search(r"\d", left), f"name a measure instead, or the setting: {left}"
        assert not IN_WORDS.search(left), f"name a measure instead: {left}"


@pytest.mark.parametrize("claim", why.reasons())
def test_a_reason_is_of_a_claim_and_uses_the_numbers_that_it_asks_for(claim: str) -> None:
    text = " ".join(why.reasons()[claim]["text"])
    assert {*re.findall(r"\{(\w+)(?::%)?\}", text)} == why.numbers(claim).keys()
    runs = papers.load(papers.scenarios([CLAIMS[claim]]), [1])
    for check in CLAIMS[claim].numbers.values():
        assert len(check.locks) == len(check.scenarios) == 1
        assert check.take != EACH or len(runs.points(check.scenarios[0], check.at)) == 1


def test_a_reasons_numbers_are_those_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"scenario": "one", "measure": "rate", "of": "mcs", "at": {"n": [2]}}
    text = ["It is {high}, {high:%}.", "Else {unknown}."]
    reason = {"x": {"text": text, "numbers": {"high": asked, "unknown": {**asked, "of": "ticket"}}}}
    monkeypatch.setattr(why, "reasons", lambda: reason)
    found = judged({("mcs", 2, 1): 0.1, ("mcs", 2, 2): 0.5}, {})
    assert (found.verdict, found.why) == (Verdict.NOTHING, "It is 0.30, 30 %.")


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 %"), (0.004, "0.40 %"), (0.0251, "3 %"), (1.0, "100 %")]
)
def test_shares_are_told_in_percent(value: float, text: str) -> None:
    assert f"{why.Told(value):%}" == text


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("guest.vm.count", 1, "1 VM"),
        ("machine.cpus", 12, "12 CPUs"),
        ("guest.app.contexts", 6, "6 threads"),
        ("host.settings.ratelimit_us", 1000, "ratelimit_us 1000"),
        ("guest.vm.mix", "paper-ebizzy", "ebizzy"),
        ("host.features", {"ple": {"grow": 0}}, "ple grow"),
    ],
)
def test_points_are_named_by_what_was_swept(path: str, value: object, words: str) -> None:
    assert point_words({path: value}) == words
