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
from steelyard.gates.past import Past, sd_of_runs
from steelyard.gates.profiles import Profile
from steelyard.measures import Measure
from steelyard.measures.registry import Direction
from steelyard.stats.intervals.percentiles import percentile_difference
from steelyard.stats.intervals.unseen import unseen_share
from steelyard.stats.labels.prediction_powered import CorrectedMean, corrected_difference
from steelyard.stats.numerics import t_quantile
from steelyard.stats.power.detectable import detectable_errors
from steelyard.stats.power.resolution import Resolution
from steelyard.stats.power.runs import runs_needed
from steelyard.stats.samples import MeanError, differences, mean_error, n_clusters
from steelyard.stats.tests.alarms import highest_gain
from steelyard.stats.tests.effects import RelativeChange, relative_change
from steelyard.stats.tests.equivalence import IDENTICAL, non_inferiority


@dataclass(frozen=True, eq=False)
class Sides:
    """A system of some scores, and the baseline that it is held against, of the same scores or of others.

    past   what other entries say of the baseline, where it is one of a store
    """

    scores: Scores
    system: str
    other: Scores
    against: str
    past: Past | None = None

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
        digest, others = self.scores.run_digest(self.system), self.other.run_digest(self.against)
        return digest is not None and others is not None and (digest == others or {digest} == {*others.split(", ")})


@dataclass(frozen=True)
class MarginTest:
    """How differences are held against a margin.

    margin   smallest loss that matters;   alpha   level at which it is ruled out, and without alarms shown
    alarm    share of false alarms: a check fails where any loss is shown at this level and the margin is not ruled out;
             None: where a loss of the margin is shown
    """

    margin: float
    alpha: float
    min_questions: int
    alarm: float | None = None

    def reason(self, least: float, most: float) -> CheckReason:
        """Reason that one-sided limits of a gain give: least at alpha, most at `level_of_most`."""
        if least > -self.margin:
            return "not_worse"
        if self.alarm is not None:
            return "lost" if most < 0 else "undecided"
        return "worse" if most <= -self.margin else "undecided"

    @property
    def level_of_most(self) -> float:
        """Level of the upper limit of a gain."""
        return self.alpha if self.alarm is None else self.alarm

    @property
    def numbers(self) -> dict[str, float]:
        """The level of alarms, as checks hold it."""
        return {} if self.alarm is None else {"alarm": self.alarm}


def tested_measures(scores: Scores, profile: Profile | None) -> list[Measure]:
    """The measures of scores that are held against a margin."""
    return [measure for measure in scores.measures if profile is None or profile.covers(measure)]


def baseline_checks(
    sides: Sides, *, profile: Profile | None, test: MarginTest | None, min_questions: int
) -> Iterator[Check]:
    """That a system is not worse than its baseline, and better where the profile asks for it.

    test     None: no margin is asked for
    Raises   InputError where there is no such system, and for measures that are no arithmetic mean
    """
    if sides.against not in sides.other.systems:
        raise InputError(
            f"the baseline has several systems, and none is called {sides.against!r}: "
            f"{', '.join(sides.other.systems)}; name one"
        )
    for measure in tested_measures(sides.scores, profile) if test is not None else ():
        assert test is not None
        yield _margin_check(_Paired.of(sides, measure, _better(profile, measure)), test)
    if profile is not None and (relative := profile.relative) is not None:
        better = _better(profile, relative.measure)
        yield relative_check(sides, relative.measure, better=better, least=relative.least, min_questions=min_questions)


def best_checks(sides: Sides, *, profile: Profile | None, test: MarginTest) -> Iterator[Check]:
    """That a system is not worse by two margins than the best entry that was accepted before the baseline.

    Each acceptance allows for another margin, and this bounds the sum.  The best one is that with the best mean on
    the questions that both have; where that is the baseline itself, there is no such check, nor of percentiles.

    test   of one margin; its level is shared among the accepted entries, as the best of them was lucky too
    """
    earlier = () if sides.past is None else sides.past.earlier
    n_accepted = 1 + len(earlier)
    wide = replace(test, margin=2 * test.margin, alarm=None if test.alarm is None else test.alarm / n_accepted)
    for measure in tested_measures(sides.scores, profile):
        if measure.share is not None:
            continue
        better = _better(profile, measure)
        pairs = [_Paired.of(sides, measure, better)]
        for scores in earlier:
            against = scores.systems[0] if len(scores.systems) == 1 else sides.against
            if against not in scores.systems:
                continue
            pairs.append(_Paired.of(replace(sides, other=scores, against=against, past=None), measure, better))
        pairs = [pair for pair in pairs if pair.too_few(test.min_questions) is None]
        best = max(pairs, key=lambda pair: pair.upward(*[float(pair.baseline.mean())] * 2)[0], default=None)
        if best is not None and best.sides is not sides:
            yield _margin_check(best, wide, kind="best")


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

    @property
    def sd_runs(self) -> float:
        """Standard deviation of a value from run to run, the larger one of both sides; NaN without repeats."""
        past, (here, (other, against)) = self.sides.past, self.sides.both
        runs = other if past is None else past.all_runs
        return float(np.fmax(sd_of_runs(*here, self.measure), sd_of_runs(runs, against, self.measure)))

    @property
    def n_runs(self) -> tuple[int, int]:
        """Number of runs of each side."""
        here, there = (len(scores.repeats.get(name, (None,))) for scores, name in self.sides.both)
        return here, there

    @property
    def luck(self) -> float:
        """How much of the baseline's mean is expected to be luck of the run for which it was accepted.

        Means of other entries are of all questions: 0 where some of the baseline's have no partner.
        """
        past = self.sides.past
        if past is None or self.sides.are_identical or not self.n or self.left_out[1]:
            return 0.0
        means = float(self.baseline.mean()), float(self.values.mean())
        return past.luck(self.sides.against, self.measure, means, self.n, sd_runs=self.sd_runs)

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


def _margin_check(pair: _Paired, test: MarginTest, *, kind: CheckKind = "baseline") -> Check:
    """True differences against the margin: of means, of means that labels correct, or of percentiles."""
    if (why := pair.too_few(test.min_questions)) is not None:
        return pair.check(kind, why, test.margin)
    if pair.measure.share is not None:
        return _percentile_check(pair, test)
    check = (_plain_check if pair.labelled is None else _labelled_check)(pair, test, kind)
    return pair.with_unseen(check, test.alpha) if check.reason == "not_worse" else check


def _plain_check(pair: _Paired, test: MarginTest, kind: CheckKind) -> Check:
    """A mean difference against the margin, by the tests of non-inferiority in either direction."""
    luck, width, clusters = pair.luck, pair.measure.definition.width, pair.clusters
    d = differences(pair.baseline, pair.values) + luck
    gain, margin, alpha = (d if pair.better == "higher" else -d), test.margin, test.alpha
    by_margin, mirrored = (
        non_inferiority(
            sign * gain, margin=margin, width=width, alpha=alpha, clusters=clusters, identical=pair.sides.are_identical
        )
        for sign in (1, -1)
    )
    most = -mirrored.low if test.alarm is None else highest_gain(gain, level=test.alarm, clusters=clusters)
    reason = "not_worse" if by_margin.not_worse else test.reason(-math.inf, most)
    undecided = reason == "undecided" and by_margin.reason != IDENTICAL and not math.isnan(by_margin.p)
    resolution = Resolution.of(gain, width=width, alpha=alpha, clusters=clusters) if undecided else None
    needed = None if resolution is None else resolution.questions(margin)
    low, high = pair.upward(by_margin.low, most)
    return pair.check(
        kind, "identical" if by_margin.reason == IDENTICAL else reason, margin,
        value=float(d.mean()), low=low, high=high, n=by_margin.n,
        detectable=math.nan if resolution is None else resolution.margin,
        needed=needed if needed is not None and needed > by_margin.n else None,
        needed_runs=None if resolution is None else _runs_needed(pair, d, resolution.margin, margin),
        luck=luck, **test.numbers,
    )  # fmt: skip


def _runs_needed(pair: _Paired, d: Floats, detectable: float, margin: float) -> int | None:
    """Runs of both sides that hold the margin with these questions, where runs vary."""
    sd_runs = pair.sd_runs
    if not sd_runs > 0 or detectable <= margin:
        return None
    sd = mean_error(d, clusters=pair.clusters).error * math.sqrt(len(d))
    return runs_needed(sd, sd_runs, n_runs=pair.n_runs, share=margin / detectable)


def _labelled_check(pair: _Paired, test: MarginTest, kind: CheckKind) -> Check:
    """A difference that labels of both correct, against the margin: by its error alone."""
    average, counts = pair.difference, pair.label_counts
    if math.isnan(average.error):
        return pair.check(kind, "few_labels", test.margin, n_labels=counts["n_labels"])
    down, up = (t_quantile(1 - level, average.df) for level in (test.alpha, test.level_of_most))
    below, above = (down, up) if pair.better == "higher" else (up, down)
    low, high = average.ends(below, above)
    reason = test.reason(*pair.upward(low, high))
    detectable = detectable_errors(average.n, df=average.df, alpha=test.alpha, n_sides=1) * average.error
    return pair.check(
        kind, reason, test.margin, value=average.mean, low=low, high=high, n=average.n,
        detectable=detectable if reason == "undecided" else math.nan, **counts, **test.numbers,
    )  # fmt: skip


def _percentile_check(pair: _Paired, test: MarginTest) -> Check:
    """A percentile against that of the baseline, by the one-sided limits of their difference."""
    share = pair.measure.share
    assert share is not None
    difference = percentile_difference(
        pair.baseline, pair.values, share, in_time=is_in_time(pair.sides.scores), clusters=pair.clusters
    )
    least = pair.upward(*difference.interval(1 - 2 * test.alpha))[0]
    most = pair.upward(*difference.interval(1 - 2 * test.level_of_most))[1]
    low, high = pair.upward(least, most)
    reason = test.reason(least, most)
    value = difference.value if pair.better == "higher" else -difference.value
    detectable, needed = (math.nan, None)
    if reason == "undecided":
        detectable, needed = percentile_resolution(value - least, pair.n, share, margin=test.margin, alpha=test.alpha)
    return pair.check(
        "baseline", reason, test.margin, value=difference.value, low=low, high=high, detectable=detectable,
        needed=needed, **test.numbers,
    )  # fmt: skip


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
