"""Truth values of units, gold units, chunks, citations and questions, in Kleene's logic: 1, 0, or NaN where unknown."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.measures.judged_answers import ANSWERED, NONE, SUPPORTED, Codes, JudgedAnswers
from steelyard.measures.parameters import ParameterValue


def said_by(codes: Codes, verdict: int = SUPPORTED) -> Floats:
    """(n,) whether each verdict is this one; NaN where there is none.

    >>> said_by(np.array([1, 0, 2, -1, -2], np.int8))
    array([ 1.,  0.,  0., nan, nan])
    """
    return np.where(codes < 0, np.nan, codes == verdict)


def negated(truth: Floats) -> Floats:
    """(n,) 1 for 0, 0 for 1."""
    return 1.0 - truth


def both(a: Floats, b: Floats) -> Floats:
    """(n,) whether both are true: false where one is false, whatever the other.

    >>> both(np.array([1.0, 0.0, 1.0]), np.array([1.0, np.nan, np.nan]))
    array([ 1.,  0., nan])
    """
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def either(a: Floats, b: Floats) -> Floats:
    """(n,) whether one of them is true: true where one is, whatever the other."""
    return negated(both(negated(a), negated(b)))


def any_of(truth: Floats, owner: Ints, size: npt.ArrayLike) -> Floats:
    """(n,) whether anything of each owner is true; NaN where nothing is, and not all that it has is known.

    truth   (m,) 1, 0 or NaN;   owner   (m,) from 0;   size   (n,) how many each owner has, absent ones included

    >>> any_of(np.array([1.0, np.nan, 0.0, np.nan]), np.array([0, 0, 1, 2]), [2, 1, 1, 0])
    array([ 1.,  0., nan,  0.])
    """
    size = np.asarray(size)
    is_true = np.bincount(owner, truth == 1, len(size)) > 0
    n_known = np.bincount(owner, ~np.isnan(truth), len(size))
    return np.where(is_true, 1.0, np.where(n_known < size, np.nan, 0.0))


def is_supported(a: JudgedAnswers, verdict: int = SUPPORTED) -> Floats:
    """(u,) whether the context supports (or contradicts) each unit.

    Any chunk of it, the chunks that the unit cites together, or the whole of it, by a judge that read it at once.
    """
    cites = a.joint != NONE
    codes, owner = np.concatenate((a.support, a.joint[cites])), np.concatenate((a.support_unit, np.flatnonzero(cites)))
    by_chunks = any_of(said_by(codes, verdict), owner, a.n_chunks[a.unit_query] + cites)
    return np.fmax(by_chunks, said_by(a.grounded, verdict))


def is_supported_by_chunk(a: JudgedAnswers) -> Floats:
    """(u,) whether a single chunk of the context supports each unit."""
    return any_of(said_by(a.support), a.support_unit, a.n_chunks[a.unit_query])


def is_correct(a: JudgedAnswers) -> Floats:
    """(u,) whether any of the gold answers supports each unit."""
    return any_of(said_by(a.correct), a.correct_unit, a.n_gold[a.unit_query])


def is_said(a: JudgedAnswers) -> Floats:
    """(g,) whether the answer says each gold unit; where there is no answer, or an abstention, it does not."""
    silent = a.state[a.gold_query] != ANSWERED
    return np.where(silent & (a.said < 0), 0.0, said_by(a.said))


def is_retrieved(a: JudgedAnswers) -> Floats:
    """(g,) whether any chunk of the context supports each gold unit."""
    return any_of(said_by(a.reach), a.reach_gold, a.n_chunks[a.gold_query])


def chunk_query(a: JudgedAnswers) -> Ints:
    """(c,) the question of each chunk, one context after another."""
    return np.repeat(np.arange(a.n_queries), np.diff(a.chunk_starts))


def is_relevant(a: JudgedAnswers) -> Floats:
    """(c,) whether each chunk supports any gold unit."""
    chunk = a.chunk_starts[a.gold_query[a.reach_gold]] + a.reach_chunk
    n_gold_units = np.bincount(a.gold_query, minlength=a.n_queries)
    return any_of(said_by(a.reach), chunk, n_gold_units[chunk_query(a)])


def is_supported_by_relevant(a: JudgedAnswers) -> Floats:
    """(u,) whether a relevant chunk supports each unit, alone or with others that the unit cites."""
    relevant = is_relevant(a)
    chunk = a.chunk_starts[a.unit_query[a.support_unit]] + a.support_chunk
    alone = any_of(both(said_by(a.support), relevant[chunk]), a.support_unit, a.n_chunks[a.unit_query])
    unit, cited = _pairs(a, *_cited(a))
    cites_relevant = any_of(relevant[a.chunk_starts[a.unit_query[unit]] + cited], unit, n_cited(a))
    together = np.where(a.joint == NONE, 0.0, both(said_by(a.joint), cites_relevant))
    return both(is_supported(a), either(alone, together))


def is_unanswerable(a: JudgedAnswers, answerable: ParameterValue) -> Floats:
    """(q,) whether a question cannot be answered: as the gold says, or as nothing of its answer is in the context."""
    if answerable == "gold":
        return negated(a.answerable)
    retrieved = any_of(is_retrieved(a), a.gold_query, np.bincount(a.gold_query, minlength=a.n_queries))
    unknowable = (a.n_chunks < 0) | (np.bincount(a.gold_query, minlength=a.n_queries) == 0)
    return np.where(a.answerable == 0, 1.0, np.where(unknowable, np.nan, negated(retrieved)))


def n_cited(a: JudgedAnswers) -> Ints:
    """(u,) how many chunks of the context each unit cites."""
    return np.bincount(_pairs(a, *_cited(a))[0], minlength=len(a.unit_query))


def is_supported_by_cited(a: JudgedAnswers) -> Floats:
    """(u,) whether the chunks that each unit cites support it together; without any they do not."""
    return np.where(n_cited(a) == 0, 0.0, said_by(a.joint))


def is_supported_by_uncited(a: JudgedAnswers) -> Floats:
    """(u,) whether a chunk of the context that a unit does not cite supports it."""
    uncited = ~np.isin(_key(a, a.support_unit, a.support_chunk), _key(a, *_cited(a)))
    size = a.n_chunks[a.unit_query] - n_cited(a)
    by_uncited = any_of(said_by(a.support[uncited]), a.support_unit[uncited], size)
    return both(is_supported(a), by_uncited)


def is_needed(a: JudgedAnswers) -> Floats:
    """(k,) whether each citation is needed: all of its unit support that, and this one does alone, or not without it.

    NaN for citations by units that assert nothing, too.
    """
    needed = np.zeros(len(a.citation_unit))
    needed[a.citation_unit < 0] = np.nan
    valid = np.flatnonzero((a.citation_unit >= 0) & (a.citation_chunk >= 0))
    unit, chunk = a.citation_unit[valid], a.citation_chunk[valid]
    alone = _support_of(a, unit, chunk)
    by_others = np.where(n_cited(a)[unit] == 1, 0.0, said_by(a.without[valid]))
    needed[valid] = both(is_supported_by_cited(a)[unit], either(alone, negated(by_others)))
    return needed


def _cited(a: JudgedAnswers) -> tuple[Ints, Ints]:
    """Unit and chunk of each citation of a chunk by a unit that asserts something."""
    valid = (a.citation_unit >= 0) & (a.citation_chunk >= 0)
    return a.citation_unit[valid], a.citation_chunk[valid]


def _pairs(a: JudgedAnswers, unit: Ints, chunk: Ints) -> tuple[Ints, Ints]:
    """The same pairs, each once."""
    width = _width(a)
    return np.divmod(np.unique(_key(a, unit, chunk)), width)


def _width(a: JudgedAnswers) -> int:
    return max(int(a.n_chunks.max(initial=0)), 1)


def _key(a: JudgedAnswers, unit: Ints, chunk: Ints) -> Ints:
    """(n,) pairs of unit and chunk as one number."""
    return unit * _width(a) + chunk


def _support_of(a: JudgedAnswers, unit: Ints, chunk: Ints) -> Floats:
    """(n,) whether each chunk supports each unit, pair by pair; NaN where that was not judged."""
    keys = _key(a, a.support_unit, a.support_chunk)
    order = np.argsort(keys, kind="stable")
    sought = _key(a, unit, chunk)
    place = np.searchsorted(keys, sought, sorter=order)
    truth = np.full(len(sought), np.nan)
    inside = place < len(keys)
    row = order[place[inside]]
    truth[inside] = np.where(keys[row] == sought[inside], said_by(a.support[row]), np.nan)
    return truth
