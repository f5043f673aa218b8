# SPDX-License-Identifier: MIT
"""The statistics, against cases whose answer is known."""

import numpy as np
import pytest

from overlock_tools import stats


def test_equal_rounds_give_exactly_one() -> None:
    found = stats.ratio([3.0, 5.0, 4.0], [3.0, 5.0, 4.0])
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))


def test_a_constant_factor_has_no_spread_because_rounds_are_paired() -> None:
    base = [1.0, 7.0, 2.0, 9.0, 4.0]
    found = stats.ratio([2 * x for x in base], base)
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))
    assert found.above_one
    assert not found.below_one


def test_geometric_mean_of_two_and_eight_is_four() -> None:
    found = stats.geometric_mean_ratio([([2.0] * 3, [1.0] * 3), ([8.0] * 3, [1.0] * 3)])
    assert (found.value, found.low, found.high) == pytest.approx((4, 4, 4))


def test_ratio_of_medians_not_of_means() -> None:
    assert stats.ratio([1.0, 2.0, 300.0], [1.0, 1.0, 1.0]).value == pytest.approx(2)


def test_too_few_rounds_have_no_interval() -> None:
    found = stats.ratio([2.0, 2.0], [1.0, 1.0])
    assert found.value == pytest.approx(2)
    assert (found.low, found.high) == (None, None)
    assert not found.above_one


def test_a_lock_that_never_got_anywhere_is_not_a_division_by_zero() -> None:
    assert stats.ratio([0.0] * 3, [1.0] * 3).value == pytest.approx(0, abs=1e-9)
    assert 1e90 < stats.ratio([1.0] * 3, [0.0] * 3).value < 1e110


def test_the_same_data_give_the_same_interval() -> None:
    ours, theirs = [1.0, 2.0, 3.0, 5.0], [2.0, 1.0, 4.0, 3.0]
    assert stats.ratio(ours, theirs) == stats.ratio(ours, theirs)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """300 experiments of 15 rounds, true ratio 1.5: a percentile bootstrap is a little narrow."""
    draw = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        theirs = draw.lognormal(0, 0.05, 15)
        ours = 1.5 * draw.lognormal(0, 0.05, 15)
        found = stats.ratio(list(ours), list(theirs))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.5 <= found.high
    assert 0.88 <= covered / 300 <= 0.995


def test_interval_is_that_of_an_independent_implementation() -> None:
    """Every resample of three rounds, enumerated: 27 of them, all equally likely."""
    ours, theirs = np.array([1.0, 4.0, 9.0]), np.array([1.0, 2.0, 3.0])
    everything = sorted(
        float(np.median(ours[[a, b, c]]) / np.median(theirs[[a, b, c]]))
        for a in range(3)
        for b in range(3)
        for c in range(3)
    )
    found = stats.ratio(list(ours), list(theirs))
    assert (found.low, found.high) == pytest.approx((everything[0], everything[-1]))
    assert found.value == pytest.approx(2)


def test_jain() -> None:
    assert stats.jain([5, 5, 5, 5]) == pytest.approx(1)
    assert stats.jain([9, 0, 0, 0]) == pytest.approx(0.25)
    assert stats.jain([1, 3]) == pytest.approx(16 / 20)
    assert stats.jain([0, 0]) == 1
