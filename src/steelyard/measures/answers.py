"""Measures of answers: pure functions of the verdicts on their units.

A verdict that is not there makes a value unknown (NaN) where it could change it, and nothing is divided by the verdicts
that came back: of five units of which one was judged and is supported, faithfulness is not 1 but unknown, from .2 to 1.
"""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.measures.judged_answers import ANSWERED, CONTRADICTED, JudgedAnswers, shares
from steelyard.measures.parameters import Word
from steelyard.measures.registry import measure
from steelyard.measures.truths import (
    both,
    chunk_query,
    is_correct,
    is_relevant,
    is_retrieved,
    is_said,
    is_supported,
    is_supported_by_chunk,
    is_supported_by_relevant,
    negated,
    said_by,
)

_RAGCHECKER = "Ru et al., RAGChecker, NeurIPS 2024"


@measure(
    inputs=("answers",),
    needs=("context", "units", "single_chunks"),
    items="grounded",
    source=_RAGCHECKER,
    aliases=("ragas.faithfulness", "trulens.groundedness"),
    parameters={"by": Word(words=("together", "chunk"), about="chunk counts what a single chunk supports alone")},
)
def faithfulness(a: JudgedAnswers, *, by: str = "together") -> Floats:
    """Share of the answer's units that the context supports: a chunk of it, or the chunks that the unit cites together.

    Without units to check there is nothing to be faithful: a greeting or an abstention is undefined, not 1.  An answer
    from a context without chunks is supported by nothing.
    """
    return a.share(is_supported_by_chunk(a) if by == "chunk" else is_supported(a), a.unit_query)


@measure(
    inputs=("answers",),
    needs=("context", "units"),
    items="grounded",
    direction="lower",
    source="Maynez et al., ACL 2020",
)
def contradiction(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that the context contradicts, and that none of it supports.

    Maynez et al. call what contradicts its source an intrinsic hallucination.
    """
    return a.share(both(is_supported(a, CONTRADICTED), negated(is_supported(a))), a.unit_query)


@measure(inputs=("answers",), needs=("gold_units", "units"), items="correctness", source=_RAGCHECKER)
def answer_precision(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that a gold answer supports; of several gold answers, any."""
    return a.share(is_correct(a), a.unit_query)


@measure(inputs=("answers",), needs=("gold_units",), absent="zero", items="said", source=_RAGCHECKER)
def answer_recall(a: JudgedAnswers) -> Floats:
    """Share of the gold answer's units that the answer says; of several gold answers, that of which it says most."""
    return of_best_alternative(a, is_said(a))


@measure(inputs=("answers",), needs=("gold_units",), absent="zero", source=_RAGCHECKER)
def answer_f1(a: JudgedAnswers) -> Floats:
    """Harmonic mean of answer_precision and answer_recall; 0 where the answer asserts nothing."""
    silent = np.bincount(a.unit_query, minlength=a.n_queries) == 0
    precision = np.where(silent | (a.state != ANSWERED), 0.0, answer_precision(a))
    recall = answer_recall(a)
    nothing = (precision == 0) | (recall == 0)
    return np.where(nothing, 0.0, 2 * precision * recall / np.where(nothing, 1.0, precision + recall))


@measure(
    inputs=("answers",), needs=("context", "gold_units"), absent="unread", source=_RAGCHECKER,
    aliases=("ragas.context_recall", "ragas.llm_context_recall", "deepeval.contextual_recall"),
)  # fmt: skip
def context_recall(a: JudgedAnswers) -> Floats:
    """Share of the gold answer's units that a chunk of the context supports; of several gold answers, the best.

    It reads the retrieval, not the answer.  RAGChecker calls it claim recall.
    """
    return of_best_alternative(a, is_retrieved(a))


@measure(inputs=("answers",), needs=("context", "gold_units"), absent="unread", source=_RAGCHECKER)
def context_precision(a: JudgedAnswers) -> Floats:
    """Share of the chunks of the context that support a unit of the gold answer; 0 where there are no chunks.

    Their order does not count; in `ragas.context_precision` it does.
    """
    return np.where(a.n_chunks == 0, 0.0, a.share(is_relevant(a), chunk_query(a)))


@measure(
    inputs=("answers",),
    needs=("context", "gold_units", "units", "chunk_verdicts"),
    direction="lower",
    source=_RAGCHECKER,
    aliases=("ragas.noise_sensitivity",),
    parameters={
        "chunks": Word(words=("relevant", "irrelevant"), about="the chunks by which a wrong unit is supported")
    },
)
def noise_sensitivity(a: JudgedAnswers, *, chunks: str = "relevant") -> Floats:
    """Share of the answer's units that are wrong and supported: by a relevant chunk, or by irrelevant ones alone.

    A relevant chunk supports a unit of the gold answer.  With `hallucination` both add up to 1 - answer_precision.
    """
    relevant = is_supported_by_relevant(a)
    followed = relevant if chunks == "relevant" else both(is_supported(a), negated(relevant))
    return a.share(both(negated(is_correct(a)), followed), a.unit_query)


@measure(inputs=("answers",), needs=("context", "gold_units", "units"), direction="lower", source=_RAGCHECKER)
def hallucination(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that are neither correct nor supported by the context."""
    return a.share(both(negated(is_correct(a)), negated(is_supported(a))), a.unit_query)


@measure(inputs=("answers",), needs=("context", "gold_units", "units"), direction="lower", source=_RAGCHECKER)
def self_knowledge(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that are correct, but not supported by the context.

    With `hallucination` it adds up to 1 - faithfulness.  Low is better: a reader cannot check what the context does not
    say, and a model that is right from memory here is wrong from memory elsewhere.
    """
    return a.share(both(is_correct(a), negated(is_supported(a))), a.unit_query)


@measure(inputs=("answers",), needs=("context", "gold_units", "gold_in_context"), absent="zero", source=_RAGCHECKER)
def context_utilization(a: JudgedAnswers) -> Floats:
    """Of the gold answer's units that the context supports, the share that the answer says; of several, the best."""
    retrieved, said = is_retrieved(a), is_said(a)
    least = _quotients(a, (retrieved == 1) & (said == 1), (retrieved != 0) & (said != 1))
    most = _quotients(a, (retrieved != 0) & (said != 0), (retrieved == 1) & (said == 0))
    least = np.where(np.isnan(least) & ~np.isnan(most), 0.0, least)
    return a.settled(*(np.fmax.reduce(end, axis=1) for end in (least, most)))


@measure(
    inputs=("answers",),
    needs=("nuggets",),
    absent="zero",
    source="Pradeep et al., AutoNuggetizer, TREC RAG 2024",
    parameters={"nuggets": Word(words=("vital", "all"), about="vital leaves out what is merely okay to have")},
)
def nugget_recall(a: JudgedAnswers, *, nuggets: str = "vital") -> Floats:
    """Share of the nuggets of the question that the answer holds; one that it holds partly counts a half.

    The scores V (vital) and A (all) of AutoNuggetizer, not the strict ones, by which a part counts 0.
    """
    counted = a.vital | (nuggets == "all")
    return a.share(a.credit[counted], a.nugget_query[counted])


@measure(
    inputs=("answers",), needs=("context",), absent="unread", source="TruLens, the RAG triad",
    aliases=("trulens.context_relevance",),
)  # fmt: skip
def context_relevance(a: JudgedAnswers) -> Floats:
    """Share of the chunks of the context that are of use for answering the question; 0 where there are no chunks.

    It needs no gold answer, and a judge that was asked for it: the table "context_relevance".  deepeval counts the
    statements of the chunks, TruLens takes the mean of grades.
    """
    return np.where(a.n_chunks == 0, 0.0, a.share(said_by(a.chunk_relevance), chunk_query(a)))


@measure(inputs=("answers",), absent="zero", source="Es et al., RAGAS, EACL 2024")
def answer_relevance(a: JudgedAnswers) -> Floats:
    """The judge's grade, from 0 to 1, whether the answer addresses the question.

    In ragas it is another number: the cosine between the question and questions drawn from the answer.
    """
    return a.settled(np.nan_to_num(a.grade, nan=0.0), np.nan_to_num(a.grade, nan=1.0))


_GRADES = "Liu et al., G-Eval, EMNLP 2023"


@measure(
    inputs=("answers",), needs=("criterion",), absent="zero", source=_GRADES,
    parameters={"name": Word(about="the criterion")},
)  # fmt: skip
def criterion(a: JudgedAnswers, *, name: str = "answer_grade") -> Floats:
    """The judge's grade of the answer by a criterion of yours, as a share of its scale: 1 for yes, or the highest.

    Criteria are sentences, such as "The answer names a price.": see `steelyard judge --criterion`.
    """
    grades = a.criteria.get(name, np.full(a.n_queries, np.nan))
    return a.settled(np.nan_to_num(grades, nan=0.0), np.nan_to_num(grades, nan=1.0))


@measure(inputs=("answers",), needs=("criterion",), absent="zero", source=_GRADES)
def answer_grade(a: JudgedAnswers) -> Floats:
    """The judge's grade of the answer as a whole, as its share of the scale: 4 of 1 to 5 is .75.

    The scale is in the recipe of the verdicts; `steelyard judge --criterion answer_grade` asks for it.
    """
    return criterion(a)


def of_best_alternative(a: JudgedAnswers, truth: Floats) -> Floats:
    """(q,) share of the gold units that are true, by the gold answer that has most; NaN where there is no gold unit.

    truth   (g,) 1, 0, or NaN where it is not known
    """
    width = n_alternatives(a)
    ends = shares(truth, a.gold_query * width + a.gold_answer, a.n_queries * width)
    return a.settled(*(np.fmax.reduce(end.reshape(-1, width), axis=1) for end in ends))


def n_alternatives(a: JudgedAnswers) -> int:
    """The greatest number of gold answers that a question has; 1 where none has any."""
    return int(a.gold_answer.max(initial=0)) + 1


def _quotients(a: JudgedAnswers, part: Bools, rest: Bools) -> Floats:
    """(q, w) of the gold units of each gold answer, part / (part + rest); NaN where there is neither."""
    width = n_alternatives(a)
    alternative = a.gold_query * width + a.gold_answer
    n_part, n_rest = (np.bincount(alternative, mask, a.n_queries * width) for mask in (part, rest))
    with np.errstate(invalid="ignore"):
        return np.asarray(n_part / (n_part + n_rest)).reshape(-1, width)
