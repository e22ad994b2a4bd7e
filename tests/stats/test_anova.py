"""How many questions for several systems: against noncentral F, published tables, the t test, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.power.power import f_power, fewest_questions, fewest_questions_f, power
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

effects = st.floats(0.05, 2)


@pytest.mark.parametrize("n", [2, 5, 43, 1000])
@pytest.mark.parametrize("n_systems", [2, 3, 10, 37])
@pytest.mark.parametrize("noncentrality", [0.1, 3.0, 12.0, 30.0])
def test_against_noncentral_f(n: int, n_systems: int, noncentrality: float) -> None:
    """As the mean of central F over Poisson draws, which is how noncentral F is defined."""
    df, residual = n_systems - 1, (n_systems - 1) * (n - 1)
    draws = np.arange(200)
    weights = scipy_stats.poisson.pmf(draws, noncentrality / 2)
    bound = scipy_stats.f.ppf(0.95, df, residual) * df
    want = (weights * scipy_stats.betaprime.sf(bound / residual, df / 2 + draws, residual / 2)).sum()
    assert f_power(math.sqrt(noncentrality / n), n, n_systems=n_systems) == pytest.approx(want, abs=1e-7)


@examples(60)
@example(569, 1.65625, 0.01)
@given(st.integers(2, 2000), effects, st.sampled_from([0.1, 0.05, 0.01]))
def test_two_systems_are_a_paired_t_test(n: int, effect: float, alpha: float) -> None:
    assert f_power(effect, n, n_systems=2, alpha=alpha) == pytest.approx(power(effect, n, alpha=alpha), abs=1e-7)
    assert fewest_questions_f(effect, n_systems=2, alpha=alpha) == fewest_questions(effect, alpha=alpha)


@pytest.mark.parametrize(
    ("n_systems", "noncentrality"), [(2, 7.849), (3, 9.635), (4, 10.903), (5, 11.935), (6, 12.828)]
)
def test_published_noncentralities(n_systems: int, noncentrality: float) -> None:
    """Chi-square of 1 to 5 degrees of freedom, level .05, power .8 (Haynam 1970): the limit for many questions."""
    effect = 0.01
    n = fewest_questions_f(effect, n_systems=n_systems)
    assert n is not None
    assert n * effect**2 == pytest.approx(noncentrality, abs=0.002)


@pytest.mark.parametrize("n_systems", [3, 5, 10, 30])
@pytest.mark.parametrize("effect", [0.1, 0.3, 0.6])
def test_near_sakais_design_for_questions_of_their_own(n_systems: int, effect: float) -> None:
    """One-way layout: best and worst differ by minD, the variance of values is half that of differences."""

    def one_way_power(n: int) -> float:
        df, residual = n_systems - 1, n_systems * (n - 1)
        return float(scipy_stats.ncf.sf(scipy_stats.f.ppf(0.95, df, residual), df, residual, n * effect**2))

    n = fewest_questions_f(effect, n_systems=n_systems)
    assert n is not None
    own = next(k for k in range(max(n - 20, 2), n + 20) if one_way_power(k) >= 0.8)
    assert 0 <= n - own <= 1


@examples(40)
@given(effects, st.integers(2, 40), st.sampled_from([0.5, 0.8, 0.95]))
def test_one_question_fewer_is_too_few(effect: float, n_systems: int, wished: float) -> None:
    n = fewest_questions_f(effect, n_systems=n_systems, power=wished)
    assert n is not None
    assert f_power(effect, n, n_systems=n_systems) >= wished
    assert n == 2 or f_power(effect, n - 1, n_systems=n_systems) < wished


def test_at_the_edges() -> None:
    assert math.isnan(f_power(0.5, 1, n_systems=3))
    assert f_power(0.0, 40, n_systems=4) == pytest.approx(0.05, abs=1e-9)
    assert fewest_questions_f(0.0, n_systems=3) is None
    assert fewest_questions_f(1e-300, n_systems=3) is None
    assert fewest_questions_f(100.0, n_systems=3) == 2


def test_bad_input() -> None:
    with pytest.raises(InputError, match="n_systems is 1, expected at least 2"):
        f_power(0.5, 10, n_systems=1)
    with pytest.raises(InputError, match="alpha is 2"):
        fewest_questions_f(0.5, n_systems=3, alpha=2)
    with pytest.raises(InputError, match=r"power is 0.05, expected a number between alpha \(0.05\) and 1"):
        fewest_questions_f(0.5, n_systems=3, power=0.05)
    with pytest.raises(InputError, match="the effect is inf"):
        f_power(math.inf, 10, n_systems=3)


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "n_systems"), [(0.3, 3), (0.5, 5), (0.4, 10)])
def test_simulated(effect: float, n_systems: int) -> None:
    """Questions differ in difficulty by far more than systems do: the F test takes it out."""
    n = fewest_questions_f(effect, n_systems=n_systems)
    assert n is not None
    rng = np.random.default_rng(n)
    means = np.array([-effect / 2, effect / 2, *[0.0] * (n_systems - 2)])
    values = rng.normal(0, 3, (5_000, 1, n)) + means[:, None] + rng.normal(0, math.sqrt(0.5), (5_000, n_systems, n))
    systems = values.mean(axis=2, keepdims=True)
    residuals = values - systems - values.mean(axis=1, keepdims=True) + values.mean(axis=(1, 2), keepdims=True)
    df, residual_df = n_systems - 1, (n_systems - 1) * (n - 1)
    f = n * systems[:, :, 0].var(axis=1, ddof=1) / ((residuals**2).sum(axis=(1, 2)) / residual_df)
    shown = np.mean(f > scipy_stats.f.ppf(0.95, df, residual_df))
    assert 0.78 <= shown <= 0.82
