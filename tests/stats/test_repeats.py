"""How much values differ between questions and between runs."""

import math

import numpy as np
import pytest

from steelyard.stats.spread import means_of_runs, variance_components
from steelyard.stats.tests.paired import paired_t


def test_components_by_hand() -> None:
    """Questions 0 .25 | .5 .5 | 1 .75: within 2 * .125**2 * 2 / 3, means .125 .5 .875 of variance .140625."""
    components = variance_components([[0.0, 0.5, 1.0], [0.25, 0.5, 0.75]])
    within = (0.25**2 / 2 + 0.25**2 / 2) / 3
    assert components.sd_runs == pytest.approx(math.sqrt(within))
    assert components.sd_questions == pytest.approx(math.sqrt(0.140625 - within / 2))
    assert components.run_means == (0.5, 0.5)


def test_components_are_those_of_the_simulation() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0, 0.3, 20_000) + rng.normal(0, 0.1, (4, 20_000))
    components = variance_components(values)
    assert components.sd_questions == pytest.approx(0.3, rel=0.02)
    assert components.sd_runs == pytest.approx(0.1, rel=0.02)


def test_what_cannot_be_told_apart() -> None:
    for values in ([[0.0, 1.0]], [[0.5], [0.75]], np.zeros((2, 0))):
        components = variance_components(values)
        assert math.isnan(components.sd_questions)
        assert math.isnan(components.sd_runs)
    assert variance_components([[0.5, 0.5], [0.5, 0.5]]).sd_runs == 0
    # Runs that differ more than questions leave nothing to the questions.
    assert variance_components([[0.0, 1.0], [1.0, 0.0]]).sd_questions == 0


def test_means_of_runs() -> None:
    values = np.array([[1.0], [3.0], [5.0]])
    assert means_of_runs(values, [2, 1]).tolist() == [[2.0], [5.0]]
    assert means_of_runs(values, [1, 1, 1]) is values


def test_runs_are_no_further_questions() -> None:
    """The short form of the simulation in test_false_positives."""
    rng = np.random.default_rng(2)
    averaged, pooled = [], []
    for _ in range(600):
        d = rng.normal(0, 0.3, 30) + rng.normal(0, 0.2, (5, 30))
        averaged.append(paired_t(d.mean(axis=0)).p <= 0.05)
        pooled.append(paired_t(d.ravel()).p <= 0.05)
    assert 0.03 <= np.mean(averaged) <= 0.07
    assert np.mean(pooled) > 0.15
