"""Folding: its table of cases, and the way back to the source."""

import json
import re
import sys
import unicodedata
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.text.folding import DEFAULT_STEPS, STEPS, fold, fold_with_offsets, in_order
from steelyard.text.scripts import UNSPACED
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "folding.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
SUBSETS = [chosen for n in range(len(STEPS) + 1) for chosen in combinations(STEPS, n)]
DANGEROUS = (
    "aAzZ1. \t\n\r\x0b\x1c\x85\u00a0\u2028\u2029\u3000-\u2010\u00ad—–\"'“”’「《İıΣσςßŉH\u0331\u0301\u0327"
    "éŁł電乾\u034f\u0307\u0340\u0344ﬁﬀ㎡Ａ，ｶﾞ\u3099℡㏑¨´‴中文カ\u1112\u1161\u11ab한\u09c7\u09be\ufe63\uff0d\ufb1d\ufb2a😀𝐀\U0001d15e\ufeff\u200b"
)
texts = st.text(st.sampled_from(DANGEROUS) | st.characters(), max_size=24)
steps = st.sampled_from(SUBSETS)
quick = examples(600)


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict) -> None:  # type: ignore[type-arg]
    text, chosen = row["input"]["text"], row["input"]["steps"]
    assert fold(text, chosen) == row["want"], row["comment"]
    assert fold_with_offsets(text, chosen).text == row["want"]
    assert fold(row["want"], chosen) == row["want"]


@quick
@given(texts, steps)
def test_folding_again_changes_nothing(text: str, chosen: tuple[str, ...]) -> None:
    once = fold(text, chosen)
    assert fold(once, chosen) == once
    assert fold_with_offsets(text, chosen).text == once


@pytest.mark.parametrize("chosen", [DEFAULT_STEPS, ("nfkc", "lower"), ("nfkc", "quotes"), tuple(STEPS)])
def test_every_character_folds_once(chosen: tuple[str, ...]) -> None:
    known = (chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in {"Cn", "Co", "Cs"})
    once = fold("|".join(known), chosen)
    assert fold(once, chosen) == once


@quick
@given(st.text(st.sampled_from(DANGEROUS + "   "), max_size=12).map(lambda part: part * 2000) | texts)
def test_white_space_as_split_and_join_do_it(text: str) -> None:
    words = text.split()
    want = "".join(words[:1])
    for before, after in pairwise(words):
        want += after if is_unspaced(before[-1]) or is_unspaced(after[0]) else f" {after}"
    assert fold(text, ("white_space",)) == want


def is_unspaced(c: str) -> bool:
    is_wide = "０" <= c <= "９" or "Ａ" <= c <= "Ｚ" or "ａ" <= c <= "ｚ"
    return not is_wide and re.match(f"[{UNSPACED}]", c) is not None


def test_white_space_at_every_place_of_a_block() -> None:
    for size in (*range(4090, 4100), *range(8188, 8196)):
        for middle in (" ", "\r\n  ", "", " " * 9000):
            text = "x" * size + middle + "y" * 9000
            assert fold(text, ("white_space",)) == " ".join(text.split())


@quick
@given(texts, steps, st.data())
def test_a_range_leads_back_to_its_source(text: str, chosen: tuple[str, ...], data: st.DataObject) -> None:
    folded = fold_with_offsets(text, chosen)
    if not folded.text:
        return
    start = data.draw(st.integers(0, len(folded.text) - 1))
    end = data.draw(st.integers(start + 1, len(folded.text)))
    a, b = folded.source(start, end)
    assert 0 <= a < b <= len(text)
    assert (a, b) == (folded.source(start, start + 1)[0], folded.source(end - 1, end)[1])
    cuts_a_unit = (start > 0 and folded.source(start - 1, start)[1] > a) or (
        end < len(folded.text) and folded.source(end, end + 1)[0] < b
    )
    at_margin = folded.text[start].isspace() or folded.text[end - 1].isspace()
    around = text[max(a - 2, 0) : a + 2] + text[max(b - 2, 0) : b + 2]
    at_a_break = "line_wraps" in chosen and any(c.isspace() or c == "\u00ad" for c in around)
    if not (cuts_a_unit or at_margin or at_a_break):
        assert fold(text[a:b], chosen) == folded.text[start:end]


@quick
@given(texts, steps)
def test_ranges_keep_their_order(text: str, chosen: tuple[str, ...]) -> None:
    folded = fold_with_offsets(text, chosen)
    spans = [folded.source(i, i + 1) for i in range(len(folded.text))]
    for one, other in pairwise(spans):
        assert one[0] <= other[0]
        assert one[1] <= other[1]
    if folded.text == text:
        assert spans == [(i, i + 1) for i in range(len(text))]


@pytest.mark.parametrize(
    ("text", "chosen", "piece", "source"),
    [
        ("x İstanbul", ("lower",), "st", "st"),
        ("x İstanbul", ("lower",), "i̇", "İ"),
        ("a  \r\n b", DEFAULT_STEPS, "a b", "a  \r\n b"),
        ("a  \r\n b", DEFAULT_STEPS, " ", "  \r\n "),
        ("  a ", DEFAULT_STEPS, "a", "a"),
        ("e\u0301te\u0301", ("nfkc",), "t", "t"),
        ("e\u0301te\u0301", ("nfkc",), "té", "te\u0301"),
        ("ooﬃce", ("nfkc",), "ff", "ﬃ"),
        ("20㎡!", ("nfkc",), "m2", "㎡"),
        ("\u1112\u1161\u11ab국", ("nfkc",), "한", "\u1112\u1161\u11ab"),
        ("😀  😀", DEFAULT_STEPS, "😀 😀", "😀  😀"),
        ("an exam-\r\nple", tuple(STEPS), "ple", "ple"),
        ("an exam-\r\nple", tuple(STEPS), "example", "exam-\r\nple"),
        ("天下大\n势", tuple(STEPS), "势", "势"),
        ("天下大\n势", tuple(STEPS), "大", "大"),
    ],
)
def test_smallest_source(text: str, chosen: tuple[str, ...], piece: str, source: str) -> None:
    folded = fold_with_offsets(text, chosen)
    start = folded.text.index(piece)
    a, b = folded.source(start, start + len(piece))
    assert text[a:b] == source


@pytest.mark.parametrize(("start", "end"), [(0, 0), (2, 1), (-1, 2), (0, 4), (9, 10)])
def test_a_range_outside_is_refused(start: int, end: int) -> None:
    with pytest.raises(InputError, match="empty or outside a folded text of 3 characters"):
        fold_with_offsets("abc").source(start, end)


def test_the_order_of_the_steps_does_not_matter() -> None:
    text = "“Ｈｅ” —  exam-\nple"
    assert fold(text, tuple(reversed(STEPS))) == fold(text, STEPS) == fold(text, [*STEPS, "lower"])
    assert in_order(reversed(STEPS)) == tuple(STEPS)


def test_an_unknown_step_is_refused() -> None:
    for call in (fold, fold_with_offsets):
        with pytest.raises(InputError, match="'whitespace'; did you mean white_space"):
            call("a", ("lower", "whitespace"))
        with pytest.raises(InputError, match="there are lower, white_space, nfkc"):
            call("a", ["???"])
        with pytest.raises(InputError, match="names in a list"):
            call("a", "lower")
