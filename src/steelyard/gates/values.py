"""Values of systems beside what a profile holds them against: means, percentiles, ratios, and numbers handed in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.experiment.table.arrays import counted
from steelyard.experiment.table.scores import LEVEL, Scores
from steelyard.gates.profiles import Profile
from steelyard.gates.standard import ANY_K, Standard, number_name
from steelyard.measures.spec import measure_or_column
from steelyard.stats.intervals.percentiles import PercentileInterval, percentile_interval
from steelyard.stats.samples import n_clusters
from steelyard.stats.tests.effects import relative_change

Numbers = Mapping[str, float]
"""Numbers handed in, by the name that the profile gives them."""

Latencies = Mapping[str, Sequence[float] | Sequence[Sequence[float]]]
"""system -> milliseconds of each of its questions, or of each in each of its runs; NaN where a run has none."""

_LATENCIES = "latency_ms"
_PER_MILLION = "_per_million_"
_MILLION = 1e6


@dataclass(frozen=True)
class StandardValue:
    """A value of a system beside the standard that it is held against; NaN, with n 0, where it was not measured.

    reachable   mean of a perfect ranking, or of the best order of the candidates where that is lower
    of_candidates   whether it is that of the candidates, which a reranker can but reorder
    worst     the worst value that one question can have, of a mean;   n_units   questions, or clusters, behind it: 0 of
              what is no mean
    lacks_gold   whether no question has the gold that the measure needs
    """

    system: str
    measure: str
    standard: Standard
    _: KW_ONLY
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    reachable: float = math.nan
    of_candidates: bool = False
    n_failed: int = 0
    n_labels: int = 0
    n_undecided: int = 0
    worst: float = math.nan
    n_units: int = 0
    lacks_gold: bool = False

    @property
    def is_handed_in(self) -> bool:
        """True if the number was handed in as it is, without questions and without an interval."""
        return self.n == 0 and not math.isnan(self.value)


def standard_values(
    scores: Scores, profile: Profile, *, numbers: Numbers | None = None, latency_ms: Latencies | None = None
) -> Iterator[StandardValue]:
    """Every value that the profile has levels for, and NaN for what it asks for and was not measured.

    Means that labels of people correct are corrected, with the intervals of these.
    """
    numbers = _checked(profile, numbers or {})
    scores = scores.with_percentiles(key for key in profile.standards if not key.endswith(ANY_K))
    for i, system in enumerate(scores.systems):
        for j, measure in enumerate(scores.measures):
            if (standard := profile.standard_of(measure)) is not None:
                yield _mean(scores, i, j, standard)
        for name, standard in profile.unmeasured(scores.measures).items():
            yield StandardValue(system, name, standard)
        for standard in profile.standards.values():
            if standard.handed_in:
                yield _number(scores, i, standard, numbers, (latency_ms or {}).get(system, ()))


def _mean(scores: Scores, i: int, j: int, standard: Standard) -> StandardValue:
    system, measure = scores.systems[i], str(scores.measures[j])
    there = counted(scores)[i, j]
    clusters = None if scores.clustering is None else scores.clustering.codes[there]
    is_mean, definition = scores.measures[j].share is None, scores.measures[j].definition
    reachable, ceiling = scores.reachable[i, j], scores.ceiling[i, j]
    values, mean = scores.values[i, j, there], float(scores.means[i, j])
    low, high = float(scores.intervals.low[i, j]), float(scores.intervals.high[i, j])
    has_range = math.isfinite(definition.range[1])
    if math.isnan(low) and not has_range and n_clusters(clusters, len(values)) > 1 and (values == values[0]).all():
        low = high = mean  # What could be seen of a column without a range shows no other value.
    value = StandardValue(
        system, measure, standard, value=mean, low=low, high=high, n=int(there.sum()),
        reachable=float(np.fmin(reachable, ceiling)), of_candidates=bool(np.fmin(reachable, np.inf) > ceiling),
        n_failed=int((there & np.isnan(scores.values[i, j])).sum()),
        worst=definition.range[0 if standard.better == "higher" else 1],
        n_units=n_clusters(clusters, int(there.sum())) if is_mean else 0,
        lacks_gold=bool(scores.lacks_gold[i, j]),
    )  # fmt: skip
    correction = scores.corrections.get(system, {}).get(measure)
    if correction is None:
        return value
    by_people, (low, high) = correction.mean.corrected, correction.mean.interval
    return replace(value, value=by_people.mean, low=low, high=high, n_labels=correction.mean.n_labels,
                   n_undecided=correction.mean.n_undecided)  # fmt: skip


def _number(
    scores: Scores, i: int, standard: Standard, numbers: Numbers, latencies: Sequence[float] | Sequence[Sequence[float]]
) -> StandardValue:
    """A number by what there is of it: handed in, a column of the scores, a ratio of two, or latencies."""
    system, name = scores.systems[i], standard.measure
    if name in numbers:
        return StandardValue(system, name, standard, value=numbers[name], low=numbers[name], high=numbers[name])
    measure = measure_or_column(name)
    if measure in scores.measures:
        value = _mean(scores, i, list(scores.measures).index(measure), standard)
        return value if value.n or value.lacks_gold else StandardValue(system, name, standard)
    if measure.share is not None and measure.name == _LATENCIES and len(latencies):
        runs = np.atleast_2d(np.asarray(latencies, np.float64))
        interval = _of_latencies(runs, measure.share)
        return StandardValue(
            system, name, standard, value=interval.value, low=interval.low, high=interval.high,
            n=int((~np.isnan(runs)).any(axis=0).sum()), n_failed=int(np.isposinf(runs).any(axis=0).sum()),
        )  # fmt: skip
    return _ratio(scores, i, standard)


def _of_latencies(runs: Floats, share: float) -> PercentileInterval:
    """A percentile of (r, n) values, of which those of one question belong together."""
    there = ~np.isnan(runs)
    clusters = np.broadcast_to(np.arange(runs.shape[1]), runs.shape)[there] if len(runs) > 1 else None
    return percentile_interval(runs[there], share, clusters=clusters)


def _ratio(scores: Scores, i: int, standard: Standard) -> StandardValue:
    """So much of one column for a million of another, all questions together: cost_usd_per_million_tokens."""
    amount, _, per = standard.measure.partition(_PER_MILLION)
    names = [str(measure) for measure in scores.measures]
    unmeasured = StandardValue(scores.systems[i], standard.measure, standard)
    if amount not in names or per not in names:
        return unmeasured
    amounts, counts = (scores.values[i, names.index(name)] for name in (amount, per))
    there = ~np.isnan(amounts + counts)
    if not counts[there].any():
        return unmeasured
    clusters = None if scores.clustering is None else scores.clustering.codes[there]
    change = relative_change(counts[there] / _MILLION, amounts[there], level=LEVEL, clusters=clusters)
    value, low, high = (1 + share for share in (change.change, change.low, change.high))
    return replace(
        unmeasured, value=value, low=low, high=high, n=int(there.sum()), worst=math.inf,
        n_units=n_clusters(clusters, int(there.sum())),
    )  # fmt: skip


def _checked(profile: Profile, numbers: Numbers) -> Numbers:
    names = [name for name, standard in profile.standards.items() if standard.handed_in]
    for name, number in numbers.items():
        if number_name(name) not in names:
            what = nearest(name, names) if names else "it asks for no number"
            raise InputError(f"profile {profile.name} has no levels for a number {name!r}; {what}")
        if not math.isfinite(number):
            raise InputError(f"{name} is {number}, expected a finite number")
    return {number_name(name): number for name, number in numbers.items()}
