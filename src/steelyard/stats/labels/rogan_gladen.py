"""The share that people would find, from the share that a judge finds and how often it is right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from steelyard.base.errors import InputError
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import MeanError, share, whole

LEAST = 1.1
"""Sensitivity + specificity below which a judge says next to nothing about the share: 1 is a coin."""


@dataclass(frozen=True)
class CorrectedRate:
    """A corrected share.

    value, low, high   in [0, 1]; NaN where undefined
    undefined          "no_labels": people called none so, or all; "weak_judge": sensitivity + specificity are below 1.1
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    undefined: Literal["no_labels", "weak_judge"] | None = None


def corrected_rate(
    n_called: int, n: int, *, hits: int, misses: int, false_alarms: int, rejections: int, n_shared: int = 0,
    level: float = 0.95,
) -> CorrectedRate:  # fmt: skip
    """The share of positives among n items, of which a judge calls n_called so and is known to be wrong at times.

    hits, misses              labelled positives that it calls so, or not: sensitivity = hits / (hits + misses)
    false_alarms, rejections  labelled negatives that it calls so, or not: specificity = rejections / both
    n_shared                  labelled items that are among the n, drawn at random; 0 where they are others
    Returns   (q + specificity - 1) / (sensitivity + specificity - 1), q the judged share, within [0, 1], with an
              interval of all three parts
    Raises    InputError for counts that do not fit together
    Source    Rogan & Gladen, Estimating Prevalence from the Results of a Screening Test, 1978; the interval is
              Fieller's of the ratio (1954), with half a count more in each cell.  In simulations it covers 93% to 97%
              where sensitivity + specificity are above 1.3 and 100 items or more are labelled, ten of either kind (with
              50, up to 98%); the plain interval by the variance covers up to 99.8% where labelled items are shared.

    >>> rate = corrected_rate(600, 1000, hits=80, misses=20, false_alarms=10, rejections=90)
    >>> round(rate.value, 3), round(rate.low, 3), round(rate.high, 3)
    (0.714, 0.626, 0.819)
    >>> corrected_rate(600, 1000, hits=50, misses=50, false_alarms=50, rejections=50).undefined
    'weak_judge'
    """
    n_positive, n_negative = hits + misses, false_alarms + rejections
    _check(n_called, n, min(hits, misses, false_alarms, rejections), n_shared, n_positive + n_negative)
    if not (n and n_positive and n_negative):
        return CorrectedRate(math.nan, undefined="no_labels")
    judged = n_called / n
    right = hits / n_positive + rejections / n_negative - 1
    if right < LEAST - 1:
        return CorrectedRate(math.nan, undefined="weak_judge")
    value = min(max((judged + rejections / n_negative - 1) / right, 0.0), 1.0)
    z = NormalDist().inv_cdf((1 + share(level, "level")) / 2)
    low, high = _ends(
        judged, n, _smoothed(hits, n_positive), _smoothed(rejections, n_negative), share_of=n_shared / n, z=z
    )
    return CorrectedRate(value, min(max(low, 0.0), value), max(min(high, 1.0), value))


def _check(n_called: int, n: int, least: int, n_shared: int, n_labelled: int) -> None:
    if not 0 <= n_called <= whole(n, "n", 0):
        raise InputError(f"{n_called} of {n} items are called so; expected between 0 and all")
    if least < 0 or not 0 <= n_shared <= min(n, n_labelled):
        raise InputError(f"{n_shared} of {n_labelled} labelled items are among {n}; expected counts from 0 to both")


def _smoothed(count: int, n: int) -> tuple[float, float]:
    """A share with half a count more on either side, and its variance."""
    value = (count + 0.5) / (n + 1)
    return value, value * (1 - value) / (n + 1)


def _ends(
    judged: float, n: int, sensitivity: tuple[float, float], specificity: tuple[float, float], *, share_of: float,
    z: float,
) -> tuple[float, float]:  # fmt: skip
    """Bounds of p by T(p) = q - p·sensitivity - (1 - p)·(1 - specificity): 0 on average, and within z of its error.

    Of labelled items among the judged ones, what the judge does wrong is in q too, and takes itself off.
    """
    (tpr, var_tpr), (tnr, var_tnr) = sensitivity, specificity
    apart = 1 - share_of
    var_judged = apart * judged * (1 - judged) / n
    var_tpr, var_tnr = apart**2 * var_tpr, apart**2 * var_tnr
    above, slope = judged - 1 + tnr, tpr + tnr - 1
    var_shared = share_of * slope**2 / n
    # (above - p·slope)² = z²·(var_judged + p²·var_tpr + (1 - p)²·var_tnr + p·(1 - p)·var_shared)
    a = slope**2 - z**2 * (var_tpr + var_tnr - var_shared)
    b = -2 * above * slope + z**2 * (2 * var_tnr - var_shared)
    c = above**2 - z**2 * (var_judged + var_tnr)
    root = b * b - 4 * a * c
    if a <= 0 or root < 0:
        return 0.0, 1.0
    return (-b - math.sqrt(root)) / (2 * a), (-b + math.sqrt(root)) / (2 * a)


def people_difference(difference: MeanError, right: float, error: float, *, alpha: float) -> tuple[float, float, float]:
    """The difference of two shares that people would find, from that by a judge and how often the judge is right.

    difference    by the judge, with its error: also that of a shift between two judges which was taken off it
    right, error  sensitivity + specificity - 1 of the judge, and the error of that
    Returns       value and ends of the interval at 1 - alpha, within -1 and 1; NaN for a judge next to a coin, and
                  where the difference has no error.  An interval that labels leave open is from -1 to 1
    Source        Rogan & Gladen (1978): what is called so by mistake is in both shares, and falls out; the interval is
                  Fieller's of the ratio (1954).

    >>> low, high = people_difference(MeanError(0.1, 0.02, 200, 201), 0.7, 0.05, alpha=0.05)[1:]
    >>> round(0.1 / 0.7, 3), round(low, 3), round(high, 3)
    (0.143, 0.085, 0.206)
    """
    if right < LEAST - 1 or math.isnan(difference.error) or difference.df < 1:
        return math.nan, math.nan, math.nan
    value = min(max(difference.mean / right, -1.0), 1.0)
    square = t_quantile(1 - alpha / 2, difference.df) ** 2
    a, b = right**2 - square * error**2, difference.mean * right
    root = b * b - a * (difference.mean**2 - square * difference.error**2)
    if a <= 0 or root < 0:
        return value, -1.0, 1.0
    ends = ((b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a)
    return value, max(ends[0], -1.0), min(ends[1], 1.0)
