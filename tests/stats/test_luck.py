"""Leads that luck explains, against exact order statistics and simulated equal systems."""

import numpy as np
import pytest
from benchmarks.simulated.leads import DRAWS
from benchmarks.simulated.luck import lucky
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.luck import luck, lucky_leads, scatter
from steelyard.stats.samples import mean_error
from tests.hypothesis_profiles import examples


@pytest.mark.parametrize(
    ("n", "first", "second"), [(2, 0.56419, -0.56419), (3, 0.84628, 0.0), (5, 1.16296, 0.49502), (8, 1.42360, 0.85222)]
)
def test_expected_order_statistics(n: int, first: float, second: float) -> None:
    """Expected largest and second of n standard normal numbers, from tables (Harter 1961)."""
    over_average, over_next = lucky_leads(n, n, seed=1).mean(axis=1)
    assert over_average == pytest.approx(first, abs=0.02)
    assert over_next == pytest.approx(first - second, abs=0.02)


def test_those_that_are_not_here_make_the_best_one_luckier() -> None:
    """The best of 100 beside two others of these: its lead over their mean is 2/3 of what is expected of the largest
    of 100 (2.50759, and 1/99 of that, since the others lack it)."""
    over_average, _ = lucky_leads(100, 3, seed=2).mean(axis=1)
    assert over_average == pytest.approx(2 / 3 * 2.50759 * 100 / 99, abs=0.02)


@examples(50)
@given(st.integers(0, 2**32), st.booleans())
def test_scatter_of_two_is_that_of_their_difference(seed: int, clustered: bool) -> None:
    rng = np.random.default_rng(seed)
    values, clusters = rng.normal(size=(2, 30)), rng.integers(0, 9, 30) if clustered else None
    pooled, paired = scatter(values, clusters=clusters), mean_error(values[1] - values[0], clusters=clusters)
    assert pooled is not None
    assert (pooled.error * 2**0.5, pooled.df) == (pytest.approx(paired.error), pytest.approx(paired.df))


@examples(30)
@given(st.integers(0, 2**32), st.floats(-5, 5))
def test_what_all_have_in_common_changes_nothing(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, 20))
    one, other = scatter(values), scatter(values + shift * rng.normal(size=20))
    assert one is not None
    assert other is not None
    assert other.error == pytest.approx(one.error)


def test_no_luck_without_scatter() -> None:
    assert scatter(np.ones((1, 9))) is None
    assert scatter(np.arange(3.0)[:, None] + np.arange(9.0)) is None
    assert scatter(np.random.default_rng(0).normal(size=(3, 1))) is None
    values = np.random.default_rng(0).normal(size=(3, 9))
    error = scatter(values)
    assert error is not None
    with pytest.raises(InputError, match="the number of systems that were tried is 2, expected at least 3"):
        luck(values.mean(axis=1), error, 2, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("tried", [8, 40])
def test_equal_systems_lead_as_luck_says(tried: int) -> None:
    over, by_luck, often, next_, by_luck_next, often_next = lucky(
        DRAWS["share difficulty, bounded"], 8, tried, 120, draws=300, seed=3
    )
    assert (over, next_) == (pytest.approx(by_luck, rel=0.1), pytest.approx(by_luck_next, rel=0.15))
    assert max(often, often_next) < 0.09
