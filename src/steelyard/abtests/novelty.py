"""Novelty: whether what an arm does to a metric in its first week is another thing than what it does later."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.experiment import Check
from steelyard.abtests.exposures import Exposures, Sums
from steelyard.base.arrays import Floats
from steelyard.stats.arms.contrast import Contrast
from steelyard.stats.arms.ratios import linearised, ratio_contrast

NOVELTY = 0.01
"""Level at which a gain that fades, or grows, is said: of all primary metrics and arms together."""
_WEEK = 7


def novelty_checks(exposures: Exposures, config: ExperimentConfig) -> list[Check]:
    """Compare what each arm does to primary metrics in the first week and later; in whole weeks, as weekdays differ.

    Returns  a check for each metric and arm, with values metric, arm, first and later (differences to the baseline);
             none for less than two weeks, and for metrics that are no ratio of sums
    """
    tables = {name: exposures.metrics[name] for name in config.primary}
    pairs = [
        (name, table, place)
        for name, table in tables.items() if isinstance(table, Sums) for place in range(1, len(exposures.arms))
    ]  # fmt: skip
    checks = list[Check]()
    for name, table, place in pairs:
        for first, change in _changes(table, exposures, place):
            p = min(len(pairs) * change.p(), 1.0)
            values = {
                "metric": name, "arm": exposures.arms[place], "first": first, "later": first + change.difference,
            }  # fmt: skip
            checks.append(Check("novelty", "careful" if p < NOVELTY else "well", p, values))
    return checks


def _changes(table: Sums, exposures: Exposures, place: int) -> Iterator[tuple[float, Contrast]]:
    """The difference of the first week, and by how much it is another one later; nothing where either has no test.

    Most units come in the one or in both: the change of each is one value, so that units are independent.
    """
    last = exposures.n_days // _WEEK * _WEEK
    arm, change, means = exposures.arm, np.zeros(len(exposures.arm)), list[tuple[float, float]]()
    if last < 2 * _WEEK or not all((arm == side).any() for side in (0, place)):
        return
    for side in (0, place):
        values = [_linearised(table, arm == side, days) for days in (range(_WEEK), range(_WEEK, last))]
        change[arm == side] = values[1] - values[0]
        means.append((float(values[0].mean()), float(values[1].mean())))
    contrast = ratio_contrast(arm, change, np.ones(len(arm)), other=place)
    if not math.isnan(contrast.p()):
        yield means[1][0] - means[0][0], contrast


def _linearised(table: Sums, is_own: np.ndarray, days: range) -> Floats:
    """Values of the units of an arm, whose mean is the ratio of those days; NaN where they have none."""
    counts = (table.day >= days.start) & (table.day < days.stop)
    numerator, denominator = (
        np.bincount(table.unit[counts], column[counts], len(is_own))[is_own]
        for column in (table.numerator, table.denominator)
    )
    return linearised(numerator, denominator)
