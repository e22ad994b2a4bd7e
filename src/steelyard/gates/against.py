"""Checks of a system against a baseline, on the questions that both have a value for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from steelyard.base import defaults
from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.experiment.table.arrays import is_in_time, run_values
from steelyard.experiment.table.scores import LEVEL, Scores
from steelyard.gates.checks import Check, CheckKind, CheckReason
from steelyard.gates.levels import side_of
from steelyard.gates.profiles import Profile
from steelyard.measures import Measure
from steelyard.measures.registry import Direction
from steelyard.stats.intervals.percentiles import percentile_difference
from steelyard.stats.intervals.unseen import unseen_share
from steelyard.stats.labels.prediction_powered import CorrectedMean, corrected_difference
from steelyard.stats.numerics import t_quantile
from steelyard.stats.power.detectable import detectable_errors
from steelyard.stats.power.resolution import Resolution
from steelyard.stats.samples import MeanError, differences, mean_error, n_clusters
from steelyard.stats.tests.effects import RelativeChange, relative_change
from steelyard.stats.tests.equivalence import IDENTICAL, non_inferiority


@dataclass(frozen=True, eq=False)
class Sides:
    """A system of some scores, and the baseline that it is held against, of the same scores or of others."""

    scores: Scores
    system: str
    other: Scores
    against: str

    @property
    def both(self) -> tuple[tuple[Scores, str], tuple[Scores, str]]:
        """The scores and the name of each side, the system's first."""
        return (self.scores, self.system), (self.other, self.against)

    def lack_gold(self, measure: Measure) -> bool:
        """True if no question has the gold that a measure needs, on one side or both."""
        return any(
            scores.lacks_gold[list(scores.systems).index(name), list(scores.measures).index(measure)]
            for scores, name in self.both
        )

    @property
    def are_identical(self) -> bool:
        """True if both gave the same results, lists and all."""
        digest = self.scores.run_digest(self.system)
        return digest is not None and digest == self.other.run_digest(self.against)


def baseline_checks(
    sides: Sides, *, profile: Profile | None, margin: float | None, min_questions: int, alpha: float
) -> Iterator[Check]:
    """That a system is not worse than its baseline, and better where the profile asks for it.

    Raises   InputError where there is no such system, and for measures that are no arithmetic mean
    """
    if sides.against not in sides.other.systems:
        raise InputError(
            f"the baseline has several systems, and none is called {sides.against!r}: "
            f"{', '.join(sides.other.systems)}; name one"
        )
    for measure in sides.scores.measures if margin is not None else ():
        if margin is not None and (profile is None or profile.covers(measure)):
            pair = _Paired.of(sides, measure, _better(profile, measure))
            yield _margin_check(pair, margin=margin, min_questions=min_questions, alpha=alpha)
    if profile is not None and (relative := profile.relative) is not None:
        better = _better(profile, relative.measure)
        yield relative_check(sides, relative.measure, better=better, least=relative.least, min_questions=min_questions)


def _better(profile: Profile | None, measure: Measure) -> Direction:
    """Which way is good: as the profile has it, else as the measure declares."""
    standard = None if profile is None else profile.standard_of(measure)
    return measure.definition.direction if standard is None else standard.better


@dataclass(frozen=True, eq=False)
class _Paired:
    """Values of a system and of its baseline by one measure, on the questions that both have a value for.

    values, baseline   (n,) of each, or pseudo-values; of a percentile (r, n), of each run
    places     (n,) the questions in the scores of each
    left_out   how many questions only one of them has
    measured   True if both were weighed by the measure at all
    labelled   the corrected means of both, where labels of people correct both: values are then pseudo-values
    """

    sides: Sides
    measure: Measure
    better: Direction
    values: Floats
    baseline: Floats
    places: tuple[Ints, Ints]
    left_out: tuple[int, int]
    measured: bool = True
    labelled: tuple[CorrectedMean, CorrectedMean] | None = None

    @classmethod
    def of(cls, sides: Sides, measure: Measure, better: Direction) -> _Paired:
        """The values of both sides.

        Raises   InputError for measures that are neither an arithmetic mean nor a percentile
        """
        if any(measure not in scores.measures for scores, _ in sides.both):
            nothing, nowhere = np.zeros(0), np.zeros(0, np.int64)
            return cls(sides, measure, better, nothing, nothing, (nowhere, nowhere), (0, 0), measured=False)
        if measure.share is None and not (aggregation := measure.aggregation).arithmetic:
            raise InputError(f"{measure} is {aggregation.noun}, and changes are of arithmetic means; judge by another")
        corrections = [scores.corrections.get(name, {}).get(str(measure)) for scores, name in sides.both]
        means = [None if correction is None else correction.mean for correction in corrections]
        labelled = None if means[0] is None or means[1] is None else (means[0], means[1])
        rows = (
            [mean.corrected.values for mean in labelled]
            if labelled and measure.share is None
            else [_row(scores, name, measure) for scores, name in sides.both]
        )
        at = [
            {scores.query_ids[q]: q for q in np.flatnonzero(~np.isnan(np.atleast_2d(row)).any(axis=0)).tolist()}
            for row, (scores, _) in zip(rows, sides.both, strict=True)
        ]
        common = [query_id for query_id in at[0] if query_id in at[1]]
        here, there = (np.array([places[query_id] for query_id in common], np.int64) for places in at)
        left_out = len(at[0]) - len(common), len(at[1]) - len(common)
        values, baseline = rows[0][..., here], rows[1][..., there]
        return cls(sides, measure, better, values, baseline, (here, there), left_out, labelled=labelled)

    @property
    def n(self) -> int:
        """The number of questions."""
        return int(self.values.shape[-1])

    @property
    def clusters(self) -> Ints | None:
        """(n,) of questions that count as one; None: each by itself."""
        clustering = self.sides.scores.clustering
        return None if clustering is None else clustering.codes[self.places[0]]

    @property
    def difference(self) -> MeanError:
        """The mean difference where labels correct both, and its error."""
        means = self.labelled or ()
        n_all = min(int((~np.isnan(mean.corrected.values)).sum()) for mean in means)
        masks = [np.zeros(len(scores.query_ids), bool) for scores, _ in self.sides.both]
        for mask, places in zip(masks, self.places, strict=True):
            mask[places] = True
        d = differences(self.baseline, self.values)
        return corrected_difference(d, means, share=min(len(d) / n_all, 1.0), clusters=self.clusters, places=masks)

    def too_few(self, min_questions: int) -> CheckReason | None:
        """Why nothing can be said of the pair, if so."""
        if not self.measured:
            return "not_measured"
        if self.measure.share is not None:
            reason: CheckReason = "no_gold" if self.sides.lack_gold(self.measure) else "few_questions"
            return reason if self.n < max(min_questions, 1) else None
        if self.sides.lack_gold(self.measure):
            return "no_gold"
        return "few_questions" if self.n < min_questions else "no_interval" if self._n_units < 2 else None

    @property
    def _n_units(self) -> int:
        return n_clusters(self.clusters, self.n)

    def check(self, kind: CheckKind, reason: CheckReason, limit: float, **numbers: Any) -> Check:
        """A check of the pair, with the numbers that it came to."""
        numbers = {"n": self.n, **numbers}
        return Check(
            self.sides.system, str(self.measure), kind, reason,
            limit=limit, better=self.better, left_out=self.left_out, **numbers,
        )  # fmt: skip

    @property
    def label_counts(self) -> dict[str, int]:
        """Number of labels of the side that has fewer, and of units of both that were drawn and have none."""
        return {
            "n_labels": 0 if self.labelled is None else min(mean.n_labels for mean in self.labelled),
            "n_undecided": sum(mean.n_undecided for mean in self.labelled or ()),
        }

    def with_unseen(self, check: Check, alpha: float) -> Check:
        """The check with what its questions cannot exclude."""
        share = unseen_share(self._n_units, alpha)
        return replace(check, unseen_share=share, unseen_loss=share * self.measure.definition.width)

    def upward(self, low: float, high: float) -> tuple[float, float]:
        """Both ends of a difference, turned so that above 0 is better."""
        return (low, high) if self.better == "higher" else (-high, -low)


def _row(scores: Scores, system: str, measure: Measure) -> Floats:
    """(q,) values of a system, or (r, q) of a percentile, in each run; NaN where there is none."""
    i, j = list(scores.systems).index(system), list(scores.measures).index(measure)
    return scores.values[i, j] if measure.share is None else run_values(scores, i, j)


def _margin_check(pair: _Paired, *, margin: float, min_questions: int, alpha: float) -> Check:
    """True differences against the margin: of means, of means that labels correct, or of percentiles."""
    if (why := pair.too_few(min_questions)) is not None:
        return pair.check("baseline", why, margin)
    if pair.measure.share is not None:
        return _percentile_check(pair, margin=margin, alpha=alpha)
    check = (_plain_check if pair.labelled is None else _labelled_check)(pair, margin=margin, alpha=alpha)
    return pair.with_unseen(check, alpha) if check.reason == "not_worse" else check


def _held(least: float, most: float, margin: float) -> CheckReason:
    """Reason that one-sided limits of a gain give beside the margin."""
    return "not_worse" if least > -margin else "worse" if most <= -margin else "undecided"


def _plain_check(pair: _Paired, *, margin: float, alpha: float) -> Check:
    """A mean difference against the margin, by the tests of non-inferiority in either direction."""
    d, width, clusters = differences(pair.baseline, pair.values), pair.measure.definition.width, pair.clusters
    gain = d if pair.better == "higher" else -d
    test, mirrored = (
        non_inferiority(
            sign * gain, margin=margin, width=width, alpha=alpha, clusters=clusters, identical=pair.sides.are_identical
        )
        for sign in (1, -1)
    )
    most = -mirrored.low
    reason: CheckReason = "not_worse" if test.not_worse else "worse" if most <= -margin else "undecided"
    undecided = reason == "undecided" and test.reason != IDENTICAL and not math.isnan(test.p)
    resolution = Resolution.of(gain, width=width, alpha=alpha, clusters=clusters) if undecided else None
    needed = None if resolution is None else resolution.questions(margin)
    low, high = pair.upward(test.low, most)
    return pair.check(
        "baseline", "identical" if test.reason == IDENTICAL else reason, margin,
        value=float(d.mean()), low=low, high=high, n=test.n,
        detectable=math.nan if resolution is None else resolution.margin,
        needed=needed if needed is not None and needed > test.n else None,
    )  # fmt: skip


def _labelled_check(pair: _Paired, *, margin: float, alpha: float) -> Check:
    """A difference that labels of both correct, against the margin: by its error alone."""
    average, counts = pair.difference, pair.label_counts
    if math.isnan(average.error):
        return pair.check("baseline", "few_labels", margin, n_labels=counts["n_labels"])
    quantile = t_quantile(1 - alpha, average.df)
    low, high = average.ends(quantile, quantile)
    reason = _held(*pair.upward(low, high), margin)
    detectable = detectable_errors(average.n, df=average.df, alpha=alpha, n_sides=1) * average.error
    return pair.check(
        "baseline", reason, margin, value=average.mean, low=low, high=high, n=average.n,
        detectable=detectable if reason == "undecided" else math.nan, **counts,
    )  # fmt: skip


def _percentile_check(pair: _Paired, *, margin: float, alpha: float) -> Check:
    """A percentile against that of the baseline, by the one-sided limits of their difference at alpha."""
    share = pair.measure.share
    assert share is not None
    difference = percentile_difference(
        pair.baseline, pair.values, share, in_time=is_in_time(pair.sides.scores), clusters=pair.clusters
    )
    low, high = difference.interval(1 - 2 * alpha)
    least, most = pair.upward(low, high)
    reason = _held(least, most, margin)
    value = difference.value if pair.better == "higher" else -difference.value
    detectable, needed = (math.nan, None)
    if reason == "undecided":
        detectable, needed = percentile_resolution(value - least, pair.n, share, margin=margin, alpha=alpha)
    return pair.check(
        "baseline", reason, margin, value=difference.value, low=low, high=high, detectable=detectable, needed=needed
    )


def percentile_resolution(half: float, n: int, p: float, *, margin: float, alpha: float) -> tuple[float, int | None]:
    """Margin that n questions can hold in 80 of 100 cases where nothing was lost, and how many hold the one asked for.

    half   from the difference to its limit at alpha; it becomes shorter as the root of n.  Where it is infinite, there
           is no such margin, and the questions are those below which the percentile p has no limit
    """
    if not math.isfinite(half):
        fewest = math.ceil(math.log(alpha) / math.log(max(p, 1 - p)))
        return math.nan, fewest if fewest > n else None
    at_alpha, at_power = (NormalDist().inv_cdf(share) for share in (1 - alpha, defaults.POWER))
    detectable = (1 + at_power / at_alpha) * half
    needed = math.ceil(n * (detectable / margin) ** 2) if margin else 0
    return detectable, needed if needed > n else None


def relative_check(sides: Sides, measure: Measure, *, least: float, min_questions: int, better: Direction) -> Check:
    """Check that a system is better than its baseline by a share of it, by the whole interval of that share.

    Raises   InputError for a measure that is no arithmetic mean
    """
    if measure.share is not None and all(measure in scores.measures for scores, _ in sides.both):
        raise InputError(
            f"{measure} is {measure.aggregation.noun}, and changes are of arithmetic means; judge by another"
        )
    pair = _Paired.of(sides, measure, better)
    if (why := pair.too_few(min_questions)) is not None:
        return pair.check("relative", why, least)
    change = relative_change(pair.baseline, pair.values, level=LEVEL, clusters=pair.clusters)
    if pair.labelled is not None:
        change = _widened(change, pair)
    limit = least if better == "higher" else -least
    reason: CheckReason = "no_ratio" if math.isnan(change.low) else side_of(limit, change.low, change.high, better)
    check = pair.check(
        "relative", reason, least, value=change.change, low=change.low, high=change.high, **pair.label_counts
    )
    return pair.with_unseen(check, 1 - LEVEL) if reason == "reached" else check


def _widened(change: RelativeChange, pair: _Paired) -> RelativeChange:
    """A change whose interval is longer by as much as that of the difference is, as labels are few or lacking."""
    average, plain = pair.difference, mean_error(differences(pair.baseline, pair.values), clusters=pair.clusters)
    if math.isnan(average.error):
        return replace(change, low=math.nan, high=math.nan)
    halves = [t_quantile((1 + LEVEL) / 2, part.df) * part.error for part in (average, plain)]
    longer = halves[0] / halves[1] if halves[1] else 1.0
    low, high = (change.change + longer * (end - change.change) for end in (change.low, change.high))
    baseline = abs(float(pair.baseline.mean())) or math.nan
    return replace(change, low=low - average.below / baseline, high=high + average.above / baseline)
