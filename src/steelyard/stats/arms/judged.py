"""Answers of two arms that a judge read, and people labelled some of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.arms.contrast import Contrast, Normal
from steelyard.stats.labels.prediction_powered import corrected_mean
from steelyard.stats.samples import mean_error

LEAST_LABELS = 10
"""Labels of each arm below which the judge is taken at its word."""
_Z = 1.96


def judged_contrast(
    arm: Ints, unit: Ints, judged: Floats, people: Floats, *, baseline: int = 0, other: int = 1,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Contrast:  # fmt: skip
    """The mean of judged answers of an arm less that of the baseline, with units as clusters.

    Where people labelled ten answers of both arms or more, the mean of each arm is corrected by its own labels
    (prediction-powered), so that a judge who favours an arm does no harm; without labels such a favour is in the value.

    arm            (u,) place of the arm of each unit
    unit           (q,) unit of each answer;   judged, people   (q,) values by the judge, and by people; NaN for none
    bounds         lowest and highest value of an answer
    Returns        method "judged" or "judged_corrected"; details: "n_labels" of both arms, "reason" without an error

    >>> arm, unit = np.repeat([0, 1], 20), np.arange(40)
    >>> judged = np.tile([1.0, 1.0, 1.0, 0.0], 10)
    >>> people = np.where(unit % 2 == 0, judged * (arm[unit] == 0), np.nan)  # of the other arm, all are wrong
    >>> for labels in (np.full(40, np.nan), people):
    ...     contrast = judged_contrast(arm, unit, judged, labels)
    ...     print(contrast.method, round(contrast.difference, 2))
    judged 0.0
    judged_corrected -1.0
    """
    there = ~np.isnan(judged)
    sides = [there & (arm[unit] == place) for place in (baseline, other)]
    n_labels = [int((~np.isnan(people[side])).sum()) for side in sides]
    is_corrected = min(n_labels) >= LEAST_LABELS
    means = list[tuple[float, float, int]]()
    for side in sides:
        n, clusters = int(side.sum()), unit[side]
        if is_corrected:
            own = corrected_mean(
                np.arange(n), judged[side], people[side], np.zeros(n, np.int64), n, bounds=bounds, clusters=clusters
            ).corrected
            # Its interval reckons with a label that is still to come; its error alone does not.
            means.append((own.mean, (own.high - own.low) / 2 / _Z, len(np.unique(clusters))))
        elif n:
            average = mean_error(judged[side], clusters=clusters)
            means.append((average.mean, average.error, len(np.unique(clusters))))
        else:
            means.append((math.nan, math.nan, 0))
    (a, a_error, n_a), (b, b_error, n_b) = means
    details: dict[str, Any] = {"n_labels": sum(n_labels)} if is_corrected else {}
    if min(n_a, n_b) < 2:
        details["reason"] = "empty_arm" if not min(n_a, n_b) else "few_units"
    return Normal(
        baseline=a, other=b, difference=b - a, error=math.hypot(a_error, b_error), n_baseline=n_a, n_other=n_b,
        baseline_error=a_error, covariance=-(a_error**2), df=max(n_a + n_b - 2, 1),
        method="judged_corrected" if is_corrected else "judged", details=details,
    )  # fmt: skip
