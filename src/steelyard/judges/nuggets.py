"""Nuggets drawn up by a judge that can, from the gold answer of a question that has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

from steelyard.base.errors import InputError
from steelyard.judges.cases import NOT_ASKED, Draft
from steelyard.judges.records import Nugget
from steelyard.judges.verdict import Judge


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """A gold answer, and what was asked."""

    text: str
    query: str = ""


class NuggetMaker(Protocol):
    """A judge that draws up nuggets."""

    def nuggets(self, answers: Sequence[GoldAnswer]) -> Sequence[Sequence[tuple[str, bool]]]:
        """Of each gold answer its facts, and whether each is vital; none where the judge does not say."""
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
