"""Points that nothing beats on all axes at once."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Bools, Floats


def dominates(points: Floats) -> Bools:
    """Which point dominates which: it is at least as good on every axis, and better on one.

    points   (n, a) values of a axes, higher being better
    Returns  (n, n) whether the point of the row dominates that of the column; none with a NaN does, or is dominated

    >>> dominates(np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 3.0]])).tolist()
    [[False, True, False], [False, False, False], [False, True, False]]
    """
    first, second = points[:, None], points[None, :]
    return np.asarray((first >= second).all(axis=2) & (first > second).any(axis=2))
