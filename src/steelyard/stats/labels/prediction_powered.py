"""Means of what a judge says of everything, corrected by what people say of some: prediction-powered inference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.stats.labels.labelled_samples import FEWEST_LABELS, KNOWN, LabelledSample
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import RARE, ROUNDING, Clusters, MeanError, equal_pairs, mean_error, share

FEWEST_FOR_TUNING = 10
"""With fewer labels than this the judge is left out of the corrected mean: they cannot tell what it is worth."""
Method = Literal["verdicts", "strata", "none"]
_MIDDLE = 0.975
"""Of the intervals by which worth is measured."""
_STEPS = 5
"""Until the quantile of Student's t is that of as many labels as come out."""


@dataclass(frozen=True)
class LabelledMean:
    """A mean over questions by the labels of some units, as the mean of one pseudo-value a question.

    values     (q,) pseudo-values; NaN of questions without units
    mean, low, high, error, df   of their mean; NaN for fewer than two labels
    residuals  (q,) what labels add to the values, beyond what was expected of their units; None where not known
    """

    values: Floats
    mean: float
    low: float
    high: float
    error: float
    df: float
    residuals: Floats | None = None


@dataclass(frozen=True)
class LabelCounts:
    """Labels question by question, of q questions.

    labels, units   (q,) units with a label, and those that could have one
    mass, drawn     (q,) what the units with a label stand for, and those that could have one, as shares of the question
    """

    labels: Ints
    units: Ints
    mass: Floats
    drawn: Floats

    @classmethod
    def of(cls, sample: LabelledSample) -> LabelCounts:
        """The counts of a sample."""
        kinds, n = (sample.labelled, sample.group != KNOWN), sample.n_questions
        labels, units = (np.bincount(sample.owner[own], minlength=n) for own in kinds)
        mass, drawn = (
            np.bincount(sample.owner, own, n).astype(float) for own in (sample.expanded, sample.share * kinds[1])
        )
        return cls(labels, units, mass, drawn)

    def at(self, places: Ints) -> LabelCounts:
        """The counts of some questions."""
        return LabelCounts(self.labels[places], self.units[places], self.mass[places], self.drawn[places])


@dataclass(frozen=True)
class Ends:
    """A corrected mean where all n units that were drawn and have no label have the lowest value, and the highest."""

    lowest: LabelledMean
    highest: LabelledMean
    n: int

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """The lowest mean with the lower end of its interval, and the highest with the upper end of its own."""
        return self.lowest.mean, self.lowest.low, self.highest.mean, self.highest.high


@dataclass(frozen=True)
class CorrectedMean:
    """One mean as a judge, as people, and as both together have it; see `corrected_mean`.

    judge       the judge's mean; NaN where it judged nothing
    people      the mean of the labels, each counting for as many units as it was drawn from; no verdict enters
    corrected   the mean by the judge, corrected by the labels within its strata
    weight      how much of the verdicts enters, from 0, strata alone, to 1 (PPI++ calls it lambda)
    n_strata    within which labels are compared with the judge
    ends        what it is at least and at most, where many units were drawn and have no label; None else
    n_labels    units with a label;   n_units   those that could have had one
    worth       how many labels, drawn at random and without a judge, would have the same error; NaN where that is not
                known: for fewer than ten labels, and where all labels are equal
    counts      labels question by question; None where not known
    """

    judge: float
    people: LabelledMean
    corrected: LabelledMean
    weight: float
    n_labels: int
    n_units: int
    worth: float
    n_strata: int = 1
    ends: Ends | None = None
    counts: LabelCounts | None = None

    @property
    def n_undecided(self) -> int:
        """Units without a label that the interval allows for at either end."""
        return 0 if self.ends is None else self.ends.n

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the corrected interval: of those at both ends, where there are any."""
        return (self.corrected.low, self.corrected.high) if self.ends is None else self.ends.numbers[1::2]

    def reach(self, places: Bools) -> tuple[float, float]:
        """By how much the corrected mean over some questions may be lower and higher with units that have no label."""
        if self.ends is None:
            return 0.0, 0.0
        own, lowest, highest = (
            float(mean.values[places].mean()) for mean in (self.corrected, self.ends.lowest, self.ends.highest)
        )
        return max(own - lowest, 0.0), max(highest - own, 0.0)

    def n_labels_of(self, places: Bools) -> float:
        """Units with a label in some of the questions; by their share of all, where it is not known of each."""
        if self.counts is not None:
            return float(self.counts.labels[places].sum())
        n = (~np.isnan(self.corrected.values)).sum()
        return float(self.n_labels * (~np.isnan(self.corrected.values[places])).sum() / max(n, 1))

    @property
    def squared_error(self) -> float:
        """Squared error of the corrected mean, or of it at the end where that is larger."""
        means = (self.corrected, *(() if self.ends is None else (self.ends.lowest, self.ends.highest)))
        return float(max(mean.error**2 for mean in means))

    @property
    def method(self) -> Method:
        """Role of the judge in the corrected mean: "verdicts", "strata" alone (post-stratified), or "none" at all."""
        return "verdicts" if self.weight else "strata" if self.n_strata > 1 else "none"


def corrected_mean(
    owner: Ints,
    judged: Floats,
    people: Floats,
    stratum: Ints,
    n_questions: int,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
    clusters: Clusters | None = None,
) -> CorrectedMean:
    """The mean over questions of the mean over their units, from a judge of all units and labels of some.

    A unit's model value is m = weight x judge + offset of its stratum, a question's pseudo-value the mean over its
    units of m + I / pi (label - m): I is 1 for units with a label, pi the share of them in the stratum.  The offsets
    make the weighted residuals of each stratum 0, so that the mean of the pseudo-values estimates what people would say
    of all units, whatever the judge is like.  The weight is the slope of labels on judgements within strata, between 0
    and 1, which makes the error smallest; residuals are stretched for the offsets and the weight that are fitted to
    them.  Ends of intervals reckon with one more label that is at odds with the judge as far as can be, as those of
    `mean_intervals` do with one more query, and by as much as labels agree with each other.

    PPI++ has its labels beside the N' units of the judge, here they are n of all N = n + N'.  That is the same
    estimator: for one unit a question and one stratum, its lambda is (1 - n/N) of the weight, and mean and variance
    are equal, apart from the stretch.

    owner     (u,) the question of each unit
    judged    (u,) by the judge; NaN where it did not judge, which stands for the stratum's mean
    people    (u,) by people; NaN without a label
    stratum   (u,) within which labels were drawn at random; neighbours have adjacent numbers.  -1: what the judge says
              holds without people, as of a unit that the definition decides
    bounds    lowest and highest value of a unit
    clusters  (q,) questions that count as one
    A stratum without a label is taken for its lower neighbour, or the next one above.  Strata are by the judge, so a
    weight of 0 is not people alone: the mean is then post-stratified by the judge.  The mean by people compares labels
    with no stratum, only with their own mean; where all questions have as many units its value is the post-stratified
    one, by the same weights, and its interval that of labels drawn one by one with these probabilities.
    Source    Angelopoulos, Duchi & Zrnic, PPI++: Efficient Prediction-Powered Inference, 2023; Robins, Rotnitzky &
              Zhao, JASA 1994; Cassel, Särndal & Wretman, Biometrika 1976, on samples drawn within strata.

    >>> owner, judged = np.arange(40), np.tile([1.0, 1.0, 1.0, 0.0], 10)
    >>> people = np.where(owner < 20, np.where(owner % 10 == 0, 0.0, judged), np.nan)
    >>> mean = corrected_mean(owner, judged, people, np.zeros(40, int), 40)
    >>> round(mean.judge, 3), round(mean.corrected.mean, 3), round(mean.corrected.low, 3), round(mean.worth)
    (0.75, 0.65, 0.439, 24)
    """
    share(level, "level")
    sample = LabelledSample.of(owner, judged, people, stratum, n_questions)
    by_judge = sample.question_means(np.where(np.isnan(judged), np.nan, sample.judged))
    by_judge = by_judge[~np.isnan(by_judge)]
    judge = float(by_judge.mean()) if len(by_judge) else math.nan
    if sample.n_labels < FEWEST_LABELS:
        nothing = LabelledMean(np.full(n_questions, np.nan), math.nan, math.nan, math.nan, math.nan, math.nan)
        return CorrectedMean(judge, nothing, nothing, 0.0, sample.n_labels, sample.n_units, math.nan)
    weight = min(max(sample.slope, 0.0), 1.0) if sample.n_labels >= FEWEST_FOR_TUNING else 0.0
    plain, alone, both = (
        _Fit.of(own, by, bounds) for own, by in ((sample.in_one_stratum(), 0.0), (sample, 0.0), (sample, weight))
    )
    people_alone, corrected = alone.mean(level, clusters), both.mean(level, clusters)
    return CorrectedMean(
        judge=judge,
        people=plain.mean(level, clusters),
        corrected=corrected,
        weight=weight,
        n_labels=sample.n_labels,
        n_units=sample.n_units,
        worth=_worth(sample, (alone, people_alone), (both, corrected)),
        n_strata=sample.n_groups,
        counts=LabelCounts.of(sample),
    )


LEAST_OF_PART = 20
"""With fewer labels in some of the questions, their mean is not corrected."""


def corrected_part(
    mean: CorrectedMean, judged: Floats, places: Ints, *, bounds: tuple[float, float] = (0.0, 1.0),
    clusters: Ints | None = None, level: float = 0.95,
) -> CorrectedMean | None:  # fmt: skip
    """The corrected mean of some questions, from pseudo-values that were computed by the labels of all.

    What is expected of all units of the part is corrected by what its own labels add, for what they stand for (a ratio
    of means: labels fall into the part by chance).  To the error, that of what few labels do not show is added (RARE).

    judged   (q,) values by the judge;   places   (p,) the questions, each once;   bounds   of a value
    clusters (p,) of these questions that count as one
    Returns  None where fewer than LEAST_OF_PART labels are in the part, or it is not known how many are
    Source   Särndal, Swensson & Wretman, Model Assisted Survey Sampling, 1992, chapter 10.  In simulations intervals
             cover 94% to 99%; by the judge alone they cover anything down to none.
    """
    if mean.counts is None or mean.counts.labels[places].sum() < LEAST_OF_PART:
        return None
    counts = mean.counts.at(places)
    n_labels, n_units = int(counts.labels.sum()), int(counts.units.sum())
    guard = (1 - n_labels / n_units) * ((bounds[1] - bounds[0]) * RARE / n_labels) ** 2

    def part(own: LabelledMean) -> LabelledMean:
        values = _of_part(own, counts, places)
        defined = ~np.isnan(values)
        average = mean_error(values[defined], clusters=None if clusters is None else clusters[defined])
        df = max(min(own.df * n_labels / mean.n_labels, average.df), 1.0)
        error = math.hypot(average.error, math.sqrt(guard))
        half, middle = t_quantile((1 + level) / 2, df) * error, average.mean
        low, high = max(middle - half, min(bounds[0], middle)), min(middle + half, max(bounds[1], middle))
        return LabelledMean(values, middle, low, high, error, df)

    by_judge = judged[places]
    ends = mean.ends and replace(mean.ends, lowest=part(mean.ends.lowest), highest=part(mean.ends.highest))
    return replace(
        mean, judge=float(by_judge[~np.isnan(by_judge)].mean()), people=part(mean.people),
        corrected=part(mean.corrected), n_labels=n_labels, n_units=n_units, worth=math.nan, ends=ends, counts=None,
    )  # fmt: skip


def _of_part(own: LabelledMean, counts: LabelCounts, places: Ints) -> Floats:
    """(p,) pseudo-values of a part: their mean is the ratio estimate, their spread its error."""
    values, residuals = own.values[places], np.zeros(len(places)) if own.residuals is None else own.residuals[places]
    rate = residuals.sum() / counts.mass.sum()
    times = counts.drawn.sum() / counts.mass.sum()
    return np.asarray(values - residuals + times * (residuals - rate * counts.mass) + rate * counts.drawn)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Labels fitted by the judge, at some weight.

    model      (u,) what is expected of each unit
    residual   (u,) of labels, times what they stand for, stretched for what is fitted to them; 0 without a label
    n_fitted   how many numbers are fitted
    agreement  the chance that two labels of a group have the same residual
    away       how far below and above its model the label of a unit can be at most, as a share of the mean
    """

    sample: LabelledSample
    bounds: tuple[float, float]
    model: Floats
    residual: Floats
    n_fitted: int
    agreement: float
    away: tuple[float, float]

    @classmethod
    def of(cls, sample: LabelledSample, weight: float, bounds: tuple[float, float]) -> _Fit:
        scored = np.where(sample.group == KNOWN, 1.0, weight) * sample.judged
        gap = np.where(sample.labelled, np.nan_to_num(sample.people) - scored, 0.0)
        offsets = sample.offsets(gap)
        residual = np.where(sample.labelled, gap - offsets, 0.0)
        n_tuned = int(0 < weight < 1)
        stretch = _stretch(sample, n_tuned)
        return cls(
            sample,
            bounds,
            model=scored + offsets,
            residual=residual * sample.expanded * stretch,
            n_fitted=sample.n_groups + n_tuned,
            agreement=_agreement(sample, gap),
            away=_away(sample, scored + offsets, bounds),
        )

    def mean(self, level: float, clusters: Clusters | None) -> LabelledMean:
        """The mean of the pseudo-values, with its interval."""
        sample, n = self.sample, self.sample.n_questions
        residuals = np.bincount(sample.owner, self.residual, n).astype(float)
        values = sample.question_means(self.model) + residuals
        defined = ~np.isnan(values)
        own = None if clusters is None else np.asarray(clusters)[defined]
        average = mean_error(values[defined], clusters=own)
        df = self._df(average.error**2, average.df, int(defined.sum()))
        low, high = self.ends(average.mean, average.error, t_quantile((1 + level) / 2, df))
        least, most = min(self.bounds[0], average.mean), max(self.bounds[1], average.mean)
        return LabelledMean(values, average.mean, max(low, least), min(high, most), average.error, df, residuals)

    def _df(self, variance: float, of_questions: float, n: int) -> float:
        """Degrees of freedom of a variance of which a part is by residuals (Welch, Satterthwaite)."""
        parts = self.sample.of_groups(self.residual**2) / n**2
        counts = np.maximum(_effective(self.sample) - 1, 1.0)
        n_labels = self.sample.n_labels
        if not (by_labels := parts.sum()) or not variance:
            return float(max(min(n_labels - self.n_fitted, of_questions), 1.0))
        tuned = max(n_labels - self.n_fitted, 1) / max(n_labels - self.sample.n_groups, 1)
        of_labels = by_labels**2 / (parts**2 / counts).sum() * tuned
        by_labels = min(by_labels, variance)
        squares = by_labels**2 / of_labels + (variance - by_labels) ** 2 / of_questions
        return float(max(min(variance**2 / squares, of_questions), 1.0))

    def ends(self, mean: float, error: float, quantile: float) -> tuple[float, float]:
        """Ends of the interval, with one more label that contradicts its model; see `mean_intervals`."""
        n, more = len(np.unique(self.sample.owner[self.sample.labelled])), self.agreement
        total = n + more
        if n < FEWEST_LABELS:
            return math.nan, math.nan

        def end(away: float, side: int) -> float:
            squares = n * (n - 1) * error**2 + n * more / total * away**2
            return mean + more / total * away + side * quantile * math.sqrt(squares / total / (total - 1))

        return end(self.away[0], -1), end(self.away[1], 1)


def _effective(sample: LabelledSample) -> Floats:
    """(g,) how many labels of one share in the mean those of each group are worth (Kish)."""
    return sample.of_groups(sample.expanded) ** 2 / sample.of_groups(sample.expanded**2)


def _stretch(sample: LabelledSample, n_tuned: int) -> Floats:
    """(u,) by which residuals are larger before an offset a group, and a weight, are fitted to them.

    Of labels of everything they are what they are: 1 + 1 / (n - 1) of their square is for n of very many.
    """
    n_effective = _effective(sample)
    freedom = sample.n_labels - sample.n_groups
    tuned = freedom / max(freedom - n_tuned, 1) if freedom > 0 else 1.0
    squares = tuned * n_effective / np.maximum(n_effective - 1, 0.5)
    absent = 1 - sample.of_groups(np.ones(len(sample.owner))) / sample.of_groups(sample.share**0, sample.group != KNOWN)
    return np.append(np.sqrt(1 + (squares - 1) * absent), 1.0)[sample.group]


def _agreement(sample: LabelledSample, gap: Floats) -> float:
    """The chance that two labels of a group, drawn with replacement, are equally far from the judge."""
    weights = sample.of_groups(sample.share, sample.group != KNOWN)
    equal = [
        int(equal_pairs(gap[sample.labelled & (sample.group == group)][None])[0]) for group in range(sample.n_groups)
    ]
    return float((weights * np.array(equal) / sample.of_groups(np.ones(len(gap))) ** 2).sum() / weights.sum())


def _away(sample: LabelledSample, model: Floats, bounds: tuple[float, float]) -> tuple[float, float]:
    """Largest distances of a label below and above its model: the average of groups, by their share in the mean."""
    drawn = sample.group != KNOWN
    weights = sample.of_groups(sample.share, drawn) / len(np.unique(sample.owner))
    highest, lowest = np.full(sample.n_groups, -np.inf), np.full(sample.n_groups, np.inf)
    np.maximum.at(highest, sample.group[drawn], model[drawn])
    np.minimum.at(lowest, sample.group[drawn], model[drawn])
    low, high = np.minimum(bounds[0] - highest, 0.0), np.maximum(bounds[1] - lowest, 0.0)
    return float((weights * low).sum()), float((weights * high).sum())


def _worth(sample: LabelledSample, alone: tuple[_Fit, LabelledMean], both: tuple[_Fit, LabelledMean]) -> float:
    """Number of labels that, drawn at random without strata and a judge, have an interval as short as these.

    What labels of n of N units add to the squared error is their variance times 1 / n - 1 / N, and what one more label
    adds by itself, which goes with 1 / n too; the rest is there with labels of all units.
    """
    n, n_units = sample.n_labels, sample.n_units
    people = sample.people[sample.labelled]
    if n < FEWEST_FOR_TUNING or np.ptp(people) <= ROUNDING * np.abs(people).max():
        return math.nan
    n_questions = len(np.unique(sample.owner))
    times = 1 / sample.inclusion[sample.labelled]
    mean = np.average(people, weights=sample.expanded[sample.labelled])
    squares = (n_units / n_questions * sample.share[sample.labelled] * (people - mean)) ** 2
    variance = float(np.average(squares, weights=times)) * n / (n - 1)
    one_more = _square(*alone, n) - alone[1].error ** 2
    by_part = float((both[0].residual ** 2 * (1 - sample.inclusion)).sum()) / n_questions**2
    of_all = max(both[1].error ** 2 - by_part, 0.0)
    worth = float(n)
    for _ in range(_STEPS):
        left = max(_square(*both, worth) - of_all, 0.0)
        worth = min((variance + n * one_more) / (left + variance / n_units), n_units)
    return worth


def _square(fit: _Fit, mean: LabelledMean, n: float) -> float:
    """The squared error that makes an interval by Student's t with n labels as long as that of a mean."""
    low, high = fit.ends(mean.mean, mean.error, t_quantile(_MIDDLE, mean.df))
    return float(((high - low) / 2 / t_quantile(_MIDDLE, max(round(n) - 1, 1))) ** 2)


LEAST_LABELS = 10
"""With fewer among the questions that are compared, a difference is not tested."""


def corrected_difference(
    d: Floats, means: Sequence[CorrectedMean], *, share: float = 1.0, clusters: Ints | None = None,
    places: Sequence[Bools] = (),
) -> MeanError:  # fmt: skip
    """The mean difference of two systems from pseudo-values, pair by pair of the same question, and its error.

    d         (n,) pseudo-values of one system less those of the other
    clusters  (n,) of questions that count as one, or None;   means, share, places   as of `with_error_of_labels`
    """
    return with_error_of_labels(mean_error(d, clusters=clusters), means, share=share, places=places)


def with_error_of_labels(
    average: MeanError, means: Sequence[CorrectedMean], *, share: float = 1.0, places: Sequence[Bools] = ()
) -> MeanError:
    """The mean difference of two systems from pseudo-values, with what few labels add to its error.

    Each system's labels were drawn by themselves.  Their degrees of freedom are those of the two means (Welch), and to
    the error that of what rarely happens is added (RARE), by the labels of the system with fewer: a judge that few
    labels contradict may be wrong where there are none.

    average   the difference, with the error of its pseudo-values, of n questions
    means     of both systems, over all questions;   share   of these that the n are: of a segment less than 1
    places    which questions of each system the n are: units of these that were drawn and have no label may have the
              lowest value of one and the highest of the other, and the reverse.  Empty: all have a label, or few not
    Returns   NaN for the error where one has fewer than LEAST_LABELS labels among the questions
    """
    n_labels = (
        [mean.n_labels_of(at) for mean, at in zip(means, places, strict=True)]
        if places
        else [share * mean.n_labels for mean in means]
    )
    if min(n_labels) < LEAST_LABELS or average.reason:
        return MeanError(average.mean, math.nan, -1, average.n)
    guard = max((1 - mean.n_labels / mean.n_units) * (RARE / n) ** 2 for mean, n in zip(means, n_labels, strict=True))
    own = [mean.corrected for mean in means]
    squares = [mean.error**2 for mean in own]
    (below, above), (less, more) = (
        (mean.reach(at) for mean, at in zip(means, places, strict=True)) if places else ((0.0, 0.0),) * 2
    )
    guard += sum(mean.squared_error - mean.corrected.error**2 for mean in means) if places else 0.0
    df = min(mean.df for mean in own)
    if sum(squares):
        df = sum(squares) ** 2 / sum(square**2 / mean.df for square, mean in zip(squares, own, strict=True))
    return MeanError(
        average.mean, math.sqrt(average.error**2 + guard), max(min(share * df, average.df), 1.0), average.n,
        below=below + more, above=above + less,
    )  # fmt: skip
