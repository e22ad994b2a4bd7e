"""Gates by measures whose gold no question has: too few data, never FAIL and never pass."""

import pytest

import steelyard as sy
from steelyard.gates.gating import gate
from steelyard.gates.ratings import rate
from steelyard.reports.words import read_words

RUN = {f"q{i:02}": ["a", "b", "c"] for i in range(15)}
MEASURES = ["recall@5", "ndcg@10", "ndcg@10:p10"]


def scores(gain: int, name: str = "mine") -> sy.Scores:
    return sy.evaluate({q: {"b": gain} for q in RUN}, {name: RUN}, MEASURES)


@pytest.mark.parametrize("profile", ["ratings", "document-qa", "reranker"])
def test_levels_are_neither_passed_nor_failed(profile: str) -> None:
    result = gate(scores(0), profile=profile)
    levels = {check.name: check for check in result.checks if check.name in MEASURES}
    assert {(check.reason, check.outcome, check.n) for check in levels.values()} == {("no_gold", "insufficient", 0)}
    assert (result.outcome, result.exit_code) == ("insufficient", 3)
    assert {rating.level for rating in rate(scores(0), profile)} == {None}


@pytest.mark.parametrize(("gain", "of_baseline"), [(0, 0), (0, 1), (1, 0)])
def test_a_baseline_is_not_lost_against(gain: int, of_baseline: int) -> None:
    result = gate(scores(gain), baseline=scores(of_baseline), margin=0.02)
    assert [(check.kind, check.reason) for check in result.checks] == [("baseline", "no_gold")] * 3
    assert result.exit_code == 3
    relative = gate(scores(gain), profile="reranker", baseline=scores(of_baseline), margin=0.02)
    assert [check.reason for check in relative.checks if check.kind == "relative"] == ["no_gold"]


def test_what_was_measured_is_judged_beside() -> None:
    truth = {q: {"b": 1} for q in RUN}
    mixed = sy.evaluate(truth, RUN, ["recall(min_gain=2)@5", "ndcg@5"])
    reasons = {check.name: check.reason for check in gate(mixed, profile="document-qa").checks}
    assert reasons["recall(min_gain=2)@5"] == "no_gold"
    assert reasons["ndcg@5"] == "missed"
    assert gate(mixed, profile="document-qa").exit_code == 1


@pytest.mark.parametrize(
    ("lang", "level", "baseline"),
    [
        ("en", "no question has gold for it, so nothing was measured",
         "no question has gold for it, in system or baseline, so nothing was measured"),
        ("zh", "没有一个问题有相应的标准证据或答案，因此未测得结果",
         "其中一方或双方没有一个问题有相应的标准证据或答案，因此未测得结果"),
    ],
)  # fmt: skip
def test_every_format_says_why(lang: str, level: str, baseline: str) -> None:
    words = read_words(lang)
    result = gate(scores(0), profile="document-qa", baseline=scores(0), margin=0.02)
    for text in (
        result.text(lang=words.code, width=999),
        result.text("markdown", lang=words.code),
        result.text("junit", lang=words.code),
    ):
        assert level in text
        assert baseline in text
    assert "steelyard label QUESTIONS RUN..." in result.text(lang=words.code, width=999)
