# SPDX-License-Identifier: MIT
"""What the papers say is judged by numbers, and what claims.toml asks for exists."""

from collections.abc import Mapping
from typing import Any

import pytest

from overlock_tools.core.system.errors import Fail
from overlock_tools.lab.papers.simulated import claims as papers
from overlock_tools.lab.papers.simulated.claims import Claim, Point, Runs, Verdict
from overlock_tools.lab.papers.simulated.measures import MEASURES

CHECK = {
    "scenario": "one",
    "measure": "rate",
    "of": "mcs",
    "paper": 2.0,
    "holds": [1.5, 3.0],
    "partly": [1.0, 4.0],
}


class Known(Runs):
    """Of one scenario, two points and two seeds: values by lock, point and seed."""

    def __init__(self, values: Mapping[tuple[str, int, int], float | None]) -> None:
        super().__init__({})
        self.values = values

    def points(self, name: str, at: Point) -> list[Point]:
        return [{"n": n} for n in (1, 2) if n in at.get("n", (1, 2))]

    def value(self, name: str, point: Point, lock: str, seed: int, measure: str) -> float | None:
        return self.values.get((lock, point["n"], seed))

    def seeds(self, name: str) -> list[int]:
        return [1, 2]

    def locks(self, name: str) -> list[str]:
        return ["ticket", "mcs"]


def claim(*checks: dict[str, Any]) -> Claim:
    raw = {"id": "x", "paper": "dice2019", "figure": "1", "claim": "so it is"}
    return papers._claim({**raw, "check": [{**CHECK, **check} for check in checks]})


def judged(values: Mapping[tuple[str, int, int], float | None], *checks: dict[str, Any]) -> Any:
    return papers.judge(claim(*checks), Known(values))


def test_a_value_is_the_seeds_median_and_judged_by_its_bounds() -> None:
    for value, verdict in ((2.0, Verdict.HOLDS), (3.5, Verdict.PARTLY), (9.0, Verdict.NOT)):
        values = {("mcs", 1, 1): value - 0.5, ("mcs", 1, 2): value + 0.5}
        (found,) = judged(values, {"at": {"n": [1]}}).found
        assert (found.median, found.least, found.most) == (value, value - 0.5, value + 0.5)
        assert found.verdict == verdict


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
    assert papers._rounded(found)["median"] == "inf"
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
    verdicts = [check.judged(value) for value in (2.0, 8.0, 1.1, 99.0, 0.9)]
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


def test_what_papers_toml_asks_for_exists() -> None:
    asked = papers.claims()
    runs = papers.load(asked)
    assert len({claim.id for claim in asked}) == len(asked)
    for check in (check for claim in asked for check in claim.checks):
        assert check.measure in MEASURES
        for name in check.scenarios:
            assert runs.points(name, check.at), f"{name} has no point {check.at}"
            for path in (*check.at, *check.by_at):
                assert path in runs.places[name][0].point, f"{name} sweeps no {path}"
            swept = [place.point for place in runs.places[name]]
            assert any(check.by_at.items() <= point.items() for point in swept)
            assert {*check.locks, check.by or check.locks[0]} <= {*runs.locks(name)}
    assert papers.why().keys() <= {claim.id for claim in asked}


def test_unknown_papers_are_refused() -> None:
    with pytest.raises(
        Fail, match="--only dice2020: no claim begins so; expected a paper: ouyang2013"
    ):
        papers.claims(["dice2020"])


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
    assert papers.point_words({path: value}) == words
