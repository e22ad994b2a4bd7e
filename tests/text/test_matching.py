"""Matching gold texts and chunks: its table of cases, and a double loop as the oracle."""

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.text.folding import DEFAULT_STEPS, STEPS, fold
from steelyard.text.matching import Matches, match_texts, steps_of_match
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "matching.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
quick = examples(200)
chunks = st.lists(st.text(st.sampled_from("aAb 天下-\n“"), max_size=12), max_size=8)
golds = st.lists(
    st.text(st.sampled_from("aAb 天下-\n“"), max_size=12).map("天{}".format) | st.sampled_from("ab天"), max_size=5
)


def rows(matches: Matches) -> list[tuple[int, int, bool]]:
    return list(zip(matches.gold.tolist(), matches.chunk.tolist(), matches.gold_in_chunk.tolist(), strict=True))


def naive(golds: list[str], chunks: list[str], steps: tuple[str, ...]) -> list[tuple[int, int, bool]]:
    found = []
    for g, gold in enumerate(golds):
        for c, chunk in enumerate(chunks):
            one, other = fold(gold, steps), fold(chunk, steps)
            if one in other:
                found.append((g, c, True))
            elif other in one and any(character.isalnum() for character in other):
                found.append((g, c, False))
    return found


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict) -> None:  # type: ignore[type-arg]
    matches = match_texts(row["input"]["golds"], row["input"]["chunks"], steps=row["input"]["steps"])
    want = [(g, c, direction == "gold in chunk") for g, c, direction in row["want"]]
    assert rows(matches) == want, row["comment"]
    assert (matches.gold.dtype, matches.chunk.dtype, matches.gold_in_chunk.dtype) == (np.int64, np.int64, np.bool_)
    assert len(matches) == len(want)


@quick
@given(golds, chunks, st.sampled_from([(), DEFAULT_STEPS, tuple(STEPS)]))
def test_as_a_double_loop_does_it(golds: list[str], chunks: list[str], steps: tuple[str, ...]) -> None:
    assert rows(match_texts(golds, chunks, steps=steps)) == naive(golds, chunks, steps)


@examples(50)
@given(st.data(), st.sampled_from(["ab", "abcdefgh天下大势"]))
def test_slices_of_one_text_at_every_length(data: st.DataObject, alphabet: str) -> None:
    text = "".join(data.draw(st.randoms(use_true_random=False)).choices(alphabet, k=700))
    size = st.integers(1, 40) | st.integers(1, 400)
    spans = st.lists(st.tuples(st.integers(0, 699), size), max_size=12)
    golds = [text[a : a + n] for a, n in data.draw(spans)]
    chunks = [text[a : a + n] for a, n in data.draw(spans)] + [text]
    assert rows(match_texts(golds, chunks)) == naive(golds, chunks, DEFAULT_STEPS)


def test_a_gold_text_at_every_offset_of_a_chunk() -> None:
    # Each length beside a stride of the index, wherever the occurrence begins.
    alphabet = "".join(chr(0x4E00 + i) for i in range(600))
    for size in (1, 6, 7, 14, 15, 30, 31, 62, 63, 254, 255, 256):
        gold = alphabet[:size]
        chunks = ["x" * before + gold + "y" for before in range(130)] + ["x" + gold[1:] + "y", "z" + gold[:-1]]
        want = [*range(130)]
        assert match_texts([gold], chunks).chunk[:130].tolist() == want
        assert rows(match_texts([gold], chunks)) == naive([gold], chunks, DEFAULT_STEPS)


@pytest.mark.parametrize("gold", ["", " \n", "——", "。", "___"])
def test_a_gold_text_without_a_word_is_refused(gold: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"gold text number 2 is {gold!r}")):
        match_texts(["fine", gold], ["fine"])


def test_an_unknown_step_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean quotes"):
        match_texts(["a"], ["a"], steps=["quote"])
    with pytest.raises(InputError, match="did you mean lower"):
        steps_of_match("a", "a", ["lowe"])


@pytest.mark.parametrize(
    ("gold", "chunk", "want"),
    [
        ("cat", "a cat sat", ()),
        ("a cat sat", "cat", ()),
        ("Cat", "a cat sat", ("lower",)),
        ("cat sat", "the cat\n sat", ("white_space",)),
        ("Cat sat", "the cat\n sat", ("lower", "white_space")),
        ("“不”", '他说"不"。', ("quotes",)),
        ("1805—1812", "in 1805–1812.", ("dashes",)),
        ("example", "an exam-\nple", ("line_wraps",)),
        ("天下大势，分久必合", "天下大\n势，分久必合", ("white_space",)),
        ("Ａ级", "A级", ("nfkc",)),
        ("Ａ级", "a级", ("lower", "nfkc")),
        ("cat", "dog", None),
        ("天下", "天上", None),
        ("--", "a -- b", None),
        ("", "a", None),
    ],
)
def test_steps_of_a_match(gold: str, chunk: str, want: tuple[str, ...] | None) -> None:
    assert steps_of_match(gold, chunk) == want


def test_only_the_steps_given_are_tried() -> None:
    assert steps_of_match("Cat", "cat", ("white_space",)) is None
    assert steps_of_match("Cat", "cat", ("white_space", "lower")) == ("lower",)


@examples(60)
@given(golds, chunks)
def test_steps_of_a_match_agree_with_the_matcher(golds: list[str], chunks: list[str]) -> None:
    subsets = [chosen for n in range(len(STEPS) + 1) for chosen in combinations(STEPS, n)]
    for gold in golds[:2]:
        for chunk in chunks[:2]:
            made = [chosen for chosen in subsets if rows(match_texts([gold], [chunk], steps=chosen))]
            assert steps_of_match(gold, chunk) == (made[0] if made else None)


def test_half_characters_match_themselves_alone() -> None:
    matches = match_texts(["one \ud800 two", "one \ud801 two"], ["and one \ud800 two, three", "one ? two"])
    assert list(zip(matches.gold.tolist(), matches.chunk.tolist(), strict=True)) == [(0, 0)]


def test_texts_that_are_alike_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"context {i} " + "word " * 40 for i in range(60)]
    whole = match_texts(texts, texts)
    assert whole.gold.tolist() == whole.chunk.tolist() == list(range(60))
    monkeypatch.setattr("steelyard.text.matching._PORTION", 500)
    in_portions = match_texts(texts, texts)
    assert in_portions.gold.tolist() == in_portions.chunk.tolist() == list(range(60))
