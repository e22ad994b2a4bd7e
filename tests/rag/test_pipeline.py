import json
import re
import sqlite3
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, OutputError, StageError
from steelyard.base.notes import Note
from steelyard.base.settings import SettingError
from steelyard.data.corpus import Document
from steelyard.rag.config import Config
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.services.cache import Cache
from tests.hypothesis_profiles import examples
from tests.rag import small
from tests.rag.small import TEXTS, Common, Halves, Learner, Letters, Nearest, Shortest, Stops


def made(documents: object = TEXTS, **options: object) -> Pipeline:
    return Pipeline(documents, **{"chunk": Stops(), "index": Common(), **options})


def test_a_question_gets_its_passages_with_exact_offsets() -> None:
    pipeline = made(k=3)
    passages = pipeline.search("What slides along the beam?")
    assert passages[0].text == " The weight slides along the beam."
    assert passages[0].chunk_id == "scales.txt#2"
    assert all(TEXTS[p.doc_id][p.start : p.end] == p.text for p in passages)
    response = pipeline.ask("What slides along the beam?")
    assert list(response.passages) == passages
    assert response.answer is None
    assert set(response.latency_ms) == {"search", "total"}
    assert 0 < response.latency_ms["search"] < response.latency_ms["total"]


def test_equal_scores_are_ordered_as_they_are_weighed() -> None:
    """Descending by the bytes of the id, so that #9 comes before #10, and 茶 before both."""
    pipeline = made({"a": "x." * 11, "茶": "x."}, k=20)
    assert [p.chunk_id for p in pipeline.search("x")][:4] == ["茶#1", "a#9", "a#8", "a#7"]
    assert [p.chunk_id for p in pipeline.search("x")][-3:] == ["a#11", "a#10", "a#1"]


@examples(60)
@given(st.lists(st.text("ab.", max_size=8), min_size=1, max_size=6), st.integers(1, 6), st.integers(1, 6))
def test_what_is_shown_is_what_is_weighed(texts: list[str], k: int, top_n: int) -> None:
    pipeline = made({f"d{i}": text + "." for i, text in enumerate(texts)}, k=k, rerank=Shortest(), top_n=top_n)
    passages = pipeline.search("a")
    assert len(passages) == min(k, len(pipeline.chunks))
    keys = [(p.score, p.chunk_id.encode()) for p in passages]
    assert keys == sorted(keys, reverse=True)


def test_the_tail_that_was_not_reranked_is_kept_below() -> None:
    plain = made(k=9).search("the whale")
    reranked = made(k=9, rerank=Shortest(), top_n=3).search("the whale")
    assert [p.chunk_id for p in reranked[3:]] == [p.chunk_id for p in plain[3:]]
    assert {p.chunk_id for p in reranked[:3]} == {p.chunk_id for p in plain[:3]}
    lowest = reranked[2].score
    assert lowest == -max(len(p.text) for p in reranked[:3])
    assert [p.score for p in reranked[3:]] == [lowest - i for i in range(1, 7)]


class Huge:
    def scores(self, query: str, texts: list[str]) -> list[float]:
        return [1e17] * len(texts)


def test_the_tail_is_below_even_a_score_that_swallows_a_step_of_one() -> None:
    scores = [p.score for p in made(k=9, rerank=Huge(), top_n=3).search("the whale")]
    assert scores[0] == 1e17
    assert all(a > b for a, b in pairwise(scores))


def test_what_the_reranker_holds_equal_keeps_its_order() -> None:
    plain = made(k=9).search("the whale")
    reranked = made(k=9, rerank=Huge(), top_n=5).search("the whale")
    assert [p.chunk_id for p in reranked] == [p.chunk_id for p in plain]


def test_several_indexes_are_fused_and_timed_by_name() -> None:
    pytest.importorskip("steelyard.rag.stages.searching")
    pipeline = made(index=[Common(), Nearest(), Nearest()], embed=Letters(), rerank=Shortest())
    assert pipeline.name == "common-nearest-nearest-shortest"
    latency_ms = pipeline.ask("the whale").latency_ms
    assert list(latency_ms) == [
        "embed", "search.common", "search.nearest", "search.nearest.2", "fuse", "rerank", "total"
    ]  # fmt: skip
    assert sum(latency_ms.values()) - latency_ms["total"] <= latency_ms["total"]


def test_chunkers_of_other_libraries_are_taken() -> None:
    pipeline = Pipeline({"a": "one two three"}, chunk=Halves(), index=Common())
    assert pipeline.chunks.texts == ["one tw", "o three"]


def test_documents_are_given_in_several_ways(tmp_path: Path) -> None:
    small.write(tmp_path)
    ways = (tmp_path / "documents", str(tmp_path / "documents"), TEXTS, [Document(k, v) for k, v in TEXTS.items()])
    assert len({tuple(sorted(made(way).chunks.texts)) for way in ways}) == 1
    with pytest.raises(InputError, match="two documents are called 'a'"):
        made([Document("a", "x"), Document("a", "y")]).prepare()


def test_an_embedder_is_made_only_for_an_index_that_needs_it() -> None:
    made(embed="there is no such embedder").prepare()
    with pytest.raises(InputError, match="no embed stage is called"):
        made(index=Nearest(), embed="there is no such embedder")
    with pytest.raises(InputError, match="embed cannot be none"):
        made(index=Nearest(), embed=None)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"k": 0}, "k must be a whole number"),
        ({"k": 101}, "depth = 100 candidates"),
        ({"top_n": 1.5}, "top_n must be"),
        ({"rerank": {"kind": "lexical", "top_n": 0}}, "top_n must be"),
        ({"index": []}, "index must be a name or a table with `kind`, or a list of several of them, not []"),
        ({"index": [Common(), Common()], "fuse": "none"}, "need a fuse stage"),
        ({"unit": "page"}, "unit must be"),
        ({"rerank": {"top_n": 5}}, "rerank is a table without `kind`"),
        ({"rerank": "tests.rag.small:Shortes"}, "did you mean Shortest"),
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        made(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"k": 0}, {"k": "ten"}, {"depth": True}, {"k": 101}, {"encoding": ""}, {"index": []},
        {"index": ["bm25", "none"]}, {"index": [{"k1": 3}]}, {"index": ["bm25", "dense"], "fuse": "none"},
        {"chunk": 500},
        {"unit": "page"},
        {"embed": "none"}, {"rerank": {"kind": "lexical", "top_n": 0}}, {"generate": {"passages": 1}},
    ],
)  # fmt: skip
def test_files_and_keyword_arguments_obey_the_same_rules(options: dict[str, Any]) -> None:
    with pytest.raises(SettingError) as of_file:
        Config.of({"documents": ".", **options})
    with pytest.raises(SettingError) as of_arguments:
        Pipeline(".", **options)
    assert str(of_file.value) == str(of_arguments.value)
    assert of_file.value.keys == of_arguments.value.keys != ()


@pytest.mark.parametrize("query", ["", " \n\t", "　"])
def test_an_empty_question_is_refused(query: str) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        made().ask(query)


def test_notes_say_each_thing_once(tmp_path: Path) -> None:
    small.write(tmp_path, {"a.txt": "One.", "b.txt": "", "c.bin": "\0"})
    pipeline = made(tmp_path / "documents", k=10)
    pipeline.search("One")
    pipeline.prepare()
    pipeline.search("Two")
    assert pipeline.notes == (
        Note("files_skipped", {"n": 1, "names": ["c.bin"]}),
        Note("documents_empty", {"n": 1, "names": ["b"]}),
        Note("few_chunks", {"k": 10, "n": 1}),
    )
    assert len(pipeline.search("One")) == 1


def test_encodings_that_were_detected_are_in_a_note_and_in_the_manifest(tmp_path: Path) -> None:
    old, table = "押金在三个工作日内退还，逾期不还的物品按原价赔偿。", {"b.*": "utf-8", "*": "gbk"}
    small.write(tmp_path, {"a.txt": "", "b.txt": "押金"})
    (tmp_path / "documents" / "a.txt").write_bytes(old.encode("gbk"))
    detected, named = (made(tmp_path / "documents", encoding=encoding, k=1) for encoding in ("detect", table))
    assert [document.text for document in detected.documents] == [old, "押金"]
    values = {"n": 1, "names": ["a.txt (gb18030)"], "encodings": {"a.txt": "gb18030"}}
    assert detected.notes == (Note("files_decoded", values),)
    folder = detected.run([{"qid": "q", "query": "押金"}], tmp_path / "run")
    assert folder.manifest["notes"] == [{"code": "files_decoded", "values": values}]
    assert (named.notes, named.resolved()["encoding"], detected.resolved()["encoding"]) == ((), table, "detect")
    assert named.fingerprint == detected.fingerprint
    assert made(tmp_path / "documents", encoding={"a.*": "latin-1"}, k=1).fingerprint != detected.fingerprint


@pytest.mark.parametrize("stages", [{"index": "bm25"}, {"index": "dense"}, {"index": "bm25", "rerank": "lexical"}])
@pytest.mark.parametrize(
    ("query", "want"), [("怎么换电池？", "battery"), ("Who is Anna Pavlovna?", "salon"), ("電池", "battery")]
)
def test_a_question_in_another_script_or_without_accents_is_answered(
    stages: dict[str, str], query: str, want: str
) -> None:
    for library in ("bm25s", "rjieba", "sklearn"):
        pytest.importorskip(library, reason="needs the extra rag")
    texts = {
        "battery": "更換電池前請先關閉電源。",
        "salon": "Anna Pávlovna’s soirée.",
        "other": "It was a whale. 天氣很好。",
    }
    hits = made(texts, **stages).search(query)
    assert hits[0].doc_id == want
    assert hits[0].score > 0


def test_documents_without_any_chunk() -> None:
    with pytest.raises(InputError, match="no chunk could be made of 2 documents"):
        made({"a": "", "b": ""}).prepare()
    with pytest.raises(InputError, match="no chunk could be made of 0 documents"):
        made({}).prepare()


class Beyond:
    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(0, 2), (1, 99)]


class Backwards:
    def spans(self, text: str) -> list[tuple[int, int]]:
        return [(2, 4), (0, 2)]


@pytest.mark.parametrize(("chunker", "span"), [(Beyond(), r"\(1, 99\)"), (Backwards(), r"\(0, 2\)")])
def test_spans_that_are_none(chunker: object, span: str) -> None:
    with pytest.raises(
        InputError, match=rf"the chunker gave the span {span}; expected 0 <= start < end <= \d+, ascending"
    ):
        made(chunk=chunker).prepare()


class NotFinite(Letters):
    def documents(self, texts: list[str]) -> np.ndarray:
        return np.full((len(texts), 3), np.nan, np.float32)


class TooFew(Letters):
    def documents(self, texts: list[str]) -> np.ndarray:
        return np.ones((len(texts) - 1, 3), np.float32)


@pytest.mark.parametrize("embedder", [NotFinite(), TooFew()])
def test_vectors_that_are_none(embedder: object) -> None:
    with pytest.raises(StageError, match="expected one row of finite numbers a text"):
        made(index=Nearest(), embed=embedder).prepare()


def test_a_reranker_that_gives_nan_fails_that_question() -> None:
    with pytest.raises(StageError, match="nan"):
        made(rerank=Shortest(_nan_on="whale")).search("the whale")


# The cache


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def test_a_second_pipeline_with_another_reranker_embeds_nothing(cache: Path) -> None:
    first, second = Letters(), Letters()
    one = made(index=Nearest(), embed=first, cache=cache)
    other = made(index=Nearest(), embed=second, cache=cache, rerank=Shortest())
    one.prepare()
    other.prepare()
    assert len(first._texts) == len(one.chunks)
    assert second._texts == []
    assert one.fingerprint["embed"] == other.fingerprint["embed"]
    assert [p.score for p in one.search("sea")] == [
        p.score for p in made(index=Nearest(), embed=second, cache=cache).search("sea")
    ]


def test_what_was_changed_in_the_cache_is_computed_anew_and_said(cache: Path) -> None:
    whole = made(index=Nearest(), embed=Letters(), cache=cache).search("sea")
    with sqlite3.connect(cache) as file:
        file.execute("UPDATE entries SET value = zeroblob(length(value)) WHERE kind LIKE '%vectors%'")
        n = file.execute("SELECT changes()").fetchone()[0]
    file.close()
    pipeline = made(index=Nearest(), embed=(embedder := Letters()), cache=cache)
    assert pipeline.search("sea") == whole
    assert Note("cache_damaged", {"n": n}) in pipeline.notes
    assert len(embedder._texts) == n
    assert "cache_damaged" not in [note.code for note in made(index=Nearest(), embed=Letters(), cache=cache).notes]


@pytest.mark.parametrize("seed", range(24))
def test_no_damage_of_the_cache_changes_a_ranking(seed: int, cache: Path) -> None:
    whole = made(index=Nearest(), embed=Letters(), cache=cache).search("sea")
    random, content = np.random.default_rng(seed), bytearray(cache.read_bytes())
    for place in random.integers(len(content), size=seed % 4 + 1):
        content[place] ^= random.integers(1, 256)
    cache.write_bytes(content[: random.integers(len(content))] if seed % 4 == 0 else content)
    try:
        passages = made(index=Nearest(), embed=Letters(), cache=cache).search("sea")
    except (InputError, OutputError):
        return  # SQLite noticed by itself.
    assert passages == whole


def test_only_new_texts_are_embedded_and_each_once(cache: Path) -> None:
    made({"a": "One. Two.", "b": "One."}, index=Nearest(), embed=(first := Letters()), cache=cache).prepare()
    assert first._texts == ["One.", " Two."]
    made({"a": "One. Three.", "b": "One."}, index=Nearest(), embed=(second := Letters()), cache=cache).prepare()
    assert second._texts == [" Three."]
    made({"a": "One."}, index=Nearest(), embed=(third := Letters(size=8)), cache=cache).prepare()
    assert third._texts == ["One."]


def test_what_was_embedded_before_an_interruption_is_kept(cache: Path) -> None:
    texts = {f"d{i}": f"Text {i}." for i in range(200)}
    with pytest.raises(KeyboardInterrupt):
        made(texts, index=Nearest(), embed=(first := Letters(_stop_after=100)), cache=cache).prepare()
    made(texts, index=Nearest(), embed=(second := Letters()), cache=cache).prepare()
    assert len(first._texts) == 128
    assert len(second._texts) == 200 - 128


def test_what_an_embedder_learnt_is_kept_for_the_same_corpus_alone(cache: Path) -> None:
    made(index=Nearest(), embed=(first := Learner()), cache=cache).prepare()
    same = made(index=Nearest(), embed=(second := Learner()), cache=cache)
    assert [p.score for p in same.search("the sea")] == [
        p.score for p in made(index=Nearest(), embed=Learner()).search("the sea")
    ]
    assert (first._fits, second._fits, second._texts) == (1, 0, [])
    more = made({**TEXTS, "more": "More."}, index=Nearest(), embed=(third := Learner()), cache=cache)
    more.prepare()
    assert third._fits == 1
    assert len(third._texts) == len(more.chunks)


class Counting(Stops):
    asked = 0

    def spans(self, text: str) -> list[tuple[int, int]]:
        Counting.asked += 1
        return super().spans(text)


def test_chunks_come_from_the_cache(cache: Path) -> None:
    Counting.asked = 0
    first, again = (made(chunk=Counting(), cache=cache).chunks for _ in range(2))
    assert Counting.asked == len(TEXTS)
    assert (again.texts, again.ids) == (first.texts, first.ids)
    made(chunk=Counting(marks="。"), cache=cache).prepare()
    assert Counting.asked == 2 * len(TEXTS)


class Opaque:
    """Says nothing of what it does: what it made must not be taken for what another makes."""

    def __init__(self, stage: Stops) -> None:
        self.stage = stage

    def spans(self, text: str) -> list[tuple[int, int]]:
        return self.stage.spans(text)


def test_the_work_of_a_stage_that_says_nothing_of_itself_is_not_kept(cache: Path) -> None:
    one, other = (made(chunk=Opaque(Stops(marks=marks)), cache=cache) for marks in (".。", "。"))
    assert len(one.chunks) > len(other.chunks)
    assert one.fingerprint["chunk"] != other.fingerprint["chunk"]


def test_no_secret_and_no_text_gets_into_the_cache(cache: Path) -> None:
    made(index=Nearest(), embed=Letters(), cache=cache).prepare()
    data = b"".join(path.read_bytes() for path in cache.parent.iterdir())
    assert b"whale" not in data
    assert "茶叶".encode() not in data


def test_a_cache_may_be_shared_as_an_object(cache: Path) -> None:
    shared = Cache(cache)
    made(index=Nearest(), embed=Letters(), cache=shared).prepare()
    made(index=Nearest(), embed=(second := Letters()), cache=shared).prepare()
    assert second._texts == []
    shared.close()


# Fingerprints


def test_a_fingerprint_changes_with_what_it_is_of_and_nothing_else() -> None:
    options = {"index": Nearest(), "embed": Letters(), "rerank": Shortest()}
    base = made(**options).fingerprint
    assert made(**options).fingerprint == base
    assert set(base) == {"corpus", "chunk", "embed", "index", "fuse", "rerank", "generate", "all"}
    changes = {
        ("all",): {"k": 3},
        ("rerank", "all"): {"top_n": 7},
        ("embed", "all"): {"embed": Letters(size=16)},
        ("chunk", "all"): {"chunk": Stops(marks="。")},
        ("corpus", "chunk", "all"): {"documents": {**TEXTS, "more": "More."}},
        ("embed", "index", "all"): {"index": Common()},
    }
    for parts, change in changes.items():
        other = made(**{**options, **change}).fingerprint
        assert {part for part in base if base[part] != other[part]} == set(parts)


# With the real stages


@pytest.fixture
def real() -> None:
    for module in ("bm25s", "sklearn"):
        pytest.importorskip(module, reason="the real stages need the extra rag")


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("index", ["bm25", "dense", ["bm25", "dense"]], ids=["bm25", "dense", "hybrid"])
@pytest.mark.parametrize("rerank", [None, "lexical"])
def test_real_stages_find_chinese_and_english(index: object, rerank: str | None, cache: Path) -> None:
    pipeline = Pipeline(
        TEXTS, chunk={"kind": "sentences", "size": 40}, index=index, rerank=rerank, generate="extractive", cache=cache
    )
    for query, text in (
        ("Where does Longjing tea 龙井茶 come from 来自哪里", "龙井茶来自杭州"),
        ("Who fear the whale?", "Sailors"),
    ):
        response = pipeline.ask(query)
        assert text in response.passages[0].text
        assert f"[{response.passages[0].chunk_id}]" in response.answer


@pytest.mark.usefixtures("real")
def test_a_configuration_makes_the_same_pipeline(tmp_path: Path) -> None:
    small.write(tmp_path)
    (tmp_path / "c.toml").write_text(
        'documents = "documents"\nindex = ["bm25", "dense"]\nk = 4\n'
        '[chunk]\nkind = "recursive"\nsize = 60\noverlap = 0\n'
        '[rerank]\nkind = "tests.rag.small:Shortest"\ntop_n = 2\n'
    )
    read = Pipeline.read(tmp_path / "c.toml")
    direct = Pipeline(
        tmp_path / "documents",
        chunk={"kind": "recursive", "size": 60, "overlap": 0},
        index=["bm25", "dense"],
        rerank={"kind": "tests.rag.small:Shortest", "top_n": 2},
        k=4,
    )
    assert read.fingerprint == direct.fingerprint
    assert read.search("whale") == direct.search("whale")
    assert list(read.ask("whale").latency_ms) == ["embed", "search.bm25", "search.dense", "fuse", "rerank", "total"]
    json.dumps(read.resolved())
    json.dumps(direct.resolved())


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "[chunk]\nkind = 'recursive'\nsise = 3",
            "line 4: chunk recursive: takes no setting 'sise'; did you mean size",
        ),
        ("chunk = 'recursiv'", "line 2: no chunk stage is called 'recursiv'; did you mean recursive"),
        (
            "[rerank]\nkind = 'lexical'\npairs = 7.0",
            "line 4: rerank lexical: pairs must be a number from 0 to 1, not 7.0",
        ),
        ("[index]\nkind = 'bm25'\nb = 0.5\nk1 = -1", "line 5: index bm25: k1 must be a number from 0, not -1"),
        (
            "[[index]]\nkind = 'bm25'\n[[index]]\nkind = 'dense'\nthreads = 'two'",
            "line 6: index dense: threads must be a whole number from 1, not 'two'",
        ),
        ("[chunk]\nkind = 'recursive'\nsize = 10\noverlap = 20", "line 5: chunk recursive: overlap 20 must be less"),
        ("generate = 'no.such:thing'", "line 2: generate stage 'no.such:thing'"),
    ],
)
def test_settings_that_a_stage_does_not_take_are_told_with_their_line(text: str, reason: str, tmp_path: Path) -> None:
    small.write(tmp_path)
    (tmp_path / "c.toml").write_text(f'documents = "documents"\n{text}\n')
    with pytest.raises(InputError) as caught:
        Pipeline.read(tmp_path / "c.toml")
    assert reason in str(caught.value)


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_an_index_whose_score_is_not_finite_is_refused(score: float, position: int) -> None:
    class Odd(Common):
        def search(self, query: str, vector: np.ndarray | None, k: int) -> tuple[np.ndarray, np.ndarray]:
            scores = np.array([3.0, 2.0, 1.0])
            scores[position] = score
            return np.arange(3), scores

    with pytest.raises(StageError, match="score is not a finite number"):
        made(index=Odd(), k=2).search("What slides?")
