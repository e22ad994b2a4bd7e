"""Judges of a user's own, as a command imports them by `module:object`."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from steelyard.judges.registry import TextPair
from steelyard.judges.verdict import Case, Verdict


def within(pairs: Sequence[TextPair]) -> list[bool]:
    return [hypothesis.strip(".") in premise for premise, hypothesis in pairs]


async def later(pairs: Sequence[TextPair]) -> list[bool]:
    return within(pairs)


def fails(pairs: Sequence[TextPair]) -> list[bool]:
    raise RuntimeError("no model <b>here</b>\x1b[31m")


class Share:
    """The share of the words of the hypothesis that are in the premise."""

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def judge(self, pairs: Sequence[TextPair]) -> Iterator[float]:
        for premise, hypothesis in pairs:
            words = [word for word in hypothesis.split() if len(word) >= self.least]
            yield sum(word in premise.split() for word in words) / max(1, len(words))


class Whole:
    """Takes cases, as the judges of Steelyard do."""

    name = "whole"

    def judge(self, cases: Sequence[Case]) -> list[list[Verdict]]:
        return [[Verdict("supported")] * len(case.hypotheses) for case in cases]

    def recipe(self) -> dict[str, object]:
        return {"version": 7}


SHARE = Share()
NUMBER = 7


def prints(pairs: Sequence[TextPair]) -> list[bool]:
    print("<I am a judge>")
    return within(pairs)


def exits(pairs: Sequence[TextPair]) -> list[bool]:
    raise SystemExit(0)


class Odd(Whole):
    """Says what it took in words, and has a recipe and a name that no file could hold as they are."""

    name = "../my judge/v1.2"
    errors: ClassVar[dict[object, object]] = {1: "what it keeps for itself", "late": 2}

    def recipe(self) -> dict[str, object]:
        return {"api_key": "sk-secret", "half": "\ud83d", "kind": object, "none": float("nan"), "threshold": "high"}

    def counts(self) -> object:
        return {"calls": "many", "lock": object()}


class Lost(Whole):
    """Does not know what it took."""

    def counts(self) -> object:
        raise ValueError("no counts")


def yes(pairs: Sequence[TextPair]) -> list[bool]:
    """Supports everything."""
    return [True] * len(pairs)
