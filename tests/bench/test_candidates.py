"""What rerankers are given, whatever it comes from."""

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.bench.candidates import Candidates, open_candidates
from steelyard.bench.config import BenchConfig
from tests.shared_data import shared

QRELS = "q1 0 d1 1\nq2 0 d3 1\nq3 0 d1 1\n"
RUN = "q1 Q0 d2 1 0.9 run\nq1 Q0 d1 2 0.5 run\nq2 Q0 d3 1 0.4 run\nq2 Q0 d1 2 0.4 run\nother Q0 d9 1 1.0 run\n"
DOCUMENTS = [{"_id": "d1", "text": "one"}, {"_id": "d2", "text": "two"}, {"_id": "d3", "text": ""}]
QUERIES = [{"_id": f"q{n}", "text": f"question {n}"} for n in (1, 2, 3)]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def bench(folder: Path, files: dict[str, str] | None = None, **values: Any) -> Candidates:
    """The candidates of a bench over small files, some of them other ones, or none where the text is empty."""
    texts = {"qrels.txt": QRELS, "bm25.run": RUN, "corpus.jsonl": lines(DOCUMENTS), "queries.jsonl": lines(QUERIES)}
    for name, text in (texts | (files or {})).items():
        if text:
            (folder / name).write_text(text)
    settings = {"truth": "qrels.txt", "candidates": "bm25.run", "documents": "corpus.jsonl", "depths": [1, 2]}
    return open_candidates(
        BenchConfig.of({**settings, **values, "systems": {"words": {"rerank": "lexical"}}}, base=folder)
    )


def notes(candidates: Candidates) -> dict[str, dict[str, Any]]:
    return {note.code: dict(note.values) for note in candidates.notes}


def test_a_run_with_documents_and_the_queries_beside_them(tmp_path: Path) -> None:
    candidates = bench(tmp_path)
    assert candidates.query_ids == ["q1", "q2", "q3"]
    assert candidates.searched == ["q1", "q2"]
    assert candidates.doc_ids == {"q1": ["d2", "d1"], "q2": ["d3", "d1"], "q3": []}
    assert candidates.queries == {"q1": "question 1", "q2": "question 2"}
    assert candidates.texts == {"d2": "two", "d1": "one", "d3": ""}
    assert candidates.first("q1", 1) == ["d2"]
    assert not candidates.first("q3", 5)
    assert not candidates.first("q9", 5)


def test_a_run_may_be_called_anything(tmp_path: Path) -> None:
    """Elsewhere NAME=FILE,FILE names several runs."""
    (tmp_path / "a=b,c").mkdir()
    assert bench(tmp_path, {"a=b,c/bm25.run": RUN}, candidates="a=b,c/bm25.run").doc_ids["q1"] == ["d2", "d1"]


def test_what_is_odd_is_said(tmp_path: Path) -> None:
    candidates = bench(tmp_path, {"bm25.run": RUN + "q1 Q0 d1 3 0.1 run\nq2 Q0 d2 3 0.1 run\n"}, depths=[3])
    assert candidates.doc_ids["q1"] == ["d2", "d1"]
    assert notes(candidates) == {
        "candidates_duplicate": {"n": 1, "names": ["q1"]},
        "candidates_empty": {"n": 1, "names": ["d3"]},
        "candidates_short": {"n": 2, "names": ["q3", "q1"], "depths": "3 (2)", "total": 3},
    }


@pytest.mark.parametrize(
    ("name", "text"), [("out.txt", "q1 0 d2 1\n"), ("out.jsonl", '{"qid": "q1", "exclude": ["d2", "d8"]}\n')]
)
def test_documents_are_left_out(tmp_path: Path, name: str, text: str) -> None:
    candidates = bench(tmp_path, {name: text}, exclude=name)
    assert candidates.doc_ids["q1"] == ["d1"]
    assert notes(candidates)["candidates_excluded"] == {"n": 1, "name": name}


@pytest.mark.parametrize(
    ("files", "values", "message"),
    [
        ({}, {"candidates": None}, "names no candidates"),
        ({}, {"truth": None}, "names no truth"),
        ({"qrels.txt": "q1 0 d1#1 1\nq2 0 d9 1\n"}, {}, "no candidate of any question has a label in qrels"),
        ({"bm25.run": "x Q0 d1 1 0.9 run\n"}, {}, "has no list for any of the 3 questions of qrels, such as 'q1'"),
        ({}, {"documents": None, "questions": "queries.jsonl"}, r"3 of 3 candidates .* name the documents"),
        ({"corpus.jsonl": lines(DOCUMENTS[1:])}, {}, r"1 of 3 candidates without a text \('d1'\); add them"),
        ({"queries.jsonl": ""}, {}, r"2 of 2 questions without a text \('q1', 'q2'\); name the file"),
        ({"queries.jsonl": lines(QUERIES[1:])}, {}, r"1 of 2 questions without a text \('q1'\); add them"),
        ({"out.jsonl": '{"qid": "q1"}\n'}, {"exclude": "out.jsonl"}, r"out.jsonl, line 1: must have `exclude`"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    tmp_path: Path, files: dict[str, str], values: dict[str, Any], message: str
) -> None:
    with pytest.raises(sy.InputError, match=message):
        bench(tmp_path, files, **values)


def test_a_run_folder_has_texts_itself(tmp_path: Path) -> None:
    """Of a pipeline that reranks, the lists before its reranker are the candidates."""
    documents = {"a": "the cat sat on the mat", "b": "a dog in the yard", "c": "the cat and the dog"}
    (tmp_path / "texts").mkdir()
    for name, text in documents.items():
        (tmp_path / "texts" / f"{name}.txt").write_text(text)
    questions = [{"qid": "q1", "query": "cat dog", "evidence": [{"doc": "c", "quote": "the cat and the dog"}]}]
    (tmp_path / "questions.jsonl").write_text(lines(questions))
    config = 'documents = "texts"\nquestions = "questions.jsonl"\nindex = "bm25"\nrerank = "lexical"\nk = 2\n'
    (tmp_path / "p.toml").write_text(config)
    from steelyard.rag.config import Config
    from steelyard.rag.weighed_run import run_and_weigh

    folder = run_and_weigh(Config.read(tmp_path / "p.toml")).folder
    values = {"candidates": str(folder.path), "depths": [2], "systems": {"words": {"rerank": "lexical"}}}
    with pytest.raises(sy.InputError, match="was run on questions outside of the folder"):
        open_candidates(BenchConfig.of(values))
    candidates = open_candidates(BenchConfig.of(values | {"truth": str(tmp_path / "questions.jsonl")}))
    assert len(candidates.doc_ids["q1"]) == 3
    assert set(candidates.first("q1", 2)) == set(candidates.texts)
    assert candidates.queries == {"q1": "cat dog"}
    assert "candidates_before_reranking" in notes(candidates)


def test_outputs_with_candidates_of_some_questions(tmp_path: Path) -> None:
    """A run whose lists are all that was searched names no candidates beside them."""
    rows = [
        {"qid": "q1", "retrieved": [{"id": "d1", "text": "one"}], "candidates": ["d2", "d1"]},
        {"qid": "q2", "retrieved": [{"id": "d3", "text": "three"}, {"id": "d2", "text": "two"}]},
    ]
    candidates = bench(tmp_path, {"out.jsonl": lines(rows)}, candidates="out.jsonl")
    assert candidates.doc_ids == {"q1": ["d2", "d1"], "q2": ["d3", "d2"], "q3": []}


def test_cranfield() -> None:
    values = {
        "truth": str(shared("cranfield", "beir")),
        "systems": {"words": {"rerank": "lexical"}},
        "candidates": str(shared("cranfield", "runs", "results_custom_bm25.run.gz")),
    }
    candidates = open_candidates(BenchConfig.of(values))
    assert (len(candidates.query_ids), len(candidates.searched)) == (225, 224)
    (note,) = candidates.notes
    assert note.values["depths"] == "10 (1), 20 (1), 50 (5), 100 (225)"
    assert note.values["names"][0] == "15"
