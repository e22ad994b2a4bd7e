"""Distance of one judge's values from another's, measured on what both judged, and differences without that shift.

Two systems whose answers were judged by two judges differ by what they are and by who judged them.  The second part
shows on anchors: units of answers that both judges saw, the texts that they are judged by included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.extras import require
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import RARE, ROUNDING, MeanError, cluster_codes, cluster_sums, mean_error, n_clusters


@dataclass(frozen=True, eq=False)
class AnchorShift:
    """Values that another judge gives to the anchors of q questions.

    shift     (q,) by how much the value of a question is higher by the other judge, for its anchors alone
    anchored  (q,) share of the units of a question that are anchors
    exposed   (q,) share of its units that a judge decides about: the rest, such as units without a citation, never
              shifts
    count     (q,) how many anchors it has
    """

    shift: Floats
    anchored: Floats
    exposed: Floats
    count: Floats

    def of(self, places: Bools) -> AnchorShift:
        """The same of some questions."""
        parts = (self.shift, self.anchored, self.exposed, self.count)
        return AnchorShift(*(part[places] for part in parts))

    @property
    def n_anchors(self) -> int:
        """Number of anchors."""
        return round(float(self.count.sum()))

    @property
    def n_questions(self) -> int:
        """Number of questions that have any."""
        return int((self.anchored > 0).sum())

    @property
    def by_unit(self) -> float:
        """By how much a value rises where all its units are judged by the other judge, all of them exposed."""
        return float(self.shift.sum() / self.anchored.sum())

    @property
    def residual(self) -> Floats:
        """(q,) by how much the anchors of each question shift more than those of all do; 0 without any."""
        residual = self.shift - self.anchored * self.by_unit
        return np.where(np.abs(residual) <= ROUNDING, 0.0, residual)


def judge_shift(anchors: AnchorShift, *, clusters: Ints | None = None) -> MeanError:
    """By how much another judge moves the mean of a system, and the error of that.

    A judge whose anchors hardly shift may shift elsewhere: to the error that of what rarely happens is added (RARE).

    clusters  (q,) of questions that count as one, or None
    Source    a ratio of means, its variance by linearisation (Cochran, Sampling Techniques, 1977, chapter 6).

    >>> anchors = AnchorShift(np.array([0.5, 0.0, 0.0, 0.5]), np.ones(4), np.ones(4), np.full(4, 2.0))
    >>> shift = judge_shift(anchors)
    >>> shift.mean, round(shift.error, 3), shift.df
    (0.25, 0.237, 3)
    """
    there = anchors.anchored > 0
    n = int(there.sum())
    exposed = float(anchors.exposed.mean())
    total = exposed * anchors.by_unit
    if n < 2:
        return MeanError(total, math.nan, n - 1, n)
    away = exposed * n / anchors.anchored.sum() * anchors.residual[there]
    spread = mean_error(away, clusters=None if clusters is None else cluster_codes(clusters, len(there))[there])
    return MeanError(total, math.hypot(spread.error, RARE * exposed / anchors.count.sum()), spread.df, n)


def without_shift(d: Floats, anchors: AnchorShift, *, clusters: Ints | None = None, times: float = 1.0) -> MeanError:
    """The mean difference of two systems that were judged by two judges, had one judge judged both, and its error.

    The anchors are in the questions themselves: what a judge makes of an anchor is taken off that very question, so
    that questions all of whose units are anchors have no error but their own, and what the anchors of all show is taken
    off the units that are none.

    d         (n,) differences as judged;   anchors   of the system that the other judge judged, the n questions
    clusters  (n,) of questions that count as one, or None
    times     how many times as far the judge shifts on units that are no anchors as on those that are
    Returns   NaN for the error where one question, or cluster, has all anchors, and there are units that are none
    """
    n, exposed, mass = len(d), float(anchors.exposed.mean()), float(anchors.anchored.mean())
    there, elsewhere = anchors.anchored > 0, max(exposed - mass, 0.0)
    n_there = n_clusters(None if clusters is None else np.asarray(clusters)[there], int(there.sum()))
    # Linear in the questions: the mean is that of all differences less the shift, the spread its error.  What stands
    # for units that are no anchors is stretched, as a mean was fitted to it.
    stretch = math.sqrt(n_there / max(n_there - 1, 1)) if elsewhere > ROUNDING else 0.0
    shifted = anchors.anchored + times * (anchors.exposed - anchors.anchored)
    z = d - shifted * anchors.by_unit - (1 + times * elsewhere / mass * stretch) * anchors.residual
    z = np.where(np.abs(z) <= ROUNDING, 0.0, z)
    average = mean_error(z, clusters=clusters)
    if n_there < 2 and elsewhere > ROUNDING:
        return MeanError(average.mean, math.nan, n_there - 1, n)
    guard = RARE * max(times, 1.0) * elsewhere / float(anchors.count.sum())
    if average.reason or not (average.error or guard):
        return average
    df = _limited(z - average.mean, there, guard**2 * n**2, clusters)
    return MeanError(average.mean, math.hypot(average.error, guard), min(df, average.df), n)


def bounded_difference(
    d: Floats, anchors: AnchorShift, *, frozen: bool, alpha: float, most: float = 2.0, clusters: Ints | None = None
) -> tuple[float, float]:
    """The interval of a mean difference without the shift, which may be up to so many times as large elsewhere.

    frozen   whether the anchors are other answers than those compared;   alpha   of the interval
    most     from no shift elsewhere to so many times that of the anchors
    Returns  NaN where there is no error
    """
    ends = []
    for times in (0.0, 1.0, most):
        if frozen:
            shift = judge_shift(anchors)
            own = less_shift(
                d, MeanError(times * shift.mean, max(times, 1.0) * shift.error, shift.df, shift.n), clusters=clusters
            )
        else:
            own = without_shift(d, anchors, clusters=clusters, times=times)
        if math.isnan(own.error) or own.df < 1:
            return math.nan, math.nan
        quantile = t_quantile(1 - alpha / 2, own.df)
        ends.append(own.ends(quantile, quantile))
    return min(low for low, _ in ends), max(high for _, high in ends)


def less_shift(d: Floats, shift: MeanError, *, clusters: Ints | None = None) -> MeanError:
    """The mean of (n,) differences less a shift that was measured elsewhere, with the variance of both."""
    average = mean_error(d, clusters=clusters)
    mean, error = average.mean - shift.mean, math.hypot(average.error, shift.error)
    if average.reason or not error:
        return MeanError(mean, error, average.df, average.n)
    if math.isnan(error):
        return MeanError(mean, error, shift.df, average.n)
    df = error**4 / sum(part.error**4 / part.df for part in (average, shift))
    return MeanError(mean, error, df, average.n)


def _limited(away: Floats, marked: Bools, more: float, clusters: Ints | None) -> float:
    """Degrees of freedom of a mean, whose spread is known from few marked questions and from the others (Welch).

    away   (n,) values less their mean;   more   to be added to the sum of squares of the marked ones
    """
    sums = cluster_sums(np.stack([away, marked.astype(float)]), clusters)
    inside = sums[1] > 0
    sizes = np.array([inside.sum(), (~inside).sum()])
    squares = np.array([(sums[0][inside] ** 2).sum() + more, (sums[0][~inside] ** 2).sum()])
    return float(squares.sum() ** 2 / (squares**2 / np.maximum(sizes - 1, 1)).sum())


_PARTS = 4


def independence_p(owner: Ints, x: Floats, y: Floats) -> float:
    """p of the hypothesis that x is alike over the quarters of y, by a score test that is robust to questions.

    owner   (u,) the question of each unit;   x   (u,) 0 or 1, or any number;   y   (u,) cut at its quartiles, so that
            equal values stay together
    Returns NaN where x or y is the same everywhere, and for fewer than two more questions than parts
    Source  Rotnitzky & Jewell, Biometrika 1990; F in place of chi-squared, as for Hotelling's T-squared.

    >>> owner, y = np.arange(40), np.arange(40.0)
    >>> round(independence_p(owner, (y > 25).astype(float), y), 4), round(independence_p(owner, owner % 2.0, y), 2)
    (0.0, 1.0)
    """
    parts = np.searchsorted(np.quantile(y, np.arange(1, _PARTS) / _PARTS, method="inverted_cdf"), y) if len(y) else y
    codes, parts = np.unique(parts, return_inverse=True)
    questions, places = np.unique(owner, return_inverse=True)
    rank, n = len(codes) - 1, len(questions)
    if rank < 1 or n < rank + 3 or np.ptp(x) == 0:
        return math.nan
    apart = (parts[:, None] == np.arange(rank)) - np.bincount(parts)[:rank] / len(parts)
    scores = np.zeros((n, rank))
    np.add.at(scores, places, (x - x.mean())[:, None] * apart)
    total, squares = scores.sum(axis=0), scores.T @ scores
    if np.linalg.matrix_rank(squares) < rank:
        return math.nan
    share = min(float(total @ np.linalg.solve(squares, total)) / n, 1.0)
    special = require("scipy.special", extra="stats", what="the check of anchors")
    return float(special.fdtrc(rank, n - rank, (n - rank) / rank * share / (1 - share))) if share < 1 else 0.0
