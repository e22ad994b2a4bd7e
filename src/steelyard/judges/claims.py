"""Sentences split into claims by a judge that can: units of a finer kind, tied to the sentences that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol, cast

from steelyard.base.errors import InputError
from steelyard.judges.cases import Draft
from steelyard.judges.records import Unit
from steelyard.judges.verdict import Judge

NO_CLAIMS = "no_claims"
"""Why a sentence asserts nothing, where the judge says so."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences of one answer, or gold answer, in their order, and what was asked."""

    texts: tuple[str, ...]
    query: str = ""


class Splitter(Protocol):
    """A judge that splits sentences into claims."""

    def split(self, answers: Sequence[Sentences]) -> Sequence[Sequence[tuple[str, ...] | None]]:
        """For each answer and each of its sentences the claims; None where the judge does not say."""
        ...


def splitter_of(judge: Judge | None) -> Splitter:
    """A judge, as one that splits.

    Raises   InputError for one that cannot.
    """
    if not callable(getattr(judge, "split", None)):
        name = "none" if judge is None else judge.name
        raise InputError(
            f"judge {name} splits no sentences into claims; take a language model (--judge llm), or --units sentences"
        )
    return cast("Splitter", judge)


def sentences_of(drafts: Sequence[Draft]) -> list[Sentences]:
    """All that is to be split, in the order in which `with_claims` asks for it: checkable units alone."""
    return [
        Sentences(tuple(unit.text for unit in units if unit.checkable), draft.query)
        for draft in drafts
        for units in _groups(draft)
    ]


def with_claims(drafts: Sequence[Draft], splitter: Splitter) -> Iterator[Draft]:
    """The drafts with claims for units.

    A claim has the place of its sentence, and cites what that cites.  A sentence without claims asserts nothing; one
    that the judge says nothing of stays as it is.
    """
    claims = iter(splitter.split(sentences_of(drafts)))
    for draft in drafts:
        record = draft.record
        units, *golds = [_split(group, next(claims)) for group in _groups(draft)]
        counts = [len(of_sentence) for of_sentence in units]
        firsts = [0, *accumulate(counts)]
        citations = tuple(
            replace(citation, unit=firsts[citation.unit] + n)
            for citation in record.citations
            for n in range(counts[citation.unit])
        )
        yield replace(
            draft,
            record=replace(
                record,
                units=tuple(unit for of_sentence in units for unit in of_sentence),
                citations=citations,
                gold_units=tuple(unit for gold in golds for of_sentence in gold for unit in of_sentence),
            ),
        )


def _groups(draft: Draft) -> list[Sequence[Unit]]:
    """The units of the answer, and those of each gold answer."""
    record = draft.record
    golds = [[unit for unit in record.gold_units if unit.alternative == n] for n in range(len(record.gold_answers))]
    return [record.units, *golds]


def _split(units: Sequence[Unit], claims: Sequence[tuple[str, ...] | None]) -> list[list[Unit]]:
    """For each unit what it becomes; claims are those of the checkable ones."""
    remaining = iter(claims)
    return [_claims(unit, next(remaining)) if unit.checkable else [unit] for unit in units]


def _claims(unit: Unit, claims: tuple[str, ...] | None) -> list[Unit]:
    if claims is None:
        return [unit]
    return [replace(unit, text=claim) for claim in claims] or [replace(unit, no_claim=NO_CLAIMS)]
