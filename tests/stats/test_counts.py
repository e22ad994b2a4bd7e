"""Pearson's tests, against SciPy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.base.errors import InputError
from steelyard.stats.counts import chi_square_sf, goodness_of_fit, independence
from tests.hypothesis_profiles import examples


@given(statistic=st.floats(0, 1e3), df=st.integers(1, 60))
@examples(200)
def test_the_tail_is_that_of_scipy(statistic, df):
    assert chi_square_sf(statistic, df) == pytest.approx(stats.chi2.sf(statistic, df), rel=1e-9, abs=1e-300)


@given(seed=st.integers(0, 10_000))
@examples(30)
def test_p_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 60, (rng.integers(2, 5), rng.integers(2, 5)))
    assert independence(table) == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)
    shares = rng.dirichlet(np.full(len(table), 5))
    want = stats.chisquare(table[:, 0], shares * table[:, 0].sum()).pvalue
    assert goodness_of_fit(table[:, 0], shares) == pytest.approx(want)


def test_counts_without_a_test_have_no_p():
    assert math.isnan(goodness_of_fit([0, 0], [0.5, 0.5]))
    assert math.isnan(independence([[3, 0], [4, 0]]))
    assert independence([[3, 4, 0], [4, 3, 0], [0, 0, 0]]) == independence([[3, 4], [4, 3]])


@pytest.mark.parametrize(("counts", "shares"), [([1, 2], [1.0]), ([-1, 2], [0.5, 0.5]), ([1, 2], [0.0, 1.0])])
def test_counts_that_do_not_fit_their_shares_are_refused(counts, shares):
    with pytest.raises(InputError):
        goodness_of_fit(counts, shares)
