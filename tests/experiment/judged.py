"""Verdicts written by hand, one letter a unit: what tests of scores of answers are made of."""

from __future__ import annotations

from typing import Any

from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, State, Unit, Verdict

LETTERS = {"Y": Verdict("supported", 0.9), "N": Verdict("not_found", 0.1), "C": Verdict("contradicted", 0.0),
           "?": Verdict("not_judged", None, "budget")}  # fmt: skip
PEOPLE = {"judge": {"name": "people"}}


def record(query_id: str, units: str = "", *, gold: str = "", state: State = "answered") -> JudgedAnswer:
    """An answer whose units one chunk, and the gold answer, support or not; gold units that it says or not."""
    verdicts, said = [LETTERS[letter] for letter in units], [LETTERS[letter] for letter in gold]
    return JudgedAnswer(
        query_id, state, answer="Nine." if state == "answered" else "", context=("c",),
        units=tuple(Unit(0, 5, "Nine.") for _ in units), gold_answers=("Nine.",) if gold else (),
        gold_units=tuple(Unit(0, 5, "Nine.") for _ in gold), support=tuple((verdict,) for verdict in verdicts),
        joint=(None,) * len(units), correctness=tuple((verdict,) * bool(gold) for verdict in verdicts),
        said=tuple(said), reach=tuple((verdict,) for verdict in said),
    )  # fmt: skip


def verdicts(*records: JudgedAnswer, **recipe: Any) -> Verdicts:
    """By people, unless the recipe says otherwise."""
    return Verdicts(records, {**PEOPLE, **recipe})


FOUR = (
    record("1", "YYN", gold="Y"),
    record("2", "Y?", gold="Y"),
    record("3", state="abstained", gold="N"),
    record("4", state="missing", gold="N"),
)
"""Answers of which the second is not judged in full, the third is an abstention, and the fourth is missing."""


def questions(n: int = 4, **gold: Any) -> list[dict[str, Any]]:
    """Questions with a gold answer, and more of gold."""
    return [{"qid": str(q), "query": "How many?", "answer": "Nine.", **gold} for q in range(1, n + 1)]


def outputs(n: int = 4, *, answered: int = 3, answer: str = "Nine.") -> list[dict[str, Any]]:
    """Lines of a system that retrieved one chunk, and answered the first questions."""
    line = {"retrieved": [{"id": "c", "text": "There are nine."}]}
    return [{"qid": str(q), **line, **({"answer": answer} if q <= answered else {})} for q in range(1, n + 1)]
