"""Cases that a judge is asked about an answer, and the tables of the answer filled by its verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.judges.verdict import Case, JudgedAnswer, Nugget, Unit, Verdict, VerdictTable

TABLES: tuple[VerdictTable, ...] = ("support", "joint", "correctness", "said", "reach", "nuggets", "relevance")
"""Those of a judge that reads one premise at a time; only one that grades is asked for relevance."""
NOT_ASKED = Verdict("not_judged", None, "not asked")

PremiseKey = tuple[VerdictTable, tuple[int, ...]]
"""A premise of an answer: its table, and the places of the chunks, or of the gold answer, that it is made of."""


@dataclass(frozen=True, eq=False)
class Draft:
    """An answer before it is judged.

    record   without verdicts
    query    what was asked
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


def asked_cases(draft: Draft, tables: Collection[VerdictTable] = TABLES) -> Iterator[AskedCase]:
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
    if "relevance" in tables and record.state == "answered" and draft.query:
        asked["relevance", ()] = (0,)
    for key, places in asked.items():
        if places:
            texts = _hypotheses(draft, key[0])
            hypotheses = tuple(texts[place] for place in places)
            yield AskedCase(key, places, Case(_premise(draft, key), hypotheses, draft.query, key[0]))


def filled(draft: Draft, verdicts: Mapping[PremiseKey, Mapping[int, Verdict]], *, grades: bool = False) -> JudgedAnswer:
    """The record with its tables.

    verdicts   of each request, by the place of the unit; what is not there was not asked
    grades     whether scores of nuggets are their credit
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
        nuggets=tuple(_credited(record, n, verdicts, grades=grades) for n in range(len(record.nuggets))),
        grade=verdicts.get(("relevance", ()), {}).get(0),
    )


def _premise(draft: Draft, key: PremiseKey) -> str:
    table, places = key
    if table == "correctness":
        return draft.record.gold_answers[places[0]]
    of_answer = table in ("said", "nuggets", "relevance")
    return draft.spoken if of_answer else "\n\n".join(draft.texts[chunk] for chunk in places)


def _hypotheses(draft: Draft, table: VerdictTable) -> list[str]:
    """Hypotheses that may be asked of a premise, by place."""
    record = draft.record
    if table == "nuggets":
        return [nugget.text for nugget in record.nuggets]
    if table == "relevance":
        return [draft.query]
    return [unit.text for unit in (record.gold_units if table in ("said", "reach") else record.units)]


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
