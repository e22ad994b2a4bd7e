"""What a form asks: items, each with the texts that it is decided by, and what others have said of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import Place
from steelyard.judges.people.review import ADJUDICATION
from steelyard.reviewing.forms import Kind
from steelyard.text.spans import Span

Worded = str | Mapping[str, str]
"""A text in every language of the page, or one in each by its code."""


Passage = tuple[int, int, int]
"""A number of a premise, and where in it a passage starts and ends."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge, or a person, has said of an item.

    value    a label or a grade;   score   of a judge, from 0 to 1
    reason   of a judge, or the note of a person
    """

    value: str | float
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FormItem:
    """One item of a form.

    item_id      what its decision is kept under
    query        what was asked;   premises   (id, text) of the texts that it is decided by
    hypothesis   the sentence that is decided on; "" where grades or quotes are asked for
    lead         what of its answer the sentence is understood by, shown grey before it
    table        whether the premises are a context, gold answers, or an answer
    answer       where the sentence is from, "" where that is not shown;   span   the sentence's characters in it
    places       of each premise where it is from, None where only its id is known; empty where all are
    candidate    (number of a premise, first character, the one behind the last): what is most likely decisive
    likely       the same of sentences in several premises, underlined after the first decision in the form
    judged       what the judge says, which is hidden until the item is decided
    opinions     what people have said: for an adjudication, which shows them as A, B, ...
    """

    item_id: str
    query: str
    premises: Sequence[tuple[str, str]]
    hypothesis: str = ""
    lead: str = ""
    table: ItemTable = "grounded"
    answer: str = ""
    span: Span | None = None
    places: Sequence[Place | None] = ()
    candidate: Passage | None = None
    likely: Sequence[Passage] = ()
    judged: Opinion | None = None
    opinions: Sequence[Opinion] = ()

    def __post_init__(self) -> None:
        """Check that what is highlighted is there.

        Raises   InputError for a span outside of its text.
        """
        if self.span is not None and not 0 <= self.span[0] <= self.span[1] <= len(self.answer):
            raise InputError(f"item {self.item_id!r}: its answer of {len(self.answer)} characters has no {self.span}")
        texts = dict(enumerate(text for _, text in self.premises))
        for place, start, end in (*([self.candidate] if self.candidate is not None else []), *self.likely):
            if place not in texts or not 0 <= start <= end <= len(texts[place]):
                raise InputError(f"item {self.item_id!r}: premise {place} has no characters {start} to {end}")


@dataclass(frozen=True, slots=True)
class Form:
    """A form for one review.

    review_id      which review the decisions belong to: saved files bear it, and are refused elsewhere
    scale          (grade, its word), of a form for grades
    judge          the judge's name, which says how its reasons are worded
    adjudicating   whether conflicts are settled: decisions are of the rater "adjudication"
    instructions   what raters are to know besides, in the words of who asks
    """

    kind: Kind
    title: Worded
    review_id: str
    items: Sequence[FormItem]
    scale: Sequence[tuple[float, Worded]] = ()
    judge: str = ""
    adjudicating: bool = False
    instructions: str = ""

    def __post_init__(self) -> None:
        """Check that every item can be decided, and its decision be told from others.

        Raises   InputError for a form without items, an id twice, or a scale that is none.
        """
        if not self.items:
            raise InputError("a form needs items; there are none")
        item_id, n = Counter(item.item_id for item in self.items).most_common(1)[0]
        if n > 1:
            raise InputError(f"item {item_id!r} is in the form {n} times")
        grades = [grade for grade, _ in self.scale]
        if not all(map(math.isfinite, grades)) or len(set(grades)) != len(grades):
            raise InputError(f"the grades of a scale are finite and differ, not {grades}")
        if (self.kind == "grades") != (len(grades) > 1):
            raise InputError(
                f"a form for {self.kind} has a scale of {len(grades)}; for grades it has two or more, else 0"
            )

        if self.kind == "quotes":
            for item in self.items:
                names = [name for name, _ in item.premises]
                if len(set(names)) != len(names):
                    raise InputError(
                        f"item {item.item_id!r}: its texts need names that differ, to be quoted by: {names}"
                    )

    @property
    def rater(self) -> str:
        """Who decides, where that is no matter of a name: "adjudication"; else ""."""
        return ADJUDICATION if self.adjudicating else ""
