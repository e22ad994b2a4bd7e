"""The lexical judge: its table of cases, what holds for every text, and a twin written from the definition."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.judged.lexical import CHECKS
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.settings import SettingError
from steelyard.judges.lexical import LexicalJudge
from steelyard.judges.lexical.words import forms, words
from steelyard.judges.verdict import Case, Verdict
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[2] / "cases" / "lexical_verdicts.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").split("\n") if line]
WORDS = (
    "hall",
    "opens",
    "Open",
    "9",
    "12",
    "km",
    "May",
    "not",
    "the",
    "Rome",
    "馆",
    "开放",
    "三百",
    "元",
    "不",
    "的",
    ".",
    "。",
)
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=30)
BARE = dict.fromkeys(CHECKS, False)


def judged(premise: str, hypothesis: str, judge: LexicalJudge | None = None) -> Verdict:
    [[verdict]] = (judge or LexicalJudge()).judge([Case(premise, (hypothesis,))])
    return verdict


@pytest.mark.parametrize("row", [pytest.param(row, id=row["label"]) for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    verdict = judged(**row["input"])
    assert [verdict.label, verdict.reason] == row["want"], row["comment"]


@given(texts, texts)
@examples(400)
def test_a_score_is_a_share(premise: str, hypothesis: str) -> None:
    verdict = judged(premise, hypothesis)
    assert verdict.score is not None
    assert 0 <= verdict.score <= 1
    assert verdict.label in ("supported", "contradicted", "not_found")
    if verdict.label == "supported":
        assert verdict.score >= LexicalJudge().threshold


@given(texts)
@examples(400)
def test_a_text_supports_itself(text: str) -> None:
    verdict = judged(text, text)
    if verdict.reason != "no words":
        assert (verdict.label, verdict.score, verdict.reason) == ("supported", 1, "")


@given(texts, texts, texts)
@examples(400)
def test_a_longer_premise_never_lowers_the_share(premise: str, more: str, hypothesis: str) -> None:
    judge = LexicalJudge(units=False, dates=False, negation=False)
    shorter, longer = judged(premise, hypothesis, judge), judged(f"{premise}\n\n{more}", hypothesis, judge)
    assert (longer.score or 0) >= (shorter.score or 0)


@given(st.lists(st.tuples(texts, st.lists(texts, max_size=3)), max_size=4), st.randoms())
@examples(100)
def test_neither_the_order_of_cases_nor_their_company_counts(pairs: list[tuple[str, list[str]]], random: Any) -> None:
    cases = [Case(premise, tuple(hypotheses)) for premise, hypotheses in pairs]
    alone = {case: next(LexicalJudge().judge([case])) for case in cases}
    random.shuffle(cases)
    assert list(LexicalJudge().judge(cases)) == [alone[case] for case in cases]


@given(texts, texts)
@examples(400)
def test_the_share_of_words_is_that_of_a_naive_twin(premise: str, hypothesis: str) -> None:
    distinct = list(dict.fromkeys(forms(hypothesis)))
    if not distinct:
        return
    there = [
        any(word == other or (len(word) == 1 and word >= "一" and word in other) for other in forms(premise))
        for word in distinct
    ]
    assert judged(premise, hypothesis, LexicalJudge(**BARE)).score == pytest.approx(sum(there) / len(distinct))


@given(texts)
@examples(400)
def test_words_have_their_places(text: str) -> None:
    found = list(words(text))
    assert [word.form for word in found] == forms(text)
    assert all(0 <= word.start < word.end <= len(text) for word in found)
    assert all(a.start <= b.start for a, b in pairwise(found))


def test_each_check_can_be_switched_off() -> None:
    premise = "The old tower in Rome is 300 metres high, opened on 21 May and closed on 3 June."
    cases = {
        "neighbours": "The high tower in Rome opened",
        "numbers": "The old tower in Rome is 310 metres high",
        "names": "The old tower in Paris is high",
        "units": "The old tower in Rome is 300 km high",
        "dates": "The tower opened on 21 June",
        "negation": "The old tower in Rome is not high",
    }
    for check, hypothesis in cases.items():
        judge = LexicalJudge(**{**BARE, check: True})
        assert (judged(premise, hypothesis, judge).score or 0) < (
            judged(premise, hypothesis, LexicalJudge(**BARE)).score or 0
        ), check


@pytest.mark.parametrize(
    "text", ["word " * 20_000, "三百不开放" * 20_000, "9" * 100_000, "<b>" * 30_000, "\x00" * 99, "\ud800"]
)
def test_hostile_texts(text: str) -> None:
    verdict = judged(text, text)
    assert verdict.label == "supported" or verdict.reason == "no words"
    assert len(judged("Nothing.", text).reason) < 1000


def test_the_recipe_holds_every_setting() -> None:
    recipe = LexicalJudge(threshold=0.5, names=False).recipe()
    assert recipe["threshold"] == 0.5
    assert recipe["names"] is False
    assert recipe["version"] == 2
    assert not any(name.startswith("_") for name in recipe)


def test_a_threshold_is_a_share() -> None:
    with pytest.raises(SettingError, match="threshold"):
        LexicalJudge(threshold=60)
