"""How many labels of people make an interval as narrow as is wished, before anybody labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from steelyard.stats.labels.raters import wilson_ends
from steelyard.stats.numerics import t_quantile

MOST_LABELS = 10**6
"""More than anybody labels."""
_FITTED = 2
"""Offsets that are fitted to labels: what the judge calls supported, and what it does not."""


@dataclass(frozen=True)
class LabelSetting:
    """What labels are drawn from.

    variance      of people's verdict on a unit about what is expected from the judge's, on average
    n_units       of all questions, math.inf for very many;   n_questions   likewise
    by_questions  squared error of the mean that is there with labels of all units, as the questions are a sample
    design        how many times the variance counts, as units do not count alike; 1 at least
    """

    variance: float
    n_units: float = math.inf
    n_questions: float = math.inf
    by_questions: float = 0.0
    design: float = 1.0

    def width(self, n: int) -> float:
        """Width of the 95% interval of the corrected mean by n labels, drawn at random within what the judge calls.

        As `corrected_mean` has it, with one more label at odds with the judge, as far as labels agree with each other.
        """
        freedom = n - _FITTED
        if freedom < 1:
            return 1.0
        by_labels = self.design * self.variance * max(1 / n - 1 / self.n_units, 0.0) * n / freedom
        squares = by_labels + self.by_questions
        df = (
            squares**2 / (by_labels**2 / freedom + self.by_questions**2 / max(self.n_questions - 1, 1.0))
            if squares
            else freedom
        )
        labelled = n if math.isinf(self.n_questions) else self.n_questions * -math.expm1(-n / self.n_questions)
        more = 1 - 2 * self.variance
        total = labelled + more
        one_more = labelled * more / total / total / max(total - 1, 1.0) / 4
        half = t_quantile(0.975, max(df, 1.0)) * math.sqrt(squares * labelled / total + one_more)
        return min(2 * half + more / total, 1.0)

    def needed(self, width: float) -> int | None:
        """Fewest labels by which the interval is so wide; None where labels of all units do not."""
        low, high = 2, int(min(self.n_units, MOST_LABELS))
        if self.width(high) > width:
            return None
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.width(middle) <= width else (middle, high)
        return high

    def without_judge(self, share: float) -> LabelSetting:
        """The same, where labels are drawn at random and no verdict enters;   share   that people support"""
        return replace(self, variance=share * (1 - share))


def unexplained_variance(sensitivity: float, specificity: float, supported: float) -> float:
    """Variance of people's verdict on a unit about its mean where the judge says the same, from 0 to 1/4.

    supported   the share that people support

    >>> unexplained_variance(1.0, 1.0, 0.7), round(unexplained_variance(0.5, 0.5, 0.7), 2)
    (0.0, 0.21)
    """
    total = 0.0
    for right, wrong in ((sensitivity, 1 - specificity), (1 - sensitivity, specificity)):
        said = supported * right + (1 - supported) * wrong
        total += supported * right * (1 - supported) * wrong / said if said else 0.0
    return total


def called_share(sensitivity: float, specificity: float, supported: float) -> float:
    """The share that a judge calls supported."""
    return supported * sensitivity + (1 - supported) * (1 - specificity)


def supported_share(sensitivity: float, specificity: float, called: float) -> float:
    """The share that people support, from that which a judge calls so (Rogan & Gladen), within [0, 1]."""
    right = sensitivity + specificity - 1
    return min(max((called + specificity - 1) / right, 0.0), 1.0) if right > 0 else called


def labels_for_rates(width: float, *, sensitivity: float, specificity: float, supported: float) -> int | None:
    """Labels, drawn at random, by which the intervals of sensitivity and specificity are both so wide (Wilson).

    Returns  None where more than MOST_LABELS would be needed, as of a share that people never support

    >>> labels_for_rates(0.1, sensitivity=0.9, specificity=0.9, supported=0.5)
    282
    """
    counts = [
        math.inf if not share else math.ceil(_for_rate(rate, width) / share)
        for rate, share in ((sensitivity, supported), (specificity, 1 - supported))
    ]
    return int(most) if (most := max(counts)) <= MOST_LABELS else None


def _for_rate(rate: float, width: float) -> int:
    low, high = 0, MOST_LABELS
    while low + 1 < high:
        middle = (low + high) // 2
        ends = wilson_ends(rate, middle)
        low, high = (low, middle) if ends[1] - ends[0] <= width else (middle, high)
    return high
