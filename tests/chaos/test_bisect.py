# SPDX-License-Identifier: MIT
"""Bisection on made-up programs, whose truth is known; rates against published bounds."""

import random
from collections.abc import Callable

import pytest

from overlock_tools.chaos import rates
from overlock_tools.chaos.bisect import Bisection, Judge, Sites, runs_for, split
from overlock_tools.chaos.settings import Length
from overlock_tools.core.system.errors import Fail

EVERY = tuple(f"site{i:02}" for i in range(23))


def found(fails: Callable[[Sites], bool], rate: float = 1.0) -> tuple[Sites, int]:
    judge = Judge(fails, lambda _: None)
    kept = Bisection(judge, rate).smallest(EVERY)
    return kept, sum(n for _, n in judge.counts.values())


@pytest.mark.parametrize("needed", [{"site00"}, {"site22"}, {"site07"}, {"site03", "site19"}])
def test_the_sites_that_matter_are_found(needed: set[str]) -> None:
    kept, runs = found(lambda sites: needed <= set(sites))
    assert set(kept) == needed
    assert runs < 4 * 23 * len(needed)


def test_any_of_two_is_enough() -> None:
    kept, _ = found(lambda sites: "site05" in sites or "site20" in sites)
    assert len(kept) == 1


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.9])
def test_a_program_that_fails_by_chance(rate: float) -> None:
    """Others fail, too, at a tenth of the rate. Fixed seeds: 18 of 20 are right, or more."""
    right = 0
    for seed in range(20):
        draw = random.Random(seed)  # noqa: S311 - no secret

        def fails(sites: Sites, draw: random.Random = draw) -> bool:
            return draw.random() < (rate if "site11" in sites else rate / 10)

        right += found(fails, rate)[0] == ("site11",)
    assert right >= 18


def test_few_runs_decide_where_it_always_fails() -> None:
    assert runs_for(1.0) == 3  # so that one failure by chance does not
    assert runs_for(0.3) > 10


def test_parts_are_all_of_it() -> None:
    for parts in range(1, 30):
        pieces = split(EVERY, parts)
        assert [site for piece in pieces for site in piece] == list(EVERY)
        assert max(map(len, pieces)) - min(map(len, pieces)) <= 1


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 10, 0, 0.3085),
        (9, 10, 0.5550, 0.9975),
        (10, 10, 0.6915, 1),
        (5, 10, 0.1871, 0.8129),
        (1, 100, 0.000253, 0.0545),
    ],
)
def test_bounds_are_clopper_and_pearson_s(k: int, n: int, low: float, high: float) -> None:
    assert rates.interval(k, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("text", "ns", "shown"),
    [
        ("1ms", (1_000_000, 1_000_000), "1ms"),
        ("500us..2ms", (500_000, 2_000_000), "500us..2ms"),
        ("1.5s", (1_500_000_000, 1_500_000_000), "1500ms"),
        ("7ns", (7, 7), "7ns"),
    ],
)
def test_lengths(text: str, ns: tuple[int, int], shown: str) -> None:
    length = Length.parse(text)
    assert (length.least_ns, length.most_ns) == ns
    assert str(length) == shown


@pytest.mark.parametrize("text", ["", "1", "ms", "0ms", "2ms..1ms", "61s", "1ms..", "-1ms"])
def test_lengths_that_are_none(text: str) -> None:
    with pytest.raises(Fail):
        Length.parse(text)
