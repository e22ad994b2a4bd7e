"""Measures of answers: pure functions of the verdicts on their units.

A verdict that is not there makes a value unknown (NaN) where it could change it, and nothing is divided by the verdicts
that came back: of five units of which one was judged and is supported, faithfulness is not 1 but unknown, from .2 to 1.
"""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.measures.judged_answers import ANSWERED, CONTRADICTED, SUPPORTED, JudgedAnswers, shares
from steelyard.measures.registry import measure
from steelyard.measures.three_valued import any_of, both, negated, said_by

_RAGCHECKER = "Ru et al., RAGChecker, NeurIPS 2024"


def is_supported(a: JudgedAnswers, verdict: int = SUPPORTED) -> Floats:
    """(u,) whether the context supports (or contradicts) each unit: any chunk of it, or the whole of it."""
    by_chunk = any_of(said_by(a.support, verdict), a.support_unit, a.n_chunks[a.unit_query])
    return np.fmax(by_chunk, said_by(a.grounded, verdict))


def is_correct(a: JudgedAnswers) -> Floats:
    """(u,) whether any of the gold answers supports each unit."""
    return any_of(said_by(a.correct), a.correct_unit, a.n_gold[a.unit_query])


def is_said(a: JudgedAnswers) -> Floats:
    """(g,) whether the answer says each gold unit; where there is no answer, or an abstention, it does not."""
    silent = a.state[a.gold_query] != ANSWERED
    return np.where(silent & (a.said < 0), 0.0, said_by(a.said))


def of_best_alternative(a: JudgedAnswers, truth: Floats) -> Floats:
    """(q,) share of the gold units that are true, by the gold answer that has most; NaN where there is no gold unit.

    truth   (g,) 1, 0, or NaN where it is not known
    """
    width = int(a.gold_answer.max(initial=0)) + 1
    ends = shares(truth, a.gold_query * width + a.gold_answer, a.n_queries * width)
    low, high = (np.fmax.reduce(end.reshape(-1, width), axis=1) for end in ends)
    return a.settled(low, high)


@measure(inputs=("answers",), needs=("context", "units"), source=_RAGCHECKER)
def faithfulness(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that the context supports."""
    return a.share(is_supported(a), a.unit_query)


@measure(inputs=("answers",), needs=("context", "units"), direction="lower", source="Honovich et al., TRUE, NAACL 2022")
def contradiction(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that a chunk of the context contradicts, and none supports."""
    return a.share(both(is_supported(a, CONTRADICTED), negated(is_supported(a))), a.unit_query)


@measure(inputs=("answers",), needs=("gold_answer", "units"), source=_RAGCHECKER)
def answer_precision(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that a gold answer supports; of several gold answers, any."""
    return a.share(is_correct(a), a.unit_query)


@measure(inputs=("answers",), needs=("gold_units",), absent="zero", source=_RAGCHECKER)
def answer_recall(a: JudgedAnswers) -> Floats:
    """Share of the gold answer's units that the answer says; of several gold answers, that of which it says most."""
    return of_best_alternative(a, is_said(a))


@measure(inputs=("answers",), needs=("gold_units",), absent="zero", source=_RAGCHECKER)
def answer_f1(a: JudgedAnswers) -> Floats:
    """Harmonic mean of answer_precision and answer_recall; 0 where the answer asserts nothing."""
    silent = np.bincount(a.unit_query, minlength=a.n_queries) == 0
    precision = np.where(silent | (a.state != ANSWERED), 0.0, answer_precision(a))
    recall = answer_recall(a)
    product, total = precision * recall, precision + recall
    nothing = (precision == 0) | (recall == 0)
    return np.where(nothing, 0.0, 2 * product / np.where(nothing, 1.0, total))
