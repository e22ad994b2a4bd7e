"""The benchmark of any judge, on a few pairs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.judge_worth import worth
from benchmarks.judged.sets import Pair

from steelyard.judges.verdict import Case, Verdict


class OfScores:
    """Says what it is asked to, and nothing of a question mark."""

    name = "of-scores"

    def judge(self, cases: Sequence[Case]) -> Iterable[Sequence[Verdict]]:
        for (text,) in (case.hypotheses for case in cases):
            score = None if text == "?" else float(text)
            label = "not_judged" if score is None else "supported" if score >= 0.8 else "not_found"
            yield [Verdict(label, score)]  # type: ignore[arg-type]

    def recipe(self) -> Mapping[str, Any]:
        return {}


def test_scores_and_labels_are_held_against_people() -> None:
    pairs = [
        Pair(text, "", supported)
        for text, supported in (("0.9", True), ("0.7", True), ("0.6", False), ("0.1", False), ("?", False))
    ]
    assert worth(OfScores(), pairs) == (4, 1.0, 0.7, 1.0, 0.75)
