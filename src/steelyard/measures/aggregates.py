"""Aggregations of the values of the queries: a mean of what they are or are made into, or a percentile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.percentiles import percentile_name, percentile_value

Aggregate = Literal["mean", "geometric", "total", "f1"]

GEOMETRIC_FLOOR = 1e-5
"""Smallest value that enters a geometric mean, as in trec_eval."""


@dataclass(frozen=True)
class Aggregation:
    """The mean of `before` of the values, and `after` of that mean, and of the ends of its interval.

    about        for the reference
    noun         what the result is, with its article
    arithmetic   whether it is the arithmetic mean, of which tests, margins and differences are
    share        of a percentile, the share of the values below it; None of means
    """

    about: str
    noun: str
    before: Callable[[Floats], Floats]
    after: Callable[[Floats], Floats]
    arithmetic: bool = False
    share: float | None = None

    def of(self, values: Floats) -> float:
        """Aggregate of the values of (n,) queries; NaN without any.

        >>> AGGREGATIONS["f1"].of(np.array([1.0, 0.0])), percentile(0.75).of(np.array([4.0, 1.0, 2.0, 3.0, 5.0]))
        (0.6666666666666666, 4.0)
        """
        if not len(values):
            return math.nan
        if self.share is not None:
            return percentile_value(np.sort(values), self.share)
        return float(self.after(self.before(values).mean()))


def _same(values: Floats) -> Floats:
    return values


def _logarithm(values: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(values, GEOMETRIC_FLOOR)))


def _f1_of_jaccard(values: Floats) -> Floats:
    return np.asarray(2 * values / (1 + values))


AGGREGATIONS: dict[Aggregate, Aggregation] = {
    "mean": Aggregation("mean", "a mean", _same, _same, arithmetic=True),
    "geometric": Aggregation("geometric mean, with a floor of 0.00001", "a geometric mean", _logarithm, np.exp),
    "total": Aggregation("mean; the total in `steelyard trec-eval`", "a mean", _same, _same, arithmetic=True),
    "f1": Aggregation("2J / (1 + J), J being the mean", "an F1 over all questions", _same, _f1_of_jaccard),
}


@cache
def percentile(share: float) -> Aggregation:
    """The percentile with this share of the values below it."""
    return Aggregation(f"the percentile {percentile_name(share)}", "a percentile", _same, _same, share=share)
