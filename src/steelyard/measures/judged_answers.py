"""The verdicts on the answers of one system as flat arrays: what kernels of answers are computed from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Bools, Floats, Ints

NONE, NOT_JUDGED, NOT_FOUND, SUPPORTED, CONTRADICTED = -2, -1, 0, 1, 2
"""Codes of verdicts; NONE: nobody was to judge it."""

ANSWERED, ABSTAINED, EMPTY, FAILED, MISSING = range(5)
"""Codes of states: see steelyard.judges.records.State."""

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
    answers        (q,) texts without citation marks; empty where there is none
    gold_answers   (q,) lists of texts, likewise
    unit_query     (u,) question of each unit that asserts something, ascending; others are left out
    grounded       (u,) unit × whole context
    joint          (u,) unit × all chunks that it cites
    support_unit, support_chunk, support           (p,) unit × chunk; chunks count from 0 within the question
    correct_unit, correct_gold, correct            (c,) unit × gold answer; gold answers likewise
    gold_query, gold_answer, said                  (g,) question and gold answer of each gold unit; gold unit × answer
    reach_gold, reach_chunk, reach                 (r,) gold unit × chunk
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
        """How many questions there are."""
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
