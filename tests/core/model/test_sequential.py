# SPDX-License-Identifier: MIT
"""Rounds that stop when they decide: how often they are wrong, and that they decide at all."""

import random

import pytest

from overlock_tools.core.model import sequential
from overlock_tools.core.model.sequential import MOST_ROUNDS, surely_above, surely_below, within

TRIALS = 2000


def rounds(seed: int, median: float, spread: float = 0.3) -> list[float]:
    draw = random.Random(seed)  # noqa: S311 - the same numbers each time
    return [median * draw.lognormvariate(0.0, spread) for _ in range(MOST_ROUNDS)]


def ever(values: list[float], bound: float) -> bool:
    """Whether somebody who looks after each round would once have said so."""
    return any(surely_above(values[:n], bound) for n in range(1, len(values) + 1))


def wrong(
    stakes: tuple[float, ...] | None = None, monkeypatch: pytest.MonkeyPatch | None = None
) -> float:
    if stakes and monkeypatch:
        monkeypatch.setattr(sequential, "STAKES", stakes)
    return sum(ever(rounds(seed, 1.0), 1.0) for seed in range(TRIALS)) / TRIALS


def test_looking_after_each_round_is_wrong_no_more_often_than_said() -> None:
    assert 0.005 < wrong() <= sequential.ALPHA


def test_a_bet_that_gains_on_average_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain sign test of each look: nine of ten right so often that it stops too soon."""

    def naive(values: list[float], bound: float, _: float = 0.05) -> bool:
        won = sum(value > bound for value in values)
        return len(values) >= 5 and won >= 0.8 * len(values)

    monkeypatch.setattr(f"{__name__}.surely_above", naive)
    assert wrong() > 2 * sequential.ALPHA


@pytest.mark.parametrize("median", [1.3, 2.0])
def test_what_is_so_is_found(median: float) -> None:
    found = sum(surely_above(rounds(seed, median), 1.0) for seed in range(200))
    assert found > 180


def test_six_rounds_decide_and_five_do_not() -> None:
    assert surely_above([2.0] * 6, 1.0)
    assert not surely_above([2.0] * 5, 1.0)
    assert surely_below([0.5] * 6, 1.0)


def test_rounds_on_the_bound_tell_nothing() -> None:
    assert not surely_above([1.0] * 40, 1.0)
    assert not surely_below([1.0] * 40, 1.0)


def test_what_was_decided_stays_decided() -> None:
    assert surely_above([2.0] * 6 + [0.5] * 6, 1.0)


@pytest.mark.parametrize(
    ("values", "low", "high", "expected"),
    [
        ([2.0] * 6, 1.0, 3.0, True),
        ([2.0] * 6, 1.0, float("inf"), True),
        ([4.0] * 6, 1.0, 3.0, False),
        ([0.5] * 6, 1.0, 3.0, False),
        ([2.0] * 5, 1.0, 3.0, None),
        ([2.0, 4.0] * 6, 1.0, 3.0, None),
        ([0.0] * 6, 0.0, 1.0, True),
        ([1.0] * 6, 1.0, 3.0, True),  # what is on a bound is between them
        ([1.0] * 6, 0.0, 1.0, True),
        ([3.0] * 8 + [4.0] * 6, 1.0, 3.0, True),
        ([4.0, 3.0] * 12, 1.0, 3.0, None),
    ],
)
def test_between_two_bounds(
    values: list[float], low: float, high: float, expected: bool | None
) -> None:
    assert within(values, low, high) is expected
