"""Units of which people labelled some, drawn at random within strata: weights, strata with labels, fitted offsets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints

KNOWN = -1
"""The stratum of units that nobody has to label, as what is said of them holds by definition."""
FEWEST_LABELS = 2
"""Labels from which a spread can be told."""


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Units of questions, with what a judge says of each and people of some.

    owner      (u,) the question of each unit;   n_questions   of them
    judged     (u,) by the judge, with its mean of the stratum where it did not judge
    people     (u,) by people; NaN without a label
    inclusion  (u,) share of units with a label in the stratum; 1 of units that nobody has to label
    group      (u,) strata put together until they have two labels each; KNOWN as above
    """

    owner: Ints
    judged: Floats
    people: Floats
    inclusion: Floats
    group: Ints
    n_questions: int

    @classmethod
    def of(cls, owner: Ints, judged: Floats, people: Floats, stratum: Ints, n_questions: int) -> LabelledSample:
        """The sample of what `corrected_mean` takes."""
        labelled = ~np.isnan(people) & (stratum != KNOWN)
        cells = merged(stratum, labelled, fewest=1)
        drawn, size = (np.bincount(cells[mask], minlength=cells.max(initial=0) + 1) for mask in (labelled, cells >= 0))
        inclusion = np.ones(len(owner))
        inclusion[cells >= 0] = (drawn / np.maximum(size, 1))[cells[cells >= 0]]
        return cls(
            owner=owner,
            judged=_filled(judged, cells),
            people=np.where(labelled, people, np.nan),
            inclusion=inclusion,
            group=merged(stratum, labelled, fewest=FEWEST_LABELS),
            n_questions=n_questions,
        )

    def in_one_stratum(self) -> LabelledSample:
        """The same, where labels are compared with those of all strata; each was drawn with the same probability."""
        return replace(self, group=np.where(self.group == KNOWN, KNOWN, 0))

    @cached_property
    def labelled(self) -> Bools:
        """(u,) units with a label."""
        return ~np.isnan(self.people)

    @cached_property
    def n_labels(self) -> int:
        """Number of units that have a label."""
        return int(self.labelled.sum())

    @cached_property
    def n_units(self) -> int:
        """Number of units that could have one."""
        return int((self.group != KNOWN).sum())

    @cached_property
    def share(self) -> Floats:
        """(u,) of each unit in the mean of its question."""
        return 1 / np.bincount(self.owner, minlength=self.n_questions)[self.owner]

    @cached_property
    def expanded(self) -> Floats:
        """(u,) share of each labelled unit and of those that it stands for; 0 without a label."""
        return np.where(self.labelled, self.share / np.where(self.labelled, self.inclusion, 1.0), 0.0)

    @cached_property
    def n_groups(self) -> int:
        """Number of groups of strata."""
        return int(self.group.max(initial=-1)) + 1

    def question_means(self, values: Floats) -> Floats:
        """(q,) means of (u,) values over the units of each question; NaN for questions without any."""
        sums = np.bincount(self.owner, values * self.share, self.n_questions).astype(float)
        sums[np.bincount(self.owner, minlength=self.n_questions) == 0] = np.nan
        return sums

    def of_groups(self, values: Floats, units: Bools | None = None) -> Floats:
        """(g,) sums of (u,) values over the labelled, or other, units of each group."""
        mask = self.labelled if units is None else units
        return np.bincount(self.group[mask], values[mask], self.n_groups).astype(float)

    def offsets(self, values: Floats) -> Floats:
        """(u,) mean of (u,) values over the labels of the group of each unit, by what they stand for; 0 where KNOWN."""
        with np.errstate(invalid="ignore"):
            means = self.of_groups(values * self.expanded) / self.of_groups(self.expanded)
        return np.where(self.group == KNOWN, 0.0, np.append(means, 0.0)[self.group])

    @cached_property
    def slope(self) -> float:
        """Slope of labels on judgements in groups, by what they add to the error; 0 where judgements do not differ."""
        spread = self.expanded**2 * (1 - self.inclusion)
        judged = np.where(self.labelled, self.judged - self.offsets(self.judged), 0.0)
        people = np.where(self.labelled, np.nan_to_num(self.people - self.offsets(np.nan_to_num(self.people))), 0.0)
        square = float((spread * judged**2).sum())
        return float((spread * judged * people).sum()) / square if square > 0 else 0.0


def merged(stratum: Ints, labelled: Bools, *, fewest: int) -> Ints:
    """(u,) strata numbered from 0, each with so many labels: one with fewer goes with its lower neighbour.

    The first ones go with the next that has enough.  KNOWN stays what it is.

    >>> merged(np.array([0, 1, 1, 2, 3, 3]), np.array([False, True, True, False, True, False]), fewest=1)
    array([0, 0, 0, 0, 1, 1])
    """
    names, codes = np.unique(stratum, return_inverse=True)
    n_labels = np.bincount(codes, labelled, len(names))
    numbers, number, count = np.full(len(names), KNOWN), 0, 0
    for place in np.flatnonzero(names != KNOWN).tolist():
        if count >= fewest and n_labels[place] >= fewest:
            number, count = number + 1, 0
        numbers[place] = number
        count += int(n_labels[place])
    return numbers[codes]


def _filled(judged: Floats, cells: Ints) -> Floats:
    """(u,) judgements, with the mean of the stratum, or else of all, where there is none."""
    absent = np.isnan(judged) & (cells != KNOWN)
    if not absent.any():
        return judged
    there = ~np.isnan(judged) & (cells != KNOWN)
    n = np.bincount(cells[there], minlength=cells.max() + 1)
    sums = np.bincount(cells[there], judged[there], cells.max() + 1)
    overall = judged[there].mean() if there.any() else 0.0
    means = np.where(n > 0, sums / np.maximum(n, 1), overall)
    return np.where(absent, means[cells], judged)
