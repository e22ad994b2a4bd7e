"""Windows hold all of a text, in pieces that fit."""

import re

from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.nli import cut_texts, window_ranges
from tests.hypothesis_profiles import examples

TEXTS = st.text(alphabet="ab 秤鲸. 。\n|-\x00", max_size=80)


def n_words(texts: list[str]) -> list[int]:
    """Words and Chinese characters, as a tokenizer without parts of words counts."""
    return [len(re.findall(r"[^\W\u4e00-\u9fff]+|[\u4e00-\u9fff]|[^\w\s]", text)) for text in texts]


@examples(400)
@given(st.lists(st.integers(0, 12), max_size=30), st.integers(1, 12))
def test_ranges_cover_all_and_fit(n_tokens: list[int], room: int) -> None:
    ranges = window_ranges(n_tokens, room)
    assert {i for first, last in ranges for i in range(first, last)} == set(range(len(n_tokens)))
    assert ranges == sorted(ranges)
    for first, last in ranges:
        assert sum(n_tokens[first:last]) <= room or last == first + 1


@examples(400)
@given(st.lists(st.integers(0, 12), max_size=30), st.integers(1, 12))
def test_neighbours_that_fit_together_are_together_and_no_range_is_in_another(n_tokens: list[int], room: int) -> None:
    ranges = window_ranges(n_tokens, room)
    for i in range(len(n_tokens) - 1):
        if n_tokens[i] + n_tokens[i + 1] <= room:
            assert any(first <= i and i + 1 < last for first, last in ranges)
    assert not any(a <= c and d <= b for i, (a, b) in enumerate(ranges) for j, (c, d) in enumerate(ranges) if i != j)


@examples(400)
@given(st.lists(TEXTS, max_size=4), st.integers(1, 6), st.integers(0, 6))
def test_pieces_hold_all_of_a_text_and_windows_fit(texts: list[str], longest: int, more: int) -> None:
    pieces = cut_texts(texts, longest=longest, n_tokens=n_words)
    assert set(pieces) == {text for text in texts if text.strip()}
    for text, cut in pieces.items():
        assert "".join(text[start:end] for start, end in cut.spans) == text.lstrip()
        assert list(cut.n_tokens) == n_words([text[start:end] for start, end in cut.spans])
        windows = cut.windows(longest + more)
        assert all(window in text for window in windows)
        assert max(n_words(windows)) <= longest + more


def test_a_text_that_fits_is_one_window() -> None:
    text = "The hall was built in 1901.  It opens at nine.\n\n周日九点开门。"
    assert cut_texts([text], longest=50, n_tokens=n_words)[text].windows(50) == [text]


def test_a_long_line_is_cut_at_blanks_and_without_blanks_anywhere() -> None:
    line, solid = "word " * 100, "秤" * 100
    pieces = cut_texts([line, solid], longest=30, n_tokens=n_words)
    assert [line[start:end] for start, end in pieces[line].spans] == ["word " * 25] * 4
    assert pieces[solid].windows(60) == ["秤" * 50, "秤" * 50, "秤" * 50]
    assert set(pieces[line].windows(60)) == {("word " * 50).strip()}
