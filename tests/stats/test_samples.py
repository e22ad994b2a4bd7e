"""What the tests take: refusals, clean differences, cluster sums, errors of means."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.samples import cluster_codes, differences, finite, mean_error
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

numbers = st.lists(st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 3)), min_size=2, max_size=40)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(InputError, match=r"hold 1 values that are not finite, the first at \(1, 0\).*leave out"):
        finite([[0.0, 1.0], [bad, 1.0]], n_axes=2, what="scores")


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="have 2 axes, expected 1"):
        finite([[0.0]], n_axes=1, what="differences")
    with pytest.raises(InputError, match="2 values and the other system 3"):
        differences([0.0, 1.0], [0.0, 1.0, 2.0])
    with pytest.raises(InputError, match=r"shape \(2,\), expected \(3,\)"):
        cluster_codes(["a", "b"], 3)


def test_rounding_is_no_difference() -> None:
    thirds = [sum([1 / 3] * 3), 1 / 3 + 1 / 3, 0.1 + 0.2, 1e-300, 0.0]
    assert differences(thirds, [1.0, 2 / 3, 0.3, 2e-300, 1e-9]).tolist() == [0, 0, 0, 1e-300, 1e-9]


@given(numbers)
def test_error_of_single_queries_is_that_of_scipy(values: list[float]) -> None:
    found = mean_error(np.array(values))
    assert found.mean == pytest.approx(np.mean(values), abs=1e-15)
    assert found.error == pytest.approx(scipy_stats.sem(values), rel=1e-9, abs=1e-14)
    assert found.df == len(values) - 1


@given(numbers)
def test_one_query_a_cluster_is_no_cluster(values: list[float]) -> None:
    plain = mean_error(np.array(values))
    clustered = mean_error(np.array(values), clusters=[f"c{i}" for i in range(len(values))])
    assert (clustered.mean, clustered.df) == (plain.mean, plain.df)
    assert clustered.error == pytest.approx(plain.error, rel=1e-12)


@given(numbers, st.randoms(use_true_random=False))
def test_the_order_of_queries_moves_no_bit(values: list[float], shuffler: object) -> None:
    mixed = list(values)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert mean_error(np.array(mixed)) == mean_error(np.array(values))


@examples(50)
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 2)), min_size=2, max_size=10), st.integers(2, 5))
def test_copies_of_a_query_are_no_evidence(values: list[float], copies: int) -> None:
    """Every query repeated within its cluster: the clustered error is that of the queries without their copies."""
    plain = mean_error(np.array(values))
    repeated = mean_error(np.repeat(values, copies), clusters=np.repeat(np.arange(len(values)), copies))
    assert repeated.error == pytest.approx(plain.error, rel=1e-9, abs=1e-12)
    assert repeated.df == plain.df


def test_clustered_error_by_hand() -> None:
    """Values 1 2 | 3 | 6: mean 3, residual sums -3, 0, 3 beside 2, 3 and 3 of 4 questions; (9 * 4/2 + 9 * 4/3) / 16."""
    average = mean_error(np.array([1.0, 2.0, 3.0, 6.0]), clusters=["a", "a", "b", "c"])
    assert (average.mean, average.n) == (3.0, 4)
    assert average.error == pytest.approx(math.sqrt(30 / 16))


@pytest.mark.parametrize("seed", range(5))
def test_clustered_error_against_matrices(seed: int) -> None:
    """CR2 as it is defined, by (I - H)^-1/2 of each cluster, and its degrees of freedom by the whole matrix."""
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 12, 60)
    values = rng.normal(size=60) + seed * rng.normal(size=12)[clusters]
    n, away = len(values), values - values.mean()
    same = clusters[:, None] == clusters
    alike = (away[:, None] * away)[same & ~np.eye(n, dtype=bool)].mean() / (away**2).mean()
    covariance = np.where(same, min(max(alike, 0.0), 1.0), 0.0)
    np.fill_diagonal(covariance, 1.0)
    parts = []
    for cluster in np.unique(clusters):
        rows = np.flatnonzero(clusters == cluster)
        values_, vectors = np.linalg.eigh(np.eye(len(rows)) - 1 / n)
        adjusted = vectors @ np.diag(values_**-0.5) @ vectors.T
        parts.append(np.ones(len(rows)) / n @ adjusted @ (np.eye(n) - 1 / n)[rows])
    weights = np.stack(parts)
    omega = weights @ covariance @ weights.T
    average = mean_error(values, clusters=clusters)
    assert average.error == pytest.approx(math.sqrt(((weights @ values) ** 2).sum()), rel=1e-9)
    assert average.df == pytest.approx(np.trace(omega) ** 2 / (omega**2).sum(), rel=1e-9)


def test_one_large_cluster_leaves_few_degrees_of_freedom() -> None:
    values = np.random.default_rng(0).normal(size=60)
    even, uneven = np.repeat(np.arange(12), 5), np.repeat(np.arange(12), [38, *[2] * 11])
    assert mean_error(values, clusters=even).df == 11
    assert 1 <= mean_error(values, clusters=uneven).df < 5


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([], None, "0 questions: a test needs at least two"),
        ([1.0], None, "1 question: a test needs at least two"),
        ([1.0, 2.0], ["a", "a"], "all questions are in one cluster: a test needs at least two"),
    ],
)
def test_too_few(values: list[float], clusters: list[str] | None, reason: str) -> None:
    found = mean_error(np.array(values), clusters=clusters)
    assert found.reason == reason
    assert math.isnan(found.error)
