"""Systems that no test parts: the groups behind the letters of a leaderboard."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools
from steelyard.base.errors import InputError
from steelyard.stats.pairs import Pairs
from steelyard.stats.samples import finite


def indistinguishable(means: npt.ArrayLike, pairs: Pairs, *, alpha: float = 0.05) -> list[list[int]]:
    """Groups of systems without a difference in them: two systems share a group exactly where no test parts them.

    means     (s,) of the systems compared;   pairs   all their pairs;   alpha   of a difference
    Returns   lists of indices, best first; a system may be in several, alone in one if it differs from all others
    Raises    InputError unless pairs holds every pair of the systems

    From the best system down, each pair that shares no group yet starts one, which takes in every system, best first,
    that differs from none of its members.  With Tukey's test, for which a larger difference is the surer one,
    groups are runs of the leaderboard.

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
    alike = differs[np.ix_(order, order)] <= 0
    grouped = np.zeros((s, s), dtype=bool)
    groups: list[list[int]] = []
    for first in range(s):
        while len(alone := np.flatnonzero(alike[first] & ~grouped[first])):
            group = _largest(alike, first, int(alone[0]))
            grouped[np.ix_(group, group)] = True
            groups.append(group)
    return [[int(order[place]) for place in group] for group in sorted(groups)]


def _largest(alike: Bools, first: int, second: int) -> list[int]:
    """Both places, and from the top every place that is alike with all that are in before it."""
    able = alike[first] & alike[second]
    group = []
    for place in range(len(alike)):
        if able[place]:
            group.append(place)
            able = able & alike[place]
    return group
