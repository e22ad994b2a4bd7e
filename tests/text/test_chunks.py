"""Chunkers: their table of cases, an oracle for each, and what holds for every text."""

import gzip
import json
import re
import time
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, MissingExtraError, StageError
from steelyard.text import chunks, recursive
from steelyard.text.chunks import LANGCHAIN_SEPARATORS, Recursive, Semantic, Sentences, Splitter, Whole, Windows
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

CASES = Path(__file__).resolve().parents[1] / "cases" / "chunks.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
KINDS = {"recursive": Recursive, "sentences": Sentences, "whole": Whole, "windows": Windows}
MIXED = "abcE19हिन्知识库，。！ .;…\n\r\t”\"'é\u0301\u3000カ한😀👍🏽\u200d🇨🇳-|\x1c"
PIECES = ["word", "longerword", "知识", "。", ".", " ", "\r\n", "\n\n", "，", "a"]
texts = (
    st.text(st.sampled_from(MIXED), max_size=80)
    | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
    | st.text(max_size=30)
)
sizes = st.integers(1, 30).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))
quick = examples(300)


def cut(text: str, spans: Sequence[Span]) -> list[str]:
    return [text[start:end] for start, end in spans]


def sound(text: str, spans: Sequence[Span], size: int, *, stripped: bool = True) -> None:
    """Exact, in order, none blank, none too long, and all but white space in them."""
    assert all(0 <= start < end <= len(text) and end - start <= size for start, end in spans)
    assert all(text[start:end].strip() for start, end in spans)
    assert not stripped or all(text[start:end].strip() == text[start:end] for start, end in spans)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(spans))
    covers(text, spans)


def covers(text: str, spans: Sequence[Span]) -> None:
    covered = {i for start, end in spans for i in range(start, end)}
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    given = row["input"]
    chunker = KINDS[given["chunker"]](**given["settings"])
    assert cut(given["text"], chunker.spans(given["text"])) == row["want"], row["comment"]


# Recursive, exact


@quick
@given(texts, sizes)
@example("", (1, 0))
@example(" \r\n ", (3, 2))
@example("x" * 50, (10, 9))
@example("知" * 50, (10, 9))
def test_exact_chunks_are_sound(text: str, size: tuple[int, int]) -> None:
    sound(text, Recursive(*size).spans(text), size[0])


def words(text: str) -> list[Span]:
    """Runs of letters and digits of scripts with blanks, with the accents that stand apart, found one by one."""
    found: list[Span] = []
    for i, c in enumerate(text):
        name = unicodedata.name(c, "")
        ideograph = name.startswith(("CJK", "KATAKANA", "HIRAGANA")) or recursive._IN_WORD.match(c) is None
        if not ideograph and (c.isalnum() or c in "_\u200c\u200d" or unicodedata.category(c)[0] == "M"):
            if found and found[-1][1] == i:
                found[-1] = (found[-1][0], i + 1)
            else:
                found.append((i, i + 1))
    return found


@quick
@given(texts, sizes)
def test_exact_chunks_cut_no_word_that_fits(text: str, size: tuple[int, int]) -> None:
    # Marks have a letter, and not a character that is a word by itself.
    no_letter = rf"[{recursive.IDEOGRAPHS}{recursive.KANA}]|\W|_"
    assume(not re.search(rf"(?:{no_letter})(?<![{recursive.MARKS}\u200d])[{recursive.MARKS}\u200d]", text))
    borders = {border for span in Recursive(*size).spans(text) for border in span}
    for start, end in words(text):
        first, last = start, end  # with what is joined to its first and last letter
        while first and recursive._parts_character(text, first):
            first -= 1
        while last < len(text) and recursive._parts_character(text, last):
            last += 1
        assert last - first > size[0] or not any(start < border < end for border in borders)


@quick
@given(texts, sizes)
def test_exact_chunks_cut_no_character(text: str, size: tuple[int, int]) -> None:
    clusters = [0]
    for before, c in pairwise(" " + text):
        joined = (
            unicodedata.category(c)[0] == "M" or "\u200d" in (before, c) or "🏻" <= c <= "🏿" or "🇦" <= before <= "🇿"
        )
        clusters.append(clusters[-1] + 1 if joined else 1)
    assume(max(clusters) <= size[0])
    for border in {border for span in Recursive(*size).spans(text) for border in span} - {0, len(text)}:
        before, behind = text[border - 1], text[border]
        assert before + behind != "\r\n"
        assert before.isspace() or not ("\u0300" <= behind <= "\u036f" or "🏻" <= behind <= "🏿" or behind == "\u200d")
        assert behind.isspace() or before != "\u200d"


@quick
@given(texts, st.integers(2, 30).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size - 1))))
@example("0෴\x08", (2, 1))  # a full stop of Sinhala
def test_exact_neighbours_overlap(text: str, size: tuple[int, int]) -> None:
    longest, overlap = size
    spans = Recursive(longest, overlap).spans(text)
    inner = {i for start, end in words(text) for i in range(start + 1, end)}
    inner |= {i for i in range(1, len(text)) if recursive._parts_character(text, i)}
    for (start, end), (following, _) in pairwise(spans):
        assert end - following <= overlap
        if following < end:
            continue
        # No overlap: no unit begins within reach, or the next one would not fit then.
        until = following + 1
        while until < len(text) and until in inner and until - following < longest:
            until += 1
        low = max(end - overlap, start + 1, until - longest)
        assert all(i in inner or text[i].isspace() or text[i] in recursive._NEVER_FIRST for i in range(low, end))


@examples(200)
@given(texts, sizes, st.lists(st.sampled_from(["\n", "。", ". ", "|", " ", "", "er", "\r\n"]), min_size=1, max_size=4))
def test_own_separators_are_sound(text: str, size: tuple[int, int], separators: list[str]) -> None:
    sound(text, Recursive(*size, separators=separators).spans(text), size[0])


def test_the_best_separator_wins() -> None:
    text = "aaaa bbbb, cccc. dddd\neeee ffff\n\ngggg hhhh"
    assert cut(text, Recursive(40, 0).spans(text))[0].endswith("ffff")
    assert cut(text, Recursive(30, 0).spans(text))[0].endswith("dddd")
    assert cut(text, Recursive(20, 0).spans(text))[0].endswith("cccc.")
    assert cut(text, Recursive(14, 0).spans(text))[0].endswith("bbbb,")
    text = "甲甲甲甲，乙乙乙。丙丙丙\n丁丁"
    assert cut(text, Recursive(14, 0).spans(text))[0].endswith("丙")
    assert cut(text, Recursive(11, 0).spans(text))[0].endswith("。")
    assert cut(text, Recursive(8, 0).spans(text))[0].endswith("，")


def real_text(language: str) -> str:
    if language == "en":
        with gzip.open(
            shared("war_and_peace", "war_and_peace_pg2600.txt.gz"), "rt", encoding="utf-8", newline=""
        ) as file:
            return file.read()[100_000:400_000]
    with gzip.open(shared("zh_cmrc2018", "beir", "corpus.jsonl.gz"), "rt", encoding="utf-8") as file:
        return "\n\n".join(json.loads(line)["text"] for line in file)[:200_000]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("size", "overlap"), [(1000, 100), (200, 50)])
def test_exact_on_real_text(language: str, size: int, overlap: int) -> None:
    text = real_text(language)
    spans = Recursive(size, overlap).spans(text)
    sound(text, spans, size)
    shared_by = [a[1] - b[0] for a, b in pairwise(spans)]
    assert min(shared_by) >= 1
    assert max(shared_by) <= overlap
    assert sum(shared_by) / len(shared_by) >= overlap / 2


# Recursive, as LangChain's


def langchain(text: str, size: int, overlap: int, separators: Sequence[str]) -> list[str]:
    library = pytest.importorskip("langchain_text_splitters", reason="an oracle of the tests only")
    oracle = library.RecursiveCharacterTextSplitter(list(separators), chunk_size=size, chunk_overlap=overlap)
    return [chunk for chunk in oracle.split_text(text) if chunk.strip()]


@quick
@given(
    texts,
    sizes,
    st.just(list(LANGCHAIN_SEPARATORS))
    | st.lists(st.sampled_from(["\n\n", "\n", " ", "", "。", "a", "aa", ". ", "er"]), min_size=1, max_size=4),
)
def test_langchain_mode_is_langchain(text: str, size: tuple[int, int], separators: list[str]) -> None:
    spans = Recursive(*size, separators=separators, overlap_mode="langchain").spans(text)
    assert cut(text, spans) == langchain(text, *size, separators)
    assert all(a[0] <= b[0] for a, b in pairwise(spans))
    covers(text, spans)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("size", "overlap"), [(1000, 100), (1000, 0), (200, 50), (60, 59)])
def test_langchain_mode_on_real_text(language: str, size: int, overlap: int) -> None:
    text = real_text(language)
    spans = Recursive(size, overlap, overlap_mode="langchain").spans(text)
    assert cut(text, spans) == langchain(text, size, overlap, LANGCHAIN_SEPARATORS)
    covers(text, spans)


# Sentences


@quick
@given(texts, st.integers(1, 40), st.integers(0, 4))
def test_sentences_are_sound(text: str, size: int, overlap: int) -> None:
    sound(text, Sentences(size, overlap).spans(text), size)


@quick
@given(texts, st.integers(5, 40), st.integers(0, 4))
def test_sentences_by_a_naive_loop(text: str, size: int, overlap: int) -> None:
    pieces = sentence_spans(text)
    assume(all(end - start <= size for start, end in pieces))
    want, first = [], 0
    while first < len(pieces):
        last = first
        while last + 1 < len(pieces) and pieces[last + 1][1] - pieces[first][0] <= size:
            last += 1
        want.append((pieces[first][0], pieces[last][1]))
        if last + 1 == len(pieces):
            break
        first = max(first + 1, last + 1 - overlap)
        while first <= last and pieces[last + 1][1] - pieces[first][0] > size:
            first += 1
    assert Sentences(size, overlap).spans(text) == want


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sentences_on_real_text(language: str) -> None:
    text = real_text(language)
    starts, spans = [start for start, _ in sentence_spans(text)], Sentences(1000).spans(text)
    sound(text, spans, 1000)
    assert all(starts[bisect_left(starts, start)] == start for start, _ in spans)


# Windows


@quick
@given(texts, sizes)
def test_windows_of_words(text: str, size: tuple[int, int]) -> None:
    n, overlap = size
    spans = Windows(n, overlap).spans(text)
    sound(text, spans, len(text))
    found = re.findall("[\u4e00-\u9fff\u30ab]|[^\\s\u4e00-\u9fff\u30ab]+", text)
    assume(not re.search(chunks._WINDOW_WORD.pattern.split("|")[0], re.sub("[\u4e00-\u9fff\u30ab]", "", text)))
    want, first = [], 0
    while first < len(found):
        want.append(found[first : first + n])
        if first + n >= len(found):
            break
        first += n - overlap
    assert [chunks._WINDOW_WORD.findall(chunk) for chunk in cut(text, spans)] == want


@quick
@given(texts, sizes)
def test_windows_of_characters(text: str, size: tuple[int, int]) -> None:
    spans = Windows(*size, unit="characters").spans(text)
    sound(text, spans, size[0], stripped=False)
    assert all(end - start == size[0] for start, end in spans[:-1] if end < len(text))
    assert all(start % (size[0] - size[1]) == 0 for start, _ in spans)


# Semantic


@examples(200)
@given(texts, sizes, st.booleans())
def test_semantic_offsets_are_exact(text: str, size: tuple[int, int], markdown: bool) -> None:
    library = pytest.importorskip("semantic_text_splitter", reason="needs the extra splitter")
    spans = Semantic(*size, markdown=markdown).spans(text)
    kind = library.MarkdownSplitter if markdown else library.TextSplitter
    assert cut(text, spans) == [chunk.strip() for chunk in kind(*size).chunks(text) if chunk.strip()]
    assert all(a[0] <= b[0] for a, b in pairwise(spans))
    covers(text, spans)
    assert all(0 < end - start <= size[0] for start, end in spans)


def test_semantic_says_so_where_its_library_breaks_down(monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})

    def breaks(text: str) -> None:
        raise panic("Invalid byte sequence")

    kind = SimpleNamespace(chunk_indices=breaks)
    library = SimpleNamespace(TextSplitter=lambda *_: kind, MarkdownSplitter=lambda *_: kind)
    monkeypatch.setattr(chunks, "require", lambda *_, **__: library)
    with pytest.raises(StageError, match=r"broke down \(Invalid byte sequence\).*overlap = 0"):
        Semantic(10, 5, markdown=True).spans("text")
    monkeypatch.setattr(kind, "chunk_indices", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        Semantic().spans("text")


def _interrupted(text: str) -> None:
    raise KeyboardInterrupt


def test_semantic_refuses_lone_surrogates() -> None:
    pytest.importorskip("semantic_text_splitter", reason="needs the extra splitter")
    with pytest.raises(StageError, match="character 2 is a lone surrogate"):
        Semantic().spans("ab\ud800")


def test_semantic_asks_for_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.base.extras.import_module", _absent)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[splitter\]'"):
        Semantic().spans("text")


def _absent(name: str) -> None:
    raise ModuleNotFoundError(name, name=name)


# Splitter


class Gives:
    """A splitter whose chunks are known."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = chunks

    def split_text(self, text: str) -> list[Any]:
        return list(self.chunks)


@quick
@given(texts, sizes, st.sampled_from([Recursive, Windows, Sentences]))
def test_splitters_are_located(text: str, size: tuple[int, int], kind: Any) -> None:
    spans = kind(size[0], min(size[1], 3) if kind is Sentences else size[1]).spans(text)
    chunks = cut(text, spans)
    located = Splitter(Gives(*chunks)).spans(text)
    assert cut(text, located) == chunks
    assert all(a[0] <= b[0] for a, b in pairwise(located))


@pytest.mark.parametrize(
    ("text", "chunks", "want"),
    [
        ("a a a a", ["a a", "a a"], [(0, 3), (4, 7)]),
        ("知知知知", ["知知", "知知"], [(0, 2), (2, 4)]),
        ("one two three", ["one two", "two three"], [(0, 7), (4, 13)]),
        ("aaaa", ["aaa", "aaa"], [(0, 3), (1, 4)]),
        ("aaaaaa", ["aaa", "aaa", "aaa"], [(0, 3), (1, 4), (2, 5)]),
        ("x. y. z", ["x", "y", "z"], [(0, 1), (3, 4), (6, 7)]),
        ("head tail head", ["head", "head"], [(0, 4), (10, 14)]),
        ("one two", ["one two", "two"], [(0, 7), (4, 7)]),
        ("one", ["", " ", "one"], [(0, 3)]),
        ("", [], []),
    ],
)
def test_where_a_chunk_is_found(text: str, chunks: list[str], want: list[Span]) -> None:
    assert Splitter(Gives(*chunks)).spans(text) == want


def test_a_splitter_of_langchain() -> None:
    library = pytest.importorskip("langchain_text_splitters", reason="an oracle of the tests only")
    for language in ("en", "zh"):
        text = real_text(language)
        for keep in (True, False):
            splitter = library.RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=60, keep_separator=keep)
            located = Splitter(splitter).spans(text)
            assert cut(text, located) == splitter.split_text(text)
            covers(text, located)
        ours = Recursive(300, 60, overlap_mode="langchain").spans(text)
        splitter = library.RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=60)
        assert Splitter(splitter).spans(text) == ours


def test_a_splitter_that_changes_the_text() -> None:
    with pytest.raises(StageError, match="chunk Gives: chunk 2 of 2 is not in the text behind character 0: 'TWO'"):
        Splitter(Gives("one", "TWO")).spans("one two")
    with pytest.raises(StageError, match="chunk 1 is 5; expected split_text to give texts"):
        Splitter(Gives(5)).spans("one two")
    with pytest.raises(InputError, match="has no method split_text"):
        Splitter(object())


def test_a_splitter_tells_what_it_is() -> None:
    assert Splitter(Gives("a")).identity() == Splitter(Gives("a")).identity()
    assert Splitter(Gives("a")).identity() != Splitter(Gives("b")).identity()


# Settings


@pytest.mark.parametrize(
    ("kind", "chosen", "says"),
    [
        (Recursive, {"size": 0}, "size must be a whole number from 1, not 0"),
        (Recursive, {"size": 10.5}, "size must be a whole number"),
        (Recursive, {"overlap": -1}, "overlap must be a whole number from 0, not -1"),
        (Recursive, {"size": 100, "overlap": 100}, "overlap 100 must be less than size 100"),
        (Recursive, {"overlap_mode": "fuzzy"}, "overlap_mode must be 'exact' or 'langchain', not 'fuzzy'"),
        (Recursive, {"separators": "\n"}, "separators must be a list"),
        (Recursive, {"separators": []}, "separators must be a list"),
        (Recursive, {"separators": [1]}, "separators[0] must be a text, not 1"),
        (Sentences, {"size": -5}, "Sentences: size must be a whole number from 1, not -5"),
        (Sentences, {"overlap": -5}, "Sentences: overlap must be a whole number from 0, not -5"),
        (Windows, {"unit": "pages"}, "unit must be 'words' or 'characters', not 'pages'"),
        (Windows, {"size": 5, "overlap": 7}, "overlap 7 must be less than size 5"),
        (Semantic, {"size": True}, "Semantic: size must be a whole number from 1, not True"),
    ],
)
def test_bad_settings(kind: Any, chosen: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        kind(**chosen)


def test_hard_texts_are_quick() -> None:
    began = time.process_time()
    for unit in ("x", "知", " ", "\r\n", "e\u0301", "\u0301", "\u200d", "🇨", "，", "word ", "。”", "-", "a.b"):
        text = unit * 3_000
        for chunker in (Recursive(), Recursive(20, 19), Sentences(), Windows(), Recursive(overlap_mode="langchain")):
            chunker.spans(text)
    assert time.process_time() - began < 10
