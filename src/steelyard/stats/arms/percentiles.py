"""A percentile of two arms, such as the P95 of latencies, with users as units."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.arms.contrast import Contrast, Separate, lacking, unknown
from steelyard.stats.intervals.percentiles import Percentile, PercentileSample
from steelyard.stats.samples import finite
from steelyard.stats.samples import share as checked_share

_LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + _LEVEL) / 2)


def percentile_contrast(
    arm: Ints, unit: Ints, value: Floats, share: float, *, baseline: int = 0, other: int = 1
) -> Contrast:
    """A percentile of the requests of an arm, less that of the baseline.

    arm      (u,) place of the arm of each unit;   unit, value   (n,) unit of each request, and its value
    share    of the values below the percentile, in (0, 1)
    Returns  with an interval of each arm between two of its values, of as many independent requests as those of its
             units are worth; NaN where an arm has too few.  `details`: "worth", such requests of both arms; "reason",
             why there is no interval: "empty_arm", "few_units", "few_values"
    Raises   InputError for arrays of different lengths, values that are not finite, a share outside (0, 1)
    Source   Woodruff, Confidence Intervals for Medians and Other Position Measures, JASA 1952; Korn & Graubard,
             Confidence Intervals for Proportions with Small Expected Number of Positive Counts, Survey Methodology
             1998.

    >>> rng = np.random.default_rng(1)
    >>> unit = rng.integers(0, 400, 4000)
    >>> slower = 100 * rng.lognormal(0, 0.5, 4000) * (1 + 0.2 * (unit % 2))
    >>> contrast = percentile_contrast(np.arange(400) % 2, unit, slower, 0.95)
    >>> round(contrast.baseline), [round(end) for end in contrast.interval()], round(contrast.p(), 4)
    (228, [22, 53], 0.0003)
    """
    checked_share(share, "the percentile's share")
    values = finite(value, n_axes=1, what="values")
    if len(unit) != len(values):
        raise InputError(f"{len(unit)} units of {len(values)} values; expected one each")
    of_arm = arm[unit]
    parts, counts = zip(
        *(_percentile(values, unit, of_arm == place, share) for place in (baseline, other)), strict=True
    )
    pair, n = (parts[0].value, parts[1].value), (counts[0], counts[1])
    if reason := lacking(n):
        return unknown(pair, n, "percentile", reason=reason)
    halves = [(high - low) / 2 for low, high in (part.ends_between(_LEVEL) for part in parts)]
    error = math.hypot(*halves) / _Z
    if not math.isfinite(error):
        return unknown(pair, n, "percentile", reason="few_values")
    return Separate(
        baseline=pair[0], other=pair[1], error=error, n_baseline=n[0], n_other=n[1], arms=(parts[0], parts[1]),
        method="percentile", details={"worth": [part.n_effective(_LEVEL) for part in parts]},
    )  # fmt: skip


def _percentile(values: Floats, unit: Ints, own: Bools, share: float) -> tuple[Percentile, int]:
    """The percentile of some of the values, and how many units they are of."""
    is_there = np.bincount(unit[own], minlength=1) > 0
    codes = np.cumsum(is_there)[unit[own]] - 1
    return PercentileSample.of(values[own], codes).percentile(share), int(is_there.sum())
