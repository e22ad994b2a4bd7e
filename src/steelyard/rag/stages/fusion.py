"""One ranking out of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError, StageError
from steelyard.base.limits import at_least
from steelyard.base.settings import SettingError, check_fields
from steelyard.rag.protocols import Ranking
from steelyard.rag.registry import stage
from steelyard.rag.stages.searching import best


@stage("fuse", "rrf")
@dataclass(frozen=True)
class RRF:
    """Reciprocal rank fusion: a chunk's score is the sum of 1 / (constant + its rank) over the rankings that found it.

    constant   0 or more; the greater, the less the first ranks count more than the rest

    Source   Cormack, Clarke & Büttcher 2009, who take 60.

    >>> positions, scores = RRF().fuse([(np.array([4, 2]), np.array([9.0, 8.0])), (np.array([2]), np.array([0.3]))], 10)
    >>> positions, scores.round(5)
    (array([2, 4]), array([0.03252, 0.01639]))
    """

    constant: Annotated[float, at_least(0)] = 60

    def __post_init__(self) -> None:
        check_fields(self)

    def fuse(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """At most k chunks that some ranking found, best first, equal scores by position.

        Scores are in [0, n of rankings / (constant + 1)] and do not depend on the order of the rankings.
        Raises   StageError where a ranking has a chunk twice.
        """
        shares = [1.0 / (self.constant + np.arange(1.0, len(positions) + 1)) for positions, _ in rankings]
        return _summed(rankings, shares, [0.0] * len(rankings), k)


@stage("fuse", "weighted")
@dataclass(frozen=True)
class Weighted:
    """Weighted sum of the rankings' scores, each brought to one scale first.

    weights     one a ranking, 0 or more and not all 0, taken as they are; None weighs all equally, 1 / n each
    normalise   "minmax" (score - least) / (greatest - least), so that the last of each ranking gets 0, as do chunks
                that it did not find; where all scores are equal, all get 1
                "zscore" (score - mean) / standard deviation; where all are equal, all get 0.  Chunks that a ranking
                did not find get the least that it gave, since 0 would be its mean
                "none" scores as they are, 0 for chunks that a ranking did not find

    Source   Fox & Shaw 1994 (CombSUM), Lee 1997 (min-max), Montague & Aslam 2001 (zero mean, unit variance).

    >>> bm25, cosine = (np.array([4, 2, 7]), np.array([9.0, 8.0, 5.0])), (np.array([2, 7]), np.array([0.5, 0.1]))
    >>> Weighted([0.5, 0.5]).fuse([bm25, cosine], 2)
    (array([2, 4]), array([0.875, 0.5  ]))
    """

    weights: list[Annotated[float, at_least(0)]] | None = None
    normalise: Literal["minmax", "zscore", "none"] = "minmax"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.weights is not None and not any(self.weights):
            raise SettingError(f"weights must be numbers from 0, one of them above 0, not {self.weights!r}", "weights")

    def fuse(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """At most k chunks that some ranking found, best first, equal scores by position.

        Raises   InputError where there are more or fewer weights than rankings; StageError where a ranking has a
                 chunk twice, or a score that is not finite.
        """
        weights = [1 / len(rankings)] * len(rankings) if self.weights is None and rankings else (self.weights or [])
        if len(weights) != len(rankings):
            raise InputError(
                f"fuse weighted: has {len(weights)} weights for {len(rankings)} rankings; give one for each index"
            )
        scaled = [self._scaled(scores, i) for i, (_, scores) in enumerate(rankings)]
        shares = [weight * scores for weight, scores in zip(weights, scaled, strict=True)]
        absent = [float(share.min(initial=0.0)) if self.normalise == "zscore" else 0.0 for share in shares]
        return _summed(rankings, shares, absent, k)

    def _scaled(self, scores: Floats, ranking: int) -> Floats:
        if not np.isfinite(scores).all():
            raise StageError(f"fuse weighted: ranking {ranking + 1} has a score that is not finite; check its index")
        if self.normalise == "none" or not len(scores):
            return scores
        least, greatest = scores.min(), scores.max()
        if least == greatest:
            return np.full(len(scores), 1.0 if self.normalise == "minmax" else 0.0)
        # Brought to [0, 1] first, a spread that float64 can barely resolve does not vanish in the deviation.
        unit = (scores - least) / (greatest - least)
        return np.asarray(unit if self.normalise == "minmax" else (unit - unit.mean()) / unit.std(), np.float64)


def _summed(rankings: Sequence[Ranking], shares: Sequence[Floats], absent: Sequence[float], k: int) -> Ranking:
    """Sum of each chunk's shares; a chunk that a ranking does not have gets that ranking's `absent`."""
    if not rankings:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    pool = np.unique(np.concatenate([positions for positions, _ in rankings]))
    table = np.tile(np.asarray(absent, np.float64), (len(pool), 1))
    for i, ((positions, _), share) in enumerate(zip(rankings, shares, strict=True)):
        _check_distinct(positions, i)
        table[np.searchsorted(pool, positions), i] = share
    # Sorted before they are summed: the same shares in another order of rankings give the same bits.
    return best(pool, np.sort(table, axis=1).sum(axis=1), k)


def _check_distinct(positions: Ints, ranking: int) -> None:
    distinct, counts = np.unique(positions, return_counts=True)
    if len(distinct) < len(positions):
        twice = int(distinct[counts > 1][0])
        raise StageError(f"fuse: ranking {ranking + 1} has the chunk at position {twice} twice; check its index")
