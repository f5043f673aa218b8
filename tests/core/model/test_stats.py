# SPDX-License-Identifier: MIT
"""The statistics, against cases whose answer is known. test_stats_mutants.py sees them fail."""

from math import comb, log

import numpy as np
import pytest

from overlock_tools.core.model import stats

ROUNDS = 22  # as `overlock bench` has them by default


def differ(found: stats.Ratio) -> bool:
    return found.above_one or found.below_one


def test_equal_rounds_give_exactly_one() -> None:
    found = stats.ratio([3.0, 5.0, 4.0] * 3, [3.0, 5.0, 4.0] * 3)
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))


def test_a_constant_factor_has_no_spread_because_rounds_are_paired() -> None:
    base = [1.0, 7.0, 2.0, 9.0, 4.0, 3.0, 8.0]
    found = stats.ratio([2 * x for x in base], base)
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))
    assert found.above_one
    assert not found.below_one


def test_geometric_mean_of_two_and_eight_is_four() -> None:
    found = stats.geometric_mean_ratio([([2.0] * 7, [1.0] * 7), ([8.0] * 7, [1.0] * 7)])
    assert (found.value, found.low, found.high) == pytest.approx((4, 4, 4))


def test_median_not_mean_of_ratios() -> None:
    assert stats.ratio([1.0, 2.0, 300.0], [1.0, 1.0, 1.0]).value == pytest.approx(2)


def test_ratio_is_formed_within_rounds() -> None:
    """The host halved the rates of rounds that differ by contender only in their number."""
    ours = [10.0, 10.0, 5.0, 5.0, 5.0, 10.0, 5.0]
    theirs = [10.0, 10.0, 5.0, 5.0, 10.0, 10.0, 10.0]
    assert stats.ratio(ours, theirs).value == pytest.approx(1)  # of the medians: 0.5


def test_a_certain_difference_too_small_to_show_is_none() -> None:
    assert not differ(stats.ratio([1.004] * ROUNDS, [1.0] * ROUNDS))
    assert not differ(stats.ratio([1.0] * ROUNDS, [1.004] * ROUNDS))
    assert stats.ratio([1.006] * ROUNDS, [1.0] * ROUNDS).above_one
    assert stats.ratio([1.0] * ROUNDS, [1.006] * ROUNDS).below_one


def test_inverse_swaps_the_ends() -> None:
    found = stats.Ratio(2.0, 1.0, 4.0).inverse
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.25, 1))
    assert stats.Ratio(2.0, None, None).inverse == stats.Ratio(0.5, None, None)


def test_too_few_rounds_have_no_interval() -> None:
    assert stats.least_rounds() == 6
    found = stats.ratio([2.0] * 5, [1.0] * 5)
    assert found.value == pytest.approx(2)
    assert (found.low, found.high) == (None, None)
    assert not differ(found)
    assert stats.ratio([2.0] * 6, [1.0] * 6).above_one


def test_a_lock_that_never_got_anywhere_is_not_a_division_by_zero() -> None:
    assert stats.ratio([0.0] * 7, [1.0] * 7).value == pytest.approx(0, abs=1e-9)
    assert 1e90 < stats.ratio([1.0] * 7, [0.0] * 7).value < 1e110


def test_the_same_data_give_the_same_interval() -> None:
    draw = np.random.default_rng(4)
    pairs = [(even(draw, ROUNDS), even(draw, ROUNDS)) for _ in range(3)]
    first = stats.geometric_mean_ratio(pairs)
    stats._geometric_mean_ratio.cache_clear()
    assert stats.geometric_mean_ratio(pairs) == first


@pytest.mark.parametrize("columns", [1, 6, 7])
def test_medians_of_rows_are_numpys(columns: int) -> None:
    rows = np.random.default_rng(columns).standard_normal((20, columns))
    assert stats._medians(rows) == pytest.approx(np.median(rows, axis=1))


@pytest.mark.parametrize("rounds", [7, 9, 15, 21, 23, 31])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_interval_of_one_median_is_the_exact_one(rounds: int, confidence: float) -> None:
    """With an odd number of rounds: between the order statistics that coin tosses give."""
    logs = np.sort(np.random.default_rng(rounds).standard_normal(rounds))
    found = stats.ratio(list(np.exp(logs)), [1.0] * rounds, confidence)
    out, chance = 0, 0.5**rounds
    while 2 * (chance + comb(rounds, out + 1) * 0.5**rounds) <= 1 - confidence:
        out += 1
        chance += comb(rounds, out) * 0.5**rounds
    assert found.low is not None
    assert found.high is not None
    assert log(found.low) == pytest.approx(logs[out])
    assert log(found.high) == pytest.approx(logs[-1 - out])


def two_modes(draw: np.random.Generator, rounds: int) -> list[float]:
    """A collapsed lock: some rounds a tenth of the others."""
    return list(10 ** draw.choice([0.0, 1.0], rounds) * draw.lognormal(0, 0.3, rounds))


def even(draw: np.random.Generator, rounds: int) -> list[float]:
    return list(draw.lognormal(0, 0.05, rounds))


@pytest.mark.parametrize("rates", [even, two_modes])
@pytest.mark.parametrize("rounds", [7, ROUNDS])
def test_equals_are_rarely_called_different(rates: object, rounds: int) -> None:
    """At most 5 of 100 by right; over several numbers of threads it is on the safe side, too."""
    assert callable(rates)
    draw = np.random.default_rng(5)
    pairs = [(rates(draw, rounds), rates(draw, rounds)) for _ in range(300)]
    assert sum(differ(stats.ratio(*pair)) for pair in pairs) <= 300 * 0.05
    three = zip(pairs[::3], pairs[1::3], pairs[2::3], strict=True)
    assert sum(differ(stats.geometric_mean_ratio(some)) for some in three) <= 100 * 0.05


def test_five_percent_are_found_among_outliers() -> None:
    """As one thread and two were seen to vary here: 1 % usually, a quarter now and then."""
    draw = np.random.default_rng(6)
    found = 0
    for _ in range(100):
        noise = draw.normal(0, 0.01, ROUNDS) + draw.normal(0, 0.25, ROUNDS) * (
            draw.random(ROUNDS) < 0.1
        )
        found += stats.ratio(list(np.exp(noise) / 1.05), [1.0] * ROUNDS).below_one
    assert found >= 90


def test_a_change_between_two_runs_needs_no_common_rounds() -> None:
    """The second run's machine is a third slower, which the control shows as well."""
    draw = np.random.default_rng(7)
    equal = halved = 0
    for _ in range(100):
        before = [even(draw, ROUNDS), even(draw, ROUNDS)]
        after = [[0.7 * x for x in even(draw, 12)] for _ in range(2)]
        equal += differ(stats.change([(before[0], before[1])], [(after[0], after[1])]))
        found = stats.change([(before[0], before[1])], [([x / 2 for x in after[0]], after[1])])
        assert found.value == pytest.approx(0.5, rel=0.2)
        halved += found.below_one
    assert equal <= 5
    assert halved == 100


def test_a_change_from_few_rounds_has_no_interval() -> None:
    one = ([1.0] * 5, [1.0] * 5)
    many = ([2.0] * 22, [1.0] * 22)
    found = stats.change([one], [many])
    assert found.value == pytest.approx(2)
    assert (found.low, found.high) == (None, None)


def test_a_change_over_several_cells_is_their_geometric_mean() -> None:
    ones, twos, eights = [1.0] * 9, [2.0] * 9, [8.0] * 9
    found = stats.change([(ones, ones), (ones, ones)], [(twos, ones), (eights, ones)])
    assert (found.value, found.low, found.high) == pytest.approx((4, 4, 4))


def test_jain() -> None:
    assert stats.jain([5, 5, 5, 5]) == pytest.approx(1)
    assert stats.jain([9, 0, 0, 0]) == pytest.approx(0.25)
    assert stats.jain([1, 3]) == pytest.approx(16 / 20)
    assert stats.jain([0, 0]) == 1
