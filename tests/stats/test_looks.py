"""Power of several looks: against the tables of group-sequential designs, which were computed by others."""

import math

import numpy as np
import pytest

from steelyard.stats.power.looks import detectable_by_looks, power_by_looks

POCOCK = [2.413] * 5
FLEMING = [2.040 * math.sqrt(5 / look) for look in range(1, 6)]
SHARES = [look / 5 for look in range(1, 6)]


@pytest.mark.parametrize(("bounds", "inflation"), [(POCOCK, 1.228), (FLEMING, 1.028)])
def test_bounds_of_five_looks_as_tabulated(bounds: list[float], inflation: float) -> None:
    """Jennison & Turnbull, Group Sequential Methods, 2000: level .05, and how much more a power of .8 needs."""
    assert power_by_looks(SHARES, bounds, 0.0) == pytest.approx(0.05, abs=0.001)
    effect = detectable_by_looks(SHARES, bounds, power=0.8)
    assert effect == pytest.approx(2.8016 * math.sqrt(inflation), rel=0.003)
    assert power_by_looks(SHARES, bounds, effect) == pytest.approx(0.8, abs=0.001)


def test_one_look_is_a_normal_test() -> None:
    assert detectable_by_looks([1.0], [1.6449], power=0.9, n_sides=1) == pytest.approx(1.6449 + 1.2816, abs=0.002)


def test_looks_at_uneven_distances_against_drawn_sums() -> None:
    shares, bounds, effect = np.array([0.2, 0.3, 0.8, 1.0]), np.array([3.0, 2.5, 2.2, 2.1]), 2.0
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(40_000, 4)) * np.sqrt(np.diff(shares, prepend=0))
    sums = np.cumsum(steps, axis=1) + effect * shares
    drawn = (np.abs(sums) > bounds * np.sqrt(shares)).any(axis=1).mean()
    assert power_by_looks(shares.tolist(), bounds.tolist(), effect) == pytest.approx(drawn, abs=0.008)
