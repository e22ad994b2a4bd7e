"""A model of rewards for the doubly robust estimator: position times document times document of a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.abtests.offpolicy.showings import Showings
from steelyard.base.arrays import Bools, Floats, Ints

N_FOLDS = 5
_PRIOR = 5.0
"""Rewards of usual size that a document's factor of 1 is worth."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What the model expects, of each showing without those of its user.

    shown    (n,) of what was shown;   policy   (r,) of what the policy would show, a sum over its positions
    size, square   of rewards above 0: mean of their squares, and of their cubes, over their mean
    """

    shown: Floats
    policy: Floats
    size: float
    square: float

    @property
    def variance(self) -> Floats:
        """(n,) of the reward of each showing, as the model has it."""
        return np.maximum(self.shown * (self.size - self.shown), 0.0)

    @property
    def third(self) -> Floats:
        """(n,) third central moment of it."""
        return self.shown * (self.square - 3 * self.shown * self.size + 2 * self.shown**2)


def predict(showings: Showings) -> Predictions:
    """Cross-fitted expectations of rewards: a user's showings are predicted from those of users of other folds.

    The mean reward of a position is multiplied by a factor of the document, and by one of the document for this query
    at this position, each shrunk towards 1 as if 5 rewards more had come as expected.
    """
    reward = showings.reward
    total = reward.sum()
    size, square = (float((reward**power).sum() / total) if total else 1.0 for power in (2, 3))
    pairs, rows_pairs = _pairs(showings)
    fold = showings.unit % N_FOLDS
    own_fold = fold[showings.request]
    shown, policy = np.zeros(len(reward)), np.zeros(showings.n_requests)
    for number in range(N_FOLDS):
        others = own_fold != number
        position, doc, pair = _factors(showings, pairs, others, _PRIOR * size)
        own = ~others
        shown[own] = position[showings.position[own]] * doc[showings.doc[own]] * pair[pairs[own]]
        expected = np.minimum(doc[showings.rows_doc] * pair[rows_pairs] * position[showings.rows_position], size)
        policy += np.where(fold == number, showings.by_request(showings.rows_probability * expected), 0.0)
    return Predictions(np.minimum(shown, size), policy, size, square)


def _pairs(showings: Showings) -> tuple[Ints, Ints]:
    """Numbers of pairs of cell and document, of showings and of rows of the policy."""
    n_docs = 1 + max(showings.doc.max(initial=0), showings.rows_doc.max(initial=0))
    codes = np.concatenate([showings.cell * n_docs + showings.doc, showings.rows_cell * n_docs + showings.rows_doc])
    numbers = np.unique(codes, return_inverse=True)[1]
    return numbers[: len(showings.doc)], numbers[len(showings.doc) :]


def _factors(showings: Showings, pairs: Ints, used: Bools, prior: float) -> tuple[Floats, Floats, Floats]:
    """Mean reward by position, and factors by document and by pair; 1 where nothing was shown.

    used   (n,) showings that count;   prior   rewards that are added to both sides of a ratio
    """
    reward, place = showings.reward[used], showings.position[used]
    n_places = 1 + max(showings.position.max(initial=0), showings.rows_position.max(initial=0))
    counts = np.bincount(place, minlength=n_places)
    position = np.bincount(place, reward, n_places) / np.maximum(counts, 1)
    expected, factors = position[place], [position]
    for code in (showings.doc, pairs):
        length = 1 + max(code.max(initial=0), showings.rows_doc.max(initial=0)) + len(showings.rows_doc)
        own = code[used]
        factor = (np.bincount(own, reward, length) + prior) / (np.bincount(own, expected, length) + prior)
        expected = expected * factor[own]
        factors.append(factor)
    return factors[0], factors[1], factors[2]
