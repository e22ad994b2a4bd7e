"""Always-valid intervals and p, against gbstats, integrals, all sequences of coins, and simulated looks."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from benchmarks.simulated.looks import BOUNDED, CASES, bounded_at_a_null, returning_at_a_null, shown_at_a_null
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.arms.contrast import Normal
from steelyard.stats.sequences import Betting, Sequential, errors_at_any_time, p_at_any_time
from tests.hypothesis_profiles import examples

integrate = pytest.importorskip("scipy.integrate", reason="the oracle needs the extra stats")
normal = NormalDist()


def look(difference: float, error: float, n: int, df: float = math.inf) -> Normal:
    """A contrast of n units in all."""
    return Normal(
        baseline=1, other=1 + difference, difference=difference, error=error, n_baseline=n // 2, n_other=n - n // 2,
        baseline_error=error / 2**0.5, covariance=-(error**2) / 2, df=df,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "error", "n", "n_tuned", "low", "high", "p"),
    [
        (0.5, 0.09402127418834529, 2000, 5000, 0.20629830951783007, 0.7937016904821699, 4.368740271689475e-05),
        (0.4, 0.07585073060513876, 800, 800, 0.16977718054067556, 0.6302228194593242, 1.2956752852940693e-05),
        (0.01, 0.004050308630215727, 40000, 20000, -0.002399927600787558, 0.02239992760078752, 0.23354694621702654),
    ],
)
def test_two_sided_agrees_with_gbstats(
    difference: float, error: float, n: int, n_tuned: float, low: float, high: float, p: float
) -> None:
    """SequentialTwoSidedTTest of gbstats 0.8.0, of means and spreads that give this error."""
    sequential = Sequential(look(difference, error, n), n_tuned)
    assert sequential.interval() == pytest.approx((low, high), rel=1e-9)
    assert sequential.p() == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("z", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("growth", [0.1, 1.0, 10.0])
def test_one_sided_is_a_mixture_of_effects_above_the_null(z: float, growth: float) -> None:
    """The likelihood ratio of z, averaged over a half-normal prior of effects whose sd is sqrt(growth) errors."""
    n_tuned = (-2 * math.log(0.05) + math.log(-2 * math.log(0.05) + 1)) / growth
    mixture, _ = integrate.quad(
        lambda effect: math.exp(effect * z - effect**2 / 2) * 2 * normal.pdf(effect / growth**0.5) / growth**0.5,
        0,
        math.inf,
    )
    assert p_at_any_time(normal.cdf(-z), 1, n_tuned, "greater") == pytest.approx(min(1 / mixture, 1), rel=1e-6)


@examples(100)
@given(
    st.floats(-5, 5), st.floats(1.0, 500.0), st.integers(4, 10**6), st.floats(0.06, 50), st.floats(0.5, 0.999),
    st.sampled_from([3.0, 20.0, math.inf]),
)  # fmt: skip
def test_p_says_what_the_interval_says(
    difference: float, error: float, n: int, part: float, level: float, df: float
) -> None:
    sequential = Sequential(look(difference, error, n, df), n / part)
    low, high = sequential.interval(level)
    if math.isnan(low):
        assert errors_at_any_time(n, n / part, level) > 7
        return
    assert sequential.p(low) == pytest.approx(1 - level, rel=1e-3)
    assert sequential.p(high) == pytest.approx(1 - level, rel=1e-3)
    assert low < sequential.contrast.interval(level)[0] <= difference <= sequential.contrast.interval(level)[1] < high
    one_sided = sequential.p(low, "greater")
    assert (1 - level) / 2 * 0.999 <= one_sided <= 1 - level
    assert sequential.p(difference, "greater") == sequential.p(difference, "less") == 1


def test_tightest_where_it_is_tuned() -> None:
    sizes = np.geomspace(100, 10**6, 200)
    widths = np.array([errors_at_any_time(n, 10_000) / n**0.5 for n in sizes])
    assert (np.diff(widths) < 0).all()
    at_10_000 = [errors_at_any_time(10_000, 10_000 * factor) for factor in (0.5, 0.8, 1.0, 1.25, 2.0)]
    assert min(at_10_000) == at_10_000[2]


def test_what_a_contrast_does_not_know_is_not_known_at_any_time() -> None:
    nothing = Sequential(look(0.0, math.nan, 20), 100)
    assert all(math.isnan(value) for value in (*nothing.interval(), nothing.p(), *nothing.relative()))
    empty = Sequential(look(0.5, 0.1, 0), 100)
    assert math.isnan(empty.p())
    assert all(math.isnan(value) for value in (*empty.interval(), *empty.relative()))
    early = Sequential(look(0.5, 0.1, 10), 10**6)
    assert math.isnan(early.interval()[0])
    assert early.p() > 0.9
    assert Sequential(look(90.0, 0.1, 1000), 1000).p() > 0
    with pytest.raises(InputError, match="both above 0"):
        errors_at_any_time(10, 0)


def test_it_is_the_contrast_but_wider() -> None:
    contrast = look(0.5, 0.1, 101)
    sequential = Sequential(contrast, 200)
    same = ("baseline", "other", "difference", "error", "n_baseline", "n_other")
    assert all(getattr(sequential, name) == getattr(contrast, name) for name in same)
    assert (sequential.method, sequential.details) == ("sequence", {"method": "delta", "n_tuned": 200})
    ratio, low, high = sequential.relative()
    assert low < contrast.relative()[1] < ratio < contrast.relative()[2] < high


def naive_capital(values: list[float], mean: float) -> float:
    """The largest capital of bets above a mean of values in [0, 1], value by value."""
    capital = largest = 1.0
    total, squares = 0.5, 0.25
    spread = 0.25
    for i, value in enumerate(values, 1):
        bet = min(math.sqrt(2 * math.log(40) / (spread * i * math.log(1 + i))), 0.5 / mean)
        capital *= 1 + bet * (value - mean)
        largest = max(largest, capital)
        total += value
        squares += (value - total / (i + 1)) ** 2
        spread = squares / (i + 1)
    return largest


@examples(50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.05, 0.95))
def test_bets_agree_with_a_naive_player(values: list[float], null: float) -> None:
    betting = Betting(np.array(values))
    above, below = naive_capital(values, null), naive_capital([1 - value for value in values], 1 - null)
    assert betting.p(null, "greater") == pytest.approx(1 / above)
    assert betting.p(null, "less") == pytest.approx(1 / below)
    assert betting.p(null) == pytest.approx(min(2 / max(above, below), 1))


@examples(50)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0.5, 0.99))
def test_ends_of_bets_are_where_p_is_alpha(values: list[float], level: float) -> None:
    betting = Betting(np.array(values), -1, 1)
    low, high = betting.interval(level)
    assert low <= high
    for end, edge in ((low, -1), (high, 1)):
        assert betting.p(end) == pytest.approx(1 - level, rel=1e-3) if abs(end - edge) > 1e-6 else True
    assert betting.p((low + high) / 2) >= (1 - level) * 0.999


def test_bets_hold_their_level_over_all_sequences_of_coins() -> None:
    """Each of the 4,096 equally likely sequences of 12 fair coins, looked at after each coin: no simulation."""
    p = np.array([Betting(np.array(coins), -1, 1).p() for coins in itertools.product((-1.0, 1.0), repeat=12)])
    assert all((p <= alpha).mean() <= alpha for alpha in (0.01, 0.05, 0.1, 0.2, 0.5))
    assert p.min() < 0.05
    one_sided = [
        Betting(np.array(coins), -1, 1).p(sides="greater") for coins in itertools.product((-1.0, 1.0), repeat=9)
    ]
    assert np.mean(np.array(one_sided) <= 0.1) <= 0.1


def test_bets_at_the_edges() -> None:
    empty = Betting(np.array([]), -1, 1)
    assert (empty.n, math.isnan(empty.mean), empty.p()) == (0, True, 1.0)
    assert empty.interval() == pytest.approx((-1, 1))
    ones = Betting(np.ones(40), -1, 1)
    assert ones.interval()[1] == pytest.approx(1)
    assert ones.p(1.0) == 1
    assert ones.p(1.5) < 1e-300
    with pytest.raises(InputError, match=r"1 of 2 values are outside 0 to 1, the first 2; give the ends"):
        Betting(np.array([0.5, 2]))
    with pytest.raises(InputError, match="low below high"):
        Betting(np.array([0.5]), 1, 1)
    with pytest.raises(InputError, match="not finite"):
        Betting(np.array([np.nan]))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_thirty_looks_at_a_null(name: str) -> None:
    """One look's p shows something in about 28%, always valid in 5% at most (and two standard errors)."""
    by_one_look, *always_valid = shown_at_a_null(CASES[name], draws=200, seed=2)
    assert by_one_look > 0.18
    assert max(always_valid) <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
def test_bets_hold_where_few_bounded_values_are_skewed(name: str) -> None:
    _, by_sequence, by_bets, *_ = bounded_at_a_null(BOUNDED[name], 60, draws=300, seed=2)
    assert by_bets <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5
    assert (by_sequence > 0.3) == (name == "−.1 or .9")


@pytest.mark.slow
def test_bets_on_first_preferences_hold_where_users_return() -> None:
    by_signs_to_date, by_first_preferences = returning_at_a_null(50, 5, draws=300, seed=2)
    assert by_first_preferences <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5 < by_signs_to_date
