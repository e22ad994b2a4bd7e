"""Items as a person sees them: the sentence, and the texts that it is decided by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.judges.answers.drafting import ContextChunk, contexts
from steelyard.judges.batches import whole_characters
from steelyard.judges.lexical.evidence import best_sentence, evidence_scores
from steelyard.judges.people.labels import Decision
from steelyard.judges.tables.items import Item, judged
from steelyard.judges.verdict import JudgedAnswer, Unit, Verdict, text_digest
from steelyard.reviewing.sampling import in_random_order
from steelyard.reviewing.systems import ReviewedSystem
from steelyard.text.spans import Span


@dataclass(frozen=True, eq=False)
class AskedItem:
    """An item with its texts.

    record      of the answer that it is of;   premises   (id, text) of what it is decided by
    systems     the names of all that have it;   judge   whose verdict it is
    decisions   of people so far, for those who settle conflicts
    """

    item: Item
    record: JudgedAnswer
    premises: Sequence[tuple[str, str]]
    systems: Sequence[str]
    judge: str
    decisions: Sequence[Decision] = ()

    @property
    def unit(self) -> Unit:
        """The unit that is decided about."""
        units = self.record.gold_units if self.item.table == "said" else self.record.units
        return units[self.item.unit]

    @property
    def answer(self) -> str:
        """The text that the unit is of."""
        if self.item.table == "said":
            return self.record.gold_answers[self.unit.alternative]
        return self.record.answer

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of the judge."""
        return judged(self.record, self.item.table, self.item.unit)

    @cached_property
    def candidate(self) -> tuple[int, int, int] | None:
        """The sentence of the premises that is nearest to the unit, by its words: its premise, start and end."""
        spans = [(n, best_sentence(self.unit.text, text)) for n, (_, text) in enumerate(self.premises)]
        near: list[tuple[int, Span]] = [(n, span) for n, span in spans if span is not None]
        scores = evidence_scores(self.unit.text, [self.premises[n][1][start:end] for n, (start, end) in near])
        if not near:
            return None
        n, (start, end) = near[max(range(len(near)), key=scores.__getitem__)]
        return n, start, end


def asked_items(
    systems: Sequence[ReviewedSystem], table: ItemTable, wanted: Mapping[str, Sequence[Decision]], seed: int
) -> list[AskedItem]:
    """The wanted items of some systems, each once, in an order that says nothing of systems and verdicts.

    wanted   item -> the decisions to show
    Items of one question follow each other, as who decides has read its texts then; questions, and the items of each,
    are in random order.
    Raises   InputError where the texts of a run are not those that were judged.
    """
    names: dict[str, list[str]] = {}
    first: dict[str, tuple[ReviewedSystem, JudgedAnswer, Item]] = {}
    for own in systems:
        for record, item in own.items(table):
            if item.item_id in wanted and own.name not in names.setdefault(item.item_id, []):
                names[item.item_id].append(own.name)
                first.setdefault(item.item_id, (own, record, item))
    used = {own.name: own for own, _, _ in first.values()}
    texts = {name: contexts(own.system.answered()) for name, own in used.items()}
    asked = {
        item_id: AskedItem(
            item, record, _premises(own, record, item, texts[own.name]), names[item_id], own.verdicts.judge,
            wanted[item_id],
        )
        for item_id, (own, record, item) in first.items()
    }  # fmt: skip
    places = {
        query_id: n for n, query_id in enumerate(in_random_order([*{a.item.query_id for a in asked.values()}], seed))
    }
    order = {item_id: n for n, item_id in enumerate(in_random_order(list(asked), seed + 1))}
    return sorted(asked.values(), key=lambda own: (places[own.item.query_id], order[own.item.item_id]))


def _premises(
    own: ReviewedSystem, record: JudgedAnswer, item: Item, texts: Mapping[str, Sequence[ContextChunk] | None]
) -> list[tuple[str, str]]:
    """(id, text) of what an item is decided by."""
    if item.table == "correctness":
        return [(str(n), text) for n, text in enumerate(record.gold_answers, 1)]
    if item.table == "said":
        return [("", record.answer)]
    chunks = [(chunk_id, whole_characters(text)) for chunk_id, text in texts.get(record.query_id) or ()]
    if tuple(text_digest(text) for _, text in chunks) != record.context_digests:
        raise InputError(
            f"{own.name}: the texts retrieved for {record.query_id!r} are not those that {own.verdicts.judge} judged; "
            "judge the run again (`steelyard judge`)"
        )
    if item.table == "grounded":
        return chunks
    cited = {c.chunk for c in record.citations if c.unit == item.unit}
    return [chunk for n, chunk in enumerate(chunks) if n in cited]
