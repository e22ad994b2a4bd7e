"""Measures of ragas and deepeval by their own definitions, where ours differ, from the verdicts of any judge.

The formulas are those of the tools (ragas 0.3, deepeval 3), the verdicts are ours: what their prompts ask of a language
model is asked of whichever judge there is.  Where a definition is the same as ours, its name is a spelling of our
measure, such as `ragas.context_recall`.
"""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.measures.answers import contradiction, n_alternatives
from steelyard.measures.judged_answers import CONTRADICTED, JudgedAnswers
from steelyard.measures.parameters import Word
from steelyard.measures.registry import measure
from steelyard.measures.truths import any_of, chunk_query, is_relevant, is_said, said_by

_RAGAS = "ragas 0.3, collections of metrics"
_DEEPEVAL = "deepeval 3, metrics of RAG"


@measure(
    "ragas.context_precision",
    inputs=("answers",),
    needs=("context", "gold_units"),
    absent="unread",
    source=_RAGAS,
    aliases=("ragas.llm_context_precision_with_reference", "deepeval.contextual_precision"),
)
def ragas_context_precision(a: JudgedAnswers) -> Floats:
    """Average precision of the chunks of the context, by whether each supports a unit of the gold answer.

    The mean, over the chunks that do, of the share of such chunks up to its rank; 0 where none does.  deepeval's
    contextual precision is the same.  In ours, `context_precision`, the order does not count.
    """
    return _average_precision(a, is_relevant(a))


@measure(
    "ragas.context_utilization",
    inputs=("answers",),
    needs=("context", "units", "chunk_verdicts"),
    source=_RAGAS,
    aliases=("ragas.llm_context_precision_without_reference",),
)
def ragas_context_utilization(a: JudgedAnswers) -> Floats:
    """Average precision of the chunks of the context, by whether each supports a unit of the answer.

    Ours, `context_utilization`, is of the gold answer: how much of what was retrieved of it the answer says.
    """
    n_units = np.bincount(a.unit_query, minlength=a.n_queries)
    is_used = any_of(said_by(a.support), _chunk_of_support(a), n_units[chunk_query(a)])
    return _average_precision(a, is_used)


@measure(
    "ragas.factual_correctness",
    inputs=("answers",),
    needs=("gold_units",),
    absent="zero",
    source=_RAGAS,
    parameters={"mode": Word(words=("f1", "precision", "recall"), about="which of the three ragas calls its mode")},
)
def ragas_factual_correctness(a: JudgedAnswers, *, mode: str = "f1") -> Floats:
    """F1, precision or recall of the answer's units, by what the gold answer supports and what the answer leaves out.

    True positives are units of the answer that the gold answer supports, false positives its others, and false
    negatives units of the gold answer that it does not say; of several gold answers, the best.  The F1 is that of
    ragas' answer_correctness, which adds similarity.  In ours, `answer_recall`, what is said is counted in units of the
    gold answer.
    """
    ends = (_factual_correctness(a, mode, unknown) for unknown in (0.0, 1.0))
    return a.settled(*(np.fmax.reduce(end, axis=1) for end in ends))


def _factual_correctness(a: JudgedAnswers, mode: str, unknown: float) -> Floats:
    """(q, w) of each gold answer; NaN where it has no units.

    unknown   1 or 0: whether what was not judged counts as correct and said
    """
    width = max(n_alternatives(a), int(a.n_gold.max(initial=1)))
    right = np.nan_to_num(said_by(a.correct), nan=unknown)
    owner = a.unit_query[a.correct_unit] * width + a.correct_gold
    n_right = np.bincount(owner, right, a.n_queries * width).reshape(-1, width)
    alternative, left_out = a.gold_query * width + a.gold_answer, 1.0 - np.nan_to_num(is_said(a), nan=unknown)
    n_left_out = np.bincount(alternative, left_out, a.n_queries * width).reshape(-1, width)
    n_gold = np.bincount(alternative, minlength=a.n_queries * width).reshape(-1, width)
    n_units = np.bincount(a.unit_query, minlength=a.n_queries)[:, None]
    whole = {"precision": n_units, "recall": n_right + n_left_out, "f1": (n_units + n_right + n_left_out) / 2}[mode]
    value = np.divide(n_right, whole, out=np.zeros(n_right.shape), where=whole > 0)
    return np.where(n_gold > 0, value, np.nan)


@measure("deepeval.faithfulness", inputs=("answers",), needs=("context", "units"), source=_DEEPEVAL)
def deepeval_faithfulness(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that the context does not contradict.

    What the context says nothing about counts as faithful; in ours, `faithfulness`, it does not.
    """
    return 1.0 - contradiction(a if np.isnan(a.unknown) else a.assuming(1.0 - a.unknown))


@measure(
    "deepeval.hallucination",
    inputs=("answers",),
    needs=("context", "units", "chunk_verdicts"),
    direction="lower",
    source=_DEEPEVAL,
)
def deepeval_hallucination(a: JudgedAnswers) -> Floats:
    """Share of the chunks of the context that contradict a unit of the answer.

    Ours, `hallucination`, is the share of units that are neither correct nor supported.
    """
    n_units = np.bincount(a.unit_query, minlength=a.n_queries)
    contradicts = any_of(said_by(a.support, CONTRADICTED), _chunk_of_support(a), n_units[chunk_query(a)])
    return np.where(a.n_chunks == 0, 0.0, a.share(contradicts, chunk_query(a)))


def _chunk_of_support(a: JudgedAnswers) -> Ints:
    """(p,) the chunk of each verdict on unit × chunk, counted over all contexts."""
    return np.asarray(a.chunk_starts[a.unit_query[a.support_unit]] + a.support_chunk)


def _average_precision(a: JudgedAnswers, relevant: Floats) -> Floats:
    """(q,) average precision over the chunks of each context; 0 where none is relevant.

    relevant   (c,) 1, 0, or NaN where it is not known
    """
    ends = np.zeros((2, a.n_queries))
    for query in np.flatnonzero(a.n_chunks > 0).tolist():
        ends[:, query] = _least_and_most(relevant[a.chunk_starts[query] : a.chunk_starts[query + 1]])
    return a.settled(*ends)


def _least_and_most(relevant: Floats) -> tuple[float, float]:
    """The least and the greatest average precision of one list, by what is not known of it.

    Of all ways to have so many relevant chunks among the unknown ones it is greatest where they come first, and least
    where they come last.

    >>> _least_and_most(np.array([1.0, np.nan, 0.0, 1.0]))
    (0.75, 0.9166666666666666)
    """
    unknown = np.flatnonzero(np.isnan(relevant))
    values = []
    for n in range(len(unknown) + 1):
        for chosen in (unknown[:n], unknown[len(unknown) - n :]):
            labels = np.nan_to_num(relevant)
            labels[chosen] = 1.0
            n_before = np.cumsum(labels)
            total = n_before[-1]
            ranks = np.arange(1, len(labels) + 1)
            values.append(float((labels * n_before / ranks).sum() / total) if total else 0.0)
    return min(values), max(values)
