"""Ranges of scripts, against what Unicode says about every character."""

import re
import sys
import unicodedata

import pytest

from steelyard.text import scripts

NAMES = {
    "IDEOGRAPHS": ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HANGZHOU", "IDEOGRAPHIC NUMBER", "IDEOGRAPHIC ITER"),
    "KANA": ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "COMBINING KATAKANA", "KATAKANA-HIRAGANA"),
    "HANGUL": ("HANGUL",),
}


def members(name: str) -> set[str]:
    pattern = re.compile(f"[{getattr(scripts, name)}]")
    return {c for c in map(chr, range(sys.maxunicode)) if pattern.match(c) and unicodedata.name(c, "")}


@pytest.mark.parametrize("name", NAMES)
def test_scripts_hold_characters_of_their_names_alone(name: str) -> None:
    others = {unicodedata.name(c) for c in members(name) if not any(n in unicodedata.name(c) for n in NAMES[name])}
    assert {other for other in others if "VOICED" not in other and "PROLONGED" not in other} == set()


def test_marks_are_no_punctuation() -> None:
    assert {c for c in members("MARKS") if unicodedata.category(c)[0] not in "MLN"} == set()


def test_unspaced_and_wide_hold_the_chinese_characters() -> None:
    voiced = {"\u3099", "\u309a", "\uff9e", "\uff9f"}
    assert members("IDEOGRAPHS") | members("KANA") - voiced <= members("UNSPACED")
    assert members("IDEOGRAPHS") <= members("WIDE")
    assert members("HANGUL").isdisjoint(members("UNSPACED"))
