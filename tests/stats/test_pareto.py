"""Which points nothing beats: by a loop over all pairs."""

import numpy as np

from steelyard.stats.rankings import dominates


def test_against_a_loop() -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(0, 4, (40, 3)).astype(float)
    points[5, 1] = np.nan
    loop = [[bool(all(a >= b) and any(a > b)) for b in points] for a in points]
    assert dominates(points).tolist() == loop
    assert not dominates(points)[5].any()
    assert not dominates(points)[:, 5].any()


def test_nothing_is_dominated_twice_over() -> None:
    points = np.random.default_rng(2).random((60, 2))
    by = dominates(points)
    assert not (by & by.T).any()
    assert not by.diagonal().any()
    assert (~by.any(axis=0)).any()
    # Whatever dominates what dominates another dominates that one.
    assert not ((by.astype(int) @ by.astype(int) > 0) & ~by).any()
