"""How many questions: against noncentral t of SciPy, statsmodels, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.power.power import power, questions_needed
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

quick = examples(60)
effects = st.floats(0.05, 2)
counts = st.integers(2, 2000)
alphas = st.sampled_from([0.1, 0.05, 0.01])


@pytest.mark.parametrize("n", [2, 3, 10, 43, 101, 102, 200, 5000])
@pytest.mark.parametrize("noncentrality", [0.0, 0.5, 1.5, 2.8, 4.0])
def test_against_noncentral_t(n: int, noncentrality: float) -> None:
    """Of one side only: SciPy's other tail is not reliable, and the integral below is."""
    for alpha in (0.1, 0.05, 0.01):
        want = scipy_stats.nct.sf(scipy_stats.t.ppf(1 - alpha, n - 1), n - 1, noncentrality)
        assert power(noncentrality / math.sqrt(n), n, alpha=alpha, n_sides=1) == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("n", [3, 20, 150])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 666])
def test_both_sides_against_integration(n: int, alpha: float) -> None:
    """P(|T| > c) as the mean over chi-square draws of the normal's tails, by another quadrature."""
    from scipy.integrate import quad

    critical, shift = scipy_stats.t.ppf(1 - alpha / 2, n - 1), 0.4 * math.sqrt(n)

    def given_share(share: float) -> float:
        bound = critical * math.sqrt(scipy_stats.chi2.ppf(share, n - 1) / (n - 1))
        return float(scipy_stats.norm.sf(bound - shift) + scipy_stats.norm.cdf(-bound - shift))

    want = quad(given_share, 0, 1, epsabs=1e-9, limit=200, points=[1e-6, 1e-4, 1e-2])[0]
    assert power(0.4, n, alpha=alpha) == pytest.approx(want, abs=1e-7)


@pytest.mark.parametrize("n", [5, 20, 43, 100])
@pytest.mark.parametrize("effect", [0.1, 0.3, 0.5])
def test_against_statsmodels(n: int, effect: float) -> None:
    oracle = pytest.importorskip(
        "statsmodels.stats.power", reason="statsmodels is an oracle for tests only"
    ).TTestPower()
    assert power(effect, n) == pytest.approx(oracle.power(effect, n, 0.05), abs=1e-7)
    assert power(effect, n, n_sides=1) == pytest.approx(oracle.power(effect, n, 0.05, alternative="larger"), abs=1e-7)


def test_known_numbers_of_questions() -> None:
    assert [questions_needed(effect) for effect in (0.1, 0.2, 0.3, 0.5)] == [787, 199, 90, 34]
    # The unit's spread .25: differences of .02, .03 and .05.
    assert [questions_needed(difference / 0.25) for difference in (0.02, 0.03, 0.05)] == [1229, 547, 199]


@quick
@given(effects, st.sampled_from([0.5, 0.8, 0.95]), alphas, st.sampled_from([1, 2]))
def test_one_question_fewer_is_too_few(effect: float, wished: float, alpha: float, n_sides: int) -> None:
    n = questions_needed(effect, power=wished, alpha=alpha, n_sides=n_sides)
    assert power(effect, n, alpha=alpha, n_sides=n_sides) >= wished
    assert n == 2 or power(effect, n - 1, alpha=alpha, n_sides=n_sides) < wished
    assert questions_needed(-effect, power=wished, alpha=alpha, n_sides=n_sides) == n


@quick
@given(counts, effects)
def test_power_rises(n: int, effect: float) -> None:
    assert 0.05 - 1e-12 <= power(effect, n) <= power(1.1 * effect, n) + 1e-12
    assert power(effect, n) <= power(effect, n + 1) + 1e-12
    assert power(effect, n, n_comparisons=10) <= power(effect, n)
    assert power(effect, n) <= power(effect, n, n_sides=1)
    assert power(-effect, n) == power(effect, n)


@pytest.mark.parametrize("n", [2, 43, 10**6])
def test_no_effect_is_shown_as_often_as_alpha(n: int) -> None:
    assert power(0.0, n) == pytest.approx(0.05, abs=1e-9)
    assert power(1000.0, n) > 1 - 1e-9 or n == 2


def test_at_the_edges() -> None:
    assert math.isnan(power(0.5, 1))
    assert questions_needed(1000.0) == 2


def test_bad_input() -> None:
    with pytest.raises(InputError, match="alpha is 0"):
        power(0.5, 10, alpha=0)
    with pytest.raises(InputError, match="n_sides is 3"):
        power(0.5, 10, n_sides=3)
    with pytest.raises(InputError, match="n_comparisons is 0"):
        power(0.5, 10, n_comparisons=0)
    with pytest.raises(InputError, match="the effect is nan"):
        power(math.nan, 10)
    with pytest.raises(InputError, match="other than 0"):
        questions_needed(0.0)
    with pytest.raises(InputError, match="more than 1000000000 questions"):
        questions_needed(1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.3, 90), (0.5, 34)])
def test_simulated(effect: float, n: int) -> None:
    samples = np.random.default_rng(n).normal(effect, 1, (10_000, n))
    assert np.mean(scipy_stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05) == pytest.approx(
        power(effect, n), abs=0.012
    )
