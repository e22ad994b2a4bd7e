"""Sentences: their table of cases, and what holds for every text."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.text.sentences import BEFORE_NUMBERS, NEVER_LAST, SOMETIMES_LAST, sentence_spans
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "sentences.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
TRICKY = "aA我 \n\r\t.!?。！？；…”\"')（《》1-#|、，e\u3000😀\x1c\u2028"
texts = st.text(st.sampled_from(TRICKY), max_size=40) | st.text(max_size=20)
quick = examples(500)


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=row["label"],
            marks=[pytest.mark.xfail(strict=True, reason=row["comment"])] if row.get("known_failure") else [],
        )
        for row in ROWS
    ],
)
def test_cases(row: dict[str, Any]) -> None:
    assert cut(row["input"]) == row["want"], row["comment"]


@quick
@given(texts)
@example("\n# a\n\n")
@example("| a\n|")
def test_sentences_cover_the_text_and_stand_apart(text: str) -> None:
    spans = sentence_spans(text)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
    covered = {i for start, end in spans for i in range(start, end)}
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered


@quick
@given(
    st.lists(st.text(st.sampled_from("我a们b，c "), min_size=1, max_size=8), max_size=5), st.sampled_from("。！？；")
)
def test_a_chinese_mark_always_ends(parts: list[str], mark: str) -> None:
    parts = [part.strip() or "空" for part in parts]
    parts = [part for part in parts if part[0] != "，"]
    assert cut("".join(part + mark for part in parts)) == [part + mark for part in parts]


WHOLE = st.from_regex(r"[0-9]{1,4}\.[0-9]{1,4}", fullmatch=True) | st.sampled_from(
    ["https://a.com/b?c=d.e!x", "www.a.cn/x.html", "anna.p@b.org", "main.py", "v2.0.1", "GPT-4.5", "2,000.5", "Node.js"]
)
WORDS = st.sampled_from(
    ["we", "Goods", "我们", "称重", "（", "“", "，", " ", "\r\n", "and", "Dr.", "。", ". ", "!", "”"]
)


@quick
@given(st.lists(WORDS | WHOLE.map(lambda one: f" {one} ") | WHOLE.map(lambda one: f"在{one}有"), max_size=12))
def test_numbers_and_addresses_are_never_cut(pieces: list[str]) -> None:
    text = "".join(pieces)
    borders = {border for span in sentence_spans(text) for border in span}
    start = 0
    for piece in pieces:
        kept = piece.strip().strip("在有")
        if re.search(r"\w[.,]\w", kept):
            inside = start + piece.index(kept)
            assert not any(inside < border < inside + len(kept) for border in borders)
        start += len(piece)


@quick
@given(
    st.lists(st.sampled_from(["我们", "（注", "“好", "称重", "goods"]), min_size=1, max_size=5),
    st.sampled_from("。！？；"),
    st.sampled_from(["”", "」", "』", "）", "】", "”）", "’”"]),
)
def test_closing_quotes_and_brackets_stay(words: list[str], mark: str, closers: str) -> None:
    one = "".join(words) + mark + closers
    assert cut(one + "再来" + mark) == [one, "再来" + mark]
    assert cut(one + "，再来" + mark) == [one + "，再来" + mark]


@pytest.mark.parametrize("word", sorted(NEVER_LAST | BEFORE_NUMBERS | SOMETIMES_LAST))
def test_abbreviations_go_on(word: str) -> None:
    text = f"We saw ({word.capitalize()}. 5 of them) and {word}. 7 more."
    assert cut(text) == [text]
    assert len(cut(f"We saw {word}x. Seven more.")) == 2


@quick
@given(texts, texts)
def test_a_blank_line_parts_texts(one: str, other: str) -> None:
    parted = sentence_spans(one + "\n\n" + other)
    assert all(end <= len(one) or start >= len(one) + 2 for start, end in parted)


def test_a_long_text_without_an_end_is_quick() -> None:
    for unit in (" ", "\n", "a", "我", ". a", "…", '"', '。"', "- ", "\n- ", "(", "a.", "12."):
        text = unit * 30_000
        assert sum(end - start for start, end in sentence_spans(text)) <= len(text)
