"""Texts of self-tests: other numbers, padding and instructions in chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.choices import Language
from steelyard.judges.answers.assertions import no_claim
from steelyard.judges.trials.trials import injected, padded, prolonged, trial_texts, with_other_number
from steelyard.text.scripts import language_of

LINES = (Path(__file__).parents[1] / "cases" / "changed_numbers.jsonl").read_text("utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]
LANGUAGES: list[Language] = ["en", "zh"]


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_one_number_is_changed(case: dict[str, Any]) -> None:
    source = case.get("source", case["sentence"])
    assert with_other_number(case["sentence"], source, case["language"]) == case["want"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_wording_comes_at_each_place(language: Language) -> None:
    chunk = {"en": "It is red. It is old.", "zh": "它是红的。它很旧。"}[language]
    texts = trial_texts(language)
    n = len(texts.injections)
    chunks = [injected(chunk, language, turn) for turn in range(3 * n)]
    assert len(set(chunks)) == 3 * n
    for wording in texts.injections:
        assert {text.find(wording) == 0 for text in chunks if wording in text} == {True, False}
        assert sum(text.endswith(wording) for text in chunks if wording in text) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_padding_is_in_its_language_and_leaves_the_answer_whole(language: Language) -> None:
    texts = trial_texts(language)
    assert all(language_of(text) == language for text in (*texts.sentences, *texts.openings))
    assert "ABC." in padded("ABC.", language)
    assert len(padded("ABC.", language)) > 80
    assert prolonged("ABC.", language, 0) != prolonged("ABC.", language, 1)
    assert all(no_claim(sentence) or len(sentence) < 60 for sentence in texts.sentences)
