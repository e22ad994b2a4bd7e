"""Power of a test that is looked at again and again, each time against a bound of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats

_STEPS = 0.02
_REACH = 6.0
"""Step and reach of the sums, in standard errors at the last look."""
_PRECISION = 1e-6


def detectable_by_looks(shares: Sequence[float], bounds: Sequence[float], *, power: float, n_sides: int = 2) -> float:
    """Smallest effect, in standard errors at the last look, that any of the looks shows with this chance.

    shares, bounds, n_sides   as of `power_by_looks`
    Returns   above 0; of one look, the sum of its bound and the normal quantile of the power

    >>> round(detectable_by_looks([1.0], [1.959964], power=0.8), 2)
    2.8
    """
    places, density = _uncrossed(np.asarray(shares), np.asarray(bounds), n_sides)
    low, high = 0.0, max(bounds) + NormalDist().inv_cdf(power) + 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if 1 - _missed(places, density, middle) > power else (middle, high)
    return high


def power_by_looks(shares: Sequence[float], bounds: Sequence[float], effect: float, *, n_sides: int = 2) -> float:
    """Chance that any of several looks shows an effect.

    shares    (k,) of what is known at the last look, above 0, ascending to 1: looks need not be equally far apart
    bounds    (k,) above 0: a look shows an effect whose estimate is so many of its own standard errors
    effect    in standard errors at the last look, from 0
    n_sides   1 where only an effect above the bound is shown, 2 for either side
    Returns   in [0, 1], right to about .001
    Source    Armitage, McPherson & Rowe, Repeated Significance Tests on Accumulating Data, JRSS A 1969: sums of a
              Brownian motion, look by look, with the part taken out that has crossed.  The chance of no crossing under
              an effect follows from that under none by their likelihood ratio, so that one pass does for all effects.

    >>> round(power_by_looks([0.5, 1.0], [1.96, 1.96], 0.0), 3)
    0.083
    """
    return 1 - _missed(*_uncrossed(np.asarray(shares), np.asarray(bounds), n_sides), effect)


def _missed(places: Floats, density: Floats, effect: float) -> float:
    """Chance that no look shows an effect; an effect far beyond the bounds is shown."""
    return min(float((density * np.exp(effect * places - effect**2 / 2)).sum()), 1.0)


def _uncrossed(shares: Floats, bounds: Floats, n_sides: int) -> tuple[Floats, Floats]:
    """Sums at the last look, and the chance of each that no look has shown an effect, where there is none."""
    places = np.arange(-_REACH, _REACH + _STEPS / 2, _STEPS)
    density, before = np.zeros(len(places)), 0.0
    density[len(places) // 2] = 1.0
    for share, bound in zip(shares, bounds, strict=True):
        if share > before:
            kernel = np.exp(-(places**2) / (share - before) / 2)
            density = np.convolve(density, kernel / kernel.sum(), mode="same")
        limit = bound * math.sqrt(share)
        above = np.clip((limit - places) / _STEPS + 0.5, 0.0, 1.0)
        below = np.clip((limit + places) / _STEPS + 0.5, 0.0, 1.0) if n_sides == 2 else 1.0
        density, before = density * above * below, share
    return places, density
