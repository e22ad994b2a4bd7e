"""Checks of a system against a baseline, on the questions that both have a value for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.experiment.scores import LEVEL, Scores
from steelyard.gates.checks import Check, CheckKind, CheckReason
from steelyard.gates.levels import side_of
from steelyard.gates.percentile_checks import percentile_check
from steelyard.gates.profiles import Profile
from steelyard.measures import Measure
from steelyard.measures.registry import Direction
from steelyard.stats.corrected_differences import corrected_difference
from steelyard.stats.detectable import detectable_errors, min_detectable_difference
from steelyard.stats.effects import RelativeChange, relative_change
from steelyard.stats.equivalence import IDENTICAL, NonInferiority, non_inferiority
from steelyard.stats.power import fewest_questions
from steelyard.stats.prediction_powered import CorrectedMean
from steelyard.stats.samples import MeanError, differences, mean_error, n_clusters
from steelyard.stats.student import t_quantile


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
        pair = _paired(scores, system, other, against, relative.measure)
        yield _relative_check(
            system, relative.measure, pair,
            least=relative.least, min_questions=min_questions, better=_better(profile, relative.measure),
        )  # fmt: skip


def _better(profile: Profile | None, measure: Measure) -> Direction:
    """Which way is good: as the profile has it, else as the measure declares."""
    standard = None if profile is None else profile.standard_of(measure)
    return measure.definition.direction if standard is None else standard.better


@dataclass(frozen=True)
class _Pair:
    """(n,) values of the same questions of both, and how many questions only one of them has.

    clusters   (n,) of questions that count as one; None: each by itself
    measured   whether both were weighed by the measure at all
    identical  whether both gave the same results, lists and all
    labelled   the corrected means of both, where labels of people correct both: values are then pseudo-values
    """

    values: Floats
    baseline: Floats
    left_out: tuple[int, int]
    clusters: Ints | None = None
    measured: bool = True
    identical: bool = False
    labelled: tuple[CorrectedMean, CorrectedMean] | None = None

    @property
    def n_labels(self) -> int:
        """Labels of the one that has fewer; 0 without any."""
        return 0 if self.labelled is None else min(mean.n_labels for mean in self.labelled)

    @property
    def difference(self) -> MeanError:
        """The mean difference where labels correct both, and its error."""
        means = self.labelled or ()
        n_all = min(int((~np.isnan(mean.corrected.values)).sum()) for mean in means)
        d = differences(self.baseline, self.values)
        return corrected_difference(d, means, share=min(len(d) / n_all, 1.0), clusters=self.clusters)

    def too_few(self, min_questions: int) -> CheckReason | None:
        """Why nothing can be said of the pair, if so."""
        n = len(self.values)
        if not self.measured:
            return "not_measured"
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
        clusters=_clusters(scores, common), identical=_identical(scores, system, other, against),
        labelled=labelled,
    )  # fmt: skip


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
    detectable, needed = _resolving(gain, test, width, pair.clusters) if undecided else (math.nan, None)
    return Check(
        system, str(measure), "baseline", reason,
        value=float(d.mean()), low=low, high=high, limit=margin, n=test.n, better=better,
        left_out=pair.left_out, detectable=detectable, needed=needed,
    )  # fmt: skip


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
    half = t_quantile(1 - alpha, average.df) * average.error
    low, high = average.mean - half, average.mean + half
    least, most = (low, high) if better == "higher" else (-high, -low)
    reason: CheckReason = "not_worse" if least > -margin else "worse" if most <= -margin else "undecided"
    detectable = detectable_errors(average.n, df=average.df, alpha=alpha, n_sides=1) * average.error
    return Check(
        system, str(measure), "baseline", reason, value=average.mean, low=low, high=high, limit=margin, n=average.n,
        better=better, left_out=pair.left_out, n_labels=pair.n_labels,
        detectable=detectable if reason == "undecided" else math.nan,
    )  # fmt: skip


def _resolving(
    d: Floats, test: NonInferiority, width: float, clusters: Ints | None
) -> tuple[float, int | None]:  # fmt: skip
    """The margin that these questions can hold where nothing was lost, and how many hold the margin that is asked."""
    average, alpha = mean_error(d, clusters=clusters), test.alpha
    beyond_t = test.difference - test.low - t_quantile(1 - alpha, average.df) * average.error
    detectable = min_detectable_difference(d, alpha=alpha, n_sides=1, clusters=clusters) + max(beyond_t, 0.0)
    largest = width if math.isfinite(width) else float(np.abs(d).max())
    needed: int | None = None
    if not average.flat:
        # As many units as leave t its degrees of freedom: the questions, or fewer where these are in clusters.
        n_units = average.df + 1
        needed = fewest_questions(test.margin / (average.error * math.sqrt(n_units)), alpha=alpha, n_sides=1)
        needed = None if needed is None else math.ceil(needed * (len(d) / n_units))
    elif test.margin < largest:
        per_group = len(d) / n_clusters(clusters, len(d))
        needed = math.ceil(per_group * math.log(alpha) / math.log1p(-test.margin / largest))
    return detectable, needed if needed is not None and needed > len(d) else None


def _relative_check(
    system: str, measure: Measure, pair: _Pair, *, least: float, min_questions: int, better: Direction
) -> Check:  # fmt: skip
    if (why := pair.too_few(min_questions)) is not None:
        return _open_check(system, measure, pair, kind="relative", reason=why, limit=least, better=better)
    change = relative_change(pair.baseline, pair.values, level=LEVEL, clusters=pair.clusters)
    if pair.labelled is not None:
        change = _widened(change, pair)
    limit = least if better == "higher" else -least
    reason: CheckReason = "no_ratio" if math.isnan(change.low) else side_of(limit, change.low, change.high, better)
    return Check(
        system, str(measure), "relative", reason,
        value=change.change, low=change.low, high=change.high, limit=least, n=len(pair.values), better=better,
        left_out=pair.left_out, n_labels=pair.n_labels,
    )  # fmt: skip


def _widened(change: RelativeChange, pair: _Pair) -> RelativeChange:
    """A change whose interval is longer by as much as that of the difference is, as labels are few."""
    average, plain = pair.difference, mean_error(differences(pair.baseline, pair.values), clusters=pair.clusters)
    if math.isnan(average.error):
        return replace(change, low=math.nan, high=math.nan)
    halves = [t_quantile((1 + LEVEL) / 2, part.df) * part.error for part in (average, plain)]
    longer = halves[0] / halves[1] if halves[1] else 1.0
    low, high = (change.change + longer * (end - change.change) for end in (change.low, change.high))
    return replace(change, low=low, high=high)
