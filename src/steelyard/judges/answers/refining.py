"""Units of a finer kind, by a judge that can: claims that sentences are split into, and nuggets of gold answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, cast

from steelyard.base.errors import InputError
from steelyard.judges.answers.cases import NOT_ASKED, Draft
from steelyard.judges.answers.leads import refers
from steelyard.judges.verdict import Judge, Nugget, Unit

NO_CLAIMS = "no_claims"
"""Why a sentence asserts nothing, where the judge says so."""


@dataclass(frozen=True, slots=True)
class Refined:
    """What is refined: the sentences of one answer, or gold answer, in their order, or one gold answer as a whole.

    query   what was asked
    leads   of each sentence what it is understood by, "" where nothing; empty for a gold answer as a whole
    """

    texts: tuple[str, ...]
    query: str = ""
    leads: tuple[str, ...] = ()


_LACKS = {
    "split": "splits no sentences into claims; take a language model (--judge llm), or --answer-units sentences",
    "nuggets": "writes no nuggets; take a language model (--judge llm), or write them yourself",
}


def ability(judge: Judge | None, name: Literal["split", "nuggets"]) -> Callable[[Sequence[Refined]], Sequence[Any]]:
    """The ability by which a judge refines answers, where it has any.

    split     gives for each answer and each of its sentences the claims; None where the judge does not say
    nuggets   gives facts of each gold answer, each with a flag for vital ones; none where the judge does not say
    Raises    InputError for a judge that cannot.
    """
    if not callable(refine := getattr(judge, name, None)):
        raise InputError(f"judge {'none' if judge is None else judge.name} {_LACKS[name]}")
    return cast("Callable[[Sequence[Refined]], Sequence[Any]]", refine)


def sentences_of(drafts: Iterable[Draft]) -> list[Refined]:
    """Sentences to be split, in the order in which `with_claims` asks for them: checkable units alone."""
    groups = [([unit for unit in group if unit.checkable], draft) for draft in drafts for group in _groups(draft)]
    return [
        Refined(tuple(unit.text for unit in units), draft.query, tuple(unit.lead for unit in units))
        for units, draft in groups
    ]


def with_claims(drafts: Sequence[Draft], judge: Judge | None) -> Iterator[Draft]:
    """The drafts with claims for units.

    A claim has the place of its sentence, and cites what that cites.  It has the lead of its sentence where it is a
    part of that as it is, or begins with a pronoun; one that was written out is complete.  A sentence without claims
    asserts nothing; one that the judge says nothing of stays as it is.
    """
    claims = iter(ability(judge, "split")(sentences_of(drafts)))
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
    own = [replace(unit, text=claim, lead=unit.lead if _needs_lead(claim, unit) else "") for claim in claims]
    return own or [replace(unit, no_claim=NO_CLAIMS)]


def _needs_lead(claim: str, unit: Unit) -> bool:
    return refers(claim) or claim.lower().strip(" .。") in unit.text.lower()


def gold_answers_of(drafts: Iterable[Draft]) -> list[Refined]:
    """The first gold answer of each question that has one and no nuggets."""
    return [Refined(draft.record.gold_answers[:1], draft.query) for draft in drafts if _lacks_nuggets(draft)]


def with_nuggets(drafts: Sequence[Draft], judge: Judge | None) -> Iterator[Draft]:
    """The drafts, with nuggets where they had none; equal gold answers have equal ones, whatever the system says."""
    facts = iter(ability(judge, "nuggets")(gold_answers_of(drafts)))
    for draft in drafts:
        if not _lacks_nuggets(draft):
            yield draft
            continue
        nuggets = tuple(Nugget(text, vital, None, NOT_ASKED.reason) for text, vital in next(facts))
        yield replace(draft, record=replace(draft.record, nuggets=nuggets))


def _lacks_nuggets(draft: Draft) -> bool:
    return bool(draft.record.gold_answers) and not draft.record.nuggets
