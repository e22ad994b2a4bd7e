"""A baseline that is an entry of a store, with what other entries say of it: measured again, accepted before it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl

from steelyard.experiment.table.repeats import repeated
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.samples import ROUNDING
from steelyard.stats.spread import variance_components
from steelyard.stats.tests.alarms import expected_luck
from steelyard.store.entries import PREFIX, Entry
from steelyard.store.opening import open_store
from steelyard.store.provenance import origins_of
from steelyard.store.repeats import runs_of
from steelyard.store.store import Store

_MOST_ACCEPTED = 20
"""Of so many accepted entries, the last ones, the best is sought."""


@dataclass(frozen=True)
class BaselineEntry:
    """What a gate says of a baseline that is an entry of a store.

    id, name      its id, and what readers call it: its tag, else the id
    is_accepted   whether the margin is a budget for all that is lost since
    n_again       measurements of the same that count in its place, as it may have been accepted for its luck
    runs_vary     whether it is known how far runs differ, so that the luck of one run can be reckoned with
    other_corpus  whether a system that is judged searches other documents than it did
    """

    id: str
    name: str
    is_accepted: bool = False
    n_again: int = 0
    runs_vary: bool = False
    other_corpus: bool = False


@dataclass(frozen=True, eq=False)
class Past:
    """A baseline that was measured before, with other measurements of it and of its predecessors.

    entry      what a gate says of it
    scores     as it was measured, and accepted for it
    again      scores of the same system that were measured apart from that, such as entries of the same commit; then
               the accepted run, which may have been accepted for its luck, does not count
    earlier    scores of entries that were accepted before it by the same truth, newest first
    means      system -> measure -> means of other entries by the same truth, whether they passed or not
    corpora    system -> digest of the documents that it searched, where that is known
    """

    entry: BaselineEntry
    scores: Scores
    again: Sequence[Scores] = ()
    earlier: Sequence[Scores] = ()
    means: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    corpora: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def baseline(self) -> Scores:
        """The scores to compare with: means of all measurements again, where there are some."""
        return repeated(self.again) if self.again else self.scores

    @cached_property
    def all_runs(self) -> Scores:
        """The accepted run and those again, by which runs are known to vary."""
        return repeated([self.scores, *self.again])

    def entry_beside(self, scores: Scores, systems: Sequence[str], against: str | None) -> BaselineEntry:
        """What a gate says of the entry, beside the scores of the systems that it judges.

        against   the baseline's name; None where it is that of each system
        """
        own = {system: origin.fingerprints.get("corpus") for system, origin in origins_of(None, scores).items()}
        pairs = [(own.get(system), self.corpora.get(against or system)) for system in systems]
        return replace(self.entry, other_corpus=any(None not in pair and pair[0] != pair[1] for pair in pairs))

    def luck(self, system: str, measure: Measure, means: tuple[float, float], n: int, *, sd_runs: float) -> float:
        """How much of the baseline's mean is expected to be luck of its run: 0 where it was measured again.

        means     of the baseline and of what is judged, whose own entry does not count, of n questions
        sd_runs   of the value of one question, from either side; NaN where none is known
        Returns   in the unit of the measure: above 0 where higher is better, else below
        """
        mean, judged = means
        listed = self.means.get(system, {}).get(str(measure), ())
        others = [other for other in listed if not math.isclose(other, judged, rel_tol=ROUNDING)]
        if self.again or math.isnan(sd_runs) or not n:
            return 0.0
        sign = 1 if measure.definition.higher_is_better else -1
        n_runs = len(self.scores.repeats.get(system, (None,)))
        error = sd_runs / math.sqrt(n * n_runs)
        return sign * expected_luck(sign * mean, [sign * other for other in others], error=error)


def sd_of_runs(scores: Scores, system: str, measure: Measure) -> float:
    """Standard deviation of the value of one question from run to run; NaN of a system with one run."""
    runs = scores.repeats.get(system)
    if runs is None or measure not in scores.measures:
        return math.nan
    values = runs[:, list(scores.measures).index(measure)]
    return variance_components(values[:, ~np.isnan(values).any(axis=0)]).sd_runs


def past_of(reference: str, store: object, judged: Scores) -> Past:
    """The entry that a reference names, with what its store says of it.

    reference   store:accepted, store:latest, store:tag=NAME or store:ID
    store       a Store, or the address of one; by default as of `steelyard.store.opening.open_store`
    truth       digest of the gold that the accepted and the latest entry are to be of
    Raises      InputError where there is no store, and for an entry that is not there or has no scores
    """
    if not isinstance(store, Store):
        store = open_store(cast("str | Path | None", store))
    truth = None if judged.signature is None else judged.signature.truth
    with store:
        entry = store.entry(reference.removeprefix(PREFIX), truth=truth)
        scores = store.scores(entry.id)
        again = [own for other, own in runs_of(store, entry, judged=judged) if other.id != entry.id]
        earlier = [store.scores(ref) for ref in _accepted_before(store, entry)] if entry.accepted else []
        of_system = any(sd > 0 for sd in _sds(repeated([scores, *again])))
        named = BaselineEntry(
            entry.id, entry.tags[-1] if entry.tags else entry.id, bool(entry.accepted), len(again), of_system
        )
        corpora = {name: own["corpus"] for name, own in entry.fingerprints.items() if "corpus" in own}
        return Past(named, scores, again, earlier, _means(store, entry), corpora)


def _sds(scores: Scores) -> Iterator[float]:
    for system in scores.systems:
        for measure in scores.measures:
            yield sd_of_runs(scores, system, measure)


def _accepted_before(store: Store, entry: Entry) -> list[str]:
    """Ids of entries of the same truth that were accepted before this one, the last one first."""
    if entry.truth is None:
        return []
    rows = store.acceptances().filter(pl.col("truth") == entry.truth).sort("time", descending=True)
    ids = list(dict.fromkeys(rows["entry"].to_list()))
    return ids[ids.index(entry.id) + 1 :][:_MOST_ACCEPTED]


def _means(store: Store, entry: Entry) -> dict[str, dict[str, list[float]]]:
    """System -> measure -> means of all other entries by the same truth; a run that was recorded twice counts once."""
    if entry.truth is None:
        return {}
    rows = store.means().filter((pl.col("truth") == entry.truth) & pl.col("mean").is_not_null())
    own = rows.filter(entry=entry.id)
    of_as_many = rows.join(own.select("system", "measure", "n"), on=["system", "measure", "n"])
    others = of_as_many.join(own, on=["system", "measure", "mean"], how="anti").unique(
        ["commit", "config", "system", "measure", "mean"], maintain_order=True
    )
    means: dict[str, dict[str, list[float]]] = {}
    for system, measure, mean in others.select("system", "measure", "mean").iter_rows():
        means.setdefault(system, {}).setdefault(measure, []).append(mean)
    return means
