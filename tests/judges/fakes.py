"""Judges for tests, which know by a rule what they say."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from steelyard.judges.verdict import Case, Verdict


class Within:
    """Supports what is a part of the premise; writes down what it was asked."""

    name = "within"

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def judge(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        self.cases += cases
        for case in cases:
            labels = [text.strip(".").lower() in case.premise.lower() for text in case.hypotheses]
            yield [Verdict("supported", 1.0) if label else Verdict("not_found", 0.0) for label in labels]

    def recipe(self) -> Mapping[str, Any]:
        return {"version": 1}


class Scripted(Within):
    """Gives what a function makes of the cases, which may be nonsense."""

    name = "scripted"

    def __init__(self, answer: Callable[[Sequence[Case]], Any]) -> None:
        super().__init__()
        self._answer = answer

    def judge(self, cases: Sequence[Case]) -> Any:
        self.cases += cases
        return self._answer(cases)
