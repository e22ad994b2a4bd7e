"""The difference between two entries of a store: what was changed, and what it did to the scores and questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import polars as pl

from steelyard.base.differences import differing_rows
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.options import CompareOptions
from steelyard.base.result import Result
from steelyard.comparison.changes import SettingsDiff
from steelyard.comparison.comparison import compare_scores
from steelyard.comparison.result import Comparison
from steelyard.experiment.table.recipes import judges_differ
from steelyard.experiment.table.repeats import repeated
from steelyard.experiment.table.scores import Scores
from steelyard.stats.samples import less
from steelyard.store.documents import DOCUMENTS, GOLD
from steelyard.store.entries import Entry
from steelyard.store.repeats import runs_of
from steelyard.store.store import Store

PARTS = ("truth", "corpus", "chunker", "embedder", "index", "fusion", "reranker", "prompt", "judge", "run")
"""What fingerprints are of, in the order of a pipeline."""
_STAGES = PARTS[2:8]
"""Parts that a pipeline may lack: then they differ from those of one that has them."""
_FOLLOWING = {"chunker": ("chunk.", ("corpus",)), "embedder": ("embed.", ("corpus", "chunker"))}
"""Part -> how its settings begin, and parts whose change moves its fingerprint too, so that it says nothing of it."""
_LEAST_PAIRS = 2
_MOVERS: Mapping[str, type[pl.DataType]] = {
    "query_id": pl.String, "before": pl.Float64, "after": pl.Float64, "difference": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class CorpusDifference:
    """Documents of two entries.

    added, removed, changed   ids, in order; changed have another text
    touched   document -> the questions whose gold it is, by the gold of both entries, of these three
    n_first, n_second   documents in all
    """

    added: Sequence[str]
    removed: Sequence[str]
    changed: Sequence[str]
    touched: Mapping[str, Sequence[str]]
    n_first: int
    n_second: int

    @property
    def questions(self) -> list[str]:
        """The questions whose gold is touched, each once, in order."""
        return sorted({*chain.from_iterable(self.touched.values())})


@dataclass(frozen=True, eq=False, repr=False)
class EntryDifference(Result):
    """One system of an entry beside one of another.

    entries       both;   systems   how the comparison calls both: SYSTEM@ID
    comparison    of the questions that both have; without pairs where fewer than two are common
    settings      those, and the versions, that differ; none where settings of either are not known
    fingerprints  part -> whether its digests are equal, of those that are known of both
    corpus        None where the documents of either are not known
    n_common, n_first_only, n_second_only   questions that both entries have, and one alone
    runs          how many runs each is the mean of: entries of one commit are repeats
    movers        questions whose value of the primary measure differs, those that gained most first: query_id, before,
                  after, difference (above 0 is better)
    """

    VIEW = "views.entry_difference"

    entries: tuple[Entry, Entry]
    systems: tuple[str, str]
    comparison: Comparison
    settings: SettingsDiff
    fingerprints: Mapping[str, bool]
    corpus: CorpusDifference | None
    n_common: int
    n_first_only: int
    n_second_only: int
    runs: tuple[int, int]
    movers: pl.DataFrame = field(repr=False)

    @property
    def frame(self) -> pl.DataFrame:
        """The movers."""
        return self.movers

    @property
    def changed(self) -> list[str]:
        """Parts whose fingerprints differ."""
        return [part for part, same in self.fingerprints.items() if not same]


def difference(
    store: Store, first: str, second: str, *, system: str | None = None, measures: Sequence[str] | str = (),
    margin: float | None = None,
) -> EntryDifference:  # fmt: skip
    """How a second entry of a store differs from a first one: in what it is of, and in its scores.

    first, second  as of `Store.entry`.  Where other entries are runs of the same commit, they count as repeats,
                   unless both are runs of one
    system         which is compared, of both; by default the one that is best in the second, of those in both, or the
                   best of each where they have none in common
    measures       the first one decides; by default all that both have
    margin         as of `compare`
    Raises         InputError for an entry that is not there or has no scores, and for other systems and measures
    """
    entries = store.entry(first), store.entry(second)
    if entries[0].id == entries[1].id:
        raise InputError(f"{first} and {second} are the same entry, {entries[0].id}; name another one")
    repeats = _repeats(store, entries)
    scores = [repeated([own for _, own in of_entry]) for of_entry in repeats]
    systems = _systems(entries, scores, system)
    names = [f"{own}@{entry.id}" for own, entry in zip(systems, entries, strict=True)]
    wanted = _measures(scores, measures)
    before, after = (
        part.filter(systems=own, measures=wanted).renamed({own: name})
        for part, own, name in zip(scores, systems, names, strict=True)
    )
    common = {*before.query_ids} & {*after.query_ids}
    together = Scores.concat([before, after], mixed_judges=True)
    options = CompareOptions(
        baseline=names[0],
        margin=margin,
        mixed_judges=bool(judges_differ([together])),
        unpaired=len(common) < _LEAST_PAIRS,
    )
    comparison, settings = compare_scores(together, None, options), _settings(entries, systems, names)
    return EntryDifference(
        entries, (names[0], names[1]), comparison, settings,
        fingerprints=_fingerprints(entries, systems, settings.settings), corpus=_corpus(store, entries, systems),
        n_common=len(common), n_first_only=len(before.query_ids) - len(common),
        n_second_only=len(after.query_ids) - len(common),
        runs=(len(repeats[0]), len(repeats[1])), movers=_movers(together),
    )  # fmt: skip


def _repeats(store: Store, entries: Sequence[Entry]) -> list[list[tuple[Entry, Scores]]]:
    """The runs of each entry; two that are runs of each other are compared as they are, as both have the same mean."""
    repeats = [runs_of(store, entry) for entry in entries]
    ids = [{entry.id for entry, _ in runs} for runs in repeats]
    if ids[0].isdisjoint(ids[1]):
        return repeats
    return [[run for run in runs if run[0].id == entry.id] for runs, entry in zip(repeats, entries, strict=True)]


def _systems(entries: Sequence[Entry], scores: Sequence[Scores], system: str | None) -> list[str]:
    """The system of each entry that is compared.

    Raises   InputError for one that either has not.
    """
    if system is not None:
        for entry, own in zip(entries, scores, strict=True):
            if system not in own.systems:
                raise InputError(f"entry {entry.id}: no system is called {system!r}; {nearest(system, own.systems)}")
        return [system, system]
    ranked = [[own.systems[i] for i in own.by_mean()] for own in scores]
    shared = [name for name in ranked[1] if name in ranked[0]]
    return [shared[0]] * 2 if shared else [names[0] for names in ranked]


def _measures(scores: Sequence[Scores], measures: Sequence[str] | str) -> list[str]:
    """The measures that are compared, as both spell them.

    Raises   InputError where both have none in common
    """
    if measures:
        return [measures] if isinstance(measures, str) else list(measures)
    shared = [
        str(measure)
        for measure in scores[1].measures
        if measure in scores[0].measures and (measure.aggregation.arithmetic or measure.share is not None)
    ]
    if not shared:
        first, second = (", ".join(map(str, own.measures)) for own in scores)
        raise InputError(f"the entries have no measure in common that can be compared: {first}; {second}")
    return shared


def _settings(entries: Sequence[Entry], systems: Sequence[str], names: Sequence[str]) -> SettingsDiff:
    own = [entry.settings.get(system, {}) for entry, system in zip(entries, systems, strict=True)]
    settings = differing_rows(own) if all(own) else {}
    versions = differing_rows([entry.versions for entry in entries])
    loaded = {name: row for name, row in versions.items() if None not in row}
    return SettingsDiff(tuple(names), settings, loaded, ())


def _fingerprints(entries: Sequence[Entry], systems: Sequence[str], changed: Iterable[str]) -> dict[str, bool]:
    """Part -> whether both have the same, of the parts that are known of both.

    changed   the settings that differ; a part that only follows another one is left out
    """
    first, second = (
        {**entry.fingerprints.get(system, {}), **({"truth": entry.truth} if entry.truth else {})}
        for entry, system in zip(entries, systems, strict=True)
    )
    are_pipelines = "chunker" in first and "chunker" in second
    same = {
        part: first.get(part) == second.get(part)
        for part in PARTS
        if (part in first and part in second)
        or (are_pipelines and part in _STAGES and (part in first or part in second))
    }
    keys = tuple(changed)
    follows = {
        part
        for part, (head, earlier) in _FOLLOWING.items()
        if not same.get(part, True)
        and any(same.get(own) is False for own in earlier)
        and not any(key.startswith(head) for key in keys)
    }
    return {part: own for part, own in same.items() if part not in follows}


def _corpus(store: Store, entries: Sequence[Entry], systems: Sequence[str]) -> CorpusDifference | None:
    digests = [_documents(store, entry, system) for entry, system in zip(entries, systems, strict=True)]
    before, after = digests
    if before is None or after is None:
        return None
    added, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    changed = sorted(doc for doc in before.keys() & after.keys() if before[doc] != after[doc])
    gold = dict[str, set[str]]()
    for entry in entries:
        for query_id, doc in store.result(entry.id, GOLD).iter_rows() if GOLD in entry.parts else ():
            gold.setdefault(doc, set()).add(query_id)
    touched = {doc: sorted(gold[doc]) for doc in (*added, *removed, *changed) if doc in gold}
    return CorpusDifference(added, removed, changed, touched, len(before), len(after))


def _documents(store: Store, entry: Entry, system: str) -> dict[str, bytes] | None:
    """Document -> a digest of its text; None where the entry does not say."""
    corpus = entry.fingerprints.get(system, {}).get("corpus")
    if corpus is None or DOCUMENTS not in entry.parts:
        return None
    frame = store.result(entry.id, DOCUMENTS).filter(corpus=corpus)
    return dict(zip(frame["doc_id"], frame["digest"], strict=True)) if len(frame) else None


def _movers(scores: Scores) -> pl.DataFrame:
    before, after = scores.values[:, 0]
    there = np.flatnonzero(~np.isnan(before) & ~np.isnan(after))
    sign = 1 if scores.primary.definition.higher_is_better else -1
    rows = [
        (scores.query_ids[place], float(before[place]), float(after[place]), float(d))
        for place, d in zip(there.tolist(), sign * less(after[there], before[there]), strict=True)
        if d
    ]
    return pl.DataFrame(rows, schema=_MOVERS, orient="row").sort("difference", "query_id", descending=[True, False])
