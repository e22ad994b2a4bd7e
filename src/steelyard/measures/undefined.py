"""Why a measure of answers is undefined for a question: what it needs, and the question has not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from steelyard.base.arrays import Bools, Ints
from steelyard.measures.judged_answers import ABSTAINED, NONE, JudgedAnswers
from steelyard.measures.parameters import ParameterValue
from steelyard.measures.registry import Absent, Need
from steelyard.measures.truths import is_retrieved, is_unanswerable

ANSWER_GRADE = "answer_grade"
Options = Mapping[str, ParameterValue]


def _abstained(a: JudgedAnswers, _: Options) -> Bools:
    return np.asarray(a.state == ABSTAINED)


def _no_context(a: JudgedAnswers, _: Options) -> Bools:
    return np.asarray(a.n_chunks < 0)


def _no_gold_answer(a: JudgedAnswers, _: Options) -> Bools:
    return np.array([not "".join(golds).strip() for golds in a.gold_answers], bool)


def _without(a: JudgedAnswers, query: Ints) -> Bools:
    """(q,) questions of which nothing is in a list of questions."""
    return np.asarray(np.bincount(query, minlength=a.n_queries) == 0)


def _no_units(a: JudgedAnswers, _: Options) -> Bools:
    return _without(a, a.unit_query)


def _no_gold_units(a: JudgedAnswers, _: Options) -> Bools:
    return _without(a, a.gold_query)


def _no_chunk_verdicts(a: JudgedAnswers, _: Options) -> Bools:
    """A judge that reads the whole context at once was asked, and none chunk by chunk."""
    whole = a.unit_query[a.grounded != NONE]
    single = a.unit_query[a.support_unit[a.support >= 0]]
    return np.asarray((a.n_chunks > 0) & ~_without(a, whole) & _without(a, single))


def _no_single_chunks(a: JudgedAnswers, options: Options) -> Bools:
    """The same, where the measure is asked about single chunks."""
    return _no_chunk_verdicts(a, options) & (options["by"] == "chunk")


def _no_citations(a: JudgedAnswers, _: Options) -> Bools:
    return _without(a, a.citation_query)


def _no_cited_units(a: JudgedAnswers, _: Options) -> Bools:
    return _without(a, a.citation_query[a.citation_unit >= 0])


def _no_criterion(a: JudgedAnswers, options: Options) -> Bools:
    return np.full(a.n_queries, options.get("name", ANSWER_GRADE) not in a.criteria)


def _no_nuggets(a: JudgedAnswers, options: Options) -> Bools:
    return _without(a, a.nugget_query[a.vital | (options.get("nuggets") != "vital")])


def _no_gold_in_context(a: JudgedAnswers, _: Options) -> Bools:
    return _without(a, a.gold_query[is_retrieved(a) != 0])


def _not_abstained(a: JudgedAnswers, _: Options) -> Bools:
    return np.asarray(a.state != ABSTAINED)


def _answerable(a: JudgedAnswers, options: Options) -> Bools:
    return np.asarray(is_unanswerable(a, options["answerable"]) == 0)


def _answered_and_answerable(a: JudgedAnswers, options: Options) -> Bools:
    return _not_abstained(a, options) & _answerable(a, options)


def _unknown_answerability(a: JudgedAnswers, options: Options) -> Bools:
    """Nothing says whether the question can be answered, however much were judged."""
    if options["answerable"] == "gold":
        return np.isnan(a.answerable)
    return np.asarray((a.answerable != 0) & (_no_context(a, options) | _no_gold_units(a, options)))


_CONDITIONS: tuple[tuple[str, Need, Callable[[JudgedAnswers, Options], Bools]], ...] = (
    ("abstained", "units", _abstained),
    ("no_context", "context", _no_context),
    ("no_gold_answer", "gold_answer", _no_gold_answer),
    ("no_gold_answer", "gold_units", _no_gold_answer),
    ("no_units", "units", _no_units),
    ("no_gold_units", "gold_units", _no_gold_units),
    ("no_citations", "citations", _no_citations),
    ("no_citations", "cited_units", _no_cited_units),
    ("no_nuggets", "nuggets", _no_nuggets),
    ("no_criterion", "criterion", _no_criterion),
    ("no_chunk_verdicts", "chunk_verdicts", _no_chunk_verdicts),
    ("no_chunk_verdicts", "single_chunks", _no_single_chunks),
    ("no_gold_in_context", "gold_in_context", _no_gold_in_context),
    ("not_abstained", "abstention", _not_abstained),
    ("unknown_answerability", "answerability", _unknown_answerability),
    ("answerable", "unanswerable", _answerable),
    ("answerable", "abstention_or_unanswerable", _answered_and_answerable),
)
"""Reason, the need that is not met, and where it is not; of several the first counts."""

REASONS = ("", "no_answer", *dict.fromkeys(reason for reason, _, _ in _CONDITIONS))
"""Why a value is undefined; the first is of those that are defined."""


def reason_codes(needs: Iterable[Need], absent: Absent, options: Options, answers: JudgedAnswers) -> Ints:
    """(q,) the place in REASONS of the first reason why a measure is undefined; 0 where there is none.

    needs, absent   as the measure declares them;   options   its parameters
    """
    codes = np.zeros(answers.n_queries, np.int64)
    wanted = set(needs)
    for reason, need, unmet in reversed(_CONDITIONS):
        if need in wanted:
            codes[unmet(answers, options)] = REASONS.index(reason)
    if absent == "undefined":
        codes[answers.absent] = REASONS.index("no_answer")
    return codes
