"""What texts affirm and deny: the table of reversals and paraphrases, leads, and what holds for every text."""

from itertools import pairwise
from typing import Any

import pytest
from benchmarks.judged.polarity import label_of, polarity_values, read_cases
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.lexical import LexicalJudge
from steelyard.judges.lexical.polarity import contradicts, has_marks, polarity
from steelyard.judges.lexical.readings import Reading
from steelyard.judges.verdict import Case
from tests.hypothesis_profiles import examples

WORDS = (
    "hall",
    "opens",
    "not",
    "must",
    "no",
    "allowed",
    "Free",
    "不",
    "不得",
    "可以",
    "馆",
    "开放",
    "禁止",
    "前",
    ",",
    ".",
    "。",
)
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=30)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in read_cases("polarity.jsonl")])
def test_reversals_are_contradicted_and_paraphrases_are_not(row: dict[str, Any]) -> None:
    assert (label_of(row) == "contradicted") is (row["kind"] == "reversal")


def test_shares_of_reversals_and_paraphrases() -> None:
    assert [value for value in polarity_values() if value.is_met is False] == []


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in read_cases("lexical_leads.jsonl")])
def test_items_with_their_leads(row: dict[str, Any]) -> None:
    assert (label_of(row) == "supported") is row["supported"]


@pytest.mark.parametrize(
    ("text", "claims", "denied"),
    [
        ("Smoking is not prohibited.", {"may+"}, set()),
        ("You need not register.", {"need-"}, set()),
        ("You must not register.", {"may-"}, set()),
        ("It starts on 5 May.", set(), set()),
        ("She is not only a poet.", set(), set()),
        ("The hall has no garden.", set(), {"garden"}),
        ("馆内并未禁止拍照。", {"may+"}, set()),
        ("会员不需要缴费。", {"need-"}, set()),
        ("他不得不离开。", {"need+"}, set()),
        ("非会员在此登记。", set(), {"会员"}),
        ("这不仅可能，而且可靠。", set(), set()),
        ("应用程序能力测试", set(), set()),
    ],
)
def test_what_a_text_affirms_and_denies(text: str, claims: set[str], denied: set[str]) -> None:
    read = polarity(text)
    assert {claim for claim in read.claims if not claim.startswith("axis")} == claims
    assert read.denied == denied


@given(texts)
@examples(300)
def test_a_text_does_not_contradict_itself(text: str) -> None:
    read, words = polarity(text), Reading(text).vocabulary
    assert not contradicts(read, words, read, words)


@given(texts, texts)
@examples(300)
def test_contradiction_is_mutual(one: str, other: str) -> None:
    a, b = Reading(one), Reading(other)
    there = contradicts(a.polarity, a.vocabulary, b.polarity, b.vocabulary)
    assert contradicts(b.polarity, b.vocabulary, a.polarity, a.vocabulary) is there


@given(texts)
@examples(300)
def test_marks_have_their_places(text: str) -> None:
    marks = polarity(text).marks
    assert all(0 <= mark.start < mark.end <= len(text) for mark in marks)
    assert all(a.end <= b.start for a, b in pairwise(marks))
    assert bool(marks) <= has_marks(text)
    assert len(Reading(text).content.text) == len(text)


def test_words_of_a_lead_count_less_than_those_of_the_item() -> None:
    lead = "These further kinds of damage are covered by the household insurance of the company:"
    case = Case("Burst water pipes were repaired.", ("burst water pipes", "storm damage"), leads=(lead, lead))
    [first, second] = next(iter(LexicalJudge().judge([case])))
    assert first.label == "supported"
    assert second.label == "not_found"
