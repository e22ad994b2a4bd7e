"""What systems put out: the forms of an item, what is refused, failures, and runs that have ids alone."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.base.errors import DuplicateError, InputError
from steelyard.data.chunk_table import ChunkTable, read_chunks
from steelyard.data.corpus import Chunks, Document
from steelyard.data.folders.manifests import CONFIG, OUTPUTS, write_json, write_manifest
from steelyard.data.folders.run_folder import write_chunks
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.door.opening import open_corpus

TEXT = {"qid": "q", "query": "who?", "evidence": [{"text": "the cat"}]}
CAT = {"id": "c1", "text": "So the cat sat."}


def one(*items: Any, **more: Any) -> Outputs:
    return Outputs([{"qid": "q", "retrieved": list(items), **more}])


def values(questions: Any, outputs: Any, measures: Any, **options: Any) -> list[Any]:
    found = sy.evaluate(questions, {"s": outputs}, measures, **options).values[0]
    return found.tolist()  # type: ignore[no-any-return]


def order(outputs: Outputs) -> list[str]:
    return [id for id, _ in sorted(outputs.run.frame.select("doc_id", "score").rows(), key=lambda row: -row[1])]


# Items ---------------------------------------------------------------------------------------------------------------


def test_ids_alone() -> None:
    outputs = one("c1", {"id": "c2"}, 3)
    assert order(outputs) == ["c1", "c2", "3"]
    assert not outputs.table.says_where


def test_everything_that_an_item_can_tell() -> None:
    item = {"id": "c7", "score": 0.83, "text": "the cat", "doc": "docA", "start": 0, "end": 7, "page": 3, "rank": 1}
    outputs = one(item, {**item, "id": "c8", "page": [3, 4], "score": 0.5}, answer="a cat", latency_ms=3)
    table = outputs.table
    assert (table.ids, list(table.docs), list(table.texts)) == (["c7", "c8"], ["docA"] * 2, ["the cat"] * 2)
    assert (table.start.tolist(), table.end.tolist()) == ([0, 0], [7, 7])
    assert list(table.pages) == [(3,), (3, 4)]
    assert (table.says_where, table.has_text, table.has_offsets, table.complete) == (True, True, True, False)
    assert outputs.answers == {"q": "a cat"}
    assert outputs.failures == {}


def test_other_names_of_fields() -> None:
    outputs = one({"chunk_id": "c1", "doc_id": "d", "text": "abc", "start": 4})
    assert (outputs.table.ids, list(outputs.table.docs)) == (["c1"], ["d"])
    assert (outputs.table.start.tolist(), outputs.table.end.tolist()) == ([4], [7])  # the text tells where it ends


def test_items_without_an_id_are_named_after_what_they_hold() -> None:
    outputs = one({"doc": "d", "start": 0, "end": 3}, {"text": "the cat"}, {"doc": "d", "start": 3, "end": 6})
    first, second, third = order(outputs)
    assert (first, third) == ("d[0:3]", "d[3:6]")
    assert second.startswith("text:")
    assert values([TEXT], outputs, ["mrr"]) == [[0.5]]


def test_scores_decide_and_ties_go_by_id() -> None:
    outputs = one(
        {"id": "a", "score": 1, "text": "x"},
        {"id": "b", "score": 1, "text": "the cat"},
        {"id": "c", "score": 2, "text": "y"},
    )
    assert values([TEXT], outputs, ["mrr", "evidence_recall@1", "evidence_recall@2"]) == [[0.5], [0], [1]]
    signed = one({"id": "a", "score": 0.0, "text": "x"}, {"id": "b", "score": -0.0, "text": "the cat"})
    assert values([TEXT], signed, ["mrr", "evidence_recall@1"]) == [[1], [1]]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"id": "c", "text": 5}, "`text` must be text, not 5"),
        ({"id": "c", "start": 1}, "whole numbers from 0 to 1e+15, not 1 and None"),
        ({"id": "c", "end": 1}, "whole numbers from 0 to 1e+15, not None and 1"),
        ({"id": "c", "start": -1, "end": 4}, "whole numbers from 0 to 1e+15, not -1 and 4"),
        ({"id": "c", "start": True, "end": 4}, "whole numbers from 0 to 1e+15, not True and 4"),
        ({"id": "c", "start": 1.5, "end": 4}, "whole numbers from 0 to 1e+15, not 1.5 and 4"),
        ({"id": "c", "start": 4, "end": 4}, "ends behind its start; got start 4, end 4"),
        ({"id": "c", "page": 0}, "`page` must be a whole number from 1"),
        ({"id": "c", "page": "3"}, "`page` must be a whole number from 1"),
        ({"id": "c", "pages": [1, True]}, "`page` must be a whole number from 1"),
        ({"id": "c", "doc": 1.5}, "`doc` is 1.5"),
        ({"id": "c", "score": "high"}, "score 'high' is not a finite number"),
        ({"id": "c", "score": float("nan")}, "score nan is not a finite number"),
        ({"score": 1.0}, "the id of item 1 of `retrieved` is None"),
        (None, "the id of item 1 of `retrieved` is None"),
        (["c"], "the id of item 1 of `retrieved` is ['c']"),
    ],
)
def test_items_that_are_refused(item: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as error:
        one(item)
    assert str(error.value).startswith("run, result 1")


def test_one_id_names_one_chunk() -> None:
    lines = [{"qid": "p", "retrieved": [CAT]}, {"qid": "q", "retrieved": ["x", {**CAT, "text": "another"}]}]
    with pytest.raises(InputError, match=r"result 2, item 2: chunk 'c1' has another text or place .* result 1, item 1"):
        Outputs(lines)
    with pytest.raises(InputError, match="another text or place"):
        Outputs([{"qid": "p", "retrieved": [{**CAT, "doc": "a"}]}, {"qid": "q", "retrieved": [{**CAT, "doc": "b"}]}])
    assert len(Outputs([{"qid": "p", "retrieved": [CAT]}, {"qid": "q", "retrieved": [CAT]}]).table) == 1


def test_scores_of_all_or_of_none() -> None:
    with pytest.raises(InputError, match="item 2 of `retrieved` has no score, but others have"):
        one({"id": "a", "score": 1}, {"id": "b"})


def test_a_question_twice() -> None:
    with pytest.raises(DuplicateError, match=r"run, result 2: question '1' is listed already, in run, result 1"):
        Outputs([{"qid": "1", "retrieved": []}, {"qid": 1, "retrieved": []}])


def test_a_chunk_twice_in_one_list() -> None:
    twice = one(CAT, {"id": "x", "text": "y"}, CAT)
    with pytest.raises(DuplicateError, match="'c1' is retrieved twice"):
        values([TEXT], twice, "mrr")
    for policy in ("first", "max"):
        assert values([TEXT], twice, ["mrr", "precision@2"], on_duplicate=policy) == [[1], [0.5]]


@pytest.mark.parametrize("lines", [[{"qid": "q"}], [{"qid": "q", "retrieved": "c1"}], [{"qid": "q", "retrieved": {}}]])
def test_retrieved_is_a_list(lines: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match="`retrieved` must be a list"):
        Outputs(lines)


def test_no_outputs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is empty"):
        Outputs([])
    with pytest.raises(InputError, match="is a folder but not of a run"):
        Outputs.read(tmp_path)


# Failures ------------------------------------------------------------------------------------------------------------


def test_failures_are_counted_and_named() -> None:
    questions = [{**TEXT, "qid": qid} for qid in ("q1", "q2", "q3")]
    lines: list[dict[str, Any]] = [
        {"qid": "q1", "retrieved": [CAT]},
        {"qid": "q2", "error": "timeout"},
        {"qid": "q3", "retrieved": None, "error": "429"},
    ]
    outputs = Outputs(lines)
    assert outputs.failures == {"q2": "timeout", "q3": "429"}
    scores = sy.evaluate(questions, {"s": outputs}, ["evidence_recall", "precision@1"])
    assert scores.values[0].tolist() == [[1, 0, 0], [1, 0, 0]]
    assert scores.per_query.filter(measure="evidence_recall")["status"].to_list() == ["ok", "failed", "failed"]
    assert scores.mean()["failed"].to_list() == [2, 2]
    assert scores.mean()["missing"].to_list() == [0, 0]
    from steelyard.reports.views.scores import scores_sheet
    from steelyard.reports.words import read_words

    assert "s: 2 of 3 questions failed and count 0: q2, q3." in scores_sheet(scores, read_words("en")).notes


@pytest.mark.parametrize("line", [{"error": "timeout"}, {"error": "timeout", "retrieved": []}, {"retrieved": []}])
def test_a_system_that_gave_nothing_at_all(line: dict[str, Any]) -> None:
    """An endpoint that was down all night has 0 everywhere; it is no mistake in the data."""
    lines = [{"qid": "q", **line}]
    for given in (lines, Outputs(lines), {"s": Outputs(lines)}):
        scores = sy.evaluate([TEXT], given, ["evidence_recall", "recall@5", "ndcg"])
        assert scores.values.ravel().tolist() == [0, 0, 0]
        assert scores.failed.tolist() == [["error" in line]]


def test_errors_come_first_in_a_list() -> None:
    lines = [{"qid": "p", "error": "timeout"}, {"qid": "q", "retrieved": [CAT]}]
    scores = sy.evaluate([TEXT, {**TEXT, "qid": "p"}], lines, "evidence_recall")
    assert scores.values.ravel().tolist() == [0, 1]


# Ids alone -----------------------------------------------------------------------------------------------------------


def test_ids_alone_cannot_be_weighed_by_evidence() -> None:
    with pytest.raises(InputError, match=r"questions, question 1: question 'q' has evidence but no chunk ids"):
        sy.evaluate([TEXT], one("c1"), "recall")


def test_an_empty_list_of_ids_is_no_label() -> None:
    with pytest.raises(InputError, match="'q' has evidence but no chunk ids"):
        sy.evaluate([{**TEXT, "gold_evidence": []}], one("c1"), "recall")


def test_ids_alone_use_the_labels() -> None:
    question = {**TEXT, "rel_map": {"c1": 2, "c2": 1, "c3": 0}}
    outputs, run = one("c3", "c1", "x"), {"q": ["c3", "c1", "x"]}
    measures = ["ndcg@10", "map", "precision@3", "recall@3", "evidence_recall@3"]
    plain = sy.evaluate({"q": {"c1": 2, "c2": 1, "c3": 0}}, run, measures).values[0].tolist()
    assert values([question], outputs, measures) == plain
    assert sy.evaluate([question], run, measures).values[0].tolist() == plain


def test_labels_and_texts_without_evidence_use_the_labels_too() -> None:
    question = {"qid": "q", "rel_map": {"c1": 2, "c2": 1, "c3": 0}}
    outputs = one({"id": "c3", "text": "x"}, CAT, {"id": "y", "text": "y"})
    measures = ["ndcg@10", "map", "precision@3", "recall@3", "evidence_recall@3", "f1@3", "mrr"]
    want = sy.evaluate({"q": {"c1": 2, "c2": 1, "c3": 0}}, {"q": ["c3", "c1", "y"]}, measures).values[0].tolist()
    assert values([question], outputs, measures) == want


@pytest.mark.parametrize(
    ("piece", "items"),
    [
        ({"doc": "d", "start": 0, "end": 3}, [CAT]),
        ({"doc": "d", "start": 0, "end": 3}, [{**CAT, "doc": "d"}]),
        ({"doc": "d", "quote": "cat"}, [{"id": "c", "doc": "d"}]),
        ({"text": "cat"}, [{"id": "c", "doc": "d"}]),
        ({"doc": "d"}, [CAT]),
        ({"doc": "d", "pages": 1}, [CAT]),
        ({"doc": "d", "pages": 1}, [{**CAT, "doc": "d"}]),
    ],
)
def test_evidence_that_nothing_in_the_outputs_can_answer_is_refused(piece: Any, items: Any) -> None:
    """A silent 0 would say that the system is bad, where nobody looked."""
    with pytest.raises(InputError, match="no retrieved item has"):
        values([{"qid": "q", "evidence": [piece]}], one(*items), "evidence_recall")


# Files and folders ---------------------------------------------------------------------------------------------------


def test_a_file_of_outputs(tmp_path: Path) -> None:
    questions, outputs = tmp_path / "questions.jsonl", tmp_path / "mine.jsonl"
    questions.write_text(json.dumps(TEXT) + "\n")
    outputs.write_text(json.dumps({"qid": "q", "retrieved": [CAT], "answer": "a cat"}) + "\n")
    scores = sy.evaluate(questions, outputs, ["precision@10", "recall@10"])
    assert (scores.systems, scores.values.ravel().tolist()) == (["mine"], [0.1, 1.0])
    assert {"rule": "share>=0.5", "steps": ["lower", "white_space"]}.items() <= scores.recipe.items()
    again = Outputs.read(outputs, name="other")
    assert (again.name, again.digest()) == ("other", scores.recipe["runs"]["mine"])
    outputs.write_text(json.dumps({"qid": "q", "retrieved": [{"id": "c1", "end": 3}]}) + "\n")
    with pytest.raises(InputError, match=r"mine.jsonl, line 1, item 1: `start` and `end`"):
        Outputs.read(outputs)


def test_a_run_of_another_format_has_ids_alone(tmp_path: Path) -> None:
    path = tmp_path / "bm25.run"
    path.write_text("q Q0 c1 1 2.0 tag\nq Q0 c2 2 1.0 tag\n")
    outputs = Outputs.read(path)
    assert (outputs.table.ids, outputs.table.says_where) == (["c1", "c2"], False)
    assert values([{"qid": "q", "gold_evidence": ["c2"]}], path, "mrr") == [[0.5]]


DOCUMENT = Document("d", "The cat sat. The dog ran.")


def run_folder(path: Path, *, finished: str | None = "2026-01-01", with_chunks: bool = True) -> Path:
    path.mkdir()
    write_manifest(path, {"name": "mine", "finished": finished})
    write_json(path / CONFIG, {})
    if with_chunks:
        write_chunks(path, Chunks.of([DOCUMENT], lambda text: [(0, 12), (13, 25)]))
    lines = [{"qid": "q", "retrieved": [{"id": "d#2", "score": 2.0}, {"id": "d#1", "score": 1.0}]}]
    (path / OUTPUTS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_run_folder_brings_its_corpus(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    outputs = Outputs.read(folder)
    assert (outputs.name, outputs.table.complete, outputs.table.texts) == (
        "mine",
        True,
        ["The cat sat.", "The dog ran."],
    )
    gold = [{"qid": "q", "evidence": [{"doc": "d", "quote": "dog"}, {"doc": "d", "start": 4, "end": 7}]}]
    measures = ["precision@1", "recall@1", "span_recall@1"]
    assert values(gold, folder, measures) == [[1], [0.5], [0.5]]
    ids = {"q": ["d#2", "d#1"]}
    assert values(gold, ids, measures, documents=folder) == values(gold, folder, measures)


def test_a_run_folder_that_was_interrupted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="was interrupted"):
        Outputs.read(run_folder(tmp_path / "run", finished=None))


def test_a_run_folder_of_a_foreign_system_is_no_corpus(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", with_chunks=False)
    assert Outputs.read(folder).table.says_where is False
    with pytest.raises(InputError, match="names no chunks of its corpus"):
        open_corpus(folder)


def test_chunks_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "chunks.jsonl"
    rows = [{"id": "c1", "doc": "d", "start": 0, "end": 12, "text": "The cat sat."}, {"_id": "c2", "text": "A dog"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = read_chunks(path)
    assert (table.ids, table.complete, table.start.tolist()) == (["c1", "c2"], True, [0, -1])
    gold = [{"qid": "q", "evidence": [{"text": "dog"}, {"text": "no such"}]}, {"qid": "p", "evidence": ["nowhere"]}]
    scores = sy.evaluate(gold, {"q": ["c2"], "p": ["c1"]}, ["recall", "precision@1"], documents=path)
    assert scores.values[0].tolist() == [[0, 0.5], [0, 1]]
    assert scores.unwinnable.tolist() == [[True, False]]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": "c1", "text": "x"}]))
    with pytest.raises(DuplicateError, match=r"line 3: chunk 'c1' is listed already, in .*line 1"):
        read_chunks(path)
    path.write_text("")
    with pytest.raises(InputError, match="holds no chunk"):
        read_chunks(path)


def test_a_table_of_all_chunks() -> None:
    table = ChunkTable.of(Chunks.of([DOCUMENT, Document("e", "x")], lambda text: [(0, len(text))]))
    assert (table.ids, table.docs, table.complete) == (["d#1", "e#1"], ["d", "e"], True)
    rows, spans = table.spans({"e": 0})
    assert (rows.tolist(), spans.doc.tolist(), spans.end.tolist()) == ([1], [0], [1])
    assert np.array_equal(table.spans({})[0], [])


def test_questions_may_lack_in_the_outputs_and_the_other_way_round() -> None:
    outputs = Outputs([{"qid": "q", "retrieved": [CAT]}, {"qid": "unasked", "retrieved": [CAT]}])
    scores = sy.evaluate([TEXT, {**TEXT, "qid": "p"}], {"s": outputs}, "evidence_recall")
    assert scores.values.ravel().tolist() == [0, 1]
    assert scores.missing.tolist() == [[True, False]]
    assert scores.unjudged_queries.tolist() == [1]
    assert Questions([TEXT]).n_pieces == 1


def test_the_digest_is_of_what_was_retrieved_and_not_of_times() -> None:
    line = {"qid": "q", "retrieved": [CAT, {"id": "c2", "text": "dog"}], "answer": "a cat", "candidates": ["c2", "c1"]}
    base = Outputs([line]).digest()
    assert Outputs([{**line, "latency_ms": {"total": 3.0}}], name="other").digest() == base
    changed = [
        {**line, "retrieved": line["retrieved"][::-1]},
        {**line, "retrieved": [CAT, {"id": "c2", "text": "dogs"}]},
        {**line, "answer": "a dog"},
        {**line, "candidates": ["c1", "c2"]},
        {**line, "qid": "r"},
    ]
    assert len({base, *(Outputs([other]).digest() for other in changed)}) == 1 + len(changed)


class Retriever:
    """As LangChain has it."""

    def invoke(self, query: str) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Retriever(), r"^run: cannot be read from Retriever; pass dicts .* a retriever is asked by sy\.run\(it, quest"),
        (None, "^run: cannot be read from NoneType; pass dicts"),
        ("outputs.jsonl", r"^run: cannot be read from str; .* or Outputs\.read\(path\)"),
        ([3], "^run, result 1: 3 is no dict with `qid` and `retrieved`"),
        ([{"qid": "q", "retrieved": []}, Retriever()], "^run, result 2: .* is no dict"),
        ({"q1": 3}, "^run, result 1: `retrieved` must be a list"),
    ],
)
def test_what_is_no_outputs(data: Any, message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        sy.Outputs(data)


def test_a_retriever_in_place_of_a_run() -> None:
    with pytest.raises(sy.InputError, match=r"cannot be read from Retriever; .* sy\.run\(it, questions\)"):
        sy.evaluate({"q1": ["d1"]}, Retriever())
    with pytest.raises(sy.InputError, match=r"^questions: cannot be read from Retriever; pass dicts with `qid`"):
        sy.Questions(Retriever())  # type: ignore[arg-type]
