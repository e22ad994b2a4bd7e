"""Means of different questions: Welch's t, with room for values that no question has shown."""

import math

import numpy as np
import pytest
from benchmarks.simulated.unpaired import KINDS, corrected_periods, rates
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.base.errors import InputError
from steelyard.stats.samples import mean_error
from steelyard.stats.unpaired import UnpairedDifference, unpaired_difference

SHARES = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=2, max_size=30)


@given(SHARES, SHARES)
def test_the_error_is_welchs(first: list[float], second: list[float]) -> None:
    a, b = np.array(first), np.array(second)
    average = UnpairedDifference(a, b).average
    oracle = stats.ttest_ind(b, a, equal_var=False) if a.std() + b.std() > 0 else None
    assert average.mean == pytest.approx(b.mean() - a.mean(), abs=1e-12)
    if oracle is not None:
        assert average.error == pytest.approx(math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))
        assert average.df == pytest.approx(max(oracle.df, 1.0))


@given(SHARES, SHARES, st.sampled_from([0.8, 0.95]))
def test_the_interval_holds_welchs_and_agrees_with_p(first: list[float], second: list[float], level: float) -> None:
    difference, wide = (
        UnpairedDifference(np.array(first), np.array(second), bounds=ends) for ends in ((0, 1), (-9, 9))
    )
    average, (low, high) = difference.average, wide.interval(level)
    half = stats.t.ppf((1 + level) / 2, average.df) * average.error
    assert low <= average.mean - half + 1e-9
    assert high >= average.mean + half - 1e-9
    low, high = difference.interval(level)
    if abs(difference.p - (1 - level)) > 1e-6:
        assert (difference.p < 1 - level) == (low > 0 or high < 0)
    turned = UnpairedDifference(np.array(second), np.array(first), bounds=(0.0, 1.0))
    assert turned.interval(level) == pytest.approx((-high, -low))
    assert turned.p == pytest.approx(difference.p)


@given(st.lists(st.tuples(*[st.integers(0, 20).map(lambda n: n / 20)] * 2), min_size=3, max_size=20))
def test_questions_that_both_have_move_together_as_pairs_do(pairs: list[tuple[float, float]]) -> None:
    values = np.array(pairs).T
    average, paired = unpaired_difference(values, (0, 1)).average, mean_error(values[1] - values[0])
    assert average.mean == pytest.approx(paired.mean, abs=1e-12)
    assert average.error == pytest.approx(paired.error, abs=1e-9)
    assert average.df <= len(pairs) - 1


def test_clusters_are_those_of_a_regression_by_least_squares() -> None:
    rng = np.random.default_rng(2)
    codes = [np.sort(rng.integers(0, 8, 40)), np.sort(rng.integers(5, 12, 25))]
    values = [rng.random(40) + 0.1 * (codes[0] % 3), rng.random(25) + 0.2 * (codes[1] % 3)]
    average = UnpairedDifference(values[0], values[1], clusters=(codes[0], codes[1])).average
    # CR2 by its definition: residuals of a cluster times the inverse root of the identity less its part of the hat.
    y, x = np.concatenate(values), np.repeat([[1.0, 0.0], [0.0, 1.0]], [40, 25], axis=0)
    cluster, bread = np.concatenate(codes), np.linalg.inv(x.T @ x)
    left, meat = y - x @ bread @ x.T @ y, np.zeros((2, 2))
    for code in np.unique(cluster):
        own = x[cluster == code]
        roots, vectors = np.linalg.eigh(np.eye(len(own)) - own @ bread @ own.T)
        root = vectors @ np.diag([r**-0.5 if r > 1e-9 else 0.0 for r in roots]) @ vectors.T
        sums = own.T @ root @ left[cluster == code]
        meat += np.outer(sums, sums)
    contrast = np.array([-1.0, 1.0])
    assert average.error == pytest.approx(math.sqrt(contrast @ bread @ meat @ bread @ contrast))
    assert UnpairedDifference(values[0], values[1], clusters=(codes[0], codes[1] + 20)).alike == 0.0


def test_a_sample_of_equal_values_is_not_certain() -> None:
    hits = UnpairedDifference(np.repeat([0.0, 1.0], [10, 190]), np.ones(20), bounds=(0.0, 1.0))
    welch = hits.average
    assert 2 * stats.t.sf(abs(welch.mean) / welch.error, welch.df) < 0.002
    assert hits.p > 0.2
    alike = UnpairedDifference(np.ones(30), np.ones(40), bounds=(0.0, 1.0))
    assert (alike.p, alike.average.error) == (1.0, 0.0)
    assert alike.interval(0.95)[0] < -0.05


def test_what_has_no_interval() -> None:
    assert UnpairedDifference(np.array([0.5]), np.array([0.1, 0.2])).interval(0.95) == (-math.inf, math.inf)
    one_cluster = UnpairedDifference(np.arange(3.0), np.arange(4.0), clusters=(np.zeros(3, int), np.arange(4)))
    assert one_cluster.average.reason is not None
    assert UnpairedDifference(np.full(5, 7.0), np.full(5, 9.0)).p == 1.0  # No bound says what else there can be.
    with pytest.raises(InputError, match="compare percentiles"):
        unpaired_difference(np.array([[1.0, math.inf], [1.0, 2.0]]), (0, 1))


def test_times_without_a_bound_lean_to_their_tail() -> None:
    rng = np.random.default_rng(3)
    low, high = (d := UnpairedDifference(rng.lognormal(4, 1, 40), rng.lognormal(4, 1, 60))).interval(0.95)
    assert high - d.average.mean != pytest.approx(d.average.mean - low, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_periods_that_are_alike_are_seldom_called_different(kind: str) -> None:
    for sizes in ((200, 20), (300, 300)):
        _, shown, missed, passed, _ = rates(300, 7, kind, sizes)
        # Three standard errors of a simulated .05 are .038.
        assert max(shown, passed) <= 0.088, sizes
        assert missed <= 0.1, sizes


@pytest.mark.slow
def test_labels_take_out_a_judge_that_favours_a_period() -> None:
    rng = np.random.default_rng(8)
    shares = np.mean([corrected_periods(rng, "favours by .15", 200, 100) for _ in range(200)], axis=0)
    assert shares[0] > 0.9
    assert shares[1] <= 0.09
