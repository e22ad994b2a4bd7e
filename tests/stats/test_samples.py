"""What the tests take: refusals, clean differences, cluster sums, errors of means."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from steelyard.base.errors import InputError
from steelyard.stats.samples import cluster_codes, differences, finite, mean_error
from tests.hypothesis_profiles import examples

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
    """Values 1 2 | 3 | 6: mean 3, residual sums -3, 0, 3; 18 * 3 / 2 / 16."""
    found = mean_error(np.array([1.0, 2.0, 3.0, 6.0]), clusters=["a", "a", "b", "c"])
    assert (found.mean, found.df, found.n) == (3.0, 2, 4)
    assert found.error == pytest.approx(math.sqrt(27 / 16))


def test_clustered_error_against_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.regression.linear_model", reason="statsmodels is an oracle for tests only")
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 12, 60)
    values = rng.normal(size=60) + rng.normal(size=12)[clusters]
    fit = api.OLS(values, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False})
    n_clusters = len(np.unique(clusters))
    want = float(fit.bse[0]) * math.sqrt(n_clusters / (n_clusters - 1))
    assert mean_error(values, clusters=clusters).error == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        ([], None, "0 queries: a test needs at least two"),
        ([1.0], None, "1 query: a test needs at least two"),
        ([1.0, 2.0], ["a", "a"], "all queries are in one cluster: a test needs at least two"),
    ],
)
def test_too_few(values: list[float], clusters: list[str] | None, reason: str) -> None:
    found = mean_error(np.array(values), clusters=clusters)
    assert found.reason == reason
    assert math.isnan(found.error)
