"""A line through points: its slope, with an interval that supposes neither equal scatter nor independence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.samples import ROUNDING, Clusters, cluster_codes, finite, share
from steelyard.stats.student import t_quantile


@dataclass(frozen=True)
class Line:
    """y = at_0 + slope * x, by least squares; the ends of the slope's interval are NaN where there is none."""

    at_0: float
    slope: float
    low: float
    high: float
    n: int


def fit_line(x: Floats, y: Floats, *, clusters: Clusters | None = None, level: float = 0.95) -> Line:
    """The least-squares line through n points.

    clusters   (n,) which points belong together, such as repetitions of one question; None: each by itself
    Returns    NaN without two different x; an interval from three clusters on that leave two different x without any
               of them.  Its degrees of freedom are one less than the clusters that decide, by their squared distances
    Raises     InputError for values that are not finite
    Source     The slope's error is that of the jackknife that leaves out one cluster at a time: Hinkley, Jackknifing in
               Unbalanced Situations, Technometrics 1977; Bell & McCaffrey, Survey Methodology 2002 (as CR3).

    >>> line = fit_line(np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 6.0, 9.0, 10.0]))
    >>> round(line.at_0, 6), round(line.slope, 6), round(line.low, 3), round(line.high, 3)
    (4.8, 1.8, 0.22, 3.38)
    """
    x, y = finite(x, n_axes=1, what="x"), finite(y, n_axes=1, what="y")
    share(level, "level")
    n = len(x)
    center_x, center_y = (values.mean() if n else math.nan for values in (x, y))
    codes = np.arange(n) if clusters is None else cluster_codes(clusters, n)
    sums = _sums(x - center_x, y - center_y, codes)
    (slope,) = _slopes(sums.sum(axis=1, keepdims=True))
    g = sums.shape[1]
    without = _slopes(sums.sum(axis=1, keepdims=True) - sums)
    half = math.nan
    if g > 2 and not np.isnan(without).any():
        error = math.sqrt((g - 1) / g * ((without - without.mean()) ** 2).sum())
        # As many as have a say: a few points far out decide where the line goes.
        n_deciding = sums[3].sum() ** 2 / (sums[3] ** 2).sum()
        half = t_quantile((1 + level) / 2, min(max(n_deciding - 1, 1.0), g - 1)) * error
    return Line(float(center_y - slope * center_x), float(slope), float(slope - half), float(slope + half), n)


def _sums(x: Floats, y: Floats, codes: Ints) -> Floats:
    """(5, g) of each cluster: n, and the sums of x, y, x * x and x * y."""
    columns = (np.ones(len(x)), x, y, x * x, x * y)
    return np.stack([np.bincount(codes, weights=column) for column in columns])


def _slopes(sums: Floats) -> Floats:
    """(g,) slopes by the sums of points; NaN without two different x."""
    n, x, y, xx, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = xx - x * x / n
        return np.asarray(np.where(squares > ROUNDING * xx, (xy - x * y / n) / squares, np.nan))
