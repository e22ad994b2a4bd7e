"""Clusters: questions about one document, or of one conversation, which are no independent evidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.data.histories import CONVERSATION
from steelyard.data.question import Question
from steelyard.data.questions import LateQuestions, Questions
from steelyard.data.truth import Truth
from steelyard.measures.alignment import owners
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import mean_error

DOC = "doc"
"""Clusters of questions with the same gold document."""

NONE = "none"
"""Each question by itself, also where some are of one conversation."""

OWN = "clusters"
"""How clusters are called that are given one by one."""

_FEW_DOCUMENTS = 5
"""Of questions with more gold documents on average, as judged pools have, one in common says little."""


_LEAST_SHARE = 0.1
"""Where fewer of the questions share a gold document, no interval is off by more than a few per cent."""

_UPPER = 0.975
"""The quantile of intervals at 95%."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """Which questions belong together.

    by      "doc", a field of the questions, or "clusters" where they were given one by one
    codes   (q,) cluster of each question, numbered from 0 in the order of their first questions
    """

    by: str
    codes: Ints

    @property
    def n(self) -> int:
        """Number of clusters."""
        return len(np.unique(self.codes))

    def take(self, questions: Bools | Ints) -> Clustering:
        """The clusters of some of the questions, by a mask or by places."""
        return Clustering(self.by, _numbered(self.codes[questions].tolist()))


@dataclass(frozen=True)
class SharedGold:
    """Number of questions that share a gold document with another one, and what clusters by document they would make.

    n_clusters   by the main document of each;   n_chained   by any document that they share
    codes        (q,) the clusters by main document
    """

    n_questions: int
    n_clusters: int
    n_chained: int
    codes: Ints = field(repr=False, compare=False)

    def facts(self, values: Floats) -> dict[str, int | float | None]:
        """The numbers, and how many times as wide the widest t interval is by cluster; null where none has a width.

        values   (r, q) series of values, NaN where a question has none
        """
        counts = {name: getattr(self, name) for name in ("n_questions", "n_clusters", "n_chained")}
        ratios = [ratio for row in values if not math.isnan(ratio := self._widening(row))]
        return {**counts, "widening": max(ratios, default=None)}

    def _widening(self, values: Floats) -> float:
        there = ~np.isnan(values)
        alone, together = (mean_error(values[there], clusters=codes) for codes in (None, self.codes[there]))
        if not alone.error > 0 or not together.error >= 0:
            return math.nan
        shares = t_quantile(_UPPER, together.df) / t_quantile(_UPPER, alone.df)
        return float(shares * together.error / alone.error)


def question_clusters(
    cluster: str | Mapping[str, object],
    *,
    gold: Truth | Questions,
    questions: Mapping[str, Question],
    query_ids: Sequence[str],
) -> Clustering:
    """The clusters of the questions.

    cluster    "doc": questions with the same gold document are in one, of several documents that with the highest
               gain, and of equals the one that most questions have; a field of the questions: those with the same value
               are; or query_id -> name of its cluster.  A question without document, value or name is one by itself
    questions  query_id -> Question with its fields;   query_ids   (q,) those to part
    Raises     InputError for a field, or names, that no question has

    >>> labelled = Questions([{"qid": q, "query": "?", "talk": q[0]} for q in ("a1", "a2", "b1")])
    >>> named = {question.query_id: question for question in labelled}
    >>> question_clusters("talk", gold=labelled, questions=named, query_ids=["a1", "a2", "b1"]).codes.tolist()
    [0, 0, 1]
    """
    names = cluster_names(cluster, gold=gold, questions=questions, query_ids=query_ids)
    return named_clusters(cluster if isinstance(cluster, str) else OWN, names)


def cluster_names(
    cluster: str | Mapping[str, object],
    *,
    gold: Truth | Questions,
    questions: Mapping[str, Question],
    query_ids: Sequence[str],
) -> Sequence[object]:
    """(q,) the name of the cluster of each question, None for one that is by itself; as of `question_clusters`."""
    if not isinstance(cluster, str):
        if not any(query_id in cluster for query_id in query_ids):
            raise InputError(f"clusters name none of the {len(query_ids)} questions; expected query_id -> cluster")
        return [cluster.get(query_id) for query_id in query_ids]
    if cluster == DOC:
        return _main_documents(_gold_documents(gold, query_ids))
    fields = [questions[query_id].fields if query_id in questions else {} for query_id in query_ids]
    if not any(cluster in of for of in fields):
        names = sorted({name for of in fields for name in of})
        raise InputError(
            f"cluster {cluster!r}: no question has such a field ({nearest(cluster, [DOC, *names])}). Where the truth "
            "has no fields, name questions that have: questions=..., `evaluate --questions FILE`"
        )
    return [of.get(cluster) for of in fields]


def conversation_clusters(questions: Mapping[str, Question], query_ids: Sequence[str]) -> Clustering | None:
    """The conversations of the questions as clusters, as turns of one are no independent evidence.

    questions   query_id -> Question with its fields
    Returns     None where no two of the questions are of one conversation

    >>> turns = Questions([{"qid": f"a#{n}", "query": "?", "conversation": "a"} for n in (1, 2)])
    >>> conversation_clusters({turn.query_id: turn for turn in turns}, ["a#1", "a#2", "b"]).codes.tolist()
    [0, 0, 1]
    """
    names = conversation_names(questions, query_ids)
    clustering = named_clusters(CONVERSATION, names)
    return clustering if clustering.n < len(query_ids) else None


def conversation_names(questions: Mapping[str, Question], query_ids: Sequence[str]) -> Sequence[object]:
    """(q,) the name of the conversation of each question, None where it has none."""
    if isinstance(questions, LateQuestions) and not questions.mentions(CONVERSATION):
        return [None] * len(query_ids)
    fields = (questions[query_id].fields if query_id in questions else {} for query_id in query_ids)
    return [of.get(CONVERSATION) for of in fields]


def named_clusters(by: str, names: Sequence[object]) -> Clustering:
    """The clusters of questions by their names; one without a name (None) is by itself."""
    return Clustering(by, _of_names(names))


def shared_gold(gold: Truth | Questions, query_ids: Sequence[str]) -> SharedGold | None:
    """Extent of shared gold documents; None where few questions share them, and where questions have many of them."""
    most, least = _FEW_DOCUMENTS * len(query_ids), _LEAST_SHARE * len(query_ids)
    if isinstance(gold, Truth) and not _may_share(gold, most, least):
        return None
    documents = _gold_documents(gold, query_ids)
    if sum(map(len, documents)) > most:
        return None
    codes = _of_names(_main_documents(documents))
    sizes = np.bincount(codes)
    n_questions = int((sizes[codes] > 1).sum())
    if n_questions < least or not n_questions:
        return None
    return SharedGold(n_questions, len(sizes), int(connected(documents).max()) + 1, codes)


def connected(links: Sequence[Iterable[Hashable]]) -> Ints:
    """(q,) the clusters of questions that are linked by what they share, numbered as they first appear.

    >>> connected([["a"], ["b"], ["b", "c"], ["c"]]).tolist()
    [0, 1, 1, 1]
    """
    parents, first = list(range(len(links))), dict[Hashable, int]()

    def root(q: int) -> int:
        while parents[q] != q:
            parents[q] = q = parents[parents[q]]
        return q

    for q, shared in enumerate(links):
        for link in shared:
            low, high = sorted((root(q), root(first.setdefault(link, q))))
            parents[high] = low
    return _numbered([root(q) for q in range(len(links))])


def _may_share(truth: Truth, most: float, least: float) -> bool:
    """True if there are few enough gold documents, and enough questions that have one in common: quickly."""
    relevant = truth.gain > 0
    if np.count_nonzero(relevant) > most:
        return False
    again = truth.doc_ids.filter(pl.Series(relevant)).is_duplicated().to_numpy()
    return len(np.unique(owners(truth.starts)[relevant][again])) >= least


def _main_documents(documents: Sequence[Mapping[str, float]]) -> list[str | None]:
    """Main gold document of each question: that with the highest gain; of equals the one that most questions have."""
    highest = [max(of.values(), default=0.0) for of in documents]
    best = [[doc for doc, gain in of.items() if gain == most] for of, most in zip(documents, highest, strict=True)]
    n_questions = Counter(doc for of in best for doc in of)
    return [min(of, key=lambda doc: (-n_questions[doc], doc), default=None) for of in best]


def _gold_documents(gold: Truth | Questions, query_ids: Sequence[str]) -> list[dict[str, float]]:
    """The relevant documents of each question with their gains; for evidence without a document its text."""
    documents = dict[str, dict[str, float]]()
    if isinstance(gold, Truth):
        for query_id, labels in zip(gold.query_ids, gold.labels, strict=True):
            documents[query_id] = {doc_id: gain for doc_id, gain in labels.items() if gain > 0}
    else:
        for question in gold:
            of = documents.setdefault(question.query_id, {})
            for piece in question.evidence or question.id_pieces:
                if piece.gain > 0:
                    doc = piece.doc or piece.text or piece.chunk_id
                    of[doc] = max(piece.gain, of.get(doc, 0.0))
    return [documents.get(query_id, {}) for query_id in query_ids]


def _of_names(names: Sequence[object]) -> Ints:
    """(q,) clusters of questions by name; one without a name is by itself."""
    return _numbered([(q,) if name is None else str(name) for q, name in enumerate(names)])


def _numbered(names: Sequence[Hashable]) -> Ints:
    numbers = dict[Hashable, int]()
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
