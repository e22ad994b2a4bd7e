"""All that was judged of one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from steelyard.judges.verdict import Verdict

State = Literal["answered", "abstained", "empty", "failed", "missing"]
"""What a system did with a question: it answered, said that it cannot, gave an answer without text, failed by its own
account, or has no line for it (or a line without an answer)."""

Problem = Literal["dangling", "out_of_range", "malformed"]
"""Why a citation names no chunk of the context: an id that is none of its chunks, a number beyond their count, or a
mark that cannot be read."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or claim of an answer or of a gold answer.

    start, end   its place in the text, in code points; of a claim, that of the sentence that it was taken from
    text         without citation marks
    no_claim     why it asserts nothing ("greeting", "question", "heading", "lead_in", "no_words", ...); empty where it
                 does, and is checked
    alternative  of a gold unit: which of several gold answers it is of, from 0
    """

    start: int
    end: int
    text: str
    no_claim: str = ""
    alternative: int = 0

    @property
    def checkable(self) -> bool:
        """Whether it asserts something."""
        return not self.no_claim


@dataclass(frozen=True, slots=True)
class CitedChunk:
    """A citation of one chunk by one unit; a mark such as [1-3] is three of them, a repeated one is one.

    unit     the place of the unit that it stands in or behind
    start, end, mark   where the mark is in the answer, and what it says
    chunk    the place in the context, from 0; None with a problem
    """

    unit: int
    start: int
    end: int
    mark: str
    chunk: int | None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Nugget:
    """A fact that a good answer holds.

    vital    whether an answer without it is not good; else it is okay to have
    credit   1 where the answer says it, .5 partly, 0 not; None where that was not judged
    """

    text: str
    vital: bool
    credit: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The verdicts on one answer; those of units that assert nothing are empty rows.

    context     ids of the chunks as the generator saw them, best first; None where they, or their texts, are unknown
    units       of the answer
    citations   in the order of the answer
    gold_units  of the gold answers, one after another; none without a gold answer
    n_gold      how many gold answers there are
    support     unit × chunk of the context
    grounded    unit × whole context, by a judge that reads it at once; empty where none did
    joint       unit × all chunks that it cites; None where it cites none of the context
    without     citation × the chunks that its unit cites besides; None where there are no others, or it is invalid
    correctness unit × gold answer
    said        gold unit × the answer
    reach       gold unit × chunk of the context
    nuggets     empty where none were asked for
    grade       from 0 to 1, whether the answer addresses the query; None where that was not judged
    answerable  whether the question has an answer in the corpus, as the gold says; None where it does not say
    """

    query_id: str
    state: State
    answer: str = ""
    context: tuple[str, ...] | None = None
    units: tuple[Unit, ...] = ()
    citations: tuple[CitedChunk, ...] = ()
    gold_answers: tuple[str, ...] = ()
    gold_units: tuple[Unit, ...] = ()
    support: tuple[tuple[Verdict, ...], ...] = ()
    grounded: tuple[Verdict | None, ...] = ()
    joint: tuple[Verdict | None, ...] = ()
    without: tuple[Verdict | None, ...] = ()
    correctness: tuple[tuple[Verdict, ...], ...] = ()
    said: tuple[Verdict, ...] = ()
    reach: tuple[tuple[Verdict, ...], ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    grade: Verdict | None = None
    answerable: bool | None = None
