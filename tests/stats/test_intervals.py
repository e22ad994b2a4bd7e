"""Intervals of means, against SciPy and against what an interval promises."""

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats as scipy_stats
from scipy.special import stdtrit
from scipy.stats import bootstrap

from steelyard.base.errors import InputError
from steelyard.stats import intervals
from steelyard.stats.intervals import MANY_QUERIES, Intervals, mean_intervals
from steelyard.stats.samples import mean_error

Floats = npt.NDArray[np.float64]


def draws(name: str, size: int | tuple[int, int], seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    return {
        "even": lambda: rng.random(size),
        "skewed": lambda: rng.exponential(size=size),
        "like average precision": lambda: rng.beta(0.4, 1.2, size),
        "hit or miss": lambda: (rng.random(size) < 0.8).astype(float),
        "mostly zero": lambda: np.where(rng.random(size) < 0.7, 0.0, rng.random(size)),
    }[name]()


KINDS = ("even", "skewed", "like average precision", "hit or miss", "mostly zero")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [15, 50, 300])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_scipy(kind: str, n: int, level: float) -> None:
    values = draws(kind, n)
    own = mean_intervals(values[:, None], seed=3, level=level)
    want = bootstrap((values,), np.mean, n_resamples=20_000, confidence_level=level, method="BCa", rng=5)
    low, high = want.confidence_interval
    assert own.method == "bca"
    # 2,000 resamples place an end to about 1.5 % of the width; means of zeros and ones move in steps of 1/n.
    slack = max(0.05 * (high - low), 1.01 / n if kind == "hit or miss" else 0)
    assert own.low[0] == pytest.approx(low, abs=slack)
    assert own.high[0] == pytest.approx(high, abs=slack)


def test_bca_leans_to_the_long_tail() -> None:
    """What tells BCa from the normal interval: of skewed data both ends lie further to the tail."""
    values = draws("skewed", 40)[:, None]
    own, mean = mean_intervals(values, seed=0), values.mean()
    mirrored = mean_intervals(-values, seed=0)
    assert own.high[0] - mean > 1.1 * (mean - own.low[0])
    assert -mirrored.low[0] == pytest.approx(own.high[0], rel=0.02)
    assert -mirrored.high[0] == pytest.approx(own.low[0], rel=0.02)


def same(one: Intervals, other: Intervals) -> bool:
    return (one.low.tobytes(), one.high.tobytes(), one.method) == (
        other.low.tobytes(),
        other.high.tobytes(),
        other.method,
    )


@pytest.mark.parametrize("n", [40, 3000, MANY_QUERIES])
def test_the_seed_decides_every_bit(n: int) -> None:
    values = draws("even", (n, 3))
    kept = values.copy()
    first = mean_intervals(values, seed=7)
    assert same(first, mean_intervals(values, seed=7))
    assert same(first, mean_intervals(values, seed=8)) == (n == MANY_QUERIES)
    assert (values == kept).all()


def test_a_column_does_not_depend_on_its_neighbours() -> None:
    values = draws("even", (50, 4))
    together = mean_intervals(values, seed=0)
    for c in range(4):
        alone = mean_intervals(values[:, [c]], seed=0)
        assert (alone.low[0], alone.high[0]) == (together.low[c], together.high[c])


@pytest.mark.parametrize("n", [2, 50, 2098, 9001])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_size_of_the_pieces_moves_no_bit(n: int, clustered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    values = draws("even", (n, 2))
    clusters = np.arange(n) if clustered else None
    in_pieces = mean_intervals(values, seed=3, clusters=clusters)
    monkeypatch.setattr(intervals, "_NUMBERS_AT_ONCE", 1 << 22)
    assert same(in_pieces, mean_intervals(values, seed=3, clusters=clusters))


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_queries(n: int) -> None:
    found = mean_intervals(np.ones((n, 2)), seed=0)
    assert found.method == "none"
    assert found.low.shape == found.high.shape == (2,)
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, -2.5, 1e-9, 1e6])
@pytest.mark.parametrize("n", [2, 7, 100, MANY_QUERIES])
def test_constant_values_leave_no_doubt(value: float, n: int) -> None:
    found = mean_intervals(np.full((n, 1), value), seed=0)
    assert found.low[0] == pytest.approx(value, rel=1e-12)
    assert found.high[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 20, 200])
def test_ends_stand_in_order_and_within_the_data(kind: str, n: int) -> None:
    values = draws(kind, (n, 20), seed=n)
    found = mean_intervals(values, seed=0)
    assert (values.min(axis=0) - 1e-12 <= found.low).all()
    assert (found.low <= found.high).all()
    assert (found.high <= values.max(axis=0) + 1e-12).all()
    mean = values.mean(axis=0)
    assert n < 20 or ((found.low <= mean + 1e-12) & (mean - 1e-12 <= found.high)).all()


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e6])
def test_the_unit_does_not_matter(factor: float) -> None:
    """Latencies in seconds or nanoseconds: the interval scales with the values."""
    values = draws("skewed", (40, 1))
    plain, scaled = mean_intervals(values, seed=0), mean_intervals(values * factor, seed=0)
    assert scaled.low[0] == pytest.approx(plain.low[0] * factor, rel=1e-9, abs=0)
    assert scaled.high[0] == pytest.approx(plain.high[0] * factor, rel=1e-9, abs=0)


@pytest.mark.parametrize("parts", [3, 7, 10])
def test_rounding_does_not_move_an_end(parts: int) -> None:
    """Recall in thirds, precision in tenths: many resampled means equal the mean, but for rounding.

    Whole numbers are summed exactly, so they say where the ends belong.
    """
    whole = np.random.default_rng(1).integers(0, parts + 1, (40, 30)).astype(float)
    exact, rounded = mean_intervals(whole, seed=0), mean_intervals(whole / parts, seed=0)
    assert rounded.low * parts == pytest.approx(exact.low, rel=1e-9)
    assert rounded.high * parts == pytest.approx(exact.high, rel=1e-9)


def test_a_higher_level_is_wider() -> None:
    values = draws("skewed", (60, 5))
    levels = [mean_intervals(values, seed=0, level=level) for level in (0.5, 0.8, 0.9, 0.95, 0.99)]
    for narrow, wide in pairwise(levels):
        assert ((wide.low < narrow.low) & (narrow.high < wide.high)).all()


@pytest.mark.parametrize("kind", ["even", "like average precision", "hit or miss", "mostly zero"])
def test_bca_and_normal_meet_where_one_takes_over(kind: str) -> None:
    values = draws(kind, (MANY_QUERIES, 1))
    normal, bca = mean_intervals(values, seed=0), mean_intervals(values[:-1], seed=0)
    assert (normal.method, bca.method) == ("normal", "bca")
    assert normal.low[0] == pytest.approx(bca.low[0], abs=5e-4)
    assert normal.high[0] == pytest.approx(bca.high[0], abs=5e-4)


def test_normal_by_hand() -> None:
    values = np.tile([0.0, 1.0], MANY_QUERIES // 2)[:, None]
    half = 1.959963984540054 * math.sqrt(0.25 * MANY_QUERIES / (MANY_QUERIES - 1) / MANY_QUERIES)
    found = mean_intervals(values, seed=0)
    assert (found.low[0], found.high[0]) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "mean"), [("skewed", 1.0), ("like average precision", 0.25), ("mostly zero", 0.15)])
def test_coverage(kind: str, mean: float) -> None:
    """Of many samples of 40 queries, about 95 % of the intervals hold the true mean."""
    hits = [
        (found.low <= mean) & (mean <= found.high)
        for seed in range(20)
        for found in [mean_intervals(draws(kind, (40, 50), seed=seed), seed=seed)]
    ]
    assert 0.92 <= np.mean(hits) <= 0.97


@pytest.mark.parametrize("kind", ["even", "skewed", "mostly zero"])
def test_percentile_against_scipy(kind: str) -> None:
    values = draws(kind, 50)
    own = mean_intervals(values[:, None], seed=3, method="percentile", n_resamples=10_000)
    want = bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=5).confidence_interval
    assert own.method == "percentile"
    assert (own.low[0], own.high[0]) == pytest.approx(tuple(want), abs=0.03 * (want.high - want.low))


@pytest.mark.parametrize("n", [2, 3, 43, MANY_QUERIES])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_t_against_scipy(n: int, level: float) -> None:
    values = draws("skewed", (n, 2))
    own = mean_intervals(values, seed=0, level=level, method="t")
    want = scipy_stats.ttest_1samp(values, 0).confidence_interval(level)
    assert own.method == "t"
    assert own.low == pytest.approx(want.low, rel=1e-9)
    assert own.high == pytest.approx(want.high, rel=1e-9)


@pytest.mark.parametrize("method", ["bca", "percentile", "t", "normal"])
def test_copies_of_a_query_narrow_nothing(method: str) -> None:
    """Every query four times in its cluster: the interval is that of the queries without their copies."""
    values = draws("skewed", (30, 2))
    plain = mean_intervals(values, seed=0, method=method)
    copies = np.repeat(values, 4, axis=0)
    clustered = mean_intervals(copies, seed=0, method=method, clusters=np.repeat(np.arange(30), 4))
    assert clustered.low == pytest.approx(plain.low, rel=1e-9)
    assert clustered.high == pytest.approx(plain.high, rel=1e-9)
    naive = mean_intervals(copies, seed=0, method=method)
    assert (naive.high - naive.low < 0.6 * (plain.high - plain.low)).all()


@pytest.mark.parametrize("method", ["bca", "t"])
def test_one_query_a_cluster_is_no_cluster(method: str) -> None:
    values = draws("like average precision", (40, 2))
    plain = mean_intervals(values, seed=0, method=method)
    clustered = mean_intervals(values, seed=0, method=method, clusters=[f"c{i:02}" for i in range(40)])
    assert clustered.low == pytest.approx(plain.low, rel=1e-9)
    assert clustered.high == pytest.approx(plain.high, rel=1e-9)


def test_clusters_have_intervals_by_t() -> None:
    """Of unequal ones with the degrees of freedom that their sizes leave."""
    clusters = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 20])
    values = draws("even", (35, 1))
    average = mean_error(values[:, 0], clusters=clusters)
    assert average.df < 4
    low, high = stdtrit(average.df, 0.025), stdtrit(average.df, 0.975)
    interval = mean_intervals(values, seed=0, clusters=clusters)
    assert interval.method == "t"
    assert (interval.low[0], interval.high[0]) == pytest.approx(
        (average.mean + low * average.error, average.mean + high * average.error), rel=1e-9
    )


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_unequal_clusters_against_naive_resampling(method: str) -> None:
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 25, 120)
    # Far from 0: were sums not divided by the drawn sizes, they would scatter with them.
    values = 10 + rng.random(120) + rng.normal(0, 0.5, 25)[clusters]
    groups = [values[clusters == g] for g in np.unique(clusters)]
    drawn = [np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))]) for _ in range(5000)]
    want = np.quantile([d.mean() for d in drawn], [0.025, 0.975])
    found = mean_intervals(values[:, None], seed=1, method=method, clusters=clusters, n_resamples=5000)
    width = want[1] - want[0]
    # BCa shifts the ends a little; of symmetric clusters by no more than this.
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(want), abs=0.06 * width)
    assert mean_intervals(values[:, None], seed=1).high[0] < found.high[0]


def test_cluster_acceleration_is_that_of_the_jackknife() -> None:
    """SciPy's BCa of cluster means, all clusters of one size, is ours of their queries."""
    rng = np.random.default_rng(0)
    means = rng.exponential(size=30)
    values = (means[:, None] + np.array([-0.2, 0.0, 0.2])).ravel()
    found = mean_intervals(
        values[:, None], seed=1, method="bca", clusters=np.repeat(np.arange(30), 3), n_resamples=10_000
    )
    want = bootstrap((means,), np.mean, n_resamples=20_000, method="BCa", rng=5).confidence_interval
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(want), abs=0.03 * (want.high - want.low))


@pytest.mark.parametrize("method", ["bca", "percentile", "t", "normal", None])
def test_one_cluster_has_no_interval(method: str | None) -> None:
    found = mean_intervals(draws("even", (9, 2)), seed=0, method=method, clusters=["a"] * 9)
    assert found.method == "none"
    assert np.isnan(found.low).all()


def test_bad_input() -> None:
    values = draws("even", (9, 2))
    with pytest.raises(InputError, match="'bc'; expected one of bca, percentile, t, normal"):
        mean_intervals(values, seed=0, method="bc")
    with pytest.raises(InputError, match="level is 95"):
        mean_intervals(values, seed=0, level=95)
    with pytest.raises(InputError, match="n_resamples is 0"):
        mean_intervals(values, seed=0, n_resamples=0)
    with pytest.raises(InputError, match="clusters have shape"):
        mean_intervals(values, seed=0, clusters=["a"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bca", "percentile", "t"])
def test_clustered_coverage(method: str) -> None:
    """40 conversations of one to five questions that move together: 95 % hold the mean; without clusters far fewer."""
    held, naive = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(40), rng.integers(1, 6, 40))
        values = (rng.normal(0, 1, 40)[clusters] + rng.normal(0, 0.5, len(clusters)))[:, None]
        found = mean_intervals(values, seed=seed, method=method, clusters=clusters, n_resamples=1000)
        plain = mean_intervals(values, seed=seed, method="t")
        held.append(found.low[0] <= 0 <= found.high[0])
        naive.append(plain.low[0] <= 0 <= plain.high[0])
    assert 0.91 <= np.mean(held) <= 0.98
    assert np.mean(naive) < 0.85
