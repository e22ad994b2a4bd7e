"""Units of judged answers each as an answer of its own, and other verdicts in the place of the judge's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Ints
from steelyard.base.choices import ItemTable
from steelyard.measures.judged_answers import ANSWERED, NONE, NOT_JUDGED, Codes, JudgedAnswers


def owners(a: JudgedAnswers, table: ItemTable) -> Ints:
    """The question of each unit that a table is about: (u,) of units of answers, with "said" (g,) of gold units."""
    return a.gold_query if table == "said" else a.unit_query


def single_units(a: JudgedAnswers, table: ItemTable) -> JudgedAnswers:
    """Each unit as an answer of its own, with all of the gold; with "said", each gold unit, with all of the answer.

    A measure that is the mean of its units has the value of a unit there, in the order of `owners`.
    """
    return _single_gold_units(a) if table == "said" else _single_answer_units(a)


def with_verdicts(a: JudgedAnswers, table: ItemTable, codes: Codes) -> JudgedAnswers:
    """The answers with these verdicts in the place of the judge's in one table, where it was to say something.

    codes   of each unit, in the order of `owners`; NOT_JUDGED for none
    """
    if table == "grounded":
        return replace(a, grounded=codes, support=np.full_like(a.support, NOT_JUDGED))
    if table == "joint":
        return replace(a, joint=np.where(a.joint == NONE, a.joint, codes))
    if table == "said":
        return replace(a, said=np.where(a.state[a.gold_query] == ANSWERED, codes, a.said))
    return replace(a, correct=codes[a.correct_unit])


def _single_answer_units(a: JudgedAnswers) -> JudgedAnswers:
    golds, gold_query = _rows_of(a.gold_query, a.unit_query)
    reach, reach_gold = _rows_of(a.reach_gold, golds)
    cited = np.flatnonzero(a.citation_unit >= 0)
    cited = cited[np.argsort(a.citation_unit[cited], kind="stable")]
    return replace(
        _questions(a, a.unit_query),
        unit_query=np.arange(len(a.unit_query)), n_no_claim=np.zeros(len(a.unit_query), np.int64),
        gold_query=gold_query, gold_answer=a.gold_answer[golds], said=a.said[golds],
        reach_gold=reach_gold, reach_chunk=a.reach_chunk[reach], reach=a.reach[reach],
        citation_query=a.citation_unit[cited], citation_unit=a.citation_unit[cited],
        citation_chunk=a.citation_chunk[cited], without=a.without[cited],
    )  # fmt: skip


def _single_gold_units(a: JudgedAnswers) -> JudgedAnswers:
    units, unit_query = _rows_of(a.unit_query, a.gold_query)
    support, support_unit = _rows_of(a.support_unit, units)
    correct, correct_unit = _rows_of(a.correct_unit, units)
    cited, citation_query = _rows_of(a.citation_query, a.gold_query)
    moved = np.searchsorted(unit_query, citation_query) - np.searchsorted(a.unit_query, a.citation_query[cited])
    return replace(
        _questions(a, a.gold_query),
        unit_query=unit_query, grounded=a.grounded[units], joint=a.joint[units],
        support_unit=support_unit, support_chunk=a.support_chunk[support], support=a.support[support],
        correct_unit=correct_unit, correct_gold=a.correct_gold[correct], correct=a.correct[correct],
        gold_query=np.arange(len(a.gold_query)),
        citation_query=citation_query,
        citation_unit=np.where(a.citation_unit[cited] < 0, -1, a.citation_unit[cited] + moved),
        citation_chunk=a.citation_chunk[cited], without=a.without[cited],
    )  # fmt: skip


def _questions(a: JudgedAnswers, query: Ints) -> JudgedAnswers:
    """What is of whole questions, and their nuggets, once for each of these; the rest is to be replaced."""
    nuggets, nugget_query = _rows_of(a.nugget_query, query)
    return replace(
        a, query_id=[a.query_id[q] for q in query.tolist()], state=a.state[query], n_chunks=a.n_chunks[query],
        n_gold=a.n_gold[query], answerable=a.answerable[query], grade=a.grade[query],
        answers=[a.answers[q] for q in query.tolist()], gold_answers=[a.gold_answers[q] for q in query.tolist()],
        n_no_claim=a.n_no_claim[query],
        nugget_query=nugget_query, vital=a.vital[nuggets], credit=a.credit[nuggets],
    )  # fmt: skip


def _rows_of(owner: Ints, selected: Ints) -> tuple[Ints, Ints]:
    """The rows of each of these owners, one owner after another, and of which of them each row is.

    owner      (n,) ascending;   selected   (s,) owners, any of them several times
    Returns    (r,) rows, and (r,) places in `selected`

    >>> _rows_of(np.array([0, 0, 2]), np.array([2, 0, 1, 0]))
    (array([2, 0, 1, 0, 1]), array([0, 1, 1, 3, 3]))
    """
    firsts, ends = (np.searchsorted(owner, selected, side) for side in ("left", "right"))
    sizes = ends - firsts
    place = np.repeat(np.arange(len(selected)), sizes)
    return np.arange(len(place)) - np.repeat(np.cumsum(sizes) - sizes - firsts, sizes), place
