"""Percentiles: their names, such as p95, and their values."""

from __future__ import annotations

import math
import re

import numpy as np

from steelyard.base.arrays import Floats

_NAME = re.compile(r"p(\d{1,2}(?:\.\d+)?)")
_DIGITS = 6
_LARGEST = np.finfo(np.float64).max
"""In place of an infinite value, since infinity less a number is none to interpolate with."""


def percentile_share(name: str) -> float:
    """The share below the percentile of this name.

    Raises   ValueError for what is no percentile.

    >>> percentile_share("p95"), percentile_share("p99.9")
    (0.95, 0.999)
    """
    match = _NAME.fullmatch(name)
    share = round(float(match[1]) / 100, _DIGITS) if match else 0.0
    if not 0 < share < 1:
        raise ValueError(f"{name!r} is no percentile; expected one such as p95, above p0 and below p100")
    return share


def percentile_name(share: float) -> str:
    """The name of the percentile with this share below it.

    >>> percentile_name(0.95), percentile_name(0.999), percentile_name(0.05)
    ('p95', 'p99.9', 'p5')
    """
    return f"p{round(share * 100, _DIGITS):g}"


def percentile_value(ordered: Floats, share: float) -> float:
    """A percentile by linear interpolation between the two nearest values.

    ordered   (n,) ascending; inf for one that is only known to be larger than all others, -inf for one that is smaller
    Returns   inf or -inf where it falls on, or next to, an infinite value; NaN without any value

    >>> percentile_value(np.array([1.0, 2.0, 3.0, np.inf]), 0.5), percentile_value(np.array([1.0, np.inf]), 0.5)
    (2.5, inf)
    """
    if not len(ordered):
        return math.nan
    place = share * (len(ordered) - 1)
    around = ordered[math.floor(place)], ordered[math.ceil(place)]
    infinite = next((float(value) for value in around if np.isinf(value)), None)
    if infinite is not None:
        return infinite
    return float(np.quantile(np.clip(ordered, -_LARGEST, _LARGEST), share))
