"""Sizes of a difference, by hand and against the tests that they go with."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.tests.effects import WinTieLoss, relative_change, standardised, win_tie_loss
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

quick = examples(100)
pairs = st.lists(st.tuples(*[st.integers(0, 100).map(lambda x: x / 100)] * 2), min_size=2, max_size=30)


def test_standardised_by_hand() -> None:
    found = standardised([1.0, 2.0, 3.0])
    assert (found.d_z, found.hedges_g) == pytest.approx((2.0, 2 * (1 - 3 / 7)))


@quick
@given(pairs)
def test_standardised_is_t_over_the_root_of_n(values: list[tuple[float, float]]) -> None:
    a, b = np.array(values).T
    assume(np.ptp(b - a) > 1e-9)
    assert standardised(b - a).d_z == pytest.approx(scipy_stats.ttest_rel(b, a).statistic / math.sqrt(len(a)), rel=1e-9)


def test_standardised_at_the_edges() -> None:
    assert standardised([0.0, 0.0]).d_z == standardised([0.0, 0.0]).hedges_g == 0
    assert standardised([-0.1] * 9).d_z == -math.inf
    assert math.isnan(standardised([0.1]).d_z)


def test_wins_by_hand() -> None:
    found = win_tie_loss([0.2, 0.0, -0.1, 0.3, 0.0])
    assert found == WinTieLoss(2, 2, 1)
    assert win_tie_loss([]) == WinTieLoss(0, 0, 0)


@quick
@given(pairs)
def test_wins_of_one_are_losses_of_the_other(values: list[tuple[float, float]]) -> None:
    a, b = np.array(values).T
    counts, mirrored = win_tie_loss(b - a), win_tie_loss(a - b)
    assert (counts.n_wins, counts.n_ties, counts.n_losses) == (mirrored.n_losses, mirrored.n_ties, mirrored.n_wins)


@quick
@given(pairs, st.sampled_from([0.8, 0.95]))
def test_relative_change_agrees_with_the_t_test(values: list[tuple[float, float]], level: float) -> None:
    """At each end r, the t test of B against (1 + r) A stands exactly at its limit; 0 is out where the test rejects."""
    a, b = np.array(values).T
    assume(np.ptp(b - a) > 1e-9)
    found = relative_change(a, b, level=level)
    assume(found.reason is None)
    assert found.change == pytest.approx((b.mean() - a.mean()) / a.mean(), abs=1e-9)
    assert found.low <= found.change <= found.high
    for end in (found.low, found.high):
        d = b - (1 + end) * a
        if np.ptp(d) > 1e-6:
            assert scipy_stats.ttest_1samp(d, 0).pvalue == pytest.approx(1 - level, rel=1e-4)
    p = scipy_stats.ttest_rel(b, a).pvalue
    assume(abs(p - (1 - level)) > 1e-9)
    assert (p < 1 - level) == (not found.low <= 0 <= found.high)


@quick
@given(pairs, st.sampled_from([2.0**-10, 64.0]))
def test_relative_change_has_no_unit(values: list[tuple[float, float]], factor: float) -> None:
    a, b = np.array(values).T
    plain, scaled = relative_change(a, b), relative_change(a * factor, b * factor)
    assert (scaled.change, scaled.low, scaled.high) == pytest.approx(
        (plain.change, plain.low, plain.high), rel=1e-9, abs=1e-12, nan_ok=True
    )


def test_relative_change_at_the_edges() -> None:
    assert relative_change([0.5, 0.7], [0.5, 0.7]).change == 0
    assert relative_change([0.0, 0.0], [0.5, 0.7]).reason == "the baseline's mean is 0"
    lonely = relative_change([0.5], [0.6])
    assert (lonely.change, math.isnan(lonely.low)) == (pytest.approx(0.2), True)
    unsure = relative_change([0.0, 0.0, 0.0, 1.0], [0.1, 0.2, 0.1, 1.0])
    assert (unsure.change, math.isnan(unsure.low)) == (pytest.approx(0.4), True)
    assert unsure.reason
    assert "may be 0 by chance" in unsure.reason
    assert relative_change([], []).reason == "no questions"
    constant = relative_change([0.5] * 5, [0.6] * 5)
    assert (constant.low, constant.high) == pytest.approx((0.2, 0.2))


def test_relative_change_in_clusters() -> None:
    a, b = np.random.default_rng(0).random((2, 15)) + 1
    plain = relative_change(a, b)
    clustered = relative_change(np.repeat(a, 3), np.repeat(b, 3), clusters=np.repeat(np.arange(15), 3))
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


@pytest.mark.slow
def test_relative_change_covers() -> None:
    rng = np.random.default_rng(0)
    held = []
    for _ in range(3000):
        a = rng.beta(2, 2, 40)
        b = np.clip(a * 1.1 + rng.normal(0, 0.15, 40), -1, 2)
        found = relative_change(a, b)
        held.append(found.low <= 0.1 <= found.high)
    assert 0.94 <= np.mean(held) <= 0.96


def test_bad_input() -> None:
    with pytest.raises(InputError, match="level is 95"):
        relative_change([0.1, 0.2], [0.1, 0.3], level=95)
    with pytest.raises(InputError, match="not finite"):
        standardised([math.nan, 1.0])
    with pytest.raises(InputError, match="not finite"):
        win_tie_loss([math.inf, 1.0])
