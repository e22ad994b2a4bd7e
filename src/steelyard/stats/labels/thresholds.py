"""From what score on an item counts as positive: chosen from labelled items, with the interval of the choice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.intervals.resampling import Statistics
from steelyard.stats.samples import Clusters, checked_seed, cluster_codes, share, whole

Rule = Literal["youden", "precision"]
"""The greatest sensitivity + specificity, or the lowest threshold with a wished precision."""
Undefined = Literal["equal_labels", "equal_scores", "useless", "out_of_reach"]
"""Why there is no threshold: all labels are equal; all scores are; no threshold is better than chance; none has the
precision."""
N_RESAMPLES = 1_000
_CELLS_AT_ONCE = 1 << 21
_LEAST_DEFINED = 0.95


@dataclass(frozen=True)
class Threshold:
    """A threshold, and how sure it is.

    value       NaN where it is undefined;   undefined   why
    low, high   between which scores those of 95% of resampled clusters lie; NaN where one resample of twenty has none
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    undefined: Undefined | None = None


def choose_threshold(
    scores: npt.ArrayLike, positives: npt.ArrayLike, *, rule: Rule = "youden", target: float | None = None,
    weights: npt.ArrayLike | None = None, clusters: Clusters | None = None, level: float = 0.95,
    n_resamples: int = N_RESAMPLES, seed: int = 0,
) -> Threshold:  # fmt: skip
    """The score from which on items are best called positive.

    scores      (n,) greater is likelier positive; -inf is never called so
    positives   (n,) what people say
    rule        "youden": the greatest sensitivity + specificity;  "precision": the lowest threshold at which the
                share of positives among those called so reaches the target
    weights     (n,) how many items each speaks for;   clusters   (n,) of items that are drawn together
    n_resamples   of the clusters: by Youden, the median of their thresholds counts, as that of the sample jumps with
                single items (on halves of six sets of labels it costs .007 to .020 of balanced accuracy against the
                best, and that of the sample .008 to .025); 0 takes that of the sample, without an interval
    Candidates lie midway between neighbouring scores; of equally good ones the middle one counts, the lower of two.
    Raises      InputError for other lengths, scores above all bounds or NaN, a rule "precision" without a target

    >>> choose_threshold([0.1, 0.4, 0.6, 0.9], [False, False, True, True]).value
    0.5
    >>> choose_threshold([0.1, 0.4], [True, True]).undefined
    'equal_labels'
    """
    items = _Items.of(scores, positives, rule, target, weights)
    value, undefined = items.choice()
    if undefined:
        return Threshold(math.nan, undefined=undefined)
    if whole(n_resamples, "n_resamples", 0) == 0:
        return Threshold(value)
    codes = np.arange(items.n) if clusters is None else cluster_codes(clusters, items.n)
    drawn = items.resampled(codes, n_resamples, checked_seed(seed))
    defined = drawn[~np.isnan(drawn[:, 0])]
    if rule == "youden" and len(defined):
        value = float(np.median(defined[:, 0]))
    if len(defined) < _LEAST_DEFINED * n_resamples:
        return Threshold(value)
    tail = (1 - share(level, "level")) / 2
    # Ends that are scores, not means of two far apart.
    low = np.quantile(defined[:, 1], tail, method="lower")
    high = np.quantile(defined[:, 2], 1 - tail, method="higher")
    return Threshold(value, min(float(low), value), max(float(high), value))


def optimism(
    scores: npt.ArrayLike, positives: npt.ArrayLike, statistics: Statistics, *, rule: Rule = "youden",
    target: float | None = None, weights: npt.ArrayLike | None = None, clusters: Clusters | None = None,
    n_resamples: int = N_RESAMPLES, seed: int = 0,
) -> Floats:  # fmt: skip
    """(m,) by how much statistics are higher on the items that a threshold was chosen from than on others.

    statistics   from (b, 2, 2) tables of people's labels and calls, negatives first, to (b, m) values
    others       as of `choose_threshold`
    Each resample gets a threshold of its own: the mean by which it is better on the resample than on all items.
    Source       Efron, Estimating the Error Rate of a Prediction Rule, JASA 1983.  In simulations of normal scores with
                 40 to 400 items it removes about two thirds of what sensitivity + specificity are too high by, and
                 Wilson's interval about what is left covers 93% to 98%.

    >>> def accuracy(tables):
    ...     return ((tables[:, 0, 0] + tables[:, 1, 1]) / tables.sum(axis=(1, 2)))[:, None]
    >>> scores = np.random.default_rng(1).random(30)
    >>> bool(optimism(scores, scores > np.random.default_rng(2).random(30), accuracy)[0] > 0)
    True
    """
    items = _Items.of(scores, positives, rule, target, weights)
    codes = np.arange(items.n) if clusters is None else cluster_codes(clusters, items.n)
    gains = []
    for times in _draws(codes, whole(n_resamples, "n_resamples"), checked_seed(seed)):
        thresholds = items.choices(items.weights * times)[:, 0]
        defined = ~np.isnan(thresholds)
        calls = items.scores >= thresholds[defined, None]
        of_resamples = items.tables(calls, items.weights * times[defined])
        gains.append(statistics(of_resamples) - statistics(items.tables(calls, items.weights[None])))
    return np.asarray(np.nanmean(np.concatenate(gains), axis=0))


@dataclass(frozen=True)
class _Items:
    """Labelled items, and by what a threshold is chosen.

    scores, positives, weights   (n,)
    distinct   (k,) scores, ascending;   place   (n,) where each item's is among them
    """

    scores: Floats
    positives: Bools
    weights: Floats
    distinct: Floats
    place: Ints
    rule: Rule
    target: float | None

    @classmethod
    def of(
        cls, scores: npt.ArrayLike, positives: npt.ArrayLike, rule: Rule, target: float | None,
        weights: npt.ArrayLike | None,
    ) -> _Items:  # fmt: skip
        values, labels = np.asarray(scores, np.float64), np.asarray(positives, np.bool_)
        sizes = np.ones(values.shape) if weights is None else np.asarray(weights, np.float64)
        if values.ndim != 1 or labels.shape != values.shape or sizes.shape != values.shape:
            raise InputError(f"{values.shape} scores, {labels.shape} labels, {sizes.shape} weights; expected one each")
        if np.isnan(values).any() or (values == np.inf).any():
            raise InputError("scores hold NaN or infinity; leave out the items that have none")
        if not (np.isfinite(sizes).all() and (sizes >= 0).all()):
            raise InputError("weights hold numbers below 0 or none; expected how many items each one speaks for")
        if rule == "precision" and target is None:
            raise InputError("the rule 'precision' needs a target, such as 0.9")
        if target is not None and not 0 < target <= 1:
            raise InputError(f"target is {target}, expected a share above 0 and at most 1, such as 0.9")
        distinct, place = np.unique(values, return_inverse=True)
        return cls(values, labels, sizes, distinct, place.astype(np.int64), rule, target)

    @property
    def n(self) -> int:
        return len(self.scores)

    def choice(self) -> tuple[float, Undefined | None]:
        """The threshold of all items, or why there is none."""
        labels = self.positives[self.weights > 0]
        if not len(labels) or labels.all() or not labels.any():
            return math.nan, "equal_labels"
        if len(self.distinct) == 1:
            return math.nan, "equal_scores"
        value = float(self.choices(self.weights[None])[0, 0])
        if math.isnan(value):
            return value, "useless" if self.rule == "youden" else "out_of_reach"
        return value, None

    def choices(self, weights: Floats) -> Floats:
        """(b, 3) the threshold of each of (b, n) weights, and between which scores no other is worse; NaN for none."""
        k = len(self.distinct)
        above = [
            np.cumsum(_sums(weights * kind, self.place, k)[:, ::-1], axis=1)[:, ::-1]
            for kind in (self.positives, ~self.positives)
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.rule == "youden":
                gain = above[0] / above[0][:, :1] - above[1] / above[1][:, :1]
                gain[:, 0] = 0.0
                best = np.max(gain, axis=1, keepdims=True, initial=0.0)
                is_best = (gain >= best - 1e-12) & (best > 1e-12)
            else:
                reached = above[0] / (above[0] + above[1]) >= (self.target or 0.0) - 1e-12
                reached[:, 0] &= self.distinct[0] > -np.inf
                is_best = reached & (np.cumsum(reached, axis=1) == 1)
        choices = np.full((len(weights), 3), np.nan)
        rows = np.flatnonzero(is_best.any(axis=1))
        ranks = np.cumsum(is_best[rows], axis=1)
        middle = ((ranks[:, -1] + 1) // 2)[:, None]
        cuts = self._cuts()
        below = np.concatenate((cuts[:1], np.where(np.isfinite(self.distinct[:-1]), self.distinct[:-1], cuts[1:])))
        last = k - 1 - is_best[rows, ::-1].argmax(axis=1)
        choices[rows, 0] = cuts[(ranks >= middle).argmax(axis=1)]
        choices[rows, 1] = below[is_best[rows].argmax(axis=1)]
        choices[rows, 2] = self.distinct[last]
        return choices

    def tables(self, calls: Bools, weights: Floats) -> Floats:
        """(b, 2, 2) weights of items by people's label and by (b, n) calls, negatives first."""
        rows = [
            [(weights * (label & call)).sum(axis=1) for call in (~calls, calls)]
            for label in (~self.positives, self.positives)
        ]
        return np.array(rows).transpose(2, 0, 1)

    def resampled(self, codes: Ints, n_resamples: int, seed: int) -> Floats:
        """(b, 3) thresholds of clusters drawn with replacement."""
        return np.concatenate([self.choices(self.weights * times) for times in _draws(codes, n_resamples, seed)])

    def _cuts(self) -> Floats:
        """(k,) thresholds that part each score and those above it from those below; the lowest is the least score."""
        below, at = self.distinct[:-1], self.distinct[1:]
        middle = np.where(np.isfinite(below), (np.where(np.isfinite(below), below, 0.0) + at) / 2, at)
        return np.concatenate((self.distinct[:1], np.where(middle > below, middle, at)))


def _sums(weights: Floats, place: Ints, k: int) -> Floats:
    """(b, k) sums of (b, n) weights of items of the same score."""
    sums = np.zeros((len(weights), k))
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(k))
    sums[:] = np.add.reduceat(weights[:, order], starts, axis=1)
    return sums


def _draws(codes: Ints, n_resamples: int, seed: int) -> Iterator[Floats]:
    """(b, n) how often each item was drawn, in blocks that fit the memory."""
    rng = np.random.default_rng(seed)
    n_clusters = int(codes.max()) + 1
    at_once = max(1, _CELLS_AT_ONCE // len(codes))
    for start in range(0, n_resamples, at_once):
        n = min(at_once, n_resamples - start)
        drawn = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=n)
        yield drawn[:, codes].astype(np.float64)
