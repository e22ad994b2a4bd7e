"""Entries of the same commit as repeats: runs of one system that differ only by chance."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from steelyard.experiment.table.repeats import repeated
from steelyard.experiment.table.scores import Scores
from steelyard.store.entries import Entry
from steelyard.store.store import Store


def repeats_of(store: Store, ref: str) -> Scores:
    """The scores of an entry, with the runs of the same systems that other entries hold as its repeats.

    Those are entries of the same commit, without changes to it, with the same gold, systems and settings of these.  The
    same results once more, as of one run that was evaluated and then gated, are no repeat; and neither are systems
    whose settings are not known, such as files of rankings.

    ref       as of `Store.entry`
    Returns   values that are means over all runs, with `repeats` and both components of variance; the scores of the
              entry alone where there is no other
    Raises    InputError for an entry that is not there, or has no scores
    """
    return repeated([store.scores(entry.id) for entry in repeat_entries(store, store.entry(ref))])


def repeat_entries(store: Store, entry: Entry) -> list[Entry]:
    """The entry and its repeats, oldest first; the entry alone where the commit, or what it measured, is not known."""
    systems = list(entry.fingerprints)
    if not systems or entry.commit is None or entry.dirty is not False or not all(map(entry.settings.get, systems)):
        return [entry]
    alike = store.means(system=systems[0]).filter(
        pl.col("commit") == entry.commit, ~pl.col("dirty"), pl.col("truth") == pl.lit(entry.truth)
    )
    entries = [store.entry(id) for id in alike["entry"].unique(maintain_order=True) if id != entry.id]
    return _distinct(entry, [other for other in entries if _configs(other) == _configs(entry)])


def _configs(entry: Entry) -> dict[str, str | None]:
    return {system: own.get("config") for system, own in entry.fingerprints.items()}


def _distinct(entry: Entry, others: Sequence[Entry]) -> list[Entry]:
    """The entry and those with other results than any that is there already, oldest first."""
    results, distinct = {_results(entry)}, [entry]
    for other in others:
        if _results(other) not in results:
            results.add(_results(other))
            distinct.append(other)
    return sorted(distinct, key=lambda own: (own.time, own.number))


def _results(entry: Entry) -> tuple[str | None, ...]:
    return tuple(entry.fingerprints[system].get("run") for system in sorted(entry.fingerprints))
