"""Variants of characters: what the table of simplified characters holds, and what holds for every character."""

import sys
import unicodedata

import pytest

from steelyard.text.scripts import _simplified, _unaccented, simplified, traditional_of, without_accents


def test_the_table_leads_from_one_character_to_one_in_one_step() -> None:
    table = _simplified()
    assert 2300 <= len(table) <= 3000
    assert {len(new) for new in table.values()} == {1}
    assert not {ord(new) for new in table.values()} & table.keys()
    assert all(unicodedata.normalize("NFKC", new) == new for new in table.values())


def test_traditional_forms_lead_back() -> None:
    for new in set(_simplified().values()):
        assert {simplified(old) for old in traditional_of(new)} == {new}
    assert traditional_of("中") == "中"


def test_accents_are_dropped_once_and_for_all() -> None:
    table = _unaccented()
    assert all(new not in table and len(new) == 1 for new in table.values())
    letters = "".join(chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "L")
    plain = without_accents(letters)
    assert len(plain) == len(letters)
    assert without_accents(plain) == plain


@pytest.mark.parametrize("letter", "áÀçñüÅěőșấΐ")
def test_composed_and_decomposed_letters_are_one(letter: str) -> None:
    apart = unicodedata.normalize("NFD", letter)
    assert without_accents(apart) == without_accents(letter) == apart[0]


def test_opencc_agrees_on_the_commonest_characters() -> None:
    opencc = pytest.importorskip("opencc", reason="needs the extra opencc").OpenCC("t2s")
    differing = {chr(old) for old, new in _simplified().items() if opencc.convert(chr(old)) != new}
    assert len(differing) < 0.02 * len(_simplified())
