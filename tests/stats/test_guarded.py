"""All pairs by Tukey, where each pair has a test of its own as well."""

import numpy as np
import pytest

from steelyard.stats.tests.groups import FEW_DIFFERENCES, MANY_QUERIES, guarded_tukey
from steelyard.stats.tests.paired import paired_t, sign_flip
from steelyard.stats.tests.pairs import sign_flip_pairs, tukey, tukey_limit

pytest.importorskip("scipy", reason="the tests of differences need the extra stats")


def drawn(n: int) -> np.ndarray:
    """Three systems: the second is a copy of the first, the third is better by a little."""
    values = np.random.default_rng(n).normal(0.5, 0.1, (2, n))
    return np.stack([values[0], values[0], values[1] + 0.004])


def test_few_queries_take_the_larger_of_two_randomisations() -> None:
    values = drawn(60)
    pairs = guarded_tukey(values, seed=3)
    family, own = tukey(values, seed=3), sign_flip_pairs(values, seed=3, correction="none")
    assert pairs.p.tolist() == pairs.adjusted.tolist() == np.maximum(family.p, own.p).tolist()
    assert pairs.p[0] == 1


def test_very_many_queries_take_the_larger_of_two_limits() -> None:
    values = drawn(2 * MANY_QUERIES)
    pairs = guarded_tukey(values, seed=3)
    family, own = tukey_limit(values), [paired_t(values[2] - values[i]).p for i in (0, 1)]
    assert pairs.p.tolist() == np.maximum(family.p, [1.0, *own]).tolist()
    assert (pairs.p <= 1).all()


@pytest.mark.parametrize("few", [5, FEW_DIFFERENCES - 1])
def test_a_pair_that_differs_on_few_of_very_many_queries_flips_signs(few: int) -> None:
    """Among near copies Tukey makes too little of one that is better on a few queries."""
    values = np.tile(drawn(2 * MANY_QUERIES)[0], (6, 1))
    values[5] += np.random.default_rng(1).normal(0, 1e-6, values.shape[1])
    values[1, :few] += np.linspace(0.02, 0.2, few)
    flips = sign_flip(np.append(values[1, :few] - values[0, :few], 0.0), seed=3).p
    assert tukey_limit(values).p[0] < flips == guarded_tukey(values, seed=3).p[0]


@pytest.mark.parametrize("n", [40, 1200])
def test_clusters_are_shuffled_whole(n: int) -> None:
    """Queries repeated within their clusters are the queries without their copies: by shuffles and at their limit."""
    values = np.random.default_rng(n).random((4, n)) + np.array([[0.0], [0.0], [0.05], [0.3]])
    plain = guarded_tukey(values, seed=3)
    repeated = guarded_tukey(np.repeat(values, 3, axis=1), seed=3, clusters=np.repeat(np.arange(n), 3))
    assert repeated.p == pytest.approx(plain.p, rel=1e-9)
    assert repeated.difference == pytest.approx(plain.difference, rel=1e-9)
    assert (repeated.n, repeated.critical) == (3 * n, pytest.approx(plain.critical, rel=1e-9))


def test_systems_that_never_differ_are_not_told_apart_by_the_limit() -> None:
    family = tukey_limit(np.full((3, 50), 0.5))
    assert family.p.tolist() == [1.0, 1.0, 1.0]
    assert family.critical == 0.0
