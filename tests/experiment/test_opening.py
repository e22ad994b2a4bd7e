"""What a path or an object is, and how often each file is opened and read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.align import resolver
from steelyard.base.options import WeighOptions
from steelyard.data.folders import run_folder
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.door.opening import open_corpus, open_inputs

LINE: dict[str, Any] = {"qid": "q", "query": "?"}
RUN = {"q": ["d"]}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is opened, by name."""
    counts: Counter[str] = Counter()
    plain = Path.open

    def counting(path: Path, *arguments: Any, **options: Any) -> Any:
        counts[path.name] += 1
        return plain(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", counting)
    return counts


def gold_of(path: Path, *, runs: object = None, corpus: object = None) -> Truth | Questions:
    return open_inputs(path, RUN if runs is None else runs, WeighOptions(documents=corpus)).gold


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_questions_are_what_has_evidence(tmp_path: Path) -> None:
    cases = {
        "evidence": ({**LINE, "evidence": []}, Questions),
        "ids": ({"qid": "q", "gold_evidence": ["c"]}, Truth),
        "word": ({"qid": "q", "query": 'what is "evidence"?', "rel_map": {}}, Truth),
    }
    for name, (line, kind) in cases.items():
        assert isinstance(gold_of(written(tmp_path / f"{name}.jsonl", line)), kind), name
    (tmp_path / "d.qrels").write_text("q 0 d 1\n")
    assert isinstance(gold_of(tmp_path / "d.qrels"), Truth)
    written(tmp_path / "questions.jsonl", {**LINE, "evidence": []})
    assert isinstance(gold_of(tmp_path), Questions)


def test_labels_are_looked_up_where_there_are_texts(tmp_path: Path) -> None:
    path = written(tmp_path / "ids.jsonl", {**LINE, "gold_evidence": ["c"]})
    outputs = sy.Outputs([{"qid": "q", "retrieved": [{"id": "c", "text": "a"}]}])
    assert isinstance(gold_of(path, runs=[outputs]), Questions)
    assert isinstance(gold_of(path, corpus=[sy.Document("d", "a")]), Questions)


def test_a_corpus_is_chunks_or_documents(tmp_path: Path) -> None:
    chunks = written(tmp_path / "chunks.jsonl", {"id": "c", "doc": "d", "start": 0, "end": 1})
    documents = written(tmp_path / "documents.jsonl", {"_id": "d", "text": 'a "start" of something'})
    (tmp_path / "text.md").write_text('A text with "start" in it.')
    for path, n_chunks, doc_ids in (
        (chunks, 1, None),
        (documents, None, ["d"]),
        (tmp_path / "text.md", None, ["text"]),
    ):
        corpus = open_corpus(path)
        assert corpus is not None
        assert (corpus.chunks and len(corpus.chunks.ids)) == n_chunks
        assert (corpus.documents and [document.doc_id for document in corpus.documents]) == doc_ids
    with pytest.raises(sy.InputError, match="corpus: cannot be read from int"):
        open_corpus(3)


@pytest.mark.parametrize(
    ("line", "chunk"),
    [
        ({"id": "c12", "text": "押金三天内退还。", "doc": "手册"}, "c12"),
        ({"chunk_id": "c12", "text": "a", "doc_id": "d"}, "c12"),
        ({"chunk_id": "c12", "text": "a"}, "c12"),
        ({"id": 12, "text": "a", "doc_id": "d"}, "12"),
        ({"_id": "c12", "text": "a", "doc": "d"}, "c12"),
        ({"id": "c12", "text": "a", "doc": None, "page": 3}, "c12"),
        ({"id": "d", "text": "a"}, None),
        ({"doc": "d", "text": "a"}, None),
        ({"doc_id": "d", "text": "a"}, None),
        ({"_id": "d", "title": "t", "text": "a", "doc_id": "d"}, None),
    ],
)
def test_chunks_without_offsets_are_chunks(tmp_path: Path, line: dict[str, Any], chunk: str | None) -> None:
    """They were once documents, which were cut again, so that each was two things with two ids."""
    corpus = open_corpus(written(tmp_path / "chunks.jsonl", line))
    assert corpus is not None
    assert (corpus.chunks and corpus.chunks.ids[0]) == chunk
    assert (corpus.documents is None) == (chunk is not None)


@pytest.mark.parametrize("n_topics", [3, 20_000], ids=["a small truth", "one beyond 64 KiB"])
def test_one_run_opens_each_file_once(tmp_path: Path, opened: Counter[str], n_topics: int) -> None:
    """The qrels were once opened five times; a long file is opened for its first bytes, and then for all of it."""
    for name in ("a.qrels", "b.run"):
        row = "q{} 0 d 1\n" if name == "a.qrels" else "q{} Q0 d 1 1.0 b\n"
        (tmp_path / name).write_text("".join(row.format(i) for i in range(n_topics)))
    opened.clear()
    assert sy.evaluate(tmp_path / "a.qrels", tmp_path / "b.run", "mrr").means.tolist() == [[1.0]]
    times = 1 if n_topics < 1000 else 2
    assert opened["a.qrels"] == opened["b.run"] == times


@pytest.mark.parametrize("line", [{"qid": "q{}", "query": "?"}, {"_id": "q{}", "text": "?"}], ids=["ours", "BEIR"])
@pytest.mark.parametrize("n_queries", [3, 20_000], ids=["small", "beyond 64 KiB"])
def test_texts_of_queries_are_opened_once(
    tmp_path: Path, opened: Counter[str], line: dict[str, str], n_queries: int
) -> None:
    """They were once opened twice, and a long file four times."""
    rows = ({key: value.format(i) for key, value in line.items()} for i in range(n_queries))
    queries = written(tmp_path / "queries.jsonl", *rows)
    opened.clear()
    weighing = sy.weigh({"q1": {"d": 1}}, {"q1": ["d"]}, questions=queries)
    assert weighing.questions["q1"].query == "?"
    assert opened["queries.jsonl"] == (1 if n_queries < 1000 else 2)


def test_run_folders_are_opened_once(tmp_path: Path, opened: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Four folders of one corpus: gold was once resolved 8 times, questions read 6 times, and manifests 13 times."""
    pytest.importorskip("bm25s", reason="pipelines need the extra rag")
    (tmp_path / "texts").mkdir()
    for name in "abcd":
        (tmp_path / "texts" / f"{name}.txt").write_text(f"The word {name * 3} is in this text alone. " * 20)
    questions = written(
        tmp_path / "questions.jsonl",
        *({"qid": n, "query": f"word {n * 3}", "evidence": [{"doc": n, "quote": f"word {n * 3}"}]} for n in "abcd"),
    )
    folders = [tmp_path / "runs" / str(i) for i in range(4)]
    for folder in folders:
        sy.Pipeline(tmp_path / "texts", index="bm25", rerank="lexical").run(questions, folder)
    resolved = Counter[str]()
    plain = resolver.resolve
    monkeypatch.setattr(resolver, "resolve", lambda *a, **k: (resolved.update(["gold"]), plain(*a, **k))[1])
    read_chunks = run_folder._read_chunks
    chunks_read: list[Path] = []
    monkeypatch.setattr(run_folder, "_read_chunks", lambda path: (chunks_read.append(path), read_chunks(path))[1])
    opened.clear()
    weighing = sy.weigh(questions, {folder.name: folder for folder in folders})
    assert resolved["gold"] == 1
    assert opened["questions.jsonl"] == 1
    assert opened["manifest.json"] == len(folders)
    assert opened["outputs.jsonl"] == len(folders)
    assert chunks_read == [folders[0]]
    assert weighing.reranks == dict.fromkeys(weighing.systems, True)
    assert all([len(run) for run in runs] == [4] for runs in weighing.latency_ms.values())
    assert list(weighing.folders) == weighing.systems
    assert opened["config.json"] == len(folders)
    assert opened["outputs.jsonl"] == len(folders)


def beir_folder(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\nq2\td1\t0\n")
    written(folder / "queries.jsonl", {"_id": "q1", "text": "one?"}, {"_id": "q2", "text": "two?"})
    written(folder / "corpus.jsonl", *({"_id": f"d{i}", "title": f"Title {i}", "text": f"text {i}"} for i in range(4)))
    return folder


def test_a_beir_folder_brings_queries_and_texts_when_they_are_asked_for(tmp_path: Path, opened: Counter[str]) -> None:
    folder = beir_folder(tmp_path / "beir")
    opened.clear()
    weighing = sy.weigh(folder, {"q1": ["d1", "d3"], "q2": ["d9"]})
    weighing.scores("recall@1")
    assert not {"queries.jsonl", "corpus.jsonl"} & opened.keys()
    assert {query_id: question.query for query_id, question in weighing.questions.items()} == {
        "q1": "one?",
        "q2": "two?",
    }
    assert len(weighing.questions) == 2
    assert weighing.texts(["d3", "d9", "d1"]) == {"d1": "Title 1\n\ntext 1", "d3": "Title 3\n\ntext 3"}
    (folder / "corpus.jsonl").unlink()
    (folder / "queries.jsonl").unlink()
    bare = sy.weigh(folder, {"q1": ["d1"]})
    assert (dict(bare.questions), bare.texts(["d1"])) == ({}, {})


@pytest.mark.parametrize("truth", ["folder", "dict"])
def test_documents_change_no_score_of_runs_by_ids(tmp_path: Path, truth: str) -> None:
    folder = beir_folder(tmp_path / "beir")
    gold: object = folder if truth == "folder" else {"q1": {"d1": 1}, "q2": {"d2": 2, "d1": 0}}
    (tmp_path / "a.run").write_text("q1 Q0 d3 1 2 a\nq1 Q0 d1 2 1 a\nq2 Q0 d2 1 1 a\n")
    runs, measures = [tmp_path / "a.run"], ["mrr", "ndcg@2", "recall@1"]
    weighing = sy.weigh(gold, runs, documents=folder)
    assert weighing.scores(measures).values.tolist() == sy.evaluate(gold, runs, measures).values.tolist()
    assert weighing.texts(["d1"]) == {"d1": "Title 1\n\ntext 1"}


def test_evidence_without_labels_needs_chunks(tmp_path: Path) -> None:
    questions = [{**LINE, "evidence": [{"doc": "d1", "text": "text 1"}]}]
    with pytest.raises(sy.InputError, match="the chunks of the corpus"):
        sy.weigh(questions, [sy.Run(RUN)], documents=beir_folder(tmp_path / "beir"))


@pytest.mark.parametrize("kind", ["file", "list"])
def test_chunks_that_say_their_documents_are_weighed_by_a_beir_folder(tmp_path: Path, kind: str) -> None:
    """By ids alone no chunk would have a label."""
    folder = beir_folder(tmp_path / "beir")
    lines = [
        {"qid": "q1", "retrieved": [{"id": "c1", "doc": "d3"}, {"id": "c2", "doc": "d3"}, {"id": "c3", "doc": "d1"}]},
        {"qid": "q2", "retrieved": [{"id": "c4", "doc": "beir/d2.txt", "text": "text 2"}]},
    ]
    written(tmp_path / "chunks.jsonl", *lines)
    run = tmp_path / "chunks.jsonl" if kind == "file" else lines
    scores = sy.evaluate(folder, {"s": run}, "mrr")
    assert scores.values.ravel().tolist() == [0.5, 1]
    (folder / "queries.jsonl").unlink()
    assert sy.evaluate(folder, {"s": run}, "mrr").values.ravel().tolist() == [0, 0]


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5_000, "a\0b"])
def test_names_that_no_file_can_have(name: str) -> None:
    """The system refuses to look for them; they are files that are not there."""
    truth = {"q": ["a"]}
    for weigh in (
        lambda: sy.evaluate(name, truth),
        lambda: sy.evaluate(truth, name),
        lambda: sy.evaluate(truth, truth, questions=name),
        lambda: sy.evaluate(truth, truth, documents=name),
        lambda: sy.load(name),
        lambda: sy.Questions.read(name),
    ):
        with pytest.raises(sy.InputError, match="there is no such file"):
            weigh()


def test_a_file_is_not_asked_for_what_only_folders_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    plain = Path.read_bytes

    def reading(path: Path) -> bytes:
        asked.append(path)
        return plain(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    (tmp_path / "a.run").write_text("q Q0 d 1 2.0 a\n")
    sy.evaluate({"q": {"d": 1}}, str(tmp_path / "a.run"))
    assert [path for path in asked if path.name == "manifest.json"] == []
