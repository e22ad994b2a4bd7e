"""Tests of two systems, against SciPy, against all sign patterns, and by hand."""

import math
import sys
from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, MissingExtraError
from steelyard.stats.tests.paired import (
    EXACT_QUERIES,
    PairedTest,
    paired_t,
    sign_flip,
    sign_flip_interval,
    sign_test,
    wilcoxon,
)
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

Floats = npt.NDArray[np.float64]
Tested = Callable[[npt.ArrayLike], PairedTest]

quick = examples(60)
ALL: list[Tested] = [paired_t, lambda d: sign_flip(d, seed=0, n_resamples=500), wilcoxon, sign_test]
IDS = ["t", "randomization", "wilcoxon", "sign"]
coarse = st.integers(-4, 4).map(lambda x: x / 4)
fine = st.integers(-1000, 1000).map(lambda x: x / 1000)
samples = st.one_of(st.lists(coarse, min_size=2, max_size=30), st.lists(fine, min_size=2, max_size=30))
short = st.one_of(st.lists(coarse, min_size=2, max_size=9), st.lists(fine, min_size=2, max_size=9))


def draws(n: int, seed: int, shift: float = 0.2) -> Floats:
    return np.random.default_rng(seed).normal(shift, 1, n)


@pytest.mark.parametrize("n", [2, 3, 10, 43, 500])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_alike", [0, 1])
def test_t_against_scipy(n: int, seed: int, n_alike: int) -> None:
    a, b = draws(n, seed, 0), draws(n, seed + 100)
    a[:n_alike] = b[:n_alike]
    want = scipy_stats.ttest_rel(b, a)
    found = paired_t(b - a)
    assert (found.statistic, found.p) == pytest.approx((want.statistic, want.pvalue), rel=1e-10)
    assert (found.test, found.n, found.reason) == ("t", n, None)


@quick
@given(short)
def test_exact_sign_flips_are_all_sign_patterns(values: list[float]) -> None:
    d = np.array(values)
    sums = np.array([np.dot(signs, d) for signs in product([-1, 1], repeat=len(d))])
    want = np.mean(np.abs(sums) >= abs(d.sum()) - 1e-9)
    found = sign_flip(d, seed=0)
    assert found.p == want
    assert (found.exact, found.n_resamples, found.seed) == (True, None, None)


@pytest.mark.parametrize("n", [EXACT_QUERIES + 1, 30, 100])
@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5])
def test_random_sign_flips_against_scipy(n: int, shift: float) -> None:
    d = draws(n, 3, shift)
    want = scipy_stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1)
    found = sign_flip(d, seed=0)
    assert found.p == pytest.approx(want.pvalue, abs=0.015)
    assert (found.exact, found.n_resamples, found.seed) == (False, 100_000, 0)
    assert found.statistic == pytest.approx(d.mean())


def test_random_and_all_sign_patterns_agree_where_one_takes_over() -> None:
    d = draws(EXACT_QUERIES, 0, 0.5)
    exact = sign_flip(d, seed=0)
    # A query that both systems answer alike changes nothing, but is one too many to try all patterns.
    assert sign_flip(np.append(d, 0.0), seed=0).p == pytest.approx(exact.p, abs=0.003)
    assert exact.exact


@given(st.integers(1, 400))
@examples(20)
def test_the_observed_signs_count_once(n_resamples: int) -> None:
    found = sign_flip(np.ones(60), seed=1, n_resamples=n_resamples)
    assert found.p == 1 / (1 + n_resamples)


@pytest.mark.parametrize("parts", [3, 7, 10, 49])
@pytest.mark.parametrize("n", [9, 40])
def test_rounding_makes_no_sum_larger(parts: int, n: int) -> None:
    """Thirds and tenths: of many patterns the sum equals the observed one but for rounding; whole numbers tell."""
    whole = np.random.default_rng(n).integers(-parts, parts + 1, n).astype(float)
    assert sign_flip(whole / parts, seed=0).p == sign_flip(whole, seed=0).p


@pytest.mark.parametrize("n", [9, 40, 200])
def test_rounding_parts_no_ties(n: int) -> None:
    """Differences of tenths, 0.3 - 0.2 and 0.2 - 0.1, are of one size; whole numbers tell."""
    one, other = np.random.default_rng(n).integers(0, 11, (2, n)).astype(float)
    assert wilcoxon(other / 10 - one / 10).p == wilcoxon(other - one).p


@pytest.mark.parametrize("n", [3, 8, 20, 50])
@pytest.mark.parametrize("seed", range(3))
def test_exact_wilcoxon_against_scipy(n: int, seed: int) -> None:
    d = draws(n, seed)
    want = scipy_stats.wilcoxon(d, zero_method="pratt", method="exact")
    found = wilcoxon(d)
    assert found.p == pytest.approx(want.pvalue, rel=1e-9)
    assert min(found.statistic, n * (n + 1) / 2 - found.statistic) == want.statistic
    assert found.exact


@pytest.mark.parametrize("n", [120, 300])
@pytest.mark.parametrize("step", [0.001, 0.25, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_normal_wilcoxon_against_scipy(n: int, step: float, seed: int) -> None:
    """With ties, and with zeros that Pratt ranks and leaves out."""
    d = np.round(draws(n, seed) / step) * step
    found = wilcoxon(d)
    want = scipy_stats.wilcoxon(d, zero_method="pratt", correction=False, method="asymptotic")
    assert not found.exact
    assert found.p == pytest.approx(want.pvalue, rel=1e-9)


@quick
@given(short)
def test_exact_wilcoxon_is_all_sign_patterns(values: list[float]) -> None:
    """Ties and zeros included, where SciPy has no exact answer."""
    d = np.array(values)
    assume(d.any())
    ranks = scipy_stats.rankdata(np.abs(d))[d != 0]
    positive = scipy_stats.rankdata(np.abs(d))[d > 0].sum()
    half = ranks.sum() / 2
    sums = np.array([ranks[list(signs)].sum() for signs in product([False, True], repeat=len(ranks))])
    found = wilcoxon(d)
    assert found.statistic == positive
    assert found.p == pytest.approx(np.mean(np.abs(sums - half) >= abs(positive - half)), rel=1e-12)


@quick
@given(samples)
def test_sign_test_against_scipy(values: list[float]) -> None:
    d = np.array(values)
    assume(d.any())
    want = scipy_stats.binomtest(int((d > 0).sum()), int((d != 0).sum())).pvalue
    assert sign_test(d).p == pytest.approx(want, rel=1e-9)


def test_by_hand() -> None:
    assert sign_test([1, 1, 1, -1, 1, 0]).p == pytest.approx(2 * (1 + 5) / 32)
    assert wilcoxon([1, 2, 3, -4]).p == 14 / 16  # W+ = 6 of 10: only W+ = 5 is nearer to the middle, 2 of 16 patterns
    assert sign_flip([1, 2, 3], seed=0).p == 2 / 8
    assert paired_t([1, 2, 3]).statistic == pytest.approx(2 * math.sqrt(3))


@pytest.mark.parametrize("test", ALL, ids=IDS)
@quick
@given(samples)
def test_p_is_a_chance_and_the_sign_does_not_matter(test: Tested, values: list[float]) -> None:
    d = np.array(values)
    found, mirrored = test(d), test(-d)
    assert 0 < found.p <= 1 or (test is paired_t and found.reason)
    assert mirrored.p == pytest.approx(found.p, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("test", [paired_t, wilcoxon, sign_test], ids=["t", "wilcoxon", "sign"])
@quick
@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_queries_moves_no_bit(test: Tested, values: list[float], shuffler: object) -> None:
    mixed = list(values)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = test(values), test(mixed)
    assert np.array([one.p, one.statistic]).tobytes() == np.array([other.p, other.statistic]).tobytes()


@quick
@given(short, st.randoms(use_true_random=False))
def test_the_order_of_few_queries_moves_no_exact_p(values: list[float], shuffler: object) -> None:
    mixed = list(values)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert sign_flip(values, seed=0).p == sign_flip(mixed, seed=0).p


@pytest.mark.parametrize("test", ALL, ids=IDS)
@pytest.mark.parametrize("factor", [2.0**-30, 0.125, 2.0**20])
def test_the_unit_does_not_matter(test: Tested, factor: float) -> None:
    d = draws(25, 4)
    assert test(d * factor).p == pytest.approx(test(d).p, rel=1e-12)


@pytest.mark.parametrize("test", ALL, ids=IDS)
@pytest.mark.parametrize("n", [2, 16, 17, 100])
def test_no_difference_at_all_gives_one(test: Tested, n: int) -> None:
    found = test(np.zeros(n))
    assert (found.p, found.reason) == (1.0, None)


@pytest.mark.parametrize("test", ALL, ids=IDS)
@pytest.mark.parametrize("n", [0, 1])
def test_one_question_is_no_test(test: Tested, n: int) -> None:
    found = test(np.ones(n))
    assert math.isnan(found.p)
    assert found.reason
    assert "at least two" in found.reason


@pytest.mark.parametrize("test", ALL, ids=IDS)
def test_nan_is_refused(test: Tested) -> None:
    with pytest.raises(InputError, match="not finite"):
        test([0.1, math.nan, 0.2])


@pytest.mark.parametrize("value", [0.1, 1.0, -1 / 3])
def test_equal_differences_are_left_to_the_sign_flips(value: float) -> None:
    """t would be infinite after two questions; only the signs know how little two questions tell."""
    found = paired_t([value] * 5)
    assert math.isnan(found.p)
    assert found.reason
    assert "no spread" in found.reason
    assert sign_flip([value] * 5, seed=0).p == 2 / 32


def test_a_p_that_underflows_is_not_zero() -> None:
    d = 1 + 1e-3 * draws(5000, 0)
    assert 0 < paired_t(d).p < 1e-300
    assert 0 < wilcoxon(np.arange(1.0, 5000)).p < 1e-300
    assert 0 < sign_test(np.ones(5000)).p < 1e-300


@pytest.mark.parametrize("n_resamples", [0, -5])
def test_no_resamples_are_refused(n_resamples: int) -> None:
    with pytest.raises(InputError, match=f"n_resamples is {n_resamples}"):
        sign_flip([0.1, 0.2], seed=0, n_resamples=n_resamples)


def test_clusters_change_sign_together() -> None:
    d = np.repeat([1.0, 2.0, 3.0], 20)
    clusters = np.repeat(["a", "b", "c"], 20)
    assert sign_flip(d, seed=0, clusters=clusters).p == sign_flip([1, 2, 3], seed=0).p == 0.25
    assert sign_flip(d, seed=0).p < 1e-4
    assert paired_t(d, clusters=clusters).p == pytest.approx(paired_t([1, 2, 3]).p, rel=1e-9)
    assert math.isnan(sign_flip(d, seed=0, clusters=["a"] * 60).p)


@pytest.mark.parametrize("n", [17, 43, 64, 65, 300])
def test_another_seed_another_p_yet_near(n: int) -> None:
    d = draws(n, 2, 0.2)
    one, other = sign_flip(d, seed=1), sign_flip(d, seed=2)
    assert one.p == sign_flip(d, seed=1).p
    assert one.p != other.p
    assert one.p == pytest.approx(other.p, abs=0.01)


@pytest.mark.parametrize("test", [paired_t, sign_test], ids=["t", "sign"])
def test_scipy_is_asked_for_by_name(test: Tested, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(MissingExtraError, match=r"needs scipy.*\[stats\]"):
        test([0.1, 0.2, 0.4])
    assert wilcoxon([0.1, 0.2, 0.4]).p == sign_flip([0.1, 0.2, 0.4], seed=0).p == 0.25


@pytest.mark.parametrize("n", [6, 9, 16, 40])
def test_the_interval_of_sign_flips_is_what_they_do_not_reject(n: int) -> None:
    d = np.random.default_rng(n).normal(0.1, 0.2, n)
    low, high = sign_flip_interval(d, seed=3)
    for shift, rejected in ((low - 1e-6, True), (low + 1e-6, False), (high - 1e-6, False), (high + 1e-6, True)):
        assert (sign_flip(d - shift, seed=3).p <= 0.05) == rejected
    assert sign_flip_interval(d[:5], seed=3) == (-math.inf, math.inf)
    assert all(map(math.isnan, sign_flip_interval(d[:1], seed=3)))


@pytest.mark.parametrize("n_clusters", [7, 12, 30])
def test_the_interval_of_flips_by_cluster_is_what_they_do_not_reject(n_clusters: int) -> None:
    rng = np.random.default_rng(n_clusters)
    clusters = np.repeat(np.arange(n_clusters), rng.integers(1, 6, n_clusters))
    d = rng.normal(0.1, 0.2, len(clusters)) + rng.normal(0, 0.1, n_clusters)[clusters]
    low, high = sign_flip_interval(d, seed=3, clusters=clusters)
    for shift, rejected in ((low - 1e-6, True), (low + 1e-6, False), (high - 1e-6, False), (high + 1e-6, True)):
        assert (sign_flip(d - shift, seed=3, clusters=clusters).p <= 0.05) == rejected
    assert all(map(math.isnan, sign_flip_interval(d, seed=3, clusters=["a"] * len(d))))


def test_questions_of_one_document_are_no_independent_evidence() -> None:
    """The short form of the simulation in test_false_positives: 8 documents of 1 to 8 questions."""
    rng = np.random.default_rng(2)
    by_cluster, independent = [], []
    for _ in range(600):
        clusters = np.repeat(np.arange(8), rng.integers(1, 9, 8))
        d = rng.normal(0, 0.5, 8)[clusters] + rng.normal(0, 1, len(clusters))
        by_cluster.append(paired_t(d, clusters=clusters).p <= 0.05)
        independent.append(paired_t(d).p <= 0.05)
    assert 0.03 <= np.mean(by_cluster) <= 0.07
    assert np.mean(independent) > 0.1
