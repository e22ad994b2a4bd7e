"""Distributions against a reference: values by hand and by SciPy, cells that are rare, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.base.errors import InputError
from steelyard.stats.drift import FLOORS, chi_square, ks, mmd, psi


def test_index_of_two_cells_by_hand():
    index, p = psi([60, 40], [40, 60])
    before, now = 60.5 / 101, 40.5 / 101
    assert index == pytest.approx(2 * (now - before) * math.log(now / before))
    assert p == pytest.approx(stats.chi2.sf(index / (2 / 100), 1))


def test_chi_square_is_that_of_scipy():
    table = [[50, 30, 40], [20, 60, 30]]
    effect, p = chi_square(*table)
    assert p == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)
    shares = np.array(table) / np.sum(table, axis=1, keepdims=True)
    assert effect == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2)


def test_ks_over_distinct_values_is_that_of_samples():
    rng = np.random.default_rng(3)
    before, now = rng.normal(size=300), rng.normal(size=120) + 0.2
    values = np.sort(np.concatenate([before, now]))
    distance, p = ks(np.isin(values, before), np.isin(values, now))
    oracle = stats.ks_2samp(before, now, method="asymp")
    assert distance == pytest.approx(oracle.statistic)
    assert p == pytest.approx(oracle.pvalue, rel=0.35)


def test_discrepancy_is_the_mean_over_pairs():
    rng = np.random.default_rng(5)
    before, now = rng.normal(size=(12, 3)), rng.normal(size=(9, 3)) + 3
    rows = [*before, *now]
    pairs = [(a, b) for a in range(21) for b in range(21) if a != b]
    width = np.median([((rows[a] - rows[b]) ** 2).sum() for a, b in pairs])
    alike = {pair: math.exp(-((rows[pair[0]] - rows[pair[1]]) ** 2).sum() / width) for pair in pairs}
    within = [np.mean([alike[pair] for pair in pairs if {*pair} <= {*side}]) for side in (range(12), range(12, 21))]
    across = np.mean([alike[pair] for pair in pairs if pair[0] < 12 <= pair[1]])
    value, p = mmd(before, now, rng)
    assert value == pytest.approx(math.sqrt(sum(within) - 2 * across))
    assert p < 1e-4
    assert value > FLOORS["mmd"]


def test_rare_cells_are_joined_and_empty_ones_left_out():
    many = [500, 480, 3, 2, 0, 0]
    assert psi(many, [50, 47, 1, 0, 0, 0])[0] < FLOORS["psi"] / 2
    assert psi([5, 0], [3, 0]) == (0.0, 1.0)
    assert chi_square([990, 10, 0], [60, 5, 35])[1] < 1e-9
    rare = stats.binomtest(2, 3, 100 / 1100, alternative="greater").pvalue
    assert psi([999, 1], [98, 2])[1] == pytest.approx(2 * rare)


@given(st.lists(st.integers(0, 200), min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_order_of_cells_is_nothing_to_unordered_tests(counts, random):
    reference = [random.randint(0, 200) for _ in counts]
    order = random.sample(range(len(counts)), len(counts))
    for test in (psi, chi_square):
        straight = test(reference, counts)
        mixed = test([reference[i] for i in order], [counts[i] for i in order])
        assert mixed == pytest.approx(straight, nan_ok=True)
        assert math.isnan(straight[0]) == (not sum(reference) or not sum(counts))
        assert math.isnan(straight[0]) or (straight[0] >= 0 and 0 < straight[1] <= 1)


def test_alike_vectors_are_no_drift():
    rng = np.random.default_rng(7)
    assert mmd(np.ones((5, 2)), np.ones((4, 2)), rng) == (0.0, 1.0)
    assert all(map(math.isnan, mmd(np.ones((5, 2)), np.ones((1, 2)), rng)))


@pytest.mark.parametrize(
    ("counts", "words"), [([1, 2, 3], "3 counts, and 2"), ([-1, 2], "negative"), ([math.nan, 1], "not finite")]
)
def test_counts_that_are_refused(counts, words):
    with pytest.raises(InputError, match=words):
        psi([1, 2], counts)


def test_vectors_of_another_model_are_refused():
    with pytest.raises(InputError, match="3 numbers, those of the reference 2"):
        mmd(np.zeros((4, 2)), np.zeros((4, 3)), np.random.default_rng(0))
