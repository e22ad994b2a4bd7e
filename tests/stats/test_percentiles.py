import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.intervals.percentiles import neighbours_alike, percentile_interval, percentile_intervals
from tests.hypothesis_profiles import examples

requests = pytest.importorskip("benchmarks.simulated.requests")


@pytest.mark.parametrize(("p", "least"), [(0.95, 72), (0.99, 368), (0.5, 6)])
def test_the_upper_end_exists_from_the_known_number_of_values_on(p: float, least: int) -> None:
    assert percentile_interval(range(least), p).high < math.inf
    assert percentile_interval(range(least - 1), p).high == math.inf


@pytest.mark.parametrize("n", [1, 2, 7, 40, 200])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_ends_have_the_ranks_of_binomial_quantiles(n: int, p: float, level: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason="the oracle of binomial quantiles is SciPy")
    found = percentile_interval(np.arange(1, n + 1), p, level=level)
    first, last = stats.binom.ppf((1 - level) / 2, n, p), stats.binom.ppf((1 + level) / 2, n, p) + 1
    assert found.low == (first if first >= 1 else -math.inf)
    assert found.high == (last if last <= n else math.inf)
    assert found.value == pytest.approx(np.percentile(np.arange(1, n + 1), 100 * p))


def test_the_interval_covers_at_least_at_its_level() -> None:
    rng = np.random.default_rng(5)
    true = math.exp(0.6 * 1.6448536269514722)  # P95 of this lognormal
    found = [percentile_interval(rng.lognormal(0, 0.6, 100), 0.95) for _ in range(2000)]
    covered = np.mean([each.low <= true <= each.high for each in found])
    assert 0.94 < covered < 0.99


@examples(100)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.floats(0.01, 0.99), st.randoms(use_true_random=False))
def test_order_moves_nothing_and_a_wider_level_holds_a_narrower(values, p, shuffler) -> None:
    narrow, wide = percentile_interval(values, p, level=0.5), percentile_interval(values, p, level=0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert percentile_interval(shuffler.sample(values, len(values)), p, level=0.5) == narrow


def test_nothing_gives_nan_and_bad_input_is_refused() -> None:
    empty = percentile_interval([], 0.95)
    assert math.isnan(empty.value)
    assert (empty.low, empty.high, empty.n) == (-math.inf, math.inf, 0)
    with pytest.raises(InputError, match="not finite"):
        percentile_interval([1.0, math.nan], 0.95)
    for p in (0.0, 1.0, 95.0):
        with pytest.raises(InputError, match="between 0 and 1"):
            percentile_interval([1.0], p)


def test_a_hundred_thousand_values_are_no_trouble() -> None:
    found = percentile_interval(np.arange(100_000.0), 0.95)
    assert 94_800 < found.low < found.value < found.high < 95_200


@pytest.mark.parametrize(
    ("n_infinite", "value"), [(0, 95.05), (1, 95.05), (4, 95.05), (5, math.inf), (50, math.inf), (100, math.inf)]
)
def test_values_known_only_to_be_large_are_larger_than_all_others(n_infinite: int, value: float) -> None:
    values = np.arange(1.0, 101.0)
    values[100 - n_infinite :] = math.inf
    interval = percentile_interval(values, 0.95)
    assert interval.value == pytest.approx(value)
    assert (interval.n, interval.n_censored) == (100, n_infinite)
    assert (interval.high == math.inf) == (n_infinite > 0)
    assert interval.low == (90.0 if n_infinite <= 10 else math.inf)


# Clusters -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
def test_clusters_of_one_change_nothing_and_copies_say_nothing_new(p: float) -> None:
    values = np.random.default_rng(2).lognormal(0, 0.6, 300)
    alone = percentile_interval(values, p)
    assert percentile_interval(values, p, clusters=np.arange(300)) == alone
    copies = percentile_interval(np.tile(values, 3), p, clusters=np.tile(np.arange(300), 3))
    assert 250 <= copies.n_effective <= 300
    ordered = np.sort(values)
    for end, of_copies in ((alone.low, copies.low), (alone.high, copies.high)):
        assert abs(np.searchsorted(ordered, end) - np.searchsorted(ordered, of_copies)) <= 1


def test_independent_values_in_clusters_lose_little() -> None:
    values = np.random.default_rng(2).normal(size=3000)
    median, tail = percentile_intervals(values, [0.5, 0.95], clusters=np.arange(3000) // 3)
    assert median.n_effective > 2700
    assert tail.n_effective > 2500


def test_several_percentiles_are_those_of_each_by_itself() -> None:
    values, clusters = np.random.default_rng(2).normal(size=90), np.arange(90) // 3
    several = percentile_intervals(values, [0.5, 0.9], clusters=clusters)
    assert several == [percentile_interval(values, p, clusters=clusters) for p in (0.5, 0.9)]


def test_neighbours_in_time_that_are_alike_count_as_fewer() -> None:
    """Seconds of which ten in a row are slow say as much as one, where their order is known."""
    slow = np.repeat(np.random.default_rng(3).random(60) < 0.2, 10)
    values = np.random.default_rng(4).normal(size=6000) + 5 * np.repeat(slow, 10)
    seconds = np.arange(6000) // 10
    apart, in_time = (percentile_interval(values, 0.5, clusters=seconds, in_time=flag) for flag in (False, True))
    assert in_time.n_effective < apart.n_effective / 3
    shuffled = np.random.default_rng(5).permutation(600)[seconds]
    assert percentile_interval(values, 0.5, clusters=shuffled, in_time=True).n_effective > apart.n_effective / 2


def test_one_cluster_has_no_ends() -> None:
    interval = percentile_interval(range(100), 0.5, clusters=["a"] * 100)
    assert (interval.low, interval.high) == (-math.inf, math.inf)


def coverage(draw, true: float, p: float, n_simulations: int, *, in_time: bool = False) -> float:
    """The share of simulations whose interval holds the true percentile; draw gives values and clusters."""
    holds = 0
    for _ in range(n_simulations):
        values, clusters = draw()
        interval = percentile_interval(values, p, clusters=clusters, in_time=in_time)
        holds += interval.low <= true <= interval.high
    return holds / n_simulations


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("n_questions", [30, 75, 225])
def test_the_level_holds_for_repetitions_of_questions(n_questions: int, alike: float, p: float) -> None:
    rng, codes = np.random.default_rng(6), np.tile(np.arange(n_questions), 3)

    def draw():
        of_questions = rng.normal(size=n_questions)[codes] * math.sqrt(alike)
        return of_questions + rng.normal(size=len(codes)) * math.sqrt(1 - alike), codes

    assert coverage(draw, NormalDist().inv_cdf(p), p, 1500) > 0.93


@pytest.mark.slow
def test_the_level_of_p99_holds_for_rare_questions_that_are_slow_each_time() -> None:
    """One question in 83 takes five times as long: in 7% of cases none of 225 does, and noise says nothing."""
    rng, codes = np.random.default_rng(7), np.tile(np.arange(225), 3)

    def draw():
        slow = rng.random(225) < 0.012
        return 10 * np.exp(0.3 * rng.normal(size=len(codes))) * np.where(slow, 5, 1)[codes], codes

    true = float(np.quantile(np.concatenate([draw()[0] for _ in range(4000)]), 0.99))
    assert coverage(draw, true, 0.99, 1000) > 0.93


@pytest.mark.slow
def test_stalls_of_a_few_requests_in_a_row_are_not_in_the_level_of_repeated_questions() -> None:
    """As the docs say: clusters are questions, and a stall slows others."""
    rng, codes = np.random.default_rng(8), np.tile(np.arange(225), 3)

    def draw():
        values = 10 * np.exp(0.2 * rng.normal(size=(3, 225)))
        for repetition in values:
            for _ in range(rng.poisson(0.8)):
                first = rng.integers(225)
                repetition[first : first + 8] *= rng.uniform(3, 6)
        return values.ravel(), codes

    true = float(np.quantile(np.concatenate([draw()[0] for _ in range(4000)]), 0.95))
    assert 0.65 < coverage(draw, true, 0.95, 1000) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "capacity", "duration"), [(2, 4, 120), (10, 20, 60), (10, 20, 300), (16, 20, 300), (100, 200, 60)]
)
@pytest.mark.parametrize("p", [0.5, 0.95])
def test_the_level_holds_for_seconds_of_a_queue(rate: int, capacity: int, duration: int, p: float) -> None:
    """M/M/1: waiting and service take an exponential time with the mean 1 / (capacity - rate)."""
    rng, warm_up = np.random.default_rng(7), 30

    def draw():
        n = rng.poisson(rate * (duration + warm_up))
        arrival, worked = np.sort(rng.random(n)) * (duration + warm_up), np.cumsum(rng.exponential(1 / capacity, n))
        start = np.maximum.accumulate(arrival - np.concatenate(([0.0], worked[:-1])))
        counts = arrival > warm_up
        return (start + worked - arrival)[counts], arrival[counts].astype(int)

    assert coverage(draw, -math.log(1 - p) / (capacity - rate), p, 600, in_time=True) > 0.92


@pytest.mark.parametrize("p", requests.SHARES)
def test_requests_in_order_hold_the_percentile_though_neighbours_are_alike(p: float) -> None:
    rng = np.random.default_rng(1)
    for alike, least in {0.0: 0.9, 0.5: 0.9, 0.9: 0.82}.items():
        held, _ = requests.held(p, alike, 400, draws=120, rng=rng, in_order=True)
        assert held >= least
    assert requests.held(p, 0.9, 400, draws=60, rng=rng, in_order=False)[0] < 0.75


def test_values_in_order_of_which_neighbours_are_not_alike_are_taken_one_by_one() -> None:
    values = np.random.default_rng(1).lognormal(0, 1, (60, 300))
    alike = [neighbours_alike(row) for row in values]
    assert np.mean(alike) <= 0.1
    for row, together in zip(values, alike, strict=True):
        assert together or percentile_interval(row, 0.95, in_order=True) == percentile_interval(row, 0.95)
    for few in ([], [1.0], [2.0] * 50, [math.inf] * 40):
        assert not neighbours_alike(np.array(few))
