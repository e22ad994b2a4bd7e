"""The standard deviation of differences: against all pairs by hand, and its interval by simulation."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.spread import paired_spread
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")


@examples(60)
@given(st.integers(2, 6), st.integers(2, 40), st.integers(0, 1000))
def test_it_is_the_mean_variance_of_all_pairs(s: int, n: int, seed: int) -> None:
    values = np.random.default_rng(seed).random((s, n))
    pairs = [np.var(one - other, ddof=1) for one, other in itertools.combinations(values, 2)]
    spread = paired_spread(values)
    assert spread.sd == pytest.approx(math.sqrt(np.mean(pairs)))
    assert spread.low < spread.sd < spread.high
    assert 0 < spread.df <= (s - 1) * (n - 1)
    assert paired_spread(values[::-1, ::-1] + np.arange(n)).sd == pytest.approx(spread.sd)


def test_one_system_counts_as_two_that_have_nothing_in_common() -> None:
    values = np.random.default_rng(1).random(50)
    assert paired_spread(values[None]).sd == pytest.approx(math.sqrt(2) * values.std(ddof=1))


def test_the_interval_is_that_of_chi_square() -> None:
    """Where no question scatters more than a normal variable does, degrees of freedom are those of the layout."""
    d = np.tile([0.2, -0.2], 10)
    spread = paired_spread([np.zeros(20), d], level=0.9)
    ends = scipy_stats.chi2(19).ppf([0.95, 0.05])
    assert spread.df == 19
    assert [spread.low, spread.high] == pytest.approx(d.std(ddof=1) * np.sqrt(19 / ends))


def test_a_few_questions_that_scatter_widen_it() -> None:
    calm = np.tile([0.1, -0.1, 0.05, -0.05], 10)
    wild = np.zeros(40)
    wild[:2] = calm.std() * math.sqrt(20) * np.array([1, -1])
    assert paired_spread([np.zeros(40), wild]).sd == pytest.approx(paired_spread([np.zeros(40), calm]).sd)
    assert paired_spread([np.zeros(40), wild]).high > 2 * paired_spread([np.zeros(40), calm]).high


def test_at_the_edges() -> None:
    assert math.isnan(paired_spread([[0.5], [0.25]]).sd)
    assert math.isnan(paired_spread(np.zeros((0, 3))).sd)
    assert paired_spread([[0.1, 0.2, 0.3], [0.3, 0.4, 0.5]]).sd == 0
    with pytest.raises(InputError, match="values hold 1 values that are not finite"):
        paired_spread([[0.1, math.nan]])
    with pytest.raises(InputError, match="level is 1"):
        paired_spread([[0.1, 0.2]], level=1)


def covered(draws: npt.NDArray[np.float64], sd: float) -> float:
    spreads = [paired_spread(values) for values in draws]
    return float(np.mean([spread.low <= sd <= spread.high for spread in spreads]))


@pytest.mark.slow
@pytest.mark.parametrize("s", [1, 2, 5])
@pytest.mark.parametrize("n", [10, 40])
def test_coverage_of_normal_values(s: int, n: int) -> None:
    draws = np.random.default_rng(n).normal(size=(2000, s, n))
    assert covered(draws, math.sqrt(2)) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 100])
def test_coverage_of_differences_that_are_mostly_zero(n: int) -> None:
    rng = np.random.default_rng(n)
    d = np.where(rng.random((2000, n)) < 0.3, rng.uniform(-1, 1, (2000, n)), 0.0)
    assert covered(np.stack([np.zeros_like(d), d], axis=1), math.sqrt(0.3 / 3)) >= 0.9
