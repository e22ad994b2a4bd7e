"""Weighted means: by hand, by a naive estimate, and over draws from traffic whose mean is known."""

import math

import numpy as np
import pytest
from benchmarks.simulated.drawing import SHAPES, estimates
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.samples import mean_error
from steelyard.stats.weighted import weighted_mean
from tests.hypothesis_profiles import examples

numbers = st.integers(0, 20)


@examples(100)
@given(values=st.lists(numbers, min_size=2, max_size=8))
def test_equal_weights_give_the_plain_mean_and_its_error(values: list[int]) -> None:
    plain, own = mean_error(np.array(values, float)), weighted_mean(values, [3.0] * len(values))
    assert own.mean == pytest.approx(plain.mean)
    assert own.error == pytest.approx(plain.error)
    assert own.n_effective == pytest.approx(len(values))


@examples(100)
@given(rows=st.lists(st.tuples(numbers, st.integers(1, 9), st.sampled_from("ab")), min_size=4, max_size=12))
def test_strata_by_a_naive_sum(rows: list[tuple[int, int, str]]) -> None:
    values, weights, strata = zip(*rows, strict=True)
    own = weighted_mean(values, weights, strata)
    total = sum(weights)
    mean = sum(v * w for v, w, _ in rows) / total
    assert own.mean == pytest.approx(mean)
    parts = {name: [w * (v - mean) / total for v, w, s in rows if s == name] for name in set(strata)}
    if any(len(part) == 1 for part in parts.values()):
        parts = {"": [part for own_parts in parts.values() for part in own_parts]}
    variance = 0.0
    for part in parts.values():
        middle = sum(part) / len(part)
        variance += len(part) / (len(part) - 1) * sum((x - middle) ** 2 for x in part)
    assert own.error == pytest.approx(math.sqrt(variance), abs=1e-12)


def test_what_is_certain_adds_no_error() -> None:
    census = weighted_mean([0.0, 1.0], [5.0, 1.0], probabilities=[1.0, 1.0])
    assert (census.mean, census.error, census.low, census.high) == (1 / 6, 0.0, 1 / 6, 1 / 6)
    one = weighted_mean([0.5], [2.0])
    assert one.mean == 0.5
    assert math.isnan(one.low)
    assert weighted_mean([0, 1, 0, 1], [1, 1, 9, 9], bounds=(0, 1)).high == 1


@pytest.mark.parametrize(("values", "weights"), [([], []), ([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 0.0])])
def test_refusals(values: list[float], weights: list[float]) -> None:
    with pytest.raises(InputError):
        weighted_mean(values, weights)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_weighted_mean_is_that_of_the_traffic(shape: str) -> None:
    """400 draws: the mean is true within 3.5 errors, its intervals hold, and plain means are far off."""
    own = estimates(shape, 400, 1)
    assert abs(own.weighted - own.truth) < 3.5 * own.sd / 20
    assert abs(own.plain - own.truth) > 10 * own.sd / 20
    assert own.cover == pytest.approx(0.95, abs=0.035)
    assert own.sd < own.sd_chance
    assert own.failures > own.failures_chance
