"""Answers before they are judged: their units, citations, contexts and gold units, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.judges.abstaining import is_abstention
from steelyard.judges.batches import whole_characters
from steelyard.judges.cases import NOT_ASKED, Draft
from steelyard.judges.contexts import ContextChunk, contexts
from steelyard.judges.records import JudgedAnswer, Nugget, State
from steelyard.judges.units import answer_units, cited_chunks, gold_units


def drafts(questions: Iterable[Question], outputs: Outputs) -> Iterator[Draft]:
    """A draft for each question, in their order.

    Raises   InputError for a configuration of a run that cannot be read.
    """
    by_question = contexts(outputs)
    for question in questions:
        yield _draft(question, outputs, by_question.get(question.query_id))


def _draft(question: Question, outputs: Outputs, context: Sequence[ContextChunk] | None) -> Draft:
    answer = whole_characters(outputs.answers.get(question.query_id, ""))
    state = _state(question.query_id, answer, outputs)
    ids = [chunk.chunk_id for chunk in context or ()]
    units = answer_units(answer, ids) if state == "answered" else []
    golds = [whole_characters(gold) for gold in question.answers]
    record = JudgedAnswer(
        question.query_id,
        state,
        answer=answer,
        context=None if context is None else tuple(ids),
        units=tuple(units),
        citations=tuple(cited_chunks(answer, units, ids)),
        gold_answers=tuple(golds),
        gold_units=tuple(unit for n, gold in enumerate(golds) for unit in gold_units(gold, n)),
        nuggets=tuple(Nugget(whole_characters(g.text), g.vital, None, NOT_ASKED.reason) for g in question.nuggets),
        answerable=_answerable(question),
    )
    texts = [whole_characters(chunk.text) for chunk in context or ()]
    return Draft(record, whole_characters(question.query or ""), texts, "\n".join(unit.text for unit in units))


def _answerable(question: Question) -> bool | None:
    """As the question says; one whose gold answers all say that there is none has none, unless it has evidence."""
    if question.answers and not question.evidence and all(map(is_abstention, question.answers)):
        return False
    return question.answerable


def _state(query_id: str, answer: str, outputs: Outputs) -> State:
    """What the system did with a question; where it failed by its own account, an answer does not count."""
    if query_id in outputs.failures or query_id in outputs.unanswered:
        return "failed"
    if query_id not in outputs.answers:
        return "missing"
    if not answer.strip():
        return "empty"
    return "abstained" if is_abstention(answer) else "answered"
