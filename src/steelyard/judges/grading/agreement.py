"""How far a judge of relevance and people agree, on the pairs that both graded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.judges.grading.scale import Scale
from steelyard.stats.labels.raters import cohen_kappa, krippendorff_alpha

FEW = 10
"""Pairs below which agreement says nothing."""


@dataclass(frozen=True, slots=True)
class GradeAgreement:
    """Agreement of a judge with people.

    n           pairs that both graded;   n_equal   of these, with the same grade
    kappa       Cohen's, weights by the square of the steps between;   alpha   Krippendorff's, ordinal; None where
                undefined: both gave one and the same grade to all, or no pair has both
    grades      that both tell apart
    n_off       pairs that people graded off the scale; they are kept in the truth, and left out of these
    """

    n: int
    n_equal: int
    kappa: float | None
    alpha: float | None
    n_off: int = 0
    grades: tuple[float, ...] = ()


def agreement(people: Sequence[float], judge: Sequence[float], scale: Scale) -> GradeAgreement:
    """The agreement of grades by people and by a judge, pair by pair."""
    both = [pair for pair in zip(people, judge, strict=True) if pair[0] in scale.gains]
    n_off, grades = len(people) - len(both), tuple(scale.gains)
    if not both:
        return GradeAgreement(0, 0, None, None, n_off, grades)
    first, second = map(list, zip(*both, strict=True))
    kappa = cohen_kappa(first, second, "quadratic", categories=scale.gains)
    alpha = krippendorff_alpha([first, second], "ordinal", categories=scale.gains)
    n_equal = sum(by_person == by_judge for by_person, by_judge in both)
    return GradeAgreement(len(both), n_equal, _defined(kappa), _defined(alpha), n_off, grades)


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
