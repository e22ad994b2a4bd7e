"""Whether few enough values are beyond a limit, where neighbours in time are alike."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Bools, Ints
from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.stats.samples import share

_LEAST_BLOCKS = 10


def exceedance_p(beyond: Bools, most: float, *, times: Ints | None = None) -> float:
    """The p-value that values beyond a limit are fewer than a share, by the exact binomial test.

    beyond   (n,) which values are beyond the limit, such as requests that took longer than it
    most     share in (0, 1): .05 where the P95 is to be within the limit
    times    (n,) whole numbers, such as the second of each value, where neighbours are alike; values beyond the limit
             that come in bursts then count as so many fewer, and so do all others
    Returns  how often so few are beyond, or fewer, if the share were `most`; 1 without values
    Raises   InputError for a share outside (0, 1), and times of other values
    Method   As many independent values as say as much: n over the largest of the design effects of blocks of 1, 2,
             4, ... units of time, while ten blocks are left (Korn & Graubard, Survey Methodology 1998).  A burst that
             has not come yet is not reckoned with.

    >>> slow = np.arange(300) >= 295
    >>> round(exceedance_p(slow, 0.05), 4), round(exceedance_p(slow, 0.05, times=np.arange(300) // 10), 2)
    (0.0023, 0.19)
    """
    share(most, "most")
    n, n_beyond = len(beyond), int(np.count_nonzero(beyond))
    if times is not None and times.shape != beyond.shape:
        raise InputError(f"{len(times)} times of {n} values; expected one each")
    if n_beyond == n:
        return 1.0
    n_effective = n / (1.0 if times is None else _design_effect(beyond, times))
    k = n_beyond * n_effective / n
    special = require("scipy.special", extra="stats", what="the test of a limit")
    return float(special.betainc(n_effective - k, k + 1, 1 - most))


def _design_effect(beyond: Bools, times: Ints) -> float:
    """By how much more the number beyond varies than if each value were by itself; 1 where it varies less."""
    part = float(beyond.mean())
    if not part:
        return 1.0
    units = times - times.min()
    n_beyond, n_all = np.bincount(units, weights=beyond), np.bincount(units)
    away, expected = n_beyond - n_all * part, len(beyond) * part * (1 - part)
    effect, length = 1.0, 1
    while length == 1 or len(away) // length >= _LEAST_BLOCKS:
        sums = np.add.reduceat(away, np.arange(0, len(away), length))
        effect, length = max(effect, float(sums @ sums) / expected), 2 * length
    return effect
