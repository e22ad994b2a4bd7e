"""Whether a property of units goes with another one, where units of one question go together."""

from __future__ import annotations

import math

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.extras import require

_PARTS = 4


def independence_p(owner: Ints, x: Floats, y: Floats) -> float:
    """p of the hypothesis that x is alike over the quarters of y, by a score test that is robust to questions.

    owner   (u,) the question of each unit;   x   (u,) 0 or 1, or any number;   y   (u,) cut at its quartiles, so that
            equal values stay together
    Returns NaN where x or y is the same everywhere, and for fewer than two more questions than parts
    Source  Rotnitzky & Jewell, Biometrika 1990; F in place of chi-squared, as for Hotelling's T-squared.

    >>> owner, y = np.arange(40), np.arange(40.0)
    >>> round(independence_p(owner, (y > 25).astype(float), y), 4), round(independence_p(owner, owner % 2.0, y), 2)
    (0.0, 1.0)
    """
    parts = np.searchsorted(np.quantile(y, np.arange(1, _PARTS) / _PARTS, method="inverted_cdf"), y) if len(y) else y
    codes, parts = np.unique(parts, return_inverse=True)
    questions, places = np.unique(owner, return_inverse=True)
    rank, n = len(codes) - 1, len(questions)
    if rank < 1 or n < rank + 3 or np.ptp(x) == 0:
        return math.nan
    apart = (parts[:, None] == np.arange(rank)) - np.bincount(parts)[:rank] / len(parts)
    scores = np.zeros((n, rank))
    np.add.at(scores, places, (x - x.mean())[:, None] * apart)
    total, squares = scores.sum(axis=0), scores.T @ scores
    if np.linalg.matrix_rank(squares) < rank:
        return math.nan
    share = min(float(total @ np.linalg.solve(squares, total)) / n, 1.0)
    special = require("scipy.special", extra="stats", what="the check of anchors")
    return float(special.fdtrc(rank, n - rank, (n - rank) / rank * share / (1 - share))) if share < 1 else 0.0
