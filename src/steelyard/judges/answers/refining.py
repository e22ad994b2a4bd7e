"""Units of a finer kind, by a judge that can: claims that sentences are split into, and nuggets of gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol, cast

from steelyard.base.errors import InputError
from steelyard.judges.answers.cases import NOT_ASKED, Draft
from steelyard.judges.verdict import Judge, Nugget, Unit

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
    """Sentences to be split, in the order in which `with_claims` asks for them: checkable units alone."""
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


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """A gold answer, and what was asked."""

    text: str
    query: str = ""


class NuggetMaker(Protocol):
    """A judge that draws up nuggets."""

    def nuggets(self, answers: Sequence[GoldAnswer]) -> Sequence[Sequence[tuple[str, bool]]]:
        """Facts of each gold answer, each with a flag for vital ones; none where the judge does not say."""
        ...


def nugget_maker_of(judge: Judge | None) -> NuggetMaker:
    """A judge, as one that draws up nuggets.

    Raises   InputError for one that cannot.
    """
    if not callable(getattr(judge, "nuggets", None)):
        name = "none" if judge is None else judge.name
        raise InputError(
            f"judge {name} draws up no nuggets; take a language model (--judge llm), or write them yourself"
        )
    return cast("NuggetMaker", judge)


def gold_answers_of(drafts: Sequence[Draft]) -> list[GoldAnswer]:
    """The first gold answer of each question that has one and no nuggets."""
    return [GoldAnswer(draft.record.gold_answers[0], draft.query) for draft in drafts if _lacks_nuggets(draft)]


def with_nuggets(drafts: Sequence[Draft], maker: NuggetMaker) -> Iterator[Draft]:
    """The drafts, with nuggets where they had none; equal gold answers have equal ones, whatever the system says."""
    facts = iter(maker.nuggets(gold_answers_of(drafts)))
    for draft in drafts:
        if not _lacks_nuggets(draft):
            yield draft
            continue
        nuggets = tuple(Nugget(text, vital, None, NOT_ASKED.reason) for text, vital in next(facts))
        yield replace(draft, record=replace(draft.record, nuggets=nuggets))


def _lacks_nuggets(draft: Draft) -> bool:
    return bool(draft.record.gold_answers) and not draft.record.nuggets
