"""Differences of percentiles: their intervals, p, and what cannot be known."""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.stats.intervals.percentiles import percentile_difference, percentile_interval

gates = pytest.importorskip("benchmarks.simulated.percentile_gates")

RNG = np.random.default_rng(4)
BASE = RNG.lognormal(4, 0.5, 200)[None]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.95])
def test_the_interval_comes_from_those_of_both_percentiles(p: float) -> None:
    other = RNG.lognormal(4.3, 0.5, 200)[None]
    difference = percentile_difference(BASE, other, p)
    a, b = (percentile_interval(values[0], p) for values in (BASE, other))
    above = np.stack([values[0] > value for values, value in ((BASE, a.value), (other, b.value))]).astype(float)
    r = np.corrcoef(above)[0, 1]
    assert difference.alike == pytest.approx(r)
    (a_low, a_high), (b_low, b_high) = difference.first.ends_between(0.95), difference.second.ends_between(0.95)
    assert a.low <= a_low < a.value < a_high <= a.high
    down, up = (
        math.sqrt(one**2 + two**2 - 2 * r * one * two)
        for one, two in ((b.value - b_low, a_high - a.value), (b_high - b.value, a.value - a_low))
    )
    want = b.value - a.value
    assert (difference.value, *difference.interval(0.95)) == pytest.approx((want, want - down, want + up))


@pytest.mark.parametrize("factor", [1.0, 1.05, 1.2, 0.7])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_p_is_small_just_where_the_interval_leaves_out_0(factor: float, level: float) -> None:
    difference = percentile_difference(BASE, BASE * factor * RNG.lognormal(0, 0.1, 200), 0.9)
    low, high = difference.interval(level)
    assert (low > 0 or high < 0) == (difference.p <= 1 - level)


def test_turning_both_round_turns_the_difference_round() -> None:
    other = BASE * RNG.lognormal(0.1, 0.2, 200)
    one, two = percentile_difference(BASE, other, 0.8), percentile_difference(other, BASE, 0.8)
    assert one.value == -two.value
    assert one.interval(0.95) == pytest.approx([-end for end in reversed(two.interval(0.95))])
    assert (one.p, one.p_above(3.0)) == (two.p, two.p_below(-3.0))


def test_equal_values_differ_by_nothing_and_nothing_is_shown() -> None:
    same = percentile_difference(BASE, BASE, 0.95)
    assert (same.value, same.alike, same.p) == (0.0, pytest.approx(1.0), 1.0)
    flat = percentile_difference(np.zeros((1, 100)), np.r_[np.zeros(70), np.ones(30)][None], 0.1)
    assert (flat.value, flat.p) == (0.0, 1.0)


def test_copies_of_runs_and_clusters_say_nothing_new() -> None:
    other = BASE * RNG.lognormal(0.2, 0.2, 200)
    alone = percentile_difference(BASE, other, 0.5)
    copied = percentile_difference(np.tile(BASE, (3, 1)), np.tile(other, (3, 1)), 0.5)
    low, high = copied.interval(0.95)
    assert low <= alone.interval(0.95)[0] + 0.5
    assert high >= alone.interval(0.95)[1] - 0.5
    pairs = (np.repeat(values, 2, axis=1) for values in (BASE, other))
    in_pairs = percentile_difference(*pairs, 0.5, clusters=np.arange(400) // 2)
    assert in_pairs.interval(0.95) == pytest.approx(alone.interval(0.95), abs=1.5)


def test_neighbours_in_time_widen_the_interval() -> None:
    slow = np.repeat(RNG.random(20) < 0.3, 20)[None] * 100
    seconds, other = np.arange(400) // 4, slow + RNG.random((1, 400)) + 5
    apart, in_time = (
        percentile_difference(slow + RNG.random((1, 400)), other, 0.6, clusters=seconds, in_time=flag)
        for flag in (False, True)
    )
    assert in_time.first.n_effective(0.95) < apart.first.n_effective(0.95) / 2


def test_failures_leave_ends_open_or_decide() -> None:
    some, most = BASE.copy(), BASE.copy()
    some[0, :4], most[0, :100] = math.inf, math.inf
    difference = percentile_difference(BASE, some, 0.95)
    assert math.isfinite(difference.value)
    assert difference.interval(0.95)[1] == math.inf
    failing = percentile_difference(BASE, most, 0.95)
    assert math.isnan(failing.value)
    assert failing.interval(0.95) == (math.inf, math.inf)
    assert failing.p < 1e-3
    neither = percentile_difference(most, most, 0.95)
    assert (neither.interval(0.95), neither.p) == ((-math.inf, math.inf), 1.0)


def test_too_few_values_show_nothing_and_bad_input_is_refused() -> None:
    few = percentile_difference(BASE[:, :40], 10 * BASE[:, :40], 0.95)
    assert (few.interval(0.95), few.p > 0.05) == ((-math.inf, math.inf), True)
    with pytest.raises(InputError, match="values of 200 questions and the other system of 40"):
        percentile_difference(BASE, BASE[:, :40], 0.5)
    with pytest.raises(InputError, match="not finite"):
        percentile_difference(BASE, np.where(BASE > 50, np.nan, BASE), 0.5)


def _sigma(spread: float) -> Callable[[float], float]:
    return lambda p: math.exp(spread * NormalDist().inv_cdf(p))


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("alike", [0.0, 0.8])
@pytest.mark.parametrize("spreads", [(0.6, 0.6), (0.3, 1.0)])
@pytest.mark.parametrize(("n", "n_runs"), [(30, 1), (100, 1), (100, 3), (225, 3)])
def test_the_level_holds_with_equal_and_with_unequal_distributions(
    n: int, n_runs: int, spreads: tuple[float, float], alike: float, p: float
) -> None:
    """Percentiles are equal, though one system may scatter three times as much; questions and runs are alike."""
    rng, n_simulations, wrong = np.random.default_rng(5), 400, 0
    for _ in range(n_simulations):
        shared, runs = rng.normal(size=n), list[np.ndarray]()
        for spread in spreads:
            of_system = math.sqrt(alike) * shared + math.sqrt(1 - alike) * rng.normal(size=n)
            z = math.sqrt(0.9) * of_system + math.sqrt(0.1) * rng.normal(size=(n_runs, n))
            runs.append(np.exp(spread * z) / _sigma(spread)(p))
        wrong += percentile_difference(*runs, p).p <= 0.05
    assert wrong / n_simulations < 0.07


@pytest.mark.parametrize("name", gates.PAIRS)
def test_a_true_loss_of_the_margin_seldom_passes_and_equal_percentiles_pass_at_the_number_needed(name: str) -> None:
    rng, pair = np.random.default_rng(3), gates.PAIRS[name]
    assert gates.passes(pair, 150, pair.margin, draws=120, rng=rng) <= 0.09
    if name.startswith("alike"):
        assert 0.65 <= gates.passes_at_needed(pair, 150, draws=60, rng=rng)[1] <= 0.95
