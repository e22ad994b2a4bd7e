"""Measures of abstaining: whether a system says that it cannot answer, where it cannot, and only there."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.measures.judged_answers import ABSTAINED, JudgedAnswers
from steelyard.measures.parameters import Word
from steelyard.measures.registry import measure
from steelyard.measures.truths import is_unanswerable

_FENG = "Feng et al., Don't Hallucinate, Abstain, ACL 2024"
_ANSWERABLE = {
    "answerable": Word(
        words=("gold", "context"),
        about="gold is what the questions say; from context a question can be answered where it holds any gold unit",
    )
}


@measure(
    inputs=("answers",), needs=("answerability", "abstention"), absent="unread", source=_FENG, parameters=_ANSWERABLE
)
def abstention_precision(a: JudgedAnswers, *, answerable: str = "gold") -> Floats:
    """Of the questions on which the system abstained, the share that cannot be answered."""
    unanswerable = is_unanswerable(a, answerable)
    return np.where(np.isnan(unanswerable), a.unknown, unanswerable)


@measure(
    inputs=("answers",), needs=("answerability", "unanswerable"), absent="unread", source=_FENG, parameters=_ANSWERABLE
)
def abstention_recall(a: JudgedAnswers, *, answerable: str = "gold") -> Floats:
    """Of the questions that cannot be answered, the share on which the system abstained; to fail is not to abstain."""
    return np.where(np.isnan(is_unanswerable(a, answerable)), a.unknown, a.state == ABSTAINED)


@measure(
    inputs=("answers",), needs=("answerability", "abstention_or_unanswerable"), absent="unread", source=_FENG,
    aggregate="f1", parameters=_ANSWERABLE,
)  # fmt: skip
def abstention_f1(a: JudgedAnswers, *, answerable: str = "gold") -> Floats:
    """Harmonic mean of abstention_precision and abstention_recall, over all questions.

    Its value of one question is 1 where the system abstained and the question cannot be answered, 0 where one holds
    without the other, and undefined where neither does: their mean J is the Jaccard index, and F1 is 2J / (1 + J).
    """
    unanswerable = is_unanswerable(a, answerable)
    hit = np.where(a.state == ABSTAINED, unanswerable, 0.0)
    return np.where(np.isnan(unanswerable), a.unknown, hit)
