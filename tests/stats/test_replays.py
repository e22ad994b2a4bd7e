"""Noise between runs of one system, and losses beyond it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.simulated.replay import LOOKS, LOSSES, NOISES, SHARE, rates
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.tests.replays import RunNoise, paired_gain, run_noise
from tests.hypothesis_profiles import examples

RUNS = [[0.5, 1.0, 0.0, 1.0], [0.5, 0.0, 0.0, 1.0], [1.0, 0.0, math.nan, 1.0]]


def test_noise_is_half_the_squared_differences_between_neighbours() -> None:
    noise = run_noise([np.array(run) for run in RUNS])
    assert noise is not None
    assert (noise.n, noise.variance) == (7, pytest.approx((0.5 + 0.125) / 7))
    assert noise.df == pytest.approx(2 * 0.625**2 / (0.25 + 0.125**2))


@pytest.mark.parametrize("runs", [[], RUNS[:1], [[0.0, math.nan], [math.nan, 1.0]], [[1.0, 1.0], [0.0, 0.0]]])
def test_there_is_no_noise_without_neighbours_on_one_level(runs: list[list[float]]) -> None:
    assert run_noise([np.array(run) for run in runs]) is None


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20), st.floats(0, 0.5), st.integers(1, 9))
@examples(100)
def test_a_smaller_gain_is_never_less_of_a_loss(gains: list[float], less: float, n_baseline: int) -> None:
    noise, gain = RunNoise(0.04, 50.0, 500), np.array(gains) / 10
    p, worse = (paired_gain(own, noise, n_baseline=n_baseline).p for own in (gain, gain - less / 10))
    assert 0 < worse <= p + 1e-12 <= 1 + 1e-9


def test_one_question_is_refused() -> None:
    with pytest.raises(InputError, match="1 questions"):
        paired_gain(np.zeros(1), None)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_an_unchanged_system_is_alarmed_for_within_the_budget_and_a_loss_is_found(noise: str) -> None:
    """Of 400 histories of 30 looks, 10 false alarms at most are expected: 20 are 3 errors more."""
    alarms, first, median = rates(NOISES[noise], LOSSES["12 of 120 lose .5"], draws=400, seed=3)
    assert alarms * 400 * LOOKS <= 400 * LOOKS * SHARE + 10
    assert first >= (0.1 if "12" in noise else 0.65)
    assert median <= 2 or "12" in noise
