"""Changes between two systems: questions that gained and lost most, how their lists differ, and which settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.differences import differing_rows, settings_table
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import ChunkTable
from steelyard.data.folders.run_folder import RunFolder
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.scores import Scores
from steelyard.stats.rankings import rank_biased_overlap
from steelyard.stats.samples import differences

DEPTH = 10
"""Ranks looked at where the measure has no k."""


@dataclass(frozen=True)
class Moved:
    """One id that both lists have, with its ranks from 1."""

    doc_id: str
    before: int
    after: int


@dataclass(frozen=True)
class ListChange:
    """Changes of one list.

    entered   ids that only the second list has, in its order
    left      ids that only the first list has, in its order
    moved     ids of both lists whose rank differs, in the order of the second list
    """

    entered: tuple[str, ...]
    left: tuple[str, ...]
    moved: tuple[Moved, ...]


def list_change(before: Sequence[str], after: Sequence[str]) -> ListChange:
    """Compare two ranked lists of ids.

    before, after   ids, best first, each once; of any lengths
    Raises          InputError for an id that is in a list twice

    >>> list_change(["a", "b", "c"], ["c", "a", "d"])
    ListChange(entered=('d',), left=('b',), moved=(Moved(doc_id='c', before=3, after=1), \
Moved(doc_id='a', before=1, after=2)))
    """
    first, second = _ranks(before), _ranks(after)
    return ListChange(
        tuple(doc_id for doc_id in after if doc_id not in first),
        tuple(doc_id for doc_id in before if doc_id not in second),
        tuple(Moved(id, first[id], rank) for id, rank in second.items() if first.get(id, rank) != rank),
    )


def _ranks(ids: Sequence[str]) -> dict[str, int]:
    ranks = {doc_id: rank for rank, doc_id in enumerate(ids, 1)}
    if len(ranks) < len(ids):
        twice = next(doc_id for doc_id in ids if list(ids).count(doc_id) > 1)
        raise InputError(f"{twice!r} is in a list twice; expected each id once")
    return ranks


@dataclass(frozen=True)
class Listed:
    """One entry of a list; gain is None for a document without a label."""

    doc_id: str
    gain: float | None


@dataclass(frozen=True)
class Mover:
    """One question under both systems.

    query             the question's text; None where it is not known
    before, after     the measure's value with the baseline and with the system
    difference        after less before, 0 where they agree to 12 digits
    first, second     the list of the baseline and of the system, down to the k of `Changes`
    change            from the first to the second
    answers           of the baseline and of the system, where the measure is of answers; None for one that gave none
    """

    query_id: str
    query: str | None
    before: float
    after: float
    difference: float
    first: tuple[Listed, ...]
    second: tuple[Listed, ...]
    change: ListChange
    answers: tuple[str | None, str | None] | None = None


@dataclass(frozen=True)
class Changes:
    """From the baseline to a system, by one measure.

    gained, lost   questions whose value became better or worse, most first; of equal differences the lesser id first
    k              how many ranks are looked at
    n              questions with a list by either system, of those that were compared
    n_same         how many of them have the same list
    overlap        mean share of the first k that both lists hold, of the longer one; NaN where n is 0
    rbo            mean rank-biased overlap (p = 0.9) of the first k, extrapolated; 0 for a question that one system
                   gave nothing for; NaN where n is 0
    same_chunks    whether an id names the same text for both; None where texts are not known
    """

    baseline: str
    system: str
    measure: str
    gained: tuple[Mover, ...]
    lost: tuple[Mover, ...]
    k: int
    n: int
    n_same: int
    overlap: float
    rbo: float
    same_chunks: bool | None


def changes(
    weighing: Weighing, scores: Scores, *, baseline: str, systems: Sequence[str], measure: int = 0, n: int = 5
) -> list[Changes]:
    """Changes from the baseline to each of the systems.

    weighing   of the runs;   scores   of the same weighing
    measure    the place of the measure among those of the scores
    n          how many questions that gained, and as many that lost, are listed; fewer where fewer did
    Returns    one a system; only questions that have a value for both systems count
    Raises     InputError for n below 0 and for runs that cannot be read again
    """
    if n < 0:
        raise InputError(f"the number of questions that moved is {n}, expected 0 or more")
    names = list(scores.systems)
    lists = [_by_query(frame) for frame in weighing.lists(scores.measures[measure].depth or DEPTH)]
    places = [(names.index(baseline), names.index(system)) for system in systems]
    return [_changes(weighing, scores, measure, places=pair, lists=lists, n=n) for pair in places]


def _changes(
    weighing: Weighing, scores: Scores, measure: int, *, places: tuple[int, int],
    lists: Sequence[dict[str, tuple[Listed, ...]]], n: int,
) -> Changes:  # fmt: skip
    first, second = places
    before, after = scores.values[first, measure], scores.values[second, measure]
    common = np.flatnonzero(~np.isnan(before) & ~np.isnan(after))
    d = differences(before[common], after[common])
    gain = d if scores.measures[measure].definition.higher_is_better else -d

    of_answers = scores.measures[measure].definition.of_answers
    answers = [weighing.weighed[i].answered().answers if of_answers else {} for i in (first, second)]

    def mover(place: int) -> Mover:
        row = int(common[place])
        query_id = scores.query_ids[row]
        question = weighing.questions.get(query_id)
        old, new = (lists[i].get(query_id, ()) for i in (first, second))
        change = list_change([entry.doc_id for entry in old], [entry.doc_id for entry in new])
        return Mover(
            query_id, question.query if question else None,
            before=float(before[row]), after=float(after[row]), difference=float(d[place]),
            first=old, second=new, change=change,
            answers=(answers[0].get(query_id), answers[1].get(query_id)) if of_answers else None,
        )  # fmt: skip

    ordered = sorted(range(len(d)), key=lambda place: scores.query_ids[int(common[place])])
    gained = sorted((place for place in ordered if gain[place] > 0), key=lambda place: -gain[place])
    lost = sorted((place for place in ordered if gain[place] < 0), key=lambda place: gain[place])
    n_lists, n_same, overlap, rbo = _likeness(
        [scores.query_ids[row] for row in common.tolist()], lists[first], lists[second]
    )
    tables = [None if system.evidence is None else system.evidence.table for system in weighing.weighed]
    return Changes(
        scores.systems[first], scores.systems[second], str(scores.measures[measure]),
        gained=tuple(map(mover, gained[:n])), lost=tuple(map(mover, lost[:n])),
        k=scores.measures[measure].depth or DEPTH,
        n=n_lists, n_same=n_same, overlap=overlap, rbo=rbo, same_chunks=_same_chunks(tables[first], tables[second]),
    )  # fmt: skip


def _by_query(frame: pl.DataFrame) -> dict[str, tuple[Listed, ...]]:
    entries: dict[str, list[Listed]] = {}
    for query_id, doc_id, gain in frame.select("query_id", "doc_id", "gain").iter_rows():
        entries.setdefault(query_id, []).append(Listed(doc_id, gain))
    return {query_id: tuple(listed) for query_id, listed in entries.items()}


def _likeness(
    query_ids: Sequence[str], first: dict[str, tuple[Listed, ...]], second: dict[str, tuple[Listed, ...]]
) -> tuple[int, int, float, float]:
    """Questions with a list, those with the same one, mean overlap and mean rank-biased overlap."""
    n_same, overlaps, rbos = 0, list[float](), list[float]()
    for query_id in query_ids:
        old, new = ([entry.doc_id for entry in lists.get(query_id, ())] for lists in (first, second))
        if not old and not new:
            continue
        n_same += old == new
        overlaps.append(len(set(old) & set(new)) / max(len(old), len(new)))
        rbos.append(rank_biased_overlap(old, new).extrapolated if old and new else 0.0)
    n = len(overlaps)
    return (n, n_same, sum(overlaps) / n, sum(rbos) / n) if n else (0, 0, float("nan"), float("nan"))


def _same_chunks(old: ChunkTable | None, new: ChunkTable | None) -> bool | None:
    """True if ids of both name the same stretches, or the same texts."""
    if old is None or new is None:
        return None
    shared = [(row, new.row_of[id]) for id, row in old.row_of.items() if id in new.row_of]
    return all(_place(old, row) == _place(new, other) for row, other in shared)


def _place(table: ChunkTable, row: int) -> tuple[object, ...]:
    return table.docs[row], int(table.start[row]), int(table.end[row]), table.texts[row]


@dataclass(frozen=True)
class SettingsDiff:
    """Differences between the configurations of run folders.

    systems     names of the systems with a run folder, in the order given
    settings    dotted setting -> its value for each system, as text; None where the system has no such setting.
                Places in lists count from 1: index.2.kind is the kind of the second index.  Only those that differ
    versions    the same of Steelyard, Python and the libraries behind the run; a library that one run did not load is
                no difference
    inputs      which inputs are not the same for all systems: "documents", "questions"
    """

    systems: tuple[str, ...]
    settings: Mapping[str, tuple[str | None, ...]]
    versions: Mapping[str, tuple[str | None, ...]]
    inputs: tuple[str, ...]

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        return not (self.settings or self.versions or self.inputs)


def settings_diff(folders: Mapping[str, RunFolder]) -> SettingsDiff:
    """Compare the configurations of run folders.

    folders   system -> its run folder; two at least make sense
    Returns   documents and questions are compared by content, not by path; a setting that is null is as good as absent
    Raises    InputError for a config.json that cannot be read
    """
    names = tuple(folders)
    configs = [settings_table(folder.config) for folder in folders.values()]
    versions = [dict(_versions(folder.manifest)) for folder in folders.values()]
    digests = {
        "documents": [_corpus(folder.manifest) for folder in folders.values()],
        "questions": [folder.manifest.get("questions") for folder in folders.values()],
    }
    differing = tuple(name for name, values in digests.items() if len(set(map(repr, values))) > 1)
    loaded = {name: row for name, row in differing_rows(versions).items() if len({*row} - {None}) > 1}
    return SettingsDiff(names, differing_rows(configs), loaded, differing)


def _versions(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    libraries = manifest.get("libraries")
    yield from ((name, str(manifest[name])) for name in ("steelyard", "python") if name in manifest)
    yield from ((str(k), str(v)) for k, v in libraries.items()) if isinstance(libraries, dict) else ()


def _corpus(manifest: Mapping[str, Any]) -> object:
    fingerprint = manifest.get("fingerprint")
    return fingerprint.get("corpus") if isinstance(fingerprint, dict) else None
