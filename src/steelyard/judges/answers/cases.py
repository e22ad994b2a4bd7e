"""Answers before they are judged: units, citations and contexts, the cases that a judge is asked, and the tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, NamedTuple, get_args

from steelyard.base.errors import InputError, quoted
from steelyard.data.chunk_table import ChunkTable
from steelyard.data.histories import asked_text
from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.run import ranked
from steelyard.judges.answers.assertions import is_abstention
from steelyard.judges.answers.units import gold_units, units_with_citations
from steelyard.judges.asking import whole_characters
from steelyard.judges.criteria import Criterion, Grade, Sight, scale_named
from steelyard.judges.verdict import Case, JudgedAnswer, Nugget, State, Unit, Verdict, VerdictTable, text_digest
from steelyard.text.cited import Names

TABLES: tuple[VerdictTable, ...] = ("support", "joint", "correctness", "said", "reach", "nuggets", "relevance")
"""Those of a judge that reads one premise at a time; only one that grades is asked for relevance."""
NOT_ASKED = Verdict("not_judged", None, "not asked")
_OF_CHUNKS = ("support", "grounded", "joint", "reach", "context_relevance")

PremiseKey = tuple[VerdictTable, tuple[int, ...]]
"""A premise of an answer: its table, and the places of the chunks, or of the gold answer, that it is made of."""


@dataclass(frozen=True, eq=False)
class Draft:
    """An answer before it is judged.

    record   without verdicts
    query    what was asked, with what was said before it in its conversation
    texts    of the chunks of its context
    spoken   the answer without citation marks
    """

    record: JudgedAnswer
    query: str = ""
    texts: Sequence[str] = ()
    spoken: str = ""


@dataclass(frozen=True, eq=False)
class AskedCase:
    """A case of a draft;   units   the places of the units, or gold units, that are its hypotheses"""

    key: PremiseKey
    units: Sequence[int]
    case: Case


def asked_cases(
    draft: Draft, tables: Collection[VerdictTable] = TABLES, criteria: Sequence[Criterion] = ()
) -> Iterator[AskedCase]:
    """Cases of an answer, a premise at a time.

    Units that cite one chunk are judged by its support, so that no question is asked twice.
    """
    record = draft.record
    units, golds = _checkable(record.units), _checkable(record.gold_units)
    whole = tuple(range(len(draft.texts)))
    asked: dict[PremiseKey, Sequence[int]] = {}
    if "support" in tables:
        asked |= {("support", (chunk,)): units for chunk in whole}
    if "grounded" in tables and whole:
        asked["grounded", whole] = units
    if "joint" in tables:
        asked |= _joint_units(record, by_chunk="support" in tables)
    if "correctness" in tables:
        asked |= {("correctness", (gold,)): units for gold in range(len(record.gold_answers))}
    if "said" in tables and record.state == "answered":
        asked["said", ()] = golds
    if "reach" in tables:
        asked |= {("reach", (chunk,)): golds for chunk in whole}
    if "nuggets" in tables and record.state == "answered":
        asked["nuggets", ()] = range(len(record.nuggets))
    if "context_relevance" in tables and draft.query:
        asked |= {_relevance_key(chunk): (0,) for chunk in whole}
    if "relevance" in tables and record.state == "answered" and draft.query:
        asked["relevance", ()] = (0,)
    for key, places in asked.items():
        if places:
            texts, leads = _hypotheses(draft, key[0])
            hypotheses = tuple(texts[place] for place in places)
            led = tuple(leads[place] for place in places) if any(leads) else ()
            chunks = tuple(draft.texts[chunk] for chunk in key[1]) if key[0] in _OF_CHUNKS else ()
            premise = "\n\n".join(chunks) if chunks else _premise(draft, key)
            case = Case(premise, hypotheses, draft.query, key[0], led, chunks, record.query_id)
            yield AskedCase(key, places, case)
    yield from _of_criteria(draft, criteria)


def _of_criteria(draft: Draft, criteria: Sequence[Criterion]) -> Iterator[AskedCase]:
    """Cases of criteria, those together that are judged from the same texts; none where nothing was said."""
    record = draft.record
    for sight in get_args(Sight) if record.state in ("answered", "abstained") else ():
        places = tuple(n for n, own in enumerate(criteria) if own.of == sight)
        own = tuple(criteria[place] for place in places)
        if own:
            context = "\n\n".join(draft.texts) if sight == "context" else ""
            query = "" if sight == "answer" else draft.query
            case = Case(
                context, tuple(criterion.text for criterion in own), query, "criteria", criteria=own,
                answer=record.answer, answer_id=record.query_id,
            )  # fmt: skip
            yield AskedCase(("criteria", places), places, case)


def _graded(
    criteria: Sequence[Criterion], record: JudgedAnswer, verdicts: Mapping[PremiseKey, Mapping[int, Verdict]]
) -> Iterator[Grade]:
    by_place = {place: own for key, row in verdicts.items() if key[0] == "criteria" for place, own in row.items()}
    unsaid = Verdict("not_judged", None, record.state if by_place or record.state != "answered" else NOT_ASKED.reason)
    for place, criterion in enumerate(criteria):
        verdict = by_place.get(place, unsaid)
        share = None if verdict.label == "not_judged" else verdict.score
        value = None if share is None else scale_named(criterion.scale).at(share)
        yield Grade(criterion.name, criterion.text, criterion.scale, value, verdict.reason)


def filled(
    draft: Draft, verdicts: Mapping[PremiseKey, Mapping[int, Verdict]], *, grades: bool = False,
    criteria: Sequence[Criterion] = (),
) -> JudgedAnswer:  # fmt: skip
    """The record with its tables.

    verdicts   of each request, by the place of the unit; what is not there was not asked
    grades     whether scores of nuggets are their credit
    criteria   that the answer was judged by
    """
    record = draft.record
    chunks = range(len(record.context or ()))
    whole: PremiseKey = ("grounded", tuple(chunks))
    cited = _cited_chunks(record)
    others = [tuple(chunk for chunk in cited[c.unit] if chunk != c.chunk) for c in record.citations]
    return replace(
        record,
        support=_rows(record.units, [("support", (chunk,)) for chunk in chunks], verdicts),
        grounded=tuple(row[0] if row else None for row in _rows(record.units, [whole], verdicts))
        if whole in verdicts
        else (),
        joint=tuple(_jointly(record, n, cited[n], verdicts) for n in range(len(record.units))),
        without=tuple(
            None if c.chunk is None else _jointly(record, c.unit, rest, verdicts)
            for c, rest in zip(record.citations, others, strict=True)
        ),
        correctness=_rows(
            record.units, [("correctness", (gold,)) for gold in range(len(record.gold_answers))], verdicts
        ),
        said=tuple(_said(record, n, verdicts) for n in range(len(record.gold_units))),
        reach=_rows(record.gold_units, [("reach", (chunk,)) for chunk in chunks], verdicts),
        context_relevance=tuple(verdicts[key][0] for chunk in chunks if (key := _relevance_key(chunk)) in verdicts),
        nuggets=tuple(_credited(record, n, verdicts, grades=grades) for n in range(len(record.nuggets))),
        grade=verdicts.get(("relevance", ()), {}).get(0),
        criteria=tuple(_graded(criteria, record, verdicts)),
    )


def _relevance_key(chunk: int) -> PremiseKey:
    return "context_relevance", (chunk,)


def _premise(draft: Draft, key: PremiseKey) -> str:
    """A premise that is no chunk."""
    table, places = key
    if table == "correctness":
        return draft.record.gold_answers[places[0]]
    return draft.spoken


def _hypotheses(draft: Draft, table: VerdictTable) -> tuple[list[str], list[str]]:
    """Hypotheses that may be asked of a premise, by place, and their leads, where they have any."""
    record = draft.record
    if table == "nuggets":
        return [nugget.text for nugget in record.nuggets], []
    if table in ("relevance", "context_relevance"):
        return [record.query], []  # The case has what was said before it, for judges that read that.
    units = record.gold_units if table in ("said", "reach") else record.units
    return [unit.text for unit in units], [unit.lead for unit in units]


def _joint_units(record: JudgedAnswer, by_chunk: bool) -> dict[PremiseKey, list[int]]:
    """Sets of chunks that units cite together, or without one of them, and the units that do.

    by_chunk   whether what one chunk alone supports is asked elsewhere
    """
    units: dict[PremiseKey, list[int]] = {}
    for unit, chunks in enumerate(_cited_chunks(record)):
        if record.units[unit].checkable:
            sets = [chunks, *(tuple(other for other in chunks if other != chunk) for chunk in chunks)]
            for chunk_set in dict.fromkeys(sets):
                if len(chunk_set) > by_chunk:
                    units.setdefault(("joint", chunk_set), []).append(unit)
    return units


def _cited_chunks(record: JudgedAnswer) -> list[tuple[int, ...]]:
    """Chunks of the context that each unit cites, in order of the context."""
    chunks: list[set[int]] = [set() for _ in record.units]
    for citation in record.citations:
        if citation.chunk is not None:
            chunks[citation.unit].add(citation.chunk)
    return [tuple(sorted(places)) for places in chunks]


def _jointly(
    record: JudgedAnswer, unit: int, chunks: tuple[int, ...], verdicts: Mapping[PremiseKey, Mapping[int, Verdict]]
) -> Verdict | None:
    """The verdict on a unit by chunks together; what one chunk alone supports may have been asked as its support."""
    if not chunks or not record.units[unit].checkable:
        return None
    verdict = verdicts.get(("joint", chunks), {}).get(unit)
    if verdict is None and len(chunks) == 1:
        verdict = verdicts.get(("support", chunks), {}).get(unit)
    return NOT_ASKED if verdict is None else verdict


def _said(record: JudgedAnswer, gold_unit: int, verdicts: Mapping[PremiseKey, Mapping[int, Verdict]]) -> Verdict | None:
    """An answer that is none says nothing of the gold answer, for which no judge is needed."""
    if not record.gold_units[gold_unit].checkable:
        return None
    if record.state != "answered":
        return Verdict("not_found", None, record.state)
    return verdicts.get(("said", ()), {}).get(gold_unit, NOT_ASKED)


def _credited(
    record: JudgedAnswer, n: int, verdicts: Mapping[PremiseKey, Mapping[int, Verdict]], *, grades: bool
) -> Nugget:
    """A nugget with its credit; an answer that is none holds none."""
    nugget = record.nuggets[n]
    if record.state != "answered":
        return replace(nugget, credit=0.0, reason=record.state)
    verdict = verdicts.get(("nuggets", ()), {}).get(n, NOT_ASKED)
    if verdict.label == "not_judged":
        return replace(nugget, credit=None, reason=verdict.reason)
    credit = verdict.score if grades else float(verdict.label == "supported")
    return replace(nugget, credit=credit, reason=verdict.reason)


def _rows(
    units: Sequence[Unit], keys: Sequence[PremiseKey], verdicts: Mapping[PremiseKey, Mapping[int, Verdict]]
) -> tuple[tuple[Verdict, ...], ...]:
    """A table of units × premises; rows of units that assert nothing are empty."""
    columns = [verdicts.get(key, {}) for key in keys]
    return tuple(
        tuple([column.get(n, NOT_ASKED) for column in columns]) if unit.checkable else ()
        for n, unit in enumerate(units)
    )


def _checkable(units: Sequence[Unit]) -> tuple[int, ...]:
    return tuple(n for n, unit in enumerate(units) if unit.checkable)


BYTES_A_TOKEN = 4
"""Bytes of UTF-8 that a token of a language model has about, in English and in Chinese."""


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
    if n_tokens is None:
        return context
    ends = accumulate(len(chunk.text.encode("utf-8", "surrogatepass")) for chunk in context)
    return context[: max(1, sum(end <= n_tokens * BYTES_A_TOKEN for end in ends))]


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
    units, citations = units_with_citations(answer, _names(ids, outputs.table))
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
    asked = asked_text(record.query, question.history or outputs.asked.histories.get(question.query_id, ()))
    return Draft(record, whole_characters(asked), texts, "\n".join(unit.text for unit in units))


def _names(ids: Sequence[str], table: ChunkTable) -> Names:
    """What marks may name: chunks of a context, their documents, and their pages."""
    rows = [table.row_of[id] for id in ids]
    return Names(ids, docs=[table.docs[row] for row in rows], pages=[table.pages[row] for row in rows])


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
