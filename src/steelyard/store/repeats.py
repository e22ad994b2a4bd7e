"""Entries of the same commit as repeats: runs of one system that differ only by chance."""

from __future__ import annotations

import polars as pl

from steelyard.base.errors import InputError
from steelyard.experiment.table.repeats import repeated
from steelyard.experiment.table.scores import Scores
from steelyard.store.entries import Entry
from steelyard.store.store import Store

_MOST_READ, _MOST_RUNS = 200, 50
"""Newest other entries of a commit that are looked at, and runs that count: more would hardly say more."""


def repeats_of(store: Store, ref: str) -> Scores:
    """The scores of an entry, with the runs of the same systems that other entries hold as its repeats.

    Those are entries of the same commit, without changes to it, with the same gold, questions, systems and, where they
    are known, settings.  The same results once more, as of one run that was evaluated and then gated, are no repeat.
    At most 50 runs count, of the last 200 entries.

    ref       as of `Store.entry`
    Returns   values that are means over all runs, with `repeats` and both components of variance; the scores of the
              entry alone where there is no other
    Raises    InputError for an entry that is not there, or has no scores
    """
    return repeated([scores for _, scores in runs_of(store, store.entry(ref))])


def runs_of(store: Store, entry: Entry, *, judged: Scores | None = None) -> list[tuple[Entry, Scores]]:
    """The entry and its repeats, oldest first, each with its scores; the entry alone where the commit is not known.

    Entries by other policies, judges or measures are none.
    judged   what a gate judges now: then neither its results nor any that a gate judged before are repeats, or a loss
             without a commit, as of a server, would be its own baseline
    """
    own_scores, others = store.scores(entry.id), _same_commit(store, entry)
    runs, results = [(entry, own_scores)], _results(entry)
    if judged is not None:
        results |= {(system, judged.run_digest(system) or "") for system in judged.systems}
        results = results.union(*(_results(other) for other in others if other.kind == "gate"))
        others = [other for other in others if other.kind != "gate"]
    for other in others:
        if len(runs) == _MOST_RUNS:
            break
        if results.isdisjoint(_results(other)) and _goes_with(own_scores, scores := store.scores(other.id)):
            results |= _results(other)
            runs.append((other, scores))
    return sorted(runs, key=lambda run: (run[0].time, run[0].number))


def _same_commit(store: Store, entry: Entry) -> list[Entry]:
    """Other entries of the same commit, gold, questions, systems and settings, oldest first."""
    if entry.commit is None or entry.dirty:
        return []
    alike = store.entries().filter(
        pl.col("commit") == entry.commit, ~pl.col("dirty").fill_null(value=False), pl.col("id") != entry.id,
        pl.col("truth") == pl.lit(entry.truth), pl.col("n_questions") == pl.lit(entry.n_questions),
    )  # fmt: skip
    others = map(store.entry, reversed(alike["id"].head(_MOST_READ).to_list()))
    return [other for other in others if _configs(other) == _configs(entry)]


def _goes_with(scores: Scores, other: Scores) -> bool:
    try:
        repeated([scores, other])
    except InputError:
        return False
    return True


def _configs(entry: Entry) -> dict[str, str | None]:
    return {system: own.get("config") for system, own in entry.fingerprints.items()}


def _results(entry: Entry) -> set[tuple[str, str]]:
    """Systems with the digests of what they gave, where these are known."""
    return {(system, own["run"]) for system, own in entry.fingerprints.items() if "run" in own}
