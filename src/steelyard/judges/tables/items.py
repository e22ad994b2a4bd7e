"""Items of an answer: a unit and the texts that it is judged by, under an id made of these."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from steelyard.base.choices import ItemTable
from steelyard.judges.tables.verdicts import Verdicts, overall, unit_verdict
from steelyard.judges.verdict import JudgedAnswer, Label, Unit, Verdict, text_digest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Item:
    """A unit, or with "said" a gold unit, of an answer, that a person can decide on.

    item_id   the same wherever query, unit with its lead and the texts that it is judged by are the same, in any run
    unit      its place in the record
    """

    item_id: str
    table: ItemTable
    query_id: str
    unit: int


def items(record: JudgedAnswer, table: ItemTable) -> tuple[Item, ...]:
    """The items of an answer: units that assert something and have texts to be judged by.

    Without digests of its context (of people's own records), an answer has no items by "grounded" and "joint"; one that
    was not answered has none by "said", as there is nothing to look at.
    """
    return tuple(
        Item(_item_id(table, record.query, unit, premise), table, record.query_id, place)
        for place, unit in enumerate(record.gold_units if table == "said" else record.units)
        if unit.checkable and (premise := _premise(record, table, place))
    )


def _item_id(table: ItemTable, query: str, unit: Unit, premise: Sequence[str]) -> str:
    texts = [unit.lead, unit.text] if unit.lead else unit.text
    return text_digest(json.dumps([table, query, texts, premise]))


def judged(record: JudgedAnswer, table: ItemTable, unit: int) -> Verdict | None:
    """Verdict on an item over all premises: its label, and the greatest score of them; None for nothing.

    >>> from steelyard.judges.verdict import Unit
    >>> row = (Verdict("not_found", 0.2), Verdict("supported", 0.9))
    >>> record = JudgedAnswer("q", "answered", units=(Unit(0, 4, "Nine"),), support=(row,), context=("a", "b"))
    >>> judged(record, "grounded", 0)
    Verdict(label='supported', score=0.9, reason='')
    """
    label, verdicts = verdicts_on(record, table, unit)
    if label is None:
        return None
    scores = [verdict.score for verdict in verdicts if verdict.score is not None]
    reason = next((verdict.reason for verdict in verdicts if verdict.label == label), "")
    return Verdict(label, max(scores, default=None), reason)


def decided(record: JudgedAnswer, table: ItemTable, verdicts: Mapping[int, Verdict]) -> JudgedAnswer:
    """The record with these verdicts in the place of the judge's in one table; units without one are not judged.

    verdicts   by the place of the unit
    """
    unknown = Verdict("not_judged", None, "no label")
    units = record.gold_units if table == "said" else record.units
    column = tuple(verdicts.get(n, unknown) if unit.checkable else None for n, unit in enumerate(units))
    if table == "grounded":
        support = tuple(tuple(unknown for _ in row) for row in record.support)
        return replace(record, support=support, grounded=column, joint=(None,) * len(record.joint))
    if table == "joint":
        joint = tuple(None if verdict is None else own for verdict, own in zip(record.joint, column, strict=True))
        return replace(record, joint=joint)
    if table == "said":
        said = tuple(column[n] if record.state == "answered" else verdict for n, verdict in enumerate(record.said))
        return replace(record, said=said)
    rows = zip(record.correctness, column, strict=True)
    return replace(record, correctness=tuple(() if own is None else (own,) * len(row) for row, own in rows))


def restricted(record: JudgedAnswer, table: ItemTable, units: Sequence[int]) -> JudgedAnswer:
    """The record with some of its units alone, and with their citations; with "said", some of its gold units.

    units   their places, each once; they come in this order

    >>> from steelyard.judges.verdict import Unit
    >>> rows = (Verdict("supported"),), (Verdict("not_found"),)
    >>> answer = JudgedAnswer("q", "answered", context=("c",), units=(Unit(0, 4, "Nine"), Unit(6, 9, "Ten")),
    ...                       support=rows, joint=(None, None), correctness=((), ()))
    >>> restricted(answer, "grounded", [1]).units
    (Unit(start=6, end=9, text='Ten', no_claim='', alternative=0, lead=''),)
    """

    def of_units(row: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(row[unit] for unit in units)

    if table == "said":
        return replace(
            record, gold_units=of_units(record.gold_units), said=of_units(record.said), reach=of_units(record.reach)
        )
    places = {unit: place for place, unit in enumerate(units)}
    citations = [
        (replace(citation, unit=places[citation.unit]), without)
        for citation, without in zip(record.citations, record.without, strict=True)
        if citation.unit in places
    ]
    return replace(
        record, units=of_units(record.units), support=of_units(record.support), joint=of_units(record.joint),
        grounded=of_units(record.grounded) if record.grounded else (), correctness=of_units(record.correctness),
        citations=tuple(citation for citation, _ in citations), without=tuple(verdict for _, verdict in citations),
    )  # fmt: skip


def _premise(record: JudgedAnswer, table: ItemTable, unit: int) -> Sequence[str]:
    """Texts, or their digests, that a unit is judged by; empty where there are none, or they are unknown."""
    if table == "correctness":
        return record.gold_answers
    if table == "said":
        return [record.answer] if record.state == "answered" else []
    if table == "grounded":
        return record.context_digests
    cited = {c.chunk for c in record.citations if c.unit == unit and c.chunk is not None}
    return [digest for n, digest in enumerate(record.context_digests) if n in cited]


def verdicts_on(record: JudgedAnswer, table: ItemTable, unit: int) -> tuple[Label | None, Sequence[Verdict]]:
    """The judge's label of an item, None where it has none, and all that it said about it, premise by premise."""
    if table == "correctness":
        return overall(record.correctness[unit]), record.correctness[unit]
    if table == "grounded":
        at_once = [*record.grounded[unit : unit + 1], *record.joint[unit : unit + 1]]
        return unit_verdict(record, unit), [*(v for v in at_once if v is not None), *record.support[unit]]
    verdict = record.joint[unit] if table == "joint" else record.said[unit]
    return (None, []) if verdict is None else (verdict.label, [verdict])


def explanation(record: JudgedAnswer, table: ItemTable) -> str:
    """Count of supported units of an answer, or of its gold answers, in a table, and the others with their verdict.

    >>> from steelyard.judges.verdict import Unit
    >>> from steelyard.judges.verdict import Verdict
    >>> units = Unit(0, 10, "It is red."), Unit(11, 21, "It is big.")
    >>> support = (Verdict("supported"),), (Verdict("contradicted", reason="negation"),)
    >>> record = JudgedAnswer("q", "answered", units=units, support=support, context=("a",))
    >>> explanation(record, "grounded")
    '1 of 2 supported; contradicted: It is big. (negation)'
    """
    units = record.gold_units if table == "said" else record.units
    verdicts = [(unit, judged(record, table, place)) for place, unit in enumerate(units) if unit.checkable]
    pairs = [(unit, verdict) for unit, verdict in verdicts if verdict is not None]
    others = [(unit, verdict) for unit, verdict in pairs if verdict.label != "supported"]
    listed = [
        f"{verdict.label}: {unit.text}" + (f" ({verdict.reason})" if verdict.reason else "") for unit, verdict in others
    ]
    return "; ".join([f"{len(pairs) - len(others)} of {len(pairs)} supported", *listed]) if pairs else ""


@dataclass(frozen=True)
class UnsupportedUnit:
    """A unit that the context contradicts, or does not support.

    nearest   the verdict that is told: that of a contradiction, else of the chunk with the best score
    chunk_id  the chunk of this verdict; None where it is on several, or the whole context
    """

    query_id: str
    unit: Unit
    label: Label
    nearest: Verdict
    chunk_id: str | None


def unsupported_units(verdicts: Verdicts) -> list[UnsupportedUnit]:
    """Units that the context contradicts, then those that it does not support, the least supported first.

    >>> unsupported_units(Verdicts([]))
    []
    """
    units = [unit for record in verdicts.records.values() for unit in _unsupported_of(record)]
    return sorted(units, key=lambda unit: (unit.label != "contradicted", unit.nearest.score or 0.0))


def _unsupported_of(record: JudgedAnswer) -> Iterator[UnsupportedUnit]:
    for place, unit in enumerate(record.units):
        label = unit_verdict(record, place)
        if label in ("contradicted", "not_found"):
            nearest, chunk_id = _nearest(record, place, label)
            yield UnsupportedUnit(record.query_id, unit, label, nearest, chunk_id)


def _nearest(record: JudgedAnswer, place: int, label: Label) -> tuple[Verdict, str | None]:
    by_chunk = zip(record.support[place], record.context or (), strict=False)
    candidates: list[tuple[Verdict, str | None]] = [(verdict, id) for verdict, id in by_chunk if verdict.label == label]
    at_once = (*record.grounded[place : place + 1], record.joint[place])
    candidates += [(verdict, None) for verdict in at_once if verdict is not None and verdict.label == label]
    return max(candidates, key=lambda candidate: candidate[0].score or 0.0)
