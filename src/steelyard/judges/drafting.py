"""Answers before they are judged: their units, citations, contexts and gold units, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.judges.abstaining import is_abstention
from steelyard.judges.batches import whole_characters
from steelyard.judges.cases import NOT_ASKED, Draft
from steelyard.judges.contexts import ContextChunk, contexts
from steelyard.judges.items import text_digest
from steelyard.judges.records import JudgedAnswer, Nugget, State, Unit
from steelyard.judges.units import gold_units, units_with_citations


def drafts(questions: Iterable[Question], outputs: Outputs) -> Iterator[Draft]:
    """A draft for each question, in their order.

    Raises   InputError for a configuration of a run that cannot be read.
    """
    by_question = contexts(outputs)
    for question in questions:
        yield _draft(question, outputs, by_question.get(question.query_id))


def _draft(question: Question, outputs: Outputs, context: Sequence[ContextChunk] | None) -> Draft:
    answer = whole_characters(outputs.answers.get(question.query_id, ""))
    ids = [chunk.chunk_id for chunk in context or ()]
    units, citations = units_with_citations(answer, ids)
    state = _state(question.query_id, answer, units, outputs)
    if state != "answered":
        units, citations = [], []
    texts = [whole_characters(chunk.text) for chunk in context or ()]
    golds = [whole_characters(gold) for gold in question.answers]
    units_of_golds = [gold_units(gold, n) for n, gold in enumerate(golds)]
    record = JudgedAnswer(
        question.query_id,
        state,
        answer=answer,
        context=None if context is None else tuple(ids),
        units=tuple(units),
        citations=tuple(citations),
        gold_answers=tuple(golds),
        gold_units=tuple(chain.from_iterable(units_of_golds)),
        nuggets=tuple(Nugget(whole_characters(g.text), g.vital, None, NOT_ASKED.reason) for g in question.nuggets),
        answerable=_answerable(question, units_of_golds),
        query=whole_characters(question.query or ""),
        context_digests=tuple(map(text_digest, texts)),
    )
    return Draft(record, record.query, texts, "\n".join(unit.text for unit in units))


def _answerable(question: Question, units_of_golds: Sequence[Sequence[Unit]]) -> bool | None:
    """As the question says; one whose gold answers all say that there is none has none, unless it has evidence."""
    if units_of_golds and not question.evidence and all(map(is_abstention, units_of_golds)):
        return False
    return question.answerable


def _state(query_id: str, answer: str, units: Sequence[Unit], outputs: Outputs) -> State:
    """What the system did with a question; where it failed by its own account, an answer does not count."""
    if query_id in outputs.failures or query_id in outputs.unanswered:
        return "failed"
    if query_id not in outputs.answers:
        return "missing"
    if not answer.strip():
        return "empty"
    return "abstained" if is_abstention(units) else "answered"
