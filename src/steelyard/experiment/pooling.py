"""Pools: documents that are to be graded for each question, with their texts, and grades from before a judge grades."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.base.errors import InputError, OutputError
from steelyard.data.chunk_table import Corpus, Place
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.door.opening import System
from steelyard.judges.grading.grades import PEOPLE, GradedPair, Grades, Key, Scale, checked_on, graded_of, holds_rows


@dataclass(frozen=True)
class Pool:
    """Documents to grade.

    doc_ids   of each question, each once
    texts     of each document; of some there may be none
    places    where each is from, as far as that is known of chunks
    """

    doc_ids: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def n_pairs(self) -> int:
        """Pairs of a question and a document."""
        return sum(map(len, self.doc_ids.values()))


def merged(pools: Sequence[Pool], questions: Questions) -> Pool:
    """All documents of some pools, question by question, in the order in which they come.

    Raises   InputError where one id has two texts.
    """
    texts: dict[str, str] = {}
    for pool in pools:
        for doc_id, text in pool.texts.items():
            if texts.setdefault(doc_id, text) != text:
                raise InputError(
                    f"document {doc_id!r} has two texts in the pool; an id names one document: grade what was cut in "
                    "different ways apart, or name the chunks after how they were cut"
                )
    ids = [question.query_id for question in questions]
    listed = {id: [doc_id for pool in pools for doc_id in pool.doc_ids.get(id, ())] for id in ids}
    places = {doc_id: place for pool in reversed(pools) for doc_id, place in pool.places.items()}
    return Pool({id: tuple(dict.fromkeys(docs)) for id, docs in listed.items()}, texts, places)


def run_pool(system: System, depth: int, corpus: Corpus | None) -> Pool:
    """The first documents of each list of a system, of each of its runs.

    corpus   where the texts are that the system does not have
    """
    doc_ids: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    places: dict[str, Place] = {}
    for run in system.runs:
        ranking = run.run.top(depth)
        for query_id, doc_id in ranking.select("query_id", "doc_id").iter_rows():
            doc_ids.setdefault(query_id, []).append(doc_id)
        retrieved, table = ranking["doc_id"].unique(maintain_order=True).to_list(), run.answered().table
        texts |= _texts(run, retrieved, corpus)
        places |= {id: place for id in retrieved if (place := table.place(id)) is not None}
    return Pool(doc_ids, texts, places)


def _texts(system: System, doc_ids: Iterable[str], corpus: Corpus | None) -> dict[str, str]:
    table = system.answered().table
    own = {id: table.texts[table.row_of[id]] for id in doc_ids if id in table.row_of}
    texts = {id: text for id, text in own.items() if text is not None}
    lacking = [id for id in own if id not in texts]
    return texts if corpus is None or not lacking else texts | corpus.texts(lacking)


def graded_before(keep: object, save: str | Path | None, scale: Scale) -> dict[Key, GradedPair]:
    """Pairs that are graded already: those of the file, and on top those that people graded.

    Raises   InputError for a truth to keep that people graded nothing of, or otherwise than in the file; OutputError
             where a file would be replaced that does not say who graded, or where nothing can be written.
    """
    pairs = {} if save is None else {pair.key: pair for pair in _grades_in(Path(save), scale)}
    if keep is None:
        return pairs
    by_people = [pair for pair in _opened_grades(keep).pairs if pair.by == PEOPLE]
    if not by_people:
        raise InputError(f"{keep}: people graded nothing in it (`by` is not {PEOPLE!r}), so there is nothing to keep")
    for pair in by_people:
        own = pairs.get(pair.key)
        if own is not None and own.by == PEOPLE and own.gain is not None and own.gain != pair.gain:
            raise InputError(
                f"people graded document {pair.doc_id!r} for question {pair.query_id!r} {own.gain:g} in {save}, and "
                f"{'not' if pair.gain is None else f'{pair.gain:g}'} in what is to be kept; settle it in one of them"
            )
    return pairs | {pair.key: pair for pair in by_people}


def _opened_grades(keep: object) -> Grades:
    if isinstance(keep, Grades):
        return keep
    if isinstance(keep, str | os.PathLike):
        return Grades.read(Path(keep))
    return Grades(graded_of(keep if isinstance(keep, Truth) else Truth(keep)))


def _grades_in(file: Path, scale: Scale) -> Sequence[GradedPair]:
    """The pairs that a file holds that is to be written."""
    if str(file) != "-" and not os.access(file.parent, os.W_OK):
        raise OutputError(f"{file.parent}: cannot be written, or is no folder; write the truth elsewhere (-o FILE)")
    if not file.exists():
        return ()
    if file.is_dir():
        raise OutputError(f"{file}: is a folder; name a file in it for the truth (-o FILE)")
    if not holds_rows(file):
        raise OutputError(
            f"{file}: is there already, and does not say who graded; choose another file, or one in JSONL, which is "
            "extended, and keep what people graded in this one: keep=..., --keep"
        )
    pairs = Grades.read(file).pairs
    checked_on(scale.name, pairs, str(file))
    return pairs


def with_new(before: Mapping[Key, GradedPair], judged: Iterable[GradedPair]) -> Collection[GradedPair]:
    """The pairs of a truth: what people graded, what a judge says now, and what was there besides.

    A grade that was there is not lost where the judge gives none now, and one that is the same keeps its date.
    """
    pairs = dict(before)
    for pair in judged:
        earlier = pairs.get(pair.key, pair)
        is_lost = pair.gain is None and earlier.gain is not None
        if earlier.by != PEOPLE and not is_lost and replace(pair, date=earlier.date, others=earlier.others) != earlier:
            pairs[pair.key] = pair
        else:
            pairs[pair.key] = earlier
    return pairs.values()
