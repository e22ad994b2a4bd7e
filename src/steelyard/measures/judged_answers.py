"""The verdicts on the answers of one system as flat arrays: what kernels of answers are computed from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import ItemTable

NONE, NOT_JUDGED, NOT_FOUND, SUPPORTED, CONTRADICTED = -2, -1, 0, 1, 2
"""Codes of verdicts; NONE: nobody was to judge it."""

ANSWERED, ABSTAINED, EMPTY, FAILED, MISSING = range(5)
"""Codes of states: see steelyard.judges.verdict.State."""

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """Verdicts of q questions, in the order of the truth; what belongs together has one letter.

    query_id       (q,)
    state          (q,) codes of states
    n_chunks       (q,) chunks of the context; -1 where the context, or its texts, are unknown
    n_gold         (q,) gold answers
    answerable     (q,) 1, 0, or NaN where the gold does not say
    grade          (q,) answer relevance from 0 to 1; NaN where not judged
    criteria       by the name of a criterion, (q,) grades from 0 to 1; NaN where not judged
    answers        (q,) texts without citation marks; empty where there is none
    gold_answers   (q,) lists of texts, likewise
    unit_query     (u,) question of each unit that asserts something, ascending; others are left out
    grounded       (u,) unit × whole context
    joint          (u,) unit × all chunks that it cites
    support_unit, support_chunk, support           (p,) unit × chunk; chunks count from 0 within the question
    correct_unit, correct_gold, correct            (c,) unit × gold answer; gold answers likewise
    gold_query, gold_answer, said                  (g,) question and gold answer of each gold unit; gold unit × answer
    reach_gold, reach_chunk, reach                 (r,) gold unit × chunk
    chunk_relevance                                (c,) chunk × question, one context after another
    citation_query, citation_unit, citation_chunk  (k,) unit -1: of a unit that asserts nothing; chunk -1: invalid
    without                                        (k,) unit × the other chunks that it cites
    nugget_query, vital, credit                    (n,) credit 1, .5 or 0; NaN where not judged
    n_no_claim     (q,) units that assert nothing
    unknown        what a value is that verdicts which are not there could change: NaN, or by `assuming` the least that
                   it can be (0) or the most (1)
    """

    query_id: Sequence[str]
    state: Codes
    n_chunks: Ints
    n_gold: Ints
    answerable: Floats
    grade: Floats
    criteria: Mapping[str, Floats]
    answers: Sequence[str]
    gold_answers: Sequence[Sequence[str]]
    unit_query: Ints
    grounded: Codes
    joint: Codes
    support_unit: Ints
    support_chunk: Ints
    support: Codes
    correct_unit: Ints
    correct_gold: Ints
    correct: Codes
    gold_query: Ints
    gold_answer: Ints
    said: Codes
    reach_gold: Ints
    reach_chunk: Ints
    reach: Codes
    chunk_relevance: Codes
    citation_query: Ints
    citation_unit: Ints
    citation_chunk: Ints
    without: Codes
    nugget_query: Ints
    vital: Bools
    credit: Floats
    n_no_claim: Ints
    unknown: float = math.nan

    @property
    def n_queries(self) -> int:
        """Number of questions."""
        return len(self.query_id)

    @cached_property
    def chunk_starts(self) -> Ints:
        """(q + 1,) offsets: question i owns chunks chunk_starts[i]:chunk_starts[i + 1]."""
        return np.concatenate(([0], np.cumsum(np.maximum(self.n_chunks, 0))))

    @property
    def absent(self) -> Bools:
        """(q,) questions without an answer: it failed, is missing, or has no text."""
        return np.isin(self.state, (EMPTY, FAILED, MISSING))

    def assuming(self, unknown: float) -> JudgedAnswers:
        """The same verdicts, by which values that are not known are the least (0) or the most (1) that they can be."""
        return replace(self, unknown=unknown)

    def settled(self, low: Floats, high: Floats) -> Floats:
        """(q,) values that are known, as both ends of what they can be are the same; of the others what `unknown` says.

        low, high   (q,) NaN where the value is undefined
        """
        end = low if self.unknown == 0 else high if self.unknown == 1 else np.full(len(low), np.nan)
        return np.where(low == high, low, end)

    def share(self, truth: Floats, query: Ints) -> Floats:
        """(q,) share of things that are true, of those of each question; NaN where it has none, or that is not known.

        truth   (n,) 1, 0, or NaN where it is not known;   query   (n,) the question of each
        """
        return self.settled(*shares(truth, query, self.n_queries))


def shares(truth: Floats, owner: Ints, n: int) -> tuple[Floats, Floats]:
    """(n,) least and greatest share of what is true, of each owner; NaN where it has nothing.

    truth   1, 0, .5 for a half, or NaN where it is not known
    """
    size = np.bincount(owner, minlength=n)
    least, most = (np.bincount(owner, np.nan_to_num(truth, nan=end), n) for end in (0.0, 1.0))
    with np.errstate(invalid="ignore"):
        return least / size, most / size


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
        unasked = np.full_like(a.joint, NONE)
        return replace(a, grounded=codes, support=np.full_like(a.support, NOT_JUDGED), joint=unasked)
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
    """Arrays of whole questions, and their nuggets, once for each of these; the rest is to be replaced."""
    nuggets, nugget_query = _rows_of(a.nugget_query, query)
    chunks, _ = _rows_of(np.repeat(np.arange(a.n_queries), np.diff(a.chunk_starts)), query)
    return replace(
        a, query_id=[a.query_id[q] for q in query.tolist()], state=a.state[query], n_chunks=a.n_chunks[query],
        n_gold=a.n_gold[query], answerable=a.answerable[query], grade=a.grade[query],
        criteria={name: shares[query] for name, shares in a.criteria.items()},
        answers=[a.answers[q] for q in query.tolist()], gold_answers=[a.gold_answers[q] for q in query.tolist()],
        n_no_claim=a.n_no_claim[query], chunk_relevance=a.chunk_relevance[chunks],
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
