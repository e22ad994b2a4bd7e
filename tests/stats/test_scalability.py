"""The Universal Scalability Law: what it was made from, within its bounds, and intervals that cover."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.load import fit_scalability
from tests.hypothesis_profiles import examples

minimize = pytest.importorskip("scipy.optimize", reason="the oracle needs the extra stats").minimize

USERS = np.array([1.0, 2, 4, 8, 16, 32])


def law(users: Floats, gamma: float, sigma: float, kappa: float) -> Floats:
    return gamma * users / (1 + sigma * (users - 1) + kappa * users * (users - 1))


@examples(100)
@given(st.floats(0.1, 1e4), st.floats(0, 1), st.floats(0, 0.1))
def test_the_law_itself_is_fitted(gamma: float, sigma: float, kappa: float) -> None:
    fit = fit_scalability(USERS, law(USERS, gamma, sigma, kappa)[:, None], n_resamples=10)
    assert fit.gamma.value == pytest.approx(gamma, rel=1e-6)
    assert (fit.sigma.value, fit.kappa.value) == pytest.approx((sigma, kappa), abs=1e-6)
    assert fit.rate(8) == pytest.approx(law(np.array([8.0]), gamma, sigma, kappa)[0], rel=1e-6)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # SciPy 1.15 says so, and clips them.
@examples(80)
@given(st.lists(st.floats(1, 100), min_size=6, max_size=6))
def test_no_other_parameters_are_nearer(rates: list[float]) -> None:
    measured = np.array(rates)
    fit = fit_scalability(USERS, measured[:, None], n_resamples=10)

    def error(parameters: Floats) -> float:
        a, s, k = parameters
        return float(((1 - measured / USERS * (a + s * (USERS - 1) + k * USERS * (USERS - 1))) ** 2).sum())

    a = 1 / fit.gamma.value
    mine = error(np.array([a, fit.sigma.value * a, fit.kappa.value * a]))
    inside = {"type": "ineq", "fun": lambda p: p[0] - p[1]}
    for start in ([a, a / 2, a / 100], [a, 0.0, a / 10], [2 * a, a, 0.0]):
        other = minimize(error, np.array(start), bounds=[(1e-9, None), (0, None), (0, None)], constraints=[inside])
        assume(other.x[0] > 1e-6)  # Else a single user would be infinitely fast, which no fit is.
        assert mine <= other.fun + 1e-4 * (1 + mine)  # The constraint holds to 1e-6 alone.


def test_the_peak() -> None:
    fit = fit_scalability(USERS, law(USERS, 10, 0.1, 0.01)[:, None])
    assert fit.peak_users == pytest.approx(math.sqrt(0.9 / 0.01))
    assert fit.peak_rate == pytest.approx(law(np.array([9.4868]), 10, 0.1, 0.01)[0], rel=1e-6)
    assert all(fit.rate(fit.peak_users) > fit.rate(fit.peak_users + step) for step in (-0.5, 0.5))


def test_without_a_peak_the_rate_comes_near_to_its_limit_or_to_none() -> None:
    limited = fit_scalability([1, 2, 4], [[10.0], [14.0], [22.0]])
    assert (limited.peak_users, limited.kappa.value) == (math.inf, 0.0)
    assert limited.peak_rate == pytest.approx(limited.gamma.value / limited.sigma.value)
    endless = fit_scalability([1, 2, 4], [[10.0], [21.0], [44.0]])
    assert (endless.sigma.value, endless.kappa.value, endless.peak_rate) == (0.0, 0.0, math.inf)
    falling = fit_scalability([1, 2, 4], [[10.0], [4.0], [1.5]])
    assert falling.peak_users == 1


def test_intervals_need_a_fourth_level() -> None:
    three = fit_scalability([1, 2, 4], law(np.array([1.0, 2, 4]), 10, 0.1, 0.01)[:, None])
    assert math.isnan(three.gamma.low)
    noisy = law(USERS, 10, 0.1, 0.001)[:, None] * (1 + 0.1 * np.random.default_rng(0).standard_normal((6, 8)))
    fit = fit_scalability(USERS, noisy)
    for parameter in (fit.gamma, fit.sigma, fit.kappa):
        assert parameter.low <= parameter.value <= parameter.high
        assert parameter.low < parameter.high
    again, other = fit_scalability(USERS, noisy), fit_scalability(USERS, noisy, seed=1)
    assert again == fit != other


@pytest.mark.parametrize(("n_stretches", "noise"), [(10, 0.06), (1, 0.02)])
def test_intervals_are_as_wide_as_fits_scatter(n_stretches: int, noise: float) -> None:
    rng = np.random.default_rng(0)
    fits = [
        fit_scalability(USERS, law(USERS, 20, 0.1, 0.01)[:, None] * (1 + noise * scatter), n_resamples=100)
        for scatter in rng.standard_normal((40, 6, n_stretches))
    ]
    for name in ("gamma", "sigma", "kappa"):
        parts = [getattr(fit, name) for fit in fits]
        width = np.median([part.high - part.low for part in parts])
        assert 2.5 <= width / np.std([part.value for part in parts]) <= 9


def test_a_stall_in_one_stretch_is_a_rate_of_0() -> None:
    rates = np.tile(law(USERS, 10, 0.1, 0.001)[:, None], 10)
    rates[2, 4] = 0
    stalled, smooth = fit_scalability(USERS, rates), fit_scalability(USERS, rates[:, :4])
    assert stalled.gamma.high - stalled.gamma.low > smooth.gamma.high - smooth.gamma.low


def test_bad_input() -> None:
    with pytest.raises(InputError, match="rates of 2 numbers of users; expected 3 at least"):
        fit_scalability([1, 2, 2], [[1.0], [2.0], [2.0]])
    with pytest.raises(InputError, match="the lowest mean rate is 0 a second"):
        fit_scalability([1, 2, 4], [[1.0], [2.0], [0.0]])
    with pytest.raises(InputError, match="3 numbers of users and rates of 2 levels"):
        fit_scalability([1, 2, 4], [[1.0], [2.0]])


@pytest.mark.slow
@pytest.mark.parametrize(("n_stretches", "noise"), [(10, 0.1), (1, 0.03)])
@pytest.mark.parametrize(
    "truth", [(20, 0.05, 0.001), (20, 0.3, 0.0), (20, 0.0, 0.0), (5, 0.0, 0.01), (50, 0.1, 0.01), (20, 0.95, 0.0005)]
)
def test_intervals_cover(truth: tuple[float, float, float], n_stretches: int, noise: float) -> None:
    """Where levels scatter as counts do."""
    rng, n = np.random.default_rng(0), 300
    for users in (USERS, USERS[:4]):
        covered = np.zeros(3)
        for _ in range(n):
            rates = law(users, *truth)
            scatter = noise * rng.standard_normal((len(users), n_stretches)) * np.sqrt(rates.mean() / rates)[:, None]
            fit = fit_scalability(users, rates[:, None] * np.maximum(1 + scatter, 0), n_resamples=300)
            parameters = (fit.gamma, fit.sigma, fit.kappa)
            covered += [p.low - 1e-9 <= value <= p.high + 1e-9 for p, value in zip(parameters, truth, strict=True)]
        assert (covered / n >= 0.89).all(), covered / n
