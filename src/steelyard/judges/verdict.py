"""What a judge is asked, and what it says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Label = Literal["supported", "contradicted", "not_found", "not_judged"]

Table = Literal["support", "grounded", "joint", "correctness", "said", "reach", "nuggets", "relevance"]
"""What a case asks: unit × chunk, unit × whole context, unit × cited chunks together, unit × gold answer,
gold unit × answer, gold unit × chunk, nugget × answer, and whether the answer addresses the query."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one hypothesis.

    label    supported, contradicted, not_found; not_judged where the judge failed, refused, was cut off or not asked
    score    from 0 to 1, how well the premise supports the hypothesis; None where the judge gives no number
    reason   why, for people; of not_judged the cause, such as "budget"
    """

    label: Label
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A premise, and the hypotheses that are judged by it alone.

    premise     a chunk, several chunks, or an answer
    hypotheses  sentences or claims, each judged for itself
    query       what was asked, for a judge that wants to know
    table       what the verdicts are for
    """

    premise: str
    hypotheses: tuple[str, ...]
    query: str = ""
    table: Table = "support"


class Judge(Protocol):
    """Fills verdict tables.

    name   of the judge, such as "lexical"

    A judge that has `wants_all_at_once` set is asked for all answers in one call, others for some questions at a time.
    What its method `counts` returns, where it has one, is kept in the recipe of the verdicts as `calls`.
    One that keeps what it said has a method `judge_again`, which takes and gives the same and asks anew.
    """

    name: str

    def judge(self, cases: Sequence[Case]) -> Iterable[Sequence[Verdict]]:
        """For each case, in their order, one verdict a hypothesis, in theirs."""
        ...

    def recipe(self) -> Mapping[str, Any]:
        """What the verdicts depend on, without secrets: version, model, prompt digest, parameters, threshold."""
        ...
