"""Intervals of means, against their definition, SciPy, and what an interval promises."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.base.errors import InputError
from steelyard.stats.intervals.means import mean_intervals, skewed_intervals
from steelyard.stats.samples import mean_error
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle is in the extra stats")
optimize = pytest.importorskip("scipy.optimize", reason="the oracle is in the extra stats")
means = pytest.importorskip("benchmarks.simulated.means")

Floats = npt.NDArray[np.float64]


def draws(name: str, size: int | tuple[int, int], seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    return {
        "even": lambda: rng.random(size),
        "like average precision": lambda: rng.beta(0.4, 1.2, size),
        "hit or miss": lambda: (rng.random(size) < 0.8).astype(float),
        "precision@5": lambda: rng.integers(0, 6, size) / 5,
        "mostly zero": lambda: np.where(rng.random(size) < 0.7, 0.0, rng.random(size)),
    }[name]()


KINDS = ("even", "like average precision", "hit or miss", "precision@5", "mostly zero")


def naive(values: Sequence[float], low: float, high: float, level: float = 0.95) -> tuple[float, float]:
    """From the definition: a weighted sample of n queries and one more, as a loop over its values."""
    n, ends = len(values), []
    near = [max(0.0, 1 - abs(a - b) / (0.1 * (high - low))) for a in values for b in values]
    weight = sum(near) / n**2
    for bound, side in ((low, -1), (high, 1)):
        weights, sample = [*[1.0] * n, weight], [*values, bound]
        total = sum(weights)
        mean = sum(w * v for w, v in zip(weights, sample, strict=True)) / total
        variance = sum(w * (v - mean) ** 2 for w, v in zip(weights, sample, strict=True)) / (total - 1)
        end = mean + side * scipy_stats.t.ppf((1 + level) / 2, n - 1) * math.sqrt(variance / total)
        ends.append(min(max(end, low), high))
    return ends[0], ends[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 10, 60])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_the_definition(kind: str, n: int, level: float) -> None:
    values = draws(kind, (n, 4))
    intervals = mean_intervals(values, bounds=(0, 1), level=level)
    for c, column in enumerate(values.T.tolist()):
        assert (intervals.low[c], intervals.high[c]) == pytest.approx(naive(column, 0, 1, level), rel=1e-9, abs=1e-12)
    assert intervals.method == "guarded_t"


@pytest.mark.parametrize("n", [2, 3, 43, 20_000])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.9999])
def test_without_bounds_it_is_student_s(n: int, level: float) -> None:
    values = draws("even", (n, 2))
    intervals = mean_intervals(values, level=level)
    want = scipy_stats.ttest_1samp(values, 0).confidence_interval(level)
    assert intervals.low == pytest.approx(want.low, rel=1e-8)
    assert intervals.high == pytest.approx(want.high, rel=1e-8)


def test_one_bound_guards_one_end() -> None:
    values = draws("like average precision", (20, 3))
    student, guarded = mean_intervals(values), mean_intervals(values, bounds=(0, 1))
    below = mean_intervals(values, bounds=(0, math.inf))
    # What is near is so beside the range, which then ends at the highest value.
    assert below.low.tobytes() == mean_intervals(values, bounds=(0, values.max(axis=0))).low.tobytes()
    assert below.high.tobytes() == student.high.tobytes()
    assert (guarded.high > student.high).all()


def test_every_column_has_its_own_bounds() -> None:
    values = draws("precision@5", (12, 2))
    both = mean_intervals(values, bounds=(np.array([0.0, -1.0]), np.array([1.0, 5.0])))
    for c, bounds in enumerate([(0, 1), (-1, 5)]):
        alone = mean_intervals(values[:, [c]], bounds=bounds)
        assert (both.low[c], both.high[c]) == (alone.low[0], alone.high[0])


@pytest.mark.parametrize(("n", "low"), [(2, 0.0), (3, 0.0), (5, 0.371), (10, 0.703), (100, 0.970), (200, 0.985)])
def test_equal_values_are_not_certain(n: int, low: float) -> None:
    hits = mean_intervals(np.ones((n, 1)), bounds=(0, 1))
    assert (hits.low[0], hits.high[0]) == (pytest.approx(low, abs=5e-4), 1.0)
    misses = mean_intervals(np.zeros((n, 1)), bounds=(0, 1))
    assert (misses.low[0], misses.high[0]) == (0.0, pytest.approx(1 - low, abs=5e-4))


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -2.5, 1e-9, 1e6])
@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (-3, math.inf), (-math.inf, 1e7)])
def test_equal_values_without_a_bound_say_nothing(value: float, bounds: tuple[float, float]) -> None:
    intervals = mean_intervals(np.full((9, 1), value), bounds=bounds)
    assert intervals.method == "none"
    assert np.isnan([intervals.low, intervals.high]).all()


def test_values_beyond_their_bounds_move_them() -> None:
    values = np.array([[0.5], [1.5], [0.25], [-1.5]])
    assert mean_intervals(values, bounds=(0, 1)) == mean_intervals(values, bounds=(-1.5, 1.5))


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_queries(n: int) -> None:
    intervals = mean_intervals(np.ones((n, 2)), bounds=(0, 1))
    assert intervals.method == "none"
    assert intervals.low.shape == intervals.high.shape == (2,)
    assert np.isnan([intervals.low, intervals.high]).all()


def test_the_method_is_that_of_the_means_that_have_an_interval() -> None:
    intervals = mean_intervals(np.array([[1.0, 1.0], [1.0, 2.0]]))
    assert np.isnan(intervals.low).tolist() == [True, False]
    assert intervals.method == "guarded_t"


def test_no_column() -> None:
    assert mean_intervals(np.ones((5, 0))).low.shape == (0,)


def test_a_column_does_not_depend_on_its_neighbours() -> None:
    values = draws("precision@5", (50, 4))
    kept = values.copy()
    together = mean_intervals(values, bounds=(0, 1))
    for c in range(4):
        alone = mean_intervals(values[:, [c]], bounds=(0, 1))
        assert (alone.low[0], alone.high[0]) == (together.low[c], together.high[c])
    assert (values == kept).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 20, 200])
def test_ends_are_in_order_and_within_the_bounds(kind: str, n: int) -> None:
    values = draws(kind, (n, 20), seed=n)
    intervals, mean = mean_intervals(values, bounds=(0, 1)), values.mean(axis=0)
    assert (intervals.low >= 0).all()
    assert (intervals.low <= mean).all()
    assert (mean <= intervals.high).all()
    assert (intervals.high <= 1).all()


@pytest.mark.parametrize("noise", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_little_noise_moves_an_end_by_little(kind: str, noise: float) -> None:
    values = draws(kind, (15, 20))
    values[:, 0] = 1.0
    noisy = values + noise * np.random.default_rng(2).normal(size=values.shape)
    plain, moved = mean_intervals(values, bounds=(0, 1)), mean_intervals(noisy, bounds=(0, 1))
    assert moved.low == pytest.approx(plain.low, abs=200 * noise)
    assert moved.high == pytest.approx(plain.high, abs=200 * noise)


@pytest.mark.parametrize("kind", KINDS)
def test_losses_have_the_interval_of_gains(kind: str) -> None:
    values = draws(kind, (15, 10))
    gains, losses = mean_intervals(values, bounds=(0, 1)), mean_intervals(1 - values, bounds=(0, 1))
    assert losses.low == pytest.approx(1 - gains.high, abs=1e-12)
    assert losses.high == pytest.approx(1 - gains.low, abs=1e-12)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("bound", [1, math.inf])
def test_the_unit_does_not_matter(factor: float, bound: float) -> None:
    """Latencies in seconds or nanoseconds: the interval scales with the values."""
    values = draws("precision@5", (40, 1))
    plain = mean_intervals(values, bounds=(0, bound))
    scaled = mean_intervals(values * factor, bounds=(0, bound * factor))
    assert scaled.low[0] == pytest.approx(plain.low[0] * factor, rel=1e-9, abs=0)
    assert scaled.high[0] == pytest.approx(plain.high[0] * factor, rel=1e-9, abs=0)


@pytest.mark.parametrize("parts", [3, 7, 10])
def test_rounding_parts_no_equal_values(parts: int) -> None:
    """Recall in thirds, computed in two ways: what agrees but for rounding agrees."""
    whole = np.random.default_rng(1).integers(0, parts + 1, (40, 30)).astype(float)
    noisy = whole / parts * (1 + np.random.default_rng(2).choice([0, 2**-52], whole.shape))
    exact, rounded = mean_intervals(whole, bounds=(0, parts)), mean_intervals(noisy, bounds=(0, 1))
    assert rounded.low * parts == pytest.approx(exact.low, rel=1e-9)
    assert rounded.high * parts == pytest.approx(exact.high, rel=1e-9)


def test_a_mean_that_rounding_puts_above_its_values_is_in_its_interval() -> None:
    values = np.full((3, 1), 0.2)
    assert values.mean() > 0.2
    assert mean_intervals(values, bounds=(0.0, 0.2)).high[0] >= values.mean()


def test_a_higher_level_is_wider() -> None:
    values = draws("like average precision", (60, 5))
    levels = [mean_intervals(values, bounds=(0, 1), level=level) for level in (0.5, 0.8, 0.9, 0.95, 0.99)]
    for narrow, wide in pairwise(levels):
        assert ((wide.low < narrow.low) & (narrow.high < wide.high)).all()


@pytest.mark.parametrize("bounds", [(0, 1), (-math.inf, math.inf)])
def test_copies_of_a_query_narrow_nothing(bounds: tuple[float, float]) -> None:
    """Every query four times in its cluster: the interval is that of the queries without their copies."""
    values = draws("precision@5", (30, 2))
    plain, copies = mean_intervals(values, bounds=bounds), np.repeat(values, 4, axis=0)
    clustered = mean_intervals(copies, bounds=bounds, clusters=np.repeat(np.arange(30), 4))
    assert clustered.low == pytest.approx(plain.low, rel=1e-9)
    assert clustered.high == pytest.approx(plain.high, rel=1e-9)
    unclustered = mean_intervals(copies, bounds=bounds)
    assert (unclustered.high - unclustered.low < 0.6 * (plain.high - plain.low)).all()


def test_one_query_a_cluster_is_no_cluster() -> None:
    values = draws("like average precision", (40, 2))
    plain = mean_intervals(values, bounds=(0, 1))
    clustered = mean_intervals(values, bounds=(0, 1), clusters=[f"c{i:02}" for i in range(40)])
    assert clustered.low == pytest.approx(plain.low, rel=1e-9)
    assert clustered.high == pytest.approx(plain.high, rel=1e-9)


def test_unequal_clusters_leave_fewer_degrees_of_freedom() -> None:
    clusters = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 20])
    values = draws("even", (35, 1))
    average = mean_error(values[:, 0], clusters=clusters)
    assert average.df < 4
    want = scipy_stats.t.interval(0.95, average.df, average.mean, average.error)
    interval = mean_intervals(values, clusters=clusters)
    assert (interval.low[0], interval.high[0]) == pytest.approx(want, rel=1e-9)
    guarded = mean_intervals(values, bounds=(0, 1), clusters=clusters)
    assert guarded.low[0] < interval.low[0]
    assert interval.high[0] < guarded.high[0]


def test_equal_clusters_of_unequal_size_are_not_certain() -> None:
    """Their means are equal, so that one more cluster weighs 1."""
    clusters = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 9])
    hits = np.ones(24)
    quantile = scipy_stats.t.ppf(0.975, mean_error(hits, clusters=clusters).df)
    interval = mean_intervals(hits[:, None], bounds=(0, 1), clusters=clusters)
    assert (interval.low[0], interval.high[0]) == pytest.approx((1 - (1 + quantile) / 7, 1.0))


def test_one_cluster_has_no_interval() -> None:
    intervals = mean_intervals(draws("even", (9, 2)), bounds=(0, 1), clusters=["a"] * 9)
    assert intervals.method == "none"


def test_bad_input() -> None:
    values = draws("even", (9, 2))
    with pytest.raises(InputError, match="level is 95"):
        mean_intervals(values, level=95)
    with pytest.raises(InputError, match="clusters have shape"):
        mean_intervals(values, clusters=["a"])


def clustered_coverage(n_samples: int) -> tuple[float, float]:
    """Shares that hold the mean, by clusters and by none: 30 documents of one to five questions that move together."""
    held, unclustered = [], []
    for seed in range(n_samples):
        rng = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(30), rng.integers(1, 6, 30))
        easy = rng.beta(2, 1, 30)[clusters]
        hits = (rng.random(len(clusters)) < easy).astype(float)[:, None]
        for options, into in (({"clusters": clusters}, held), ({}, unclustered)):
            ends = mean_intervals(hits, bounds=(0, 1), **options)
            into.append(ends.low[0] <= 2 / 3 <= ends.high[0])
    return float(np.mean(held)), float(np.mean(unclustered))


def test_clusters_hold_more_often() -> None:
    held, unclustered = clustered_coverage(150)
    assert held > 0.9
    assert held > unclustered


@pytest.mark.slow
def test_clustered_coverage() -> None:
    held, unclustered = clustered_coverage(2000)
    assert 0.93 <= held <= 0.98
    assert unclustered < 0.92


def exact_coverage(p: float, n: int) -> float:
    """The chance that the interval of n hits holds p: the sum over all numbers of hits."""
    counts = np.arange(n + 1)
    ends = mean_intervals((np.arange(n)[:, None] < counts).astype(float), bounds=(0, 1))
    return float(scipy_stats.binom.pmf(counts, n, p)[(ends.low <= p + 1e-9) & (p - 1e-9 <= ends.high)].sum())


@pytest.mark.parametrize("p", means.HITS)
@pytest.mark.parametrize("n", [3, 5, 10, 20, 34, 50, 62, 100, 133, 200])
def test_intervals_of_hits_hold_the_truth(p: float, n: int) -> None:
    assert exact_coverage(p, n) >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("p", [*means.HITS, 0.6, 0.7, 0.98, 0.99])
def test_intervals_of_hits_hold_the_truth_for_any_number(p: float) -> None:
    assert min(exact_coverage(p, n) for n in range(2, 201)) >= 0.94


INVENTED = means.invented()


@pytest.mark.parametrize("name", INVENTED)
@pytest.mark.parametrize("n", [5, 20, 100])
def test_intervals_hold_the_truth(name: str, n: int) -> None:
    check(means.coverage(INVENTED[name], n, draws=2000, rng=np.random.default_rng(1)), n)


@pytest.mark.slow
@pytest.mark.parametrize("n", [*means.QUESTIONS, 7, 14, 28, 40])
def test_intervals_of_real_scores_hold_the_truth(n: int) -> None:
    shared("trec_topic_scores")
    rng = np.random.default_rng(n)
    for populations in [*means.real().values(), INVENTED.values()]:
        for population in populations:
            check(means.coverage(population, n, draws=20_000, rng=rng), n)


def check(cell: Any, n: int) -> None:
    """At least 92% hold the truth; from 50 questions on none is much wider than t's, where those hold it too."""
    assert cell.held >= 0.92
    assert n < 50 or cell.held_by_t < 0.92 or cell.width <= 1.25


def naive_skewed(values: Sequence[float], level: float) -> tuple[float, float]:
    """From the definition: ends are the means at which Willink's cubic comes to t."""
    n, mean = len(values), math.fsum(values) / len(values)
    away = [v - mean for v in values]
    deviation = math.sqrt(sum(a**2 for a in away) / (n - 1))
    bend = n / ((n - 1) * (n - 2)) * sum(a**3 for a in away) / (6 * math.sqrt(n) * deviation**3)
    t, error = scipy_stats.t.ppf((1 + level) / 2, n - 1), deviation / math.sqrt(n)

    def cubic(mu: float) -> float:
        z = (mean - mu) / error
        return float(z + bend + 2 * bend * z**2 + 4 / 3 * bend**2 * z**3)

    low, high = (
        optimize.brentq(lambda mu, end=end: cubic(mu) - end, mean - 1e6 * error, mean + 1e6 * error, rtol=1e-14)
        for end in (t, -t)
    )
    width = t * error / mean
    return low, max(high, mean * (1 + width + width**2)) if min(values) >= 0 else high


@pytest.mark.parametrize("n", [3, 10, 60])
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("shift", [0.0, -1.5])
def test_skewed_intervals_against_the_definition(n: int, level: float, shift: float) -> None:
    values = np.random.default_rng(n).lognormal(0, 1, (n, 6)) + shift
    intervals = skewed_intervals(values, level=level)
    for c, column in enumerate(values.T.tolist()):
        expected = naive_skewed(column, level)
        assert (intervals.low[c], intervals.high[c]) == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("sigma", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("n", [2, 5, 10, 20, 50])
def test_skewed_intervals_hold_the_mean_of_lognormal_values(sigma: float, n: int) -> None:
    """In 93% of samples at least, as 20,000 of them know to .2%; of upper ends as short as exp(u) has, it was 91%."""
    values = np.random.default_rng(n).lognormal(0, sigma, (n, 20_000))
    intervals, mean = skewed_intervals(values), math.exp(sigma**2 / 2)
    held = float(np.mean((intervals.low <= mean) & (mean <= intervals.high)))
    assert 0.928 <= held <= 0.97


def test_skewed_intervals_of_two_and_of_clusters() -> None:
    two = skewed_intervals(np.array([[-1.0], [2.0]]))
    assert (two.low[0], two.high[0]) == pytest.approx(scipy_stats.t.interval(0.95, 1, 0.5, 1.5))
    values = np.random.default_rng(1).lognormal(0, 1, (12, 3)) - 1
    single, alone = skewed_intervals(values), skewed_intervals(values, clusters=np.arange(12))
    np.testing.assert_allclose(alone.low, single.low)
    pairs, repeated = np.repeat(np.arange(12), 2), np.repeat(values, 2, axis=0)
    np.testing.assert_allclose(skewed_intervals(repeated, clusters=pairs).high, single.high)
    for none in (values[:1], np.full((5, 3), 0.1)):
        assert np.isnan(skewed_intervals(none).low).all()


@examples(200)
@given(hnp.arrays(np.float64, st.integers(2, 12), elements=st.floats(0, 1e6)), st.floats(1e-9, 1e9))
def test_skewed_intervals_scale_and_hold_the_mean(values: Floats, factor: float) -> None:
    intervals = skewed_intervals(values[:, None])
    low, high = intervals.low[0], intervals.high[0]
    if np.isnan(low):
        return
    assert low <= values.mean() <= high
    scaled = skewed_intervals(factor * values[:, None])
    assert (scaled.low[0], scaled.high[0]) == pytest.approx((factor * low, factor * high), rel=1e-6)


@pytest.mark.parametrize("name", ["lognormal, σ = 0.5", "lognormal, σ = 1", "gamma, shape 1", "normal"])
@pytest.mark.parametrize("n", [2, 5, 20, 50])
def test_skewed_intervals_hold_the_truth(name: str, n: int) -> None:
    cell = means.skewed_coverage(means.unbounded()[name], n, draws=4000, rng=np.random.default_rng(1))
    assert cell.held >= 0.905
    assert n < 20 or name != "normal" or cell.width < 1.05
