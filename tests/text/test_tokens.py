"""Tokens: their table of cases, and what holds for every text."""

import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, MissingExtraError
from steelyard.text import tokens as module
from steelyard.text.scripts import CHINESE_STOPWORDS, ENGLISH_STOPWORDS, simplified, without_accents
from steelyard.text.tokens import Tokenizer
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "tokens.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
BUILT_IN = Tokenizer(chinese="bigrams", simplify="none", accents="kept", stem="none")
TRICKY = "aBz19 .,-_'’+#—“”\n知识库，。ＡａÀé\u0301がカｶﾞ한글हिüş😀𠮷²ﬁ"
texts = st.text(st.sampled_from(TRICKY) | st.characters(codec="utf-8"), max_size=30)
quick = examples(300)


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
    chosen = {key: value for key, value in row["input"].items() if key != "text"}
    if chosen["chinese"] in ("words", "both"):
        pytest.importorskip("rjieba", reason="needs the extra rag")
    if chosen["stem"] == "english":
        pytest.importorskip("Stemmer", reason="needs the extra rag")
    assert Tokenizer(**chosen).tokens(row["input"]["text"]) == row["want"], row["comment"]


@quick
@given(texts)
def test_tokens_are_folded_pieces_of_the_text(text: str) -> None:
    folded = (
        unicodedata.normalize("NFKC", re.sub("[,\u00ad]", "", text)).lower().replace("’", "'").replace("\u2010", "-")
    )
    for token in BUILT_IN.tokens(text):
        assert any(c.isalnum() or module._CJK.match(c) for c in token)
        assert not re.search(r"[\s，。“”😀]", token)
        assert token in folded


@quick
@given(texts)
def test_every_letter_and_digit_is_in_a_token(text: str) -> None:
    counted = {c for token in BUILT_IN.tokens(text) for c in token}
    folded = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    folded = folded.replace("'s", "")  # possessives
    assert {c for c in folded if c.isalnum() and c not in module.MARKS} <= counted


@quick
@given(st.text(st.sampled_from("aBz19.,-_'+#; \n"), max_size=30))
def test_the_ascii_pattern_finds_what_the_full_one_finds(text: str) -> None:
    assert BUILT_IN.tokens(text) == BUILT_IN.tokens(text + " ж")[:-1]


@quick
@given(st.lists(st.text(st.sampled_from("ab12-.'é知识 库"), max_size=12), max_size=4))
def test_texts_do_not_touch_each_other(several: list[str]) -> None:
    together = BUILT_IN.many(several)
    assert together == [BUILT_IN.tokens(text) for text in several]
    assert BUILT_IN.tokens("\n".join(several)) == [token for tokens in together for token in tokens]


@quick
@given(st.text(st.sampled_from("知识库我们在中国科学院"), min_size=1, max_size=12))
def test_bigrams_by_definition(run: str) -> None:
    assert BUILT_IN.tokens(run) == ([run] if len(run) == 1 else [a + b for a, b in pairwise(run)])


@examples(100)
@given(st.text(st.sampled_from("知识库我们在中国科学院，a "), max_size=20))
def test_words_join_to_the_text(text: str) -> None:
    pytest.importorskip("rjieba", reason="needs the extra rag")
    assert "".join(Tokenizer(chinese="words", stem="none").tokens(text)) == re.sub(r"[， ]", "", text)


@examples(100)
@given(st.text(st.sampled_from("知识库我们电池"), min_size=2, max_size=20))
def test_both_are_words_and_bigrams(run: str) -> None:
    pytest.importorskip("rjieba", reason="needs the extra rag")
    words, bigrams = (Tokenizer(chinese=chinese, stem="none").tokens(run) for chinese in ("words", "bigrams"))
    assert Tokenizer(chinese="both", stem="none").tokens(run) == words + bigrams


@quick
@given(texts)
def test_folded_tokens_are_those_of_the_folded_text(text: str) -> None:
    plain = Tokenizer(chinese="bigrams", stem="none").tokens(text)
    assert plain == Tokenizer(chinese="bigrams", stem="none").tokens(simplified(text))
    assert plain == [simplified(without_accents(token)) for token in plain]


def test_opencc_knows_phrases() -> None:
    pytest.importorskip("opencc", reason="needs the extra opencc")
    assert Tokenizer(chinese="bigrams", simplify="opencc", stem="none").tokens("乾隆乾燥") == ["乾隆", "隆干", "干燥"]


def test_stop_words_are_tokens() -> None:
    for word in ENGLISH_STOPWORDS:
        assert BUILT_IN.tokens(word) == [word]
        assert Tokenizer(chinese="bigrams", stem="none", stopwords=True).tokens(word.upper()) == []
    assert all(re.fullmatch("[\u4e00-\u9fff]{1,3}", word) for word in CHINESE_STOPWORDS)


@pytest.mark.parametrize(
    ("setting", "value"), [("chinese", "jieba"), ("stem", "german"), ("simplify", "yes"), ("accents", "drop")]
)
def test_unknown_settings(setting: str, value: str) -> None:
    with pytest.raises(InputError, match=f"{setting} must be .* not '{value}'"):
        Tokenizer(**{setting: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("library", "text"), [("rjieba", "知识"), ("Stemmer", "goods"), ("opencc", "é")])
def test_a_missing_library_is_asked_for(monkeypatch: pytest.MonkeyPatch, library: str, text: str) -> None:
    def absent(name: str, **_: object) -> Any:
        if name == library:
            raise MissingExtraError(f"{name}: pip install 'steelyard[rag]'")
        return __import__(name)

    if library != "Stemmer":
        pytest.importorskip("Stemmer", reason="needs the extra rag")
    monkeypatch.setattr(module, "require", absent)
    module._opencc.cache_clear()
    with pytest.raises(MissingExtraError, match="rag"):
        Tokenizer(simplify="opencc" if library == "opencc" else "characters").tokens(text)
    assert BUILT_IN.tokens(text) == [text]
