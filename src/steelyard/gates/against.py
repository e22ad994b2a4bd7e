"""Checks of a system against a baseline, on the questions that both have a value for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from steelyard.base import defaults
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.experiment.table.percentiles import is_in_time, run_values
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


def percentile_check(
    scores: Scores, system: str, other: Scores, against: str, measure: Measure, *, margin: float, min_questions: int,
    alpha: float, better: Direction,
) -> Check:  # fmt: skip
    """Whether a percentile is shown not to be worse by the margin, or to be: by its one-sided limits at alpha."""
    assert measure.share is not None
    runs, baseline = _runs(scores, system, measure), _runs(other, against, measure)
    common = [query_id for query_id in runs if query_id in baseline]
    left_out = len(runs) - len(common), len(baseline) - len(common)
    n, name = len(common), str(measure)
    if n < max(min_questions, 1):
        bare = lacks_gold(scores, system, measure) or lacks_gold(other, against, measure)
        why: CheckReason = "no_gold" if bare else "few_questions"
        return Check(system, name, "baseline", why, limit=margin, n=n, better=better, left_out=left_out)
    place = {query_id: q for q, query_id in enumerate(scores.query_ids)}
    before, after = (np.stack([of[query_id] for query_id in common], axis=1) for of in (baseline, runs))
    difference = percentile_difference(
        before, after, measure.share, in_time=is_in_time(scores),
        clusters=None if scores.clustering is None else scores.clustering.codes[[place[q] for q in common]],
    )  # fmt: skip
    low, high = difference.interval(1 - 2 * alpha)
    least, most = (low, high) if better == "higher" else (-high, -low)
    reason: CheckReason = "not_worse" if least > -margin else "worse" if most <= -margin else "undecided"
    value = difference.value if better == "higher" else -difference.value
    detectable, needed = (math.nan, None)
    if reason == "undecided":
        detectable, needed = percentile_resolution(value - least, n, measure.share, margin=margin, alpha=alpha)
    return Check(
        system, name, "baseline", reason, value=difference.value, low=low, high=high, limit=margin, n=n, better=better,
        left_out=left_out, detectable=detectable, needed=needed,
    )  # fmt: skip


def lacks_gold(scores: Scores, system: str, measure: Measure) -> bool:
    """Whether no question has the gold that a measure of a system needs."""
    return bool(scores.lacks_gold[list(scores.systems).index(system), list(scores.measures).index(measure)])


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


def _runs(scores: Scores, system: str, measure: Measure) -> dict[str, Floats]:
    """query_id -> (r,) values in each run, of the questions that have a value in all."""
    rows = run_values(scores, list(scores.systems).index(system), list(scores.measures).index(measure))
    return {scores.query_ids[q]: rows[:, q] for q in np.flatnonzero(~np.isnan(rows).any(axis=0)).tolist()}


def baseline_checks(
    scores: Scores, system: str, other: Scores, against: str, *, profile: Profile | None, margin: float | None,
    min_questions: int, alpha: float,
) -> Iterator[Check]:  # fmt: skip
    """That a system is not worse than its baseline, and better where the profile asks for it.

    other, against   the Scores that hold the baseline, and its name among them
    Raises           InputError where there is no such system, and for measures that are no arithmetic mean
    """
    if against not in other.systems:
        raise InputError(
            f"the baseline has several systems, and none is called {against!r}: {', '.join(other.systems)}; name one"
        )
    for measure in scores.measures if margin is not None else ():
        if profile is not None and not profile.covers(measure):
            continue
        bounds: dict[str, Any] = {"margin": margin, "min_questions": min_questions, "alpha": alpha}
        better = _better(profile, measure)
        if measure.share is not None and measure in scores.measures and measure in other.measures:
            yield percentile_check(scores, system, other, against, measure, better=better, **bounds)
        else:
            pair = _paired(scores, system, other, against, measure)
            yield _margin_check(system, measure, pair, better=better, **bounds)
    if profile is not None and (relative := profile.relative) is not None:
        yield relative_check(
            scores, system, other, against, relative.measure,
            least=relative.least, min_questions=min_questions, better=_better(profile, relative.measure),
        )  # fmt: skip


def _better(profile: Profile | None, measure: Measure) -> Direction:
    """Which way is good: as the profile has it, else as the measure declares."""
    standard = None if profile is None else profile.standard_of(measure)
    return measure.definition.direction if standard is None else standard.better


@dataclass(frozen=True)
class _Pair:
    """(n,) values of the same questions of both, and how many questions only one of them has.

    common     which questions of either's scores these are
    clusters   (n,) of questions that count as one; None: each by itself
    measured   whether both were weighed by the measure at all
    lacks_gold   whether no question has the gold that the measure needs, on one side or both
    identical  whether both gave the same results, lists and all
    labelled   the corrected means of both, where labels of people correct both: values are then pseudo-values
    """

    values: Floats
    baseline: Floats
    left_out: tuple[int, int]
    common: tuple[Bools, Bools] | None = None
    clusters: Ints | None = None
    measured: bool = True
    lacks_gold: bool = False
    identical: bool = False
    labelled: tuple[CorrectedMean, CorrectedMean] | None = None

    @property
    def n_labels(self) -> int:
        """Labels of the one that has fewer; 0 without any."""
        return 0 if self.labelled is None else min(mean.n_labels for mean in self.labelled)

    @property
    def n_undecided(self) -> int:
        """Units of both that were drawn and have no label, where the interval allows for them at either end."""
        return sum(mean.n_undecided for mean in self.labelled or ())

    @property
    def difference(self) -> MeanError:
        """The mean difference where labels correct both, and its error."""
        means = self.labelled or ()
        n_all = min(int((~np.isnan(mean.corrected.values)).sum()) for mean in means)
        d = differences(self.baseline, self.values)
        return corrected_difference(
            d, means, share=min(len(d) / n_all, 1.0), clusters=self.clusters, places=self.common or ()
        )

    def too_few(self, min_questions: int) -> CheckReason | None:
        """Why nothing can be said of the pair, if so."""
        n = len(self.values)
        if not self.measured:
            return "not_measured"
        if self.lacks_gold:
            return "no_gold"
        return "few_questions" if n < min_questions else "no_interval" if n_clusters(self.clusters, n) < 2 else None


def _paired(scores: Scores, system: str, other: Scores, against: str, measure: Measure) -> _Pair:
    if measure not in scores.measures or measure not in other.measures:
        return _Pair(np.zeros(0), np.zeros(0), (0, 0), measured=False)
    if not (aggregation := measure.aggregation).arithmetic:
        raise InputError(f"{measure} is {aggregation.noun}, and changes are of arithmetic means; judge by another")
    means = [part.corrections.get(name, {}).get(str(measure)) for part, name in ((scores, system), (other, against))]
    labelled = None if means[0] is None or means[1] is None else (means[0].mean, means[1].mean)
    values, baseline = _values(scores, system, measure, labelled), _values(other, against, measure, labelled, place=1)
    common = [query_id for query_id in values if query_id in baseline]
    left_out = len(values) - len(common), len(baseline) - len(common)
    return _Pair(
        np.array([values[q] for q in common]), np.array([baseline[q] for q in common]), left_out,
        common=(_places(scores, common), _places(other, common)), clusters=_clusters(scores, common),
        identical=_identical(scores, system, other, against), labelled=labelled,
        lacks_gold=lacks_gold(scores, system, measure) or lacks_gold(other, against, measure),
    )  # fmt: skip


def _places(scores: Scores, query_ids: Sequence[str]) -> Bools:
    """(q,) which questions of the scores these are."""
    wanted = set(query_ids)
    return np.array([query_id in wanted for query_id in scores.query_ids], bool)


def _clusters(scores: Scores, query_ids: Sequence[str]) -> Ints | None:
    """(n,) the clusters of some questions."""
    if scores.clustering is None:
        return None
    places = {query_id: place for place, query_id in enumerate(scores.query_ids)}
    return scores.clustering.codes[[places[query_id] for query_id in query_ids]]


def _identical(scores: Scores, system: str, other: Scores, against: str) -> bool:
    digest = scores.run_digest(system)
    return digest is not None and digest == other.run_digest(against)


def _values(
    scores: Scores, system: str, measure: Measure, labelled: tuple[CorrectedMean, CorrectedMean] | None, *,
    place: int = 0,
) -> dict[str, float]:  # fmt: skip
    """query_id -> value, or pseudo-value, of the questions that have one.

    place   of the system's mean among those that labels correct
    """
    row = scores.values[list(scores.systems).index(system), list(scores.measures).index(measure)]
    row = row if labelled is None else labelled[place].corrected.values
    return {query_id: v for query_id, v in zip(scores.query_ids, row.tolist(), strict=True) if not math.isnan(v)}


def _open_check(
    system: str, measure: Measure, pair: _Pair, *, kind: CheckKind, reason: CheckReason, limit: float,
    better: Direction = "higher",
) -> Check:  # fmt: skip
    """A check that too few questions, or none, can answer."""
    return Check(
        system, str(measure), kind, reason, limit=limit, n=len(pair.values), better=better, left_out=pair.left_out
    )


def _margin_check(
    system: str, measure: Measure, pair: _Pair, *, margin: float, min_questions: int, alpha: float, better: Direction
) -> Check:
    if (why := pair.too_few(min_questions)) is not None:
        return _open_check(system, measure, pair, kind="baseline", reason=why, limit=margin, better=better)
    if pair.labelled is not None:
        return _labelled_check(system, measure, pair, margin=margin, alpha=alpha, better=better)
    d = differences(pair.baseline, pair.values)
    gain = d if better == "higher" else -d
    width = measure.definition.width
    test, mirrored = (
        non_inferiority(
            sign * gain, margin=margin, width=width, alpha=alpha, clusters=pair.clusters, identical=pair.identical
        )
        for sign in (1, -1)
    )
    most = -mirrored.low
    reason: CheckReason = "not_worse" if test.not_worse else "worse" if most <= -margin else "undecided"
    reason = "identical" if test.reason == IDENTICAL else reason
    low, high = (test.low, most) if better == "higher" else (-most, -test.low)
    undecided = reason == "undecided" and not math.isnan(test.p)
    resolution = Resolution.of(gain, width=width, alpha=alpha, clusters=pair.clusters) if undecided else None
    needed = None if resolution is None else resolution.questions(margin)
    check = Check(
        system, str(measure), "baseline", reason,
        value=float(d.mean()), low=low, high=high, limit=margin, n=test.n, better=better,
        left_out=pair.left_out, detectable=math.nan if resolution is None else resolution.margin,
        needed=needed if needed is not None and needed > test.n else None,
    )  # fmt: skip
    return _with_unseen(check, measure, pair, alpha) if reason == "not_worse" else check


def _with_unseen(check: Check, measure: Measure, pair: _Pair, alpha: float) -> Check:
    """The check with what its questions cannot exclude."""
    share = unseen_share(n_clusters(pair.clusters, len(pair.values)), alpha)
    return replace(check, unseen_share=share, unseen_loss=share * measure.definition.width)


def _labelled_check(
    system: str, measure: Measure, pair: _Pair, *, margin: float, alpha: float, better: Direction
) -> Check:
    """A difference that labels of both correct, against the margin: by its error alone."""
    average = pair.difference
    if math.isnan(average.error):
        return replace(
            _open_check(system, measure, pair, kind="baseline", reason="few_labels", limit=margin, better=better),
            n_labels=pair.n_labels,
        )
    quantile = t_quantile(1 - alpha, average.df)
    low, high = average.ends(quantile, quantile)
    least, most = (low, high) if better == "higher" else (-high, -low)
    reason: CheckReason = "not_worse" if least > -margin else "worse" if most <= -margin else "undecided"
    detectable = detectable_errors(average.n, df=average.df, alpha=alpha, n_sides=1) * average.error
    check = Check(
        system, str(measure), "baseline", reason, value=average.mean, low=low, high=high, limit=margin, n=average.n,
        better=better, left_out=pair.left_out, n_labels=pair.n_labels, n_undecided=pair.n_undecided,
        detectable=detectable if reason == "undecided" else math.nan,
    )  # fmt: skip
    return _with_unseen(check, measure, pair, alpha) if reason == "not_worse" else check


def relative_check(
    scores: Scores, system: str, other: Scores, against: str, measure: Measure, *, least: float, min_questions: int,
    better: Direction,
) -> Check:  # fmt: skip
    """Whether a system is better than its baseline by a share of it, by the whole interval of that share."""
    pair = _paired(scores, system, other, against, measure)
    if (why := pair.too_few(min_questions)) is not None:
        return _open_check(system, measure, pair, kind="relative", reason=why, limit=least, better=better)
    change = relative_change(pair.baseline, pair.values, level=LEVEL, clusters=pair.clusters)
    if pair.labelled is not None:
        change = _widened(change, pair)
    limit = least if better == "higher" else -least
    reason: CheckReason = "no_ratio" if math.isnan(change.low) else side_of(limit, change.low, change.high, better)
    check = Check(
        system, str(measure), "relative", reason,
        value=change.change, low=change.low, high=change.high, limit=least, n=len(pair.values), better=better,
        left_out=pair.left_out, n_labels=pair.n_labels, n_undecided=pair.n_undecided,
    )  # fmt: skip
    return _with_unseen(check, measure, pair, 1 - LEVEL) if reason == "reached" else check


def _widened(change: RelativeChange, pair: _Pair) -> RelativeChange:
    """A change whose interval is longer by as much as that of the difference is, as labels are few or lacking."""
    average, plain = pair.difference, mean_error(differences(pair.baseline, pair.values), clusters=pair.clusters)
    if math.isnan(average.error):
        return replace(change, low=math.nan, high=math.nan)
    halves = [t_quantile((1 + LEVEL) / 2, part.df) * part.error for part in (average, plain)]
    longer = halves[0] / halves[1] if halves[1] else 1.0
    low, high = (change.change + longer * (end - change.change) for end in (change.low, change.high))
    baseline = abs(float(pair.baseline.mean())) or math.nan
    return replace(change, low=low - average.below / baseline, high=high + average.above / baseline)
