"""Losses that are shown at the level of alarms, and the luck of a baseline."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.power.runs import runs_needed
from steelyard.stats.tests.alarms import expected_luck, highest_gain
from tests.hypothesis_profiles import examples

stats = pytest.importorskip("scipy.stats", reason="limits need the extra stats")


def test_of_symmetric_gains_it_is_the_limit_of_t() -> None:
    gain = np.tile([-0.3, -0.1, 0.05, 0.25], 20) - 0.02 + 0.025
    gain = np.concatenate([gain, 2 * gain.mean() - gain])
    want = stats.ttest_1samp(gain, 0).confidence_interval(0.99).high
    assert highest_gain(gain, level=0.005) == pytest.approx(want, abs=1e-12)


def test_rare_large_gains_raise_it_and_rare_large_losses_do_not_lower_it() -> None:
    """By the root of Willink's cubic, found numerically: t = x + a + 2 a x**2 + 4 a**2 x**3 / 3, all of x < 0."""
    gain = np.concatenate([np.full(95, -0.03), np.full(5, 0.4)])
    n, t = len(gain), stats.t.ppf(0.995, len(gain) - 1)
    error = gain.std(ddof=1) / math.sqrt(n)
    a = float(stats.skew(gain, bias=False)) / (6 * math.sqrt(n))
    roots = np.roots([4 * a**2 / 3, 2 * a, 1, a + t])
    x = float(roots[np.abs(roots.imag) < 1e-9].real[0])
    assert highest_gain(gain, level=0.005) == pytest.approx(gain.mean() - error * x)
    assert highest_gain(gain, level=0.005) > gain.mean() + t * error
    losses = -gain
    assert highest_gain(losses, level=0.005) == pytest.approx(losses.mean() + t * error)


@pytest.mark.parametrize(
    ("gain", "level", "want"),
    [
        (np.zeros(50), 0.005, 0.0), (np.full(8, -0.1), 0.005, -0.1), (np.full(7, -0.1), 0.005, math.nan),
        (np.full(1, -0.1), 0.005, math.nan), (np.zeros(2), 0.5, 0.0),
    ],
)  # fmt: skip
def test_equal_gains(gain: np.ndarray, level: float, want: float) -> None:
    assert highest_gain(gain, level=level) == pytest.approx(want, nan_ok=True)


@examples(100)
@given(st.lists(st.floats(-1, 1), min_size=3, max_size=30), st.floats(0.001, 0.1))
def test_a_rarer_alarm_asks_for_more(gain: list[float], level: float) -> None:
    rare, usual = highest_gain(gain, level=level / 2), highest_gain(gain, level=level)
    assert math.isnan(rare) or rare >= usual - 1e-12
    assert not usual < 0 or min(gain) < 0


def test_luck_is_what_no_variance_between_entries_explains() -> None:
    """Of means whose variance is that of runs alone all is luck; of means far apart next to nothing."""
    rng = np.random.default_rng(1)
    alike, apart = rng.normal(0.7, 0.01, 200), rng.normal(0.7, 0.2, 200)
    assert expected_luck(0.72, alike.tolist(), error=0.01) == pytest.approx(0.02, abs=0.004)
    assert expected_luck(0.72, apart.tolist(), error=0.01) < 0.001
    assert expected_luck(0.68, alike.tolist(), error=0.01) == 0
    assert expected_luck(0.72, [0.7], error=0.01) == expected_luck(0.72, alike.tolist(), error=math.nan) == 0


def test_as_many_runs_have_the_error_that_is_asked_for() -> None:
    questions, sd_runs = 0.05, 0.1
    sd = math.sqrt(questions**2 + sd_runs**2 * 2)
    runs = runs_needed(sd, sd_runs, n_runs=(1, 1), share=0.6)
    assert runs is not None
    with_runs = [math.sqrt(questions**2 + 2 * sd_runs**2 / r) for r in (runs - 1, runs)]
    assert with_runs[0] > 0.6 * sd >= with_runs[1]
    assert runs_needed(sd, sd_runs, n_runs=(1, 1), share=0.3) is None


@pytest.mark.slow
@pytest.mark.parametrize("scatter", ["normal", "ties", "flips", "skewed"])
def test_alarms_are_as_rare_as_promised(scatter: str) -> None:
    """Of 20,000 gates on which nothing was lost, at most 1 in 200 shows a loss, up to chance (1 in 154 is 4 errors)."""
    rng = np.random.default_rng(3)
    draws = {
        "normal": lambda: rng.normal(0, 0.05, 120),
        "ties": lambda: np.where(rng.random(120) < 0.7, 0.0, rng.normal(0, 0.1, 120)),
        "flips": lambda: rng.choice([-1.0, 1.0, 0.0], 120, p=[0.1, 0.1, 0.8]),
        "skewed": lambda: np.where(rng.random(120) < 0.1, 0.5, rng.normal(-0.5 / 9, 0.05, 120)),
    }
    alarms = sum(highest_gain(draws[scatter](), level=0.005) < 0 for _ in range(20_000))
    assert alarms <= 130
