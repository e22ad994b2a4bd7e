"""Answers before they are judged: their units, citations, contexts and gold units, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

from steelyard.base.errors import InputError, quoted
from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.run import ranked
from steelyard.judges.answers.assertions import is_abstention
from steelyard.judges.answers.cases import NOT_ASKED, Draft
from steelyard.judges.answers.units import gold_units, units_with_citations
from steelyard.judges.batches import whole_characters
from steelyard.judges.verdict import JudgedAnswer, Nugget, State, Unit, text_digest

BYTES_A_TOKEN = 4
"""Of UTF-8: what a token of a language model has about, be the text English or Chinese."""


class ContextChunk(NamedTuple):
    """A chunk of a context: its id, and its text as the generator saw it."""

    chunk_id: str
    text: str


class ContextLimits(NamedTuple):
    """Limits of the retrieved chunks that the generator saw.

    n_chunks  the first so many chunks; None for all
    n_tokens  of these, as many whole ones as have so many tokens, and one at least; None for all
    """

    n_chunks: int | None = None
    n_tokens: int | None = None

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> ContextLimits:
        """Limits in the configuration of a run, `passages` and `context_tokens`: of `generate`, or of a target.

        Raises   InputError for what is no whole number from 1.

        >>> ContextLimits.of_config({"generate": {"kind": "extractive", "passages": 5}})
        ContextLimits(n_chunks=5, n_tokens=None)
        """
        tables = [table for key in ("generate", "target") if isinstance(table := config.get(key), Mapping)]
        values = []
        for key in ("passages", "context_tokens"):
            value = next((table[key] for table in [*tables, config] if table.get(key) is not None), None)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise InputError(f"the run's configuration: `{key}` must be a whole number from 1, not {quoted(value)}")
            values.append(value)
        return cls(*values)


def contexts(outputs: Outputs, limits: ContextLimits | None = None) -> dict[str, tuple[ContextChunk, ...] | None]:
    """The context of each question that the outputs have, best chunk first.

    limits   how much the generator saw; by default what the configuration of a run folder says, and all that was
             retrieved of other outputs

    None stands for a context that is unknown: the system failed before it had one, the text of one of its chunks is not
    at hand, or the outputs have its answer alone.  Nothing retrieved is an empty context.
    Raises   InputError for a configuration that cannot be read.
    """
    if limits is None:
        limits = ContextLimits() if outputs.folder is None else ContextLimits.of_config(outputs.folder.config)
    rows = ranked(outputs.run.frame)
    if limits.n_chunks is not None:
        rows = rows.filter(rows["rank"] <= limits.n_chunks)
    texts, row_of = outputs.table.texts, outputs.table.row_of
    retrieved: dict[str, list[tuple[str, str | None]]] = {
        query_id: [] for query_id in outputs.run.frame["query_id"].unique(maintain_order=True).to_list()
    }
    for query_id, chunk_id in rows.select("query_id", "doc_id").iter_rows():
        retrieved[query_id].append((chunk_id, texts[row_of[chunk_id]]))
    unknown = outputs.failures.keys() | outputs.unlisted
    return {
        query_id: None if query_id in unknown else _context(chunks, limits.n_tokens)
        for query_id, chunks in retrieved.items()
    }


def _context(chunks: Sequence[tuple[str, str | None]], n_tokens: int | None) -> tuple[ContextChunk, ...] | None:
    context = tuple(ContextChunk(id, text) for id, text in chunks if text is not None)
    if len(context) < len(chunks):
        return None
    return context if n_tokens is None else context[: _n_within(context, n_tokens)]


def _n_within(context: Sequence[ContextChunk], n_tokens: int) -> int:
    """Count of the first chunks that have so many tokens at most; one at least."""
    ends = accumulate(len(chunk.text.encode("utf-8", "surrogatepass")) for chunk in context)
    return max(1, sum(end <= n_tokens * BYTES_A_TOKEN for end in ends))


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
    """State of an answer; where the system failed by its own account, an answer does not count."""
    if query_id in outputs.failures or query_id in outputs.unanswered:
        return "failed"
    if query_id not in outputs.answers:
        return "missing"
    if not answer.strip():
        return "empty"
    return "abstained" if is_abstention(units) else "answered"
