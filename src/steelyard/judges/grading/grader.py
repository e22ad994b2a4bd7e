"""What a judge of relevance is asked, and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from steelyard.judges.grading.scale import Scale


class Pair(NamedTuple):
    """A question, and the text of a document."""

    query: str
    text: str


@dataclass(frozen=True, slots=True)
class Grading:
    """What a judge says of a pair.

    gain     a grade of the scale; None where it gave none
    reason   why, for people; of no grade the cause, such as "budget"
    prompt   a digest of what a model was told, scale and all; empty without a model
    """

    gain: float | None
    reason: str = ""
    prompt: str = ""


class Grader(Protocol):
    """Grades the relevance of documents to questions.

    name   of the judge, such as "lexical"

    One that has `wants_all_at_once` set is asked for all pairs in one call.
    """

    name: str

    def grade(self, pairs: Sequence[Pair], scale: Scale) -> Sequence[Grading]:
        """What it says of each pair, in their order."""
        ...

    def recipe(self) -> Mapping[str, Any]:
        """What the grades depend on, besides the scale."""
        ...
