"""Not worse and as good as, against SciPy and statsmodels, and at the edges."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.tests.equivalence import non_inferiority, tost
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

quick = examples(80)
samples = st.lists(st.integers(-50, 50).map(lambda x: x / 1000), min_size=2, max_size=30)
margins = st.sampled_from([0.001, 0.01, 0.03, 0.1])


@quick
@given(samples, margins)
def test_against_scipy(values: list[float], margin: float) -> None:
    d = np.array(values)
    assume(np.ptp(d) > 0)
    below, above = (
        scipy_stats.ttest_1samp(d, -margin, alternative="greater"),
        scipy_stats.ttest_1samp(d, margin, alternative="less"),
    )
    found, worse = tost(d, margin=margin), non_inferiority(d, margin=margin)
    assert (found.p_low, found.p_high) == pytest.approx((below.pvalue, above.pvalue), rel=1e-9)
    assert found.p == max(found.p_low, found.p_high)
    assert worse.p == found.p_low
    assert worse.low == pytest.approx(below.confidence_interval(0.95).low, abs=1e-11)
    assert (found.low, found.high) == pytest.approx(
        tuple(scipy_stats.ttest_1samp(d, 0).confidence_interval(0.9)), abs=1e-11
    )


@quick
@given(samples, margins)
def test_against_statsmodels(values: list[float], margin: float) -> None:
    oracle = pytest.importorskip("statsmodels.stats.weightstats", reason="statsmodels is an oracle for tests only")
    d = np.array(values)
    assume(np.ptp(d) > 0)
    want = oracle.ttost_paired(d, np.zeros(len(d)), -margin, margin)
    assert tost(d, margin=margin).p == pytest.approx(want[0], rel=1e-9)


@quick
@given(samples, margins, st.sampled_from([0.01, 0.05, 0.2]))
def test_the_verdict_is_the_p(values: list[float], margin: float, alpha: float) -> None:
    d = np.array(values)
    assume(np.ptp(d) > 0)
    found, worse = tost(d, margin=margin, alpha=alpha), non_inferiority(d, margin=margin, alpha=alpha)
    assume(abs(found.p - alpha) > 1e-9)
    assume(abs(worse.p - alpha) > 1e-9)
    assert found.equivalent == (found.p < alpha)
    assert worse.not_worse == (worse.p < alpha)
    assert not found.equivalent or worse.not_worse
    mirrored = tost(-d, margin=margin, alpha=alpha)
    assert (mirrored.p_low, mirrored.p_high) == pytest.approx((found.p_high, found.p_low), rel=1e-12)


@quick
@given(samples)
def test_a_wider_margin_is_easier(values: list[float]) -> None:
    d = np.array(values)
    assume(np.ptp(d) > 0)
    by_margin = [non_inferiority(d, margin=margin).p for margin in (0.01, 0.02, 0.05, 0.2)]
    assert by_margin == sorted(by_margin, reverse=True)


def test_no_difference_shown_is_not_no_regression() -> None:
    """Four scattered questions: p is far above .05, and yet a loss of .1 is not ruled out."""
    d = [0.3, -0.4, 0.2, -0.2]
    assert scipy_stats.ttest_1samp(d, 0).pvalue > 0.5
    assert not non_inferiority(d, margin=0.1).not_worse


@pytest.mark.parametrize("value", [0.0, -0.02, 0.02])
def test_equal_differences_are_no_t_test(value: float) -> None:
    worse, found = non_inferiority([value] * 6, margin=0.01), tost([value] * 6, margin=0.01)
    assert (worse.not_worse, found.equivalent) == (False, False)
    assert np.isnan([worse.low, worse.p, found.low, found.high, found.p]).all()
    assert worse.reason == found.reason == "all differences are equal: there is no spread to test against"


def test_the_same_lists_lose_and_gain_nothing() -> None:
    worse, found = non_inferiority([0.0] * 6, margin=0.01, identical=True), tost([0.0] * 6, margin=0.01, identical=True)
    assert (worse.not_worse, worse.low) == (True, 0.0)
    assert (found.equivalent, found.low, found.high) == (True, 0.0, 0.0)


@pytest.mark.parametrize("values", [[], [0.5]])
def test_one_question_is_no_verdict(values: list[float]) -> None:
    worse, found = non_inferiority(values, margin=0.01), tost(values, margin=0.01)
    assert not worse.not_worse
    assert not found.equivalent
    assert worse.reason == found.reason
    assert worse.reason
    assert "at least two" in worse.reason
    assert math.isnan(worse.p)
    assert math.isnan(found.p)


def test_clusters() -> None:
    d = np.random.default_rng(0).normal(0, 0.02, 12)
    plain = non_inferiority(d, margin=0.01)
    copies = np.repeat(d, 4)
    assert non_inferiority(copies, margin=0.01, clusters=np.repeat(np.arange(12), 4)).p == pytest.approx(
        plain.p, rel=1e-9
    )
    assert non_inferiority(copies, margin=0.01).p < plain.p


@pytest.mark.parametrize("margin", [0.0, -0.01, math.nan, math.inf])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    for test in (tost, non_inferiority):
        with pytest.raises(InputError, match=f"the margin is {margin}, expected a number above 0"):
            test([0.1, 0.2], margin=margin)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="alpha is 5"):
        non_inferiority([0.1, 0.2], margin=0.01, alpha=5)
    with pytest.raises(InputError, match=r"alpha is 0.6, expected below 0.5"):
        tost([0.1, 0.2], margin=0.01, alpha=0.6)
    with pytest.raises(InputError, match="not finite"):
        tost([0.1, math.nan], margin=0.01)
