"""Why a measure of answers is undefined for a question: what it needs, and the question has not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from steelyard.base.arrays import Bools, Ints
from steelyard.measures.judged_answers import ABSTAINED, NONE, JudgedAnswers
from steelyard.measures.parameters import ParameterValue
from steelyard.measures.registry import Absent, Need

Options = Mapping[str, ParameterValue]


def _abstained(a: JudgedAnswers, _: Options) -> Bools:
    return np.asarray(a.state == ABSTAINED)


def _no_context(a: JudgedAnswers, _: Options) -> Bools:
    return np.asarray(a.n_chunks < 0)


def _no_gold_answer(a: JudgedAnswers, _: Options) -> Bools:
    return np.asarray(a.n_gold == 0)


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
    return ~_without(a, whole) & _without(a, single)


_CONDITIONS: tuple[tuple[str, Need, Callable[[JudgedAnswers, Options], Bools]], ...] = (
    ("abstained", "units", _abstained),
    ("no_context", "context", _no_context),
    ("no_gold_answer", "gold_answer", _no_gold_answer),
    ("no_gold_answer", "gold_units", _no_gold_answer),
    ("no_units", "units", _no_units),
    ("no_gold_units", "gold_units", _no_gold_units),
    ("no_chunk_verdicts", "chunk_verdicts", _no_chunk_verdicts),
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
