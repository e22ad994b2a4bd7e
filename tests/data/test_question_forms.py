"""The forms in which questions come: one reader for all, and what is no file of questions is refused by what it is."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import steelyard as sy
from steelyard.base.errors import DuplicateError, InputError
from steelyard.data.questions import Questions
from steelyard.io.retrieved_items import content_id

LINES: list[dict[str, Any]] = [
    {"qid": "q1", "query": "What is 2 + 2?", "gold_evidence": ["d1"], "gold_answer": "four"},
    {"qid": "q2", "query": "押金多久退还？", "gold_evidence": ["d2", "d3"], "gold_answer": "三个工作日内"},
    {"qid": "q3", "query": "Who wrote it?", "gold_evidence": [], "answerable": False},
]
KEYS = ("qid", "query", "gold_evidence", "gold_answer", "answerable")
COLUMNS = {key: [line.get(key) for line in LINES] for key in KEYS}
JSONL = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in LINES)

# (name of the file, what it holds): the same three questions.
NESTED = [
    ("q.jsonl", JSONL),
    ("q.json", json.dumps(LINES)),
    ("pretty.json", json.dumps(LINES, indent=2, ensure_ascii=False)),
    ("columns.json", json.dumps(COLUMNS)),
    ("answers-first.json", json.dumps(dict(reversed(COLUMNS.items())), ensure_ascii=False)),
    ("whole.json", json.dumps({"version": 2, "questions": LINES})),
    ("data.json", json.dumps({"data": LINES})),
    ("array.jsonl", json.dumps(LINES)),
    ("lines.json", JSONL),
    ("no-suffix", json.dumps(LINES)),
    ("q.txt", JSONL),
    ("bom.json", "\ufeff" + json.dumps(COLUMNS)),
    ("crlf.jsonl", JSONL.replace("\n", "\r\n")),
]


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def facts(questions: Questions) -> list[tuple[Any, ...]]:
    return [(q.query_id, q.query, q.labels, q.answers, q.answerable) for q in questions]


@pytest.mark.parametrize(("name", "text"), NESTED, ids=[name for name, _ in NESTED])
def test_one_reader_reads_all_forms(tmp_path: Path, name: str, text: str) -> None:
    expected = facts(Questions(LINES))
    assert facts(Questions.read(written(tmp_path / name, text))) == expected
    assert facts(Questions.read(written(tmp_path / f"{name}.gz", text))) == expected


@pytest.mark.parametrize(
    "data", [LINES, tuple(LINES), iter(LINES), COLUMNS, {"questions": LINES}, pl.DataFrame(COLUMNS),
             pl.LazyFrame(COLUMNS), pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS).to_arrow()],
    ids=["list", "tuple", "iterator", "columns", "whole", "polars", "lazy", "pandas", "arrow"],
)  # fmt: skip
def test_one_reader_reads_all_objects(data: Any) -> None:
    assert facts(Questions(data)) == facts(Questions(LINES))


@pytest.mark.parametrize(("name", "text"), NESTED, ids=[name for name, _ in NESTED])
def test_all_commands_see_the_same(tmp_path: Path, name: str, text: str) -> None:
    """`evaluate` once saw no gold answer beside ids of gold, nor that a question has no answer, and refused arrays."""
    file, answers = (
        written(tmp_path / name, text),
        {"q1": "It is four.", "q2": "三个工作日内退还。", "q3": "I do not know."},
    )
    run = [{"qid": id, "retrieved": ["d1", "d2"], "answer": answer} for id, answer in answers.items()]
    measures = ["answer_f1", "recall@5", "abstention_f1"]
    scores = sy.evaluate(file, {"run": run}, measures)
    first = sy.evaluate(written(tmp_path / "first.jsonl", JSONL), {"run": run}, measures)
    assert scores.mean().rows() == first.mean().rows()
    assert scores.mean()["n"].to_list() == [2, 3, 1]
    assert not any(mean is None for mean in scores.mean()["mean"])
    by_objects = sy.evaluate(COLUMNS, {"run": run}, measures)
    assert by_objects.mean()["mean"].to_list() == scores.mean()["mean"].to_list()


def test_columns_are_of_one_length(tmp_path: Path) -> None:
    for columns, message in (
        ({"question": ["a?", "b?"], "answer": ["a"]}, "`question` has 2 values, and `answer` has 1;"),
        ({"query": ["a?"], "source": "x"}, "`source` is 'x', beside columns"),
    ):
        file = written(tmp_path / "c.json", json.dumps(columns))
        for read in (Questions, lambda _, file=file: Questions.read(file), lambda c: sy.evaluate(c, {})):
            with pytest.raises(InputError, match=re.escape(message)):
                read(columns)


def test_columns_are_no_labels(tmp_path: Path) -> None:
    """`convert` wrote question `query` with the texts of questions as its documents."""
    file = written(tmp_path / "c.json", json.dumps(COLUMNS))
    for read in (sy.Truth.read, sy.Run.read):
        with pytest.raises(InputError, match=r"c\.json: holds questions as columns \(qid, query, gold_evidence"):
            read(file)


TEXTS = ["What is 2 + 2?", "押金多久退还", "Where, and when, is it?", "weather berlin tomorrow", "1. «Qué?» — ¿sí?"]
# (label, text, suffix)
PLAIN = [
    ("plain", "\n".join(TEXTS), ".txt"),
    ("a last line end", "\n".join(TEXTS) + "\n", ""),
    ("a BOM, CRLF and blank lines", "\ufeff" + "\r\n\r\n  \r\n".join(TEXTS) + "\r\n", ".txt"),
    ("blanks around, ideographic ones too", "\n".join(f" \u3000{text}\t" for text in TEXTS), ".txt"),
    ("a list of texts", json.dumps(TEXTS), ".json"),
]


@pytest.mark.parametrize(("text", "suffix"), [row[1:] for row in PLAIN], ids=[row[0] for row in PLAIN])
def test_one_question_a_line(tmp_path: Path, text: str, suffix: str) -> None:
    questions = Questions.read(written(tmp_path / f"q{suffix}", text))
    assert [q.query for q in questions] == TEXTS == [q.query for q in Questions(TEXTS)]
    assert [q.query_id for q in questions] == list(map(content_id, TEXTS))
    assert {(q.labels, q.answer, q.answerable) for q in questions} == {(None, None, None)}


@pytest.mark.parametrize("header", ["", "qid\tquery\n", "Query-ID\ttext\n"])
@pytest.mark.parametrize("suffix", [".tsv", ".txt", "", ".dl19"])
def test_lines_of_id_and_text(tmp_path: Path, header: str, suffix: str) -> None:
    file = written(tmp_path / f"q{suffix}", f"{header}1\tWho?\r\n\n 02 \t 押金多久退还？ \n")
    assert [(q.query_id, q.query) for q in Questions.read(file)] == [("1", "Who?"), ("02", "押金多久退还？")]


def test_texts_by_their_ids(tmp_path: Path) -> None:
    file = written(tmp_path / "q.json", json.dumps({"q1": "Who?", "q2": "押金多久退还？"}))
    assert [(q.query_id, q.query) for q in Questions.read(file)] == [("q1", "Who?"), ("q2", "押金多久退还？")]
    one = written(tmp_path / "one.json", json.dumps({"question": "Who?", "answer": "Anna"}))
    assert [(q.query, q.answer) for q in Questions.read(one)] == [("Who?", "Anna")]


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ({"query_id": 1, "id": "a", "query": "?a"}, "1"),
        ({"qid": "q", "_id": "a", "query": "?a"}, "q"),
        ({"question_id": "n", "id": "a", "question": "?a"}, "n"),
        ({"id": "a", "question": "?a"}, "a"),
        ({"_id": "b", "text": "?a"}, "b"),
        ({"id": None, "question": "?a"}, content_id("?a")),
        ({"question": "押金？"}, content_id("押金？")),
        ({"id": "a", "gold_evidence": ["d"]}, "a"),
    ],
)
def test_how_a_question_is_called(line: dict[str, Any], want: str) -> None:
    assert Questions([line])[0].query_id == want


def test_outputs_without_ids_meet_questions_without_ids() -> None:
    asked = [{"question": "押金？", "gold_evidence": ["d"]}]
    assert sy.evaluate(asked, {"run": [{"query": "押金？", "retrieved": ["d"]}]}, "recall@5").means.tolist() == [[1.0]]


def test_an_answer_beside_what_was_retrieved_is_no_gold() -> None:
    line = {"qid": "q", "query": "?", "retrieved": ["d"], "answer": "of the system"}
    assert Questions([line])[0].answers == ()
    assert Questions([line | {"gold_answer": "of people"}])[0].answers == ("of people",)
    assert Questions([{"qid": "q", "question": "?", "context": "a text", "answer": "gold"}])[0].answers == ("gold",)


def test_a_question_twice_is_named_by_its_text(tmp_path: Path) -> None:
    file = written(tmp_path / "q.txt", "Who?\n押金？\nWho?\n")
    with pytest.raises(DuplicateError, match=r"q\.txt, line 3: question 'Who\?' is listed already, in .*line 1;"):
        Questions.read(file)


# (label, name, what it holds, what is said)
OTHERS = [
    ("HTML", "q.txt", "<!DOCTYPE html>\n<html><body>What?</body></html>", "is HTML or XML ('<!DOCTYPE html>')"),
    ("HTML, as it is called", "q.html", "<p>What?</p>", "is HTML or XML"),
    ("XML", "topics", '<?xml version="1.0"?>\n<topic>What?</topic>', "is HTML or XML"),
    ("bytes", "q.txt", "What?\0\x01\x02", "is no text (byte 0x00 at 5)"),
    ("CSV", "q.csv", "question,answer\nWhat?,That.", "is a table ('question,answer')"),
    ("CSV of another name", "q.txt", "qid,query\n1,What?", "is a table ('qid,query')"),
    ("quoted CSV", "q.txt", '"id";"question"\n1;"What?"', "is a table"),
    ("a table of tabs", "q.tsv", "question\tanswer\nWhat?\tThat.", "is a table"),
    ("qrels of BEIR", "q.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n", "is a table"),
    ("qrels of BEIR without a header", "q.tsv", "q1\td1\t1\n", "line 1: must be an id, a tab and a text, not"),
    ("qrels", "q.txt", "q1 0 d1 1\nq2 0 d2 0\n", "holds rows of TREC ('q1 0 d1 1')"),
    ("qrels with tabs", "q.txt", "q1\t0\td1\t1\n", "holds rows of TREC"),
    ("a run", "a.run", "q1 Q0 d1 1 9.5 bm25\nq1 Q0 d2 2 8.25e-3 bm25 of mine\n", "holds rows of TREC"),
    ("a cut list", "q.json", '[{"qid": "q1", "query": "What?"}, {"qid"', "line 1: is not JSON"),
    ("a cut line", "q.jsonl", '{"qid": "q1", "query": "What?"}\n{"qid": "q2", ', "line 2: is not JSON"),
    ("a cut object of text", "q.txt", '{"question": ["What?", "Wh', "line 1: is not JSON"),
    ("labels", "q.json", '{"q1": {"d1": 1}}', "is an object with the keys q1; questions are a list"),
    ("a list of labels", "q.json", '[{"query_id": "q", "doc_id": "d", "gain": 1}]', "question 1: is a judged document"),
    ("a list of lists", "q.json", '[["q", "d", 1]]', "question 1: ['q', 'd', 1] is no dict with `qid` and `query`"),
    ("documents", "corpus.jsonl", '{"_id": "d", "title": "", "text": "a"}', "line 1: has no `query`, and is"),
    ("chunks", "c.jsonl", '{"id": "c", "doc": "d", "text": "a"}', "line 1: has no `query`, and is"),
    ("Markdown", "README.md", "# A title\nA text.", "is called .md"),
    ("settings", "p.toml", 'documents = "docs"', "is called .toml"),
    ("numbers", "q.txt", "12\n13\n", "has a line without a letter ('12')"),
    ("lines of old Macs", "q.txt", "Who?\rWhere?\r", "is divided by carriage returns without line feeds"),
    ("an empty text in a list", "q.json", '["What?", " "]', "question 2: ' ' is no dict with `qid` and `query`"),
    ("ids without texts among lines", "q.tsv", "1\tWho?\n2\n", "line 2: must be an id, a tab and a text, not '2'"),
]


@pytest.mark.parametrize(("name", "text", "says"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_other_files_are_refused_by_what_they_are(tmp_path: Path, name: str, text: str, says: str) -> None:
    file = written(tmp_path / name, text)
    with pytest.raises(InputError, match=re.escape(says)) as error:
        Questions.read(file)
    assert str(error.value).startswith(str(file))


def test_tables_are_refused(tmp_path: Path) -> None:
    pl.DataFrame(COLUMNS).write_parquet(tmp_path / "q.parquet")
    with pytest.raises(InputError, match=r"q\.parquet: is parquet; questions are JSONL, JSON"):
        Questions.read(tmp_path / "q.parquet")


@pytest.mark.parametrize("encoding", ["gbk", "utf-16"])
def test_other_encodings_are_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "q.txt").write_bytes("押金多久退还？".encode(encoding))
    with pytest.raises(InputError, match="not UTF-8"):
        Questions.read(tmp_path / "q.txt")


# (label, name, what it holds)
LABELS = [
    ("qrels", "t.txt", "q1 0 d1 1\n"),
    ("JSON", "t.json", '{"q1": {"d1": 1}}'),
    ("lists", "t.json", '{"q1": ["d1"]}'),
    ("a table", "t.csv", "qid,docno,label\nq1,d1,1\n"),
    ("graded rows", "t.jsonl", '{"query_id": "q1", "doc_id": "d1", "gain": 1}\n'),
]


@pytest.mark.parametrize(("name", "text"), [row[1:] for row in LABELS], ids=[row[0] for row in LABELS])
def test_labels_are_still_labels(tmp_path: Path, name: str, text: str) -> None:
    weighing = sy.weigh(written(tmp_path / name, text), {"q1": ["d1"]})
    assert isinstance(weighing.gold, sy.Truth)
    assert dict(weighing.questions) == {}
    assert weighing.scores("recall@5").means.tolist() == [[1.0]]


@pytest.mark.parametrize("text", ["What is it?\nWho is he?\n", "押金多久退还\n", "weather berlin\ntrain to paris\n"])
def test_plain_questions_are_no_labels(tmp_path: Path, text: str) -> None:
    run = {content_id(line): ["d1"] for line in text.splitlines()}
    weighing = sy.weigh(written(tmp_path / "q.txt", text), run)
    assert [question.query for question in weighing.questions.values()] == text.splitlines()


def test_answers_of_later_lines_are_seen(tmp_path: Path) -> None:
    file = written(
        tmp_path / "q.jsonl", '{"qid": "q1", "rel_map": {"d": 1}}\n{"qid": "q2", "rel_map": {}, "answer": "4"}\n'
    )
    assert sy.weigh(file, {"q1": ["d"]}).questions["q2"].answer == "4"


def test_python_takes_texts_and_columns_wherever_questions_are(tmp_path: Path) -> None:
    texts, columns = ["Who?", "押金？"], {"question": ["Who?", "押金？"], "answer": ["Anna", "三天"]}
    outputs = [{"question": text, "retrieved": [{"text": text}], "answer": "Anna"} for text in texts]
    for number, data in enumerate((texts, columns, [{"question": text} for text in texts], iter(texts))):
        system = sy.run(lambda query: [{"text": query}], data, tmp_path / str(number))
        assert sy.evaluate([{"question": "押金？", "evidence": ["押金"]}], system, "recall@5").means.tolist() == [[1.0]]
    for data in (texts, columns):
        assert len(sy.judge(data, outputs).records) == 2
        assert len(sy.label(data, outputs)) == 2


def test_a_line_without_gold_among_others_is_a_question(tmp_path: Path) -> None:
    rows = [*LINES[:2], {"qid": "q3", "query": "Who wrote it?", "answerable": False}]
    file = written(tmp_path / "q.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    weighing = sy.weigh(file, {"q1": ["d1"], "q2": ["d2"], "q3": ["d1"]})
    assert weighing.scores("recall@5").means.tolist() == [[0.5]]
    assert weighing.questions["q3"].answerable is False
    with pytest.raises(InputError, match="line 1: has none of `gold_evidence`"):
        sy.Truth.read(written(tmp_path / "none.jsonl", '{"qid": "q", "query": "?"}\n'))


@pytest.mark.parametrize("name", ["questions.jsonl", "questions.json", "questions.txt", "questions.json.gz"])
def test_a_folder_with_questions(tmp_path: Path, name: str) -> None:
    text = "What is 2 + 2?\n" if ".txt" in name else JSONL if ".jsonl" in name else json.dumps(LINES)
    written(tmp_path / name, text)
    assert Questions.read(tmp_path)[0].query == "What is 2 + 2?"
    assert next(iter(sy.weigh(tmp_path, {Questions.read(tmp_path)[0].query_id: ["d"]}).questions.values())).query
