"""Cases that a judge is asked, its verdicts, and the record of all that was judged of one answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from steelyard.judges.criteria import Criterion, Grade

Label = Literal["supported", "contradicted", "not_found", "not_judged"]

VerdictTable = Literal[
    "support", "grounded", "joint", "correctness", "said", "reach", "nuggets", "relevance", "criteria",
    "context_relevance",
]  # fmt: skip
"""What a case asks: unit × chunk, unit × whole context, unit × cited chunks together, unit × gold answer,
gold unit × answer, gold unit × chunk, nugget × answer, whether the answer addresses the query, criterion × answer,
and chunk × query: whether it is of use for an answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a judge on one hypothesis.

    label    supported, contradicted, not_found; not_judged where the judge failed, refused, was cut off or not asked
    score    from 0 to 1, how well the premise supports the hypothesis; None where the judge gives no number
    reason   why, for people; of not_judged the cause, such as "budget"
    """

    label: Label
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A premise, and the hypotheses that are judged by it alone.

    premise     a chunk, several chunks, or an answer
    hypotheses  sentences or claims, each judged for itself
    query       what was asked, for a judge that wants to know
    table       what the verdicts are for
    leads       of each hypothesis the text that it is understood by, as of `Unit`; empty where none has one
    chunks      the chunks of the context that the premise is made of; empty where it is none of these
    answer_id   of the answer that it is about, so that a judge may ask about several cases of one answer together
    criteria    that the hypotheses of the table "criteria" are the sentences of; their premise is the context
    answer      that is judged by criteria, as it was written; empty elsewhere
    """

    premise: str
    hypotheses: tuple[str, ...]
    query: str = ""
    table: VerdictTable = "support"
    leads: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    answer_id: str = field(default="", compare=False)
    criteria: tuple[Criterion, ...] = ()
    answer: str = ""

    @property
    def led_hypotheses(self) -> tuple[str, ...]:
        """The hypotheses behind their leads, for a judge that reads one text.

        >>> Case("Teeth are not covered.", ("teeth",), leads=("Covered:",)).led_hypotheses
        ('Covered: teeth',)
        """
        if not self.leads:
            return self.hypotheses
        pairs = zip(self.leads, self.hypotheses, strict=True)
        return tuple(f"{lead} {hypothesis}" if lead else hypothesis for lead, hypothesis in pairs)


class Judge(Protocol):
    """Fills verdict tables.

    name   of the judge, such as "lexical"

    A judge that has `wants_all_at_once` set is asked for all answers in one call, others for some questions at a time.
    One that has `reads_chunks` set reads the chunks of a context together: "grounded" is asked with "support".
    What its method `counts` returns, where it has one, is kept in the recipe of the verdicts as `calls`.
    One that keeps what it said has a method `judge_again`, which takes and gives the same and asks again.
    """

    name: str

    def judge(self, cases: Sequence[Case]) -> Iterable[Sequence[Verdict]]:
        """For each case, in their order, one verdict a hypothesis, in theirs."""
        ...

    def recipe(self) -> Mapping[str, Any]:
        """Facts that the verdicts depend on, without secrets: version, model, prompt digest, parameters, threshold."""
        ...


State = Literal["answered", "abstained", "empty", "failed", "missing"]
"""What a system did with a question: it answered, said that it cannot, gave an answer without text, failed by its own
account, or has no line for it (or a line without an answer)."""

Problem = Literal["dangling", "out_of_range", "malformed", "no_pages"]
"""Why a citation names no chunk of the context: an id or a document that is none of it, a number beyond their count or
a page that none is on, a mark that cannot be read, or a page where the pages of the chunks are unknown."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or claim of an answer or of a gold answer.

    start, end   its place in the text, in code points; of a claim, that of the sentence that it was taken from
    text         without citation marks
    no_claim     why it asserts nothing ("greeting", "question", "heading", "lead_in", "no_words", ...); empty where it
                 does, and is checked
    alternative  of a gold unit: which of several gold answers it is of, from 0
    lead         what of the text before it is understood by: the sentence that leads in a list, the heads of a table's
                 columns, the sentence that a pronoun refers to; empty where it is complete in itself
    """

    start: int
    end: int
    text: str
    no_claim: str = ""
    alternative: int = 0
    lead: str = ""

    @property
    def checkable(self) -> bool:
        """True for a unit that asserts something."""
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
    said        gold unit × the answer; None of those that assert nothing
    reach       gold unit × chunk of the context
    context_relevance   of each chunk of the context, whether it is of use for the answer; empty where not asked
    nuggets     empty where none were asked for
    grade       from 0 to 1, whether the answer addresses the query; None where that was not judged
    criteria    grades by criteria of the user's own, and the grade of the whole answer; empty where none were asked for
    answerable  whether the question has an answer in the corpus, as the gold says; None where it does not say
    query       what was asked
    context_digests   of the texts of the chunks of the context; empty where they are unknown
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
    said: tuple[Verdict | None, ...] = ()
    reach: tuple[tuple[Verdict, ...], ...] = ()
    context_relevance: tuple[Verdict, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    grade: Verdict | None = None
    criteria: tuple[Grade, ...] = ()
    answerable: bool | None = None
    query: str = ""
    context_digests: tuple[str, ...] = ()


def check_record(record: JudgedAnswer) -> None:
    """Hold the tables of a record against its units, chunks, gold answers and citations.

    Raises   ValueError naming the first that does not fit.

    >>> check_record(JudgedAnswer("q", "answered", units=(Unit(0, 5, "It is"),)))
    Traceback (most recent call last):
    ValueError: `support` has 0 rows for 1 unit
    """
    units, golds = record.units, record.gold_units
    n_chunks, n_gold = len(record.context or ()), len(record.gold_answers)
    _check_length("support", record.support, "row", len(units), "unit")
    _check_length("correctness", record.correctness, "row", len(units), "unit")
    _check_length("joint", record.joint, "verdict", len(units), "unit")
    if record.grounded:
        _check_length("grounded", record.grounded, "verdict", len(units), "unit")
    _check_length("said", record.said, "verdict", len(golds), "gold unit")
    _check_length("reach", record.reach, "row", len(golds), "gold unit")
    if record.context_relevance:
        _check_length("context_relevance", record.context_relevance, "verdict", n_chunks, "chunk")
    if record.context_digests:
        _check_length("context_digests", record.context_digests, "digest", n_chunks, "chunk")
    _check_length("without", record.without, "verdict", len(record.citations), "citation")
    for name, rows, owners, n, counted in (
        ("support", record.support, units, n_chunks, "chunk"),
        ("correctness", record.correctness, units, n_gold, "gold answer"),
        ("reach", record.reach, golds, n_chunks, "chunk"),
    ):
        for place, (row, unit) in enumerate(zip(rows, owners, strict=True)):
            _check_length(f"{name}[{place}]", row, "verdict", n if unit.checkable else 0, counted)
    for citation in record.citations:
        if not 0 <= citation.unit < len(units):
            raise ValueError(f"citation {citation.mark!r} is of unit {citation.unit}, of {len(units)}")
        if citation.chunk is not None and not 0 <= citation.chunk < n_chunks:
            raise ValueError(f"citation {citation.mark!r} is of chunk {citation.chunk}, of {n_chunks}")
    for unit in golds:
        if not 0 <= unit.alternative < n_gold:
            raise ValueError(f"a gold unit is of gold answer {unit.alternative}, of {n_gold}")


def _check_length(name: str, values: Sized, counted: str, n: int, of: str) -> None:
    if len(values) != n:
        raise ValueError(f"`{name}` has {_count(len(values), counted)} for {_count(n, of)}")


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def text_digest(text: str) -> str:
    """A fingerprint of a text, of 16 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
