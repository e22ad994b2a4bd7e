"""Systems that no test parts: runs of a leaderboard."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.base.errors import InputError
from steelyard.stats.pairs import Pairs
from steelyard.stats.samples import finite


def indistinguishable(means: npt.ArrayLike, pairs: Pairs, *, alpha: float = 0.05) -> list[list[int]]:
    """Systems that no test parts: every largest run of the leaderboard, best first, without a difference in it.

    means     (s,) of the systems compared;   pairs   all their pairs;   alpha   of a difference
    Returns   lists of indices, best first; a system may be in several, alone in one if it differs from all others
    Raises    InputError unless pairs holds every pair of the systems

    A run ends before the first system that any of its members differs from, so with a test other than Tukey's, where
    a smaller difference can be the surer one, a run may part two systems that no test parts.

    >>> from steelyard.stats.tukey import tukey
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((3, 20)) + np.array([[0.0], [0.0], [1.0]])
    >>> indistinguishable(scores.mean(axis=1), tukey(scores, seed=0, n_resamples=999))
    [[2], [1, 0]]
    """
    values = finite(means, n_axes=1, what="means")
    s = len(values)
    differs = np.full((s, s), -1, dtype=np.int64)
    differs[pairs.first, pairs.second] = differs[pairs.second, pairs.first] = pairs.adjusted <= alpha
    if s != max(pairs.first.max(), pairs.second.max()) + 1 or (differs[~np.eye(s, dtype=bool)] < 0).any():
        raise InputError(f"groups of {s} systems need all {s * (s - 1) // 2} pairs; got {len(pairs.first)}")
    order = np.argsort(-values, kind="stable")
    groups: list[list[int]] = []
    end = 0
    for start in range(s):
        stop = start + 1
        while stop < s and not (differs[order[start:stop], order[stop]] > 0).any():
            stop += 1
        if stop > end:
            groups.append([int(i) for i in order[start:stop]])
            end = stop
    return groups
