"""What questions can show: against simulations in which others are drawn to show it."""

import math

import numpy as np
import pytest
from benchmarks.simulated.power import CASES, normal, planned_power, real, shown_at_printed
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.power.detectable import detectable_errors, min_detectable_difference, questions_planned
from steelyard.stats.power.power import fewest_questions, power
from steelyard.stats.tests.paired import sign_flip_interval
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

scipy_stats = pytest.importorskip("scipy.stats", reason="power needs the extra stats")

counts = st.integers(2, 3000)
shares = st.sampled_from([0.5, 0.8, 0.95])


@pytest.mark.parametrize("n", [3, 10, 40])
@pytest.mark.parametrize(("alpha", "sides"), [(0.05, 2), (0.01, 1)])
def test_against_draws_of_both_samples(n: int, alpha: float, sides: int) -> None:
    """The spread that was printed is one sample's, whose variance scatters somewhat more than normal ones do."""
    rng, df = np.random.default_rng(n), n - 1
    judged, tested = (np.sqrt(rng.chisquare(k, 400_000) / k) for k in (df / 1.3, df))
    critical = scipy_stats.t.ppf(1 - alpha / sides, df)
    errors = detectable_errors(n, alpha=alpha, n_sides=sides)
    assert np.mean(rng.standard_normal(400_000) + errors * judged > critical * tested) == pytest.approx(0.8, abs=0.003)


def test_planned_questions_have_the_power_on_average_over_pilots() -> None:
    averaged, alone = planned_power(normal(2), 10, 0.5, draws=100, seed=1)
    assert 0.77 <= np.mean(averaged) <= 0.85
    assert np.mean(averaged) > np.mean(alone)


@examples(60)
@given(st.floats(0.05, 2), st.floats(1, 200), st.integers(1, 5))
def test_planned_questions_are_fewer_the_surer_the_pilot_is(effect: float, df: float, n_comparisons: int) -> None:
    numbers = [questions_planned(effect, df=freedom, n_comparisons=n_comparisons) for freedom in (df, 2 * df, math.inf)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] == fewest_questions(effect, n_comparisons=n_comparisons)


@pytest.mark.parametrize("n", [6, 7, 8])
def test_sign_flips_against_their_interval(n: int) -> None:
    rng = np.random.default_rng(1)
    lows = [sign_flip_interval(values, seed=0)[0] for values in rng.standard_normal((2000, n))]
    judged = np.sqrt(rng.chisquare((n - 1) / 1.3, (100, 1)) / ((n - 1) / 1.3))
    errors = detectable_errors(n, test="randomization")
    assert np.mean(errors / math.sqrt(n) * judged > -np.array(lows)) == pytest.approx(0.8, abs=0.02)


@examples(30)
@given(counts, shares, st.sampled_from([0.1, 0.05, 0.01]), st.sampled_from([1, 2]), st.sampled_from([1, 10, 666]))
def test_of_many_questions_it_is_what_a_true_spread_gives(
    n: int, wished: float, alpha: float, sides: int, tests: int
) -> None:
    errors = detectable_errors(n, power=wished, alpha=alpha, n_sides=sides, n_comparisons=tests)
    exact = power(errors / math.sqrt(n), n, alpha=alpha, n_sides=sides, n_comparisons=tests)
    assert exact >= wished - 0.04
    assert n < 300 or exact == pytest.approx(wished, abs=0.02)
    assert errors <= detectable_errors(n, power=wished, alpha=alpha, n_sides=sides, n_comparisons=tests + 1)
    assert errors >= detectable_errors(n + 1, power=wished, alpha=alpha, n_sides=sides, n_comparisons=tests) - 1e-6


@pytest.mark.parametrize(("n", "alpha"), [(5, 0.05), (10, 0.05 / 30), (17, 0.05 / 6000), (1000, 0.05 / 6000)], ids=str)
def test_sign_flips_that_can_show_nothing(n: int, alpha: float) -> None:
    assert detectable_errors(n, test="randomization", alpha=alpha) == math.inf


def test_only_the_spread_counts() -> None:
    d = np.random.default_rng(0).normal(0.3, 0.2, 43)
    difference = min_detectable_difference(d)
    assert difference == pytest.approx(detectable_errors(43) * d.std(ddof=1) / math.sqrt(43))
    assert min_detectable_difference(d + 5) == pytest.approx(difference, rel=1e-9)
    # The plain formula, (t of alpha + t of power) * error, comes close.
    t = scipy_stats.t(42)
    assert difference == pytest.approx((t.ppf(0.975) + t.ppf(0.8)) * d.std(ddof=1) / math.sqrt(43), rel=0.04)
    copies = min_detectable_difference(np.repeat(d, 3), clusters=np.repeat(np.arange(43), 3))
    assert copies == pytest.approx(difference, rel=1e-6)


def test_at_the_edges() -> None:
    assert math.isnan(min_detectable_difference([0.5]))
    assert min_detectable_difference([0.5, 0.5]) == 0
    assert min_detectable_difference([0.5, 0.4], test="randomization") == math.inf
    with pytest.raises(InputError, match=r"power is 0.01, expected a number between alpha \(0.05\) and 1"):
        min_detectable_difference([0.1, 0.2], power=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 15, 40])
@pytest.mark.parametrize("case", CASES)
def test_what_is_printed_is_shown_in_80_of_100_cases(case: str, n: int) -> None:
    shared("trec_topic_scores")
    test, s = CASES[case]
    assert 0.77 <= shown_at_printed(test, normal(s), n, draws=600, seed=1) <= 0.84
    assert 0.75 <= shown_at_printed(test, real(s), n, draws=600, seed=1) <= 0.83
