"""Judges of a user's own, as a command imports them by `module:object`."""

from collections.abc import Iterator, Sequence

from steelyard.judges.own import Pair
from steelyard.judges.verdict import Case, Verdict


def within(pairs: Sequence[Pair]) -> list[bool]:
    return [hypothesis.strip(".") in premise for premise, hypothesis in pairs]


async def later(pairs: Sequence[Pair]) -> list[bool]:
    return within(pairs)


def fails(pairs: Sequence[Pair]) -> list[bool]:
    raise RuntimeError("no model <b>here</b>\x1b[31m")


class Share:
    """The share of the words of the hypothesis that are in the premise."""

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def judge(self, pairs: Sequence[Pair]) -> Iterator[float]:
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
