"""How much of a headroom was captured: the ratio of two means over the same queries, one of which bounds the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.intervals import mean_intervals
from steelyard.stats.samples import ROUNDING, Clusters, finite, fsum, mean_error, share

CLEAR = 4.0
"""Standard errors that a headroom must be above 0, so that 95% intervals know it to within half of itself: that takes
about 20 queries that have some."""
_STEPS = 40
"""Halvings of the range in which an end lies."""


@dataclass(frozen=True)
class CapturedShare:
    """Mean gain / mean headroom, with the ends of its interval; NaN throughout where the headroom is too small."""

    share: float
    low: float
    high: float
    level: float


def captured_share(
    gain: npt.ArrayLike, headroom: npt.ArrayLike, *, width: float = math.inf, level: float = 0.95,
    clusters: Clusters | None = None,
) -> CapturedShare:  # fmt: skip
    """What share of the headroom was captured: 1 for all of it, below 0 for harm.

    The interval holds each share r for which the mean of gain - r headroom may be 0, by `mean_intervals`.  This is
    Fieller's, but guarded against what no query has shown: where all headroom was captured in each query, the share of
    other queries need not be 1.  In simulations of 20 to 1,000 queries, with headroom in most of them or in 3%, it
    misses in at most 5% of the cases of which it says anything; Fieller's own in up to 81%.

    gain      (n,) by how much a query is better than before; at most its headroom
    headroom  (n,) by how much it could be better, 0 or more
    width     the largest difference that two values can have
    Returns   NaN where the headroom is less than CLEAR standard errors above 0, since a ratio to nearly nothing says
              nothing, and for fewer than two queries or clusters; low is -inf where none is ruled out at this level
    Raises    InputError for NaN, unequal lengths, a headroom below 0, a gain above its headroom
    Source    Fieller, Some Problems in Interval Estimation, JRSS B 1954.

    >>> captured = captured_share([0.1, 0.2, 0.0, 0.3] * 5, [0.5, 0.4, 0.0, 0.3] * 5, width=1)
    >>> round(captured.share, 3), round(captured.low, 2), round(captured.high, 2)
    (0.5, 0.1, 0.73)
    """
    d, h = finite(gain, n_axes=1, what="gains"), finite(headroom, n_axes=1, what="headrooms")
    share(level, "level")
    _check(d, h)
    mean = mean_error(h, clusters=clusters)
    if mean.reason or not mean.mean > CLEAR * mean.error:
        return CapturedShare(math.nan, math.nan, math.nan, level)

    def ends(r: float) -> tuple[float, float]:
        away = d - r * h
        # A query loses no more than the width, and gains no more than its headroom, which is no more than the width.
        bounds = -width, (1 - r) * width if r < 1 else 0.0
        interval = mean_intervals(away[:, None], level=level, bounds=bounds, clusters=clusters)
        return float(interval.low[0]), float(interval.high[0])

    estimate = fsum(d) / fsum(h)
    # A query loses no more than the width, so that no share can be below this.
    least = min(-(width if math.isfinite(width) else 1e3 * float(h.max())) / mean.mean, 2 * estimate - 1)
    low = _crossing(lambda r: ends(r)[0] > 0, least, estimate) if ends(least)[0] > 0 else -math.inf
    high = 1.0 if ends(1.0)[1] >= 0 else _crossing(lambda r: ends(r)[1] >= 0, estimate, 1.0)
    return CapturedShare(estimate, low, high, level)


def _check(d: Floats, h: Floats) -> None:
    if d.shape != h.shape:
        raise InputError(f"there are {len(d)} gains and {len(h)} headrooms; expected one each for the same questions")
    slack = ROUNDING * np.maximum(1.0, np.abs(h))
    if (h < -slack).any():
        raise InputError(
            f"a headroom is {h.min():g}; expected 0 or more: a ceiling lies below what it is the ceiling of"
        )
    if (d > h + slack).any():
        q = int(np.argmax(d - h))
        raise InputError(f"a gain is {d[q]:g} and its headroom {h[q]:g}; expected at most that")


def _crossing(holds: Callable[[float], bool], first: float, last: float) -> float:
    """Where a condition ceases that holds at the first of two numbers, and not at the last."""
    for _ in range(_STEPS):
        middle = (first + last) / 2
        first, last = (middle, last) if holds(middle) else (first, middle)
    return (first + last) / 2
