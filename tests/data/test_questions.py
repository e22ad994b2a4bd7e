"""Questions and their gold as they are labelled: the table of pieces, and the files that hold them."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import DuplicateError, InputError
from steelyard.data.piece_forms import parse_form
from steelyard.data.pieces import Piece, usual_piece
from steelyard.data.questions import Questions
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "pieces.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def parsed(piece: object) -> Piece:
    return Questions([{"qid": "q", "evidence": [piece]}])[0].evidence[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("row", [row for row in ROWS if "want" in row], ids=lambda row: row["label"])
def test_pieces(row: dict[str, Any]) -> None:
    want = {**row["want"], **({"pages": tuple(row["want"]["pages"])} if "pages" in row["want"] else {})}
    assert parsed(row["input"]) == Piece(**want), row["comment"]


@pytest.mark.parametrize("row", [row for row in ROWS if "error" in row], ids=lambda row: row["label"])
def test_pieces_that_are_refused(row: dict[str, Any]) -> None:
    assert row["label"].startswith("negative")
    with pytest.raises(InputError, match=re.escape(row["error"])) as error:
        parsed(row["input"])
    assert str(error.value).startswith("questions, question 1, piece 1 of `evidence`")


def test_every_kind_has_its_words() -> None:
    kinds = {row["want"]["kind"] for row in ROWS if "want" in row}
    assert kinds == {"chunk", "span", "quote", "text", "pages", "document"}
    for row in ROWS:
        if "want" in row:
            piece = parsed(row["input"])
            assert str(piece) == str(dataclasses.replace(piece, gain=3.0))
            assert len(str(piece)) < 120
    assert str(parsed({"doc": "a", "quote": "x" * 500})) == f"quote '{'x' * 57}...' of 'a'"


@pytest.mark.parametrize("evidence", ["a text", {"doc": "a"}, 5, True])
def test_evidence_is_a_list(evidence: object) -> None:
    with pytest.raises(InputError, match="`evidence` must be a list of pieces"):
        Questions([{"qid": "q", "evidence": evidence}])


@pytest.mark.parametrize("evidence", [None, []])
def test_no_evidence(evidence: object) -> None:
    assert Questions([{"qid": "q", "evidence": evidence}])[0].evidence == ()


@examples(200)
@given(
    st.dictionaries(
        st.sampled_from(["doc", "start", "end", "quote", "text", "pages", "page", "id", "gain", "group", "occurrence"]),
        st.sampled_from([None, True, 0, 1, 5, 2.5, "a", "", "1-2", [1], [], {}]),
    )
)
def test_a_piece_is_read_or_refused(piece: dict[str, object]) -> None:
    """Whatever a labeller writes, the answer is a piece that uses all of it, or an error of ours."""
    usual = usual_piece(piece)
    try:
        found = Piece(**parse_form(piece))
    except InputError:
        assert usual is None
        return
    assert usual in (None, found)
    assert parsed(piece) == found
    assert found.kind in ("chunk", "span", "quote", "text", "pages", "document")
    assert found.start < found.end or found.kind != "span"
    assert found.pages or found.kind != "pages"
    given_keys = {key for key, value in piece.items() if value is not None}
    assert not given_keys & {"start", "end"} or found.kind == "span"
    assert not given_keys & {"quote", "text"} or found.kind in ("quote", "text")


# Files ---------------------------------------------------------------------------------------------------------------


def written(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


FULL = {"qid": "q_001", "query": "谁?", "gold_evidence": ["docA#chunk12", "x"], "gold_answer": "Anna",
        "evidence": [{"doc": "docA", "start": 120, "end": 410, "gain": 2}, "a text"],
        "rel_map": {"docA#chunk12": 2}, "tags": ["travel"]}  # fmt: skip


def test_a_file_of_questions(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.jsonl", FULL, {"query_id": 2, "question": "?"})
    questions = Questions.read(path)
    assert (questions.name, len(questions), questions.n_pieces) == ("mine", 2, 2)
    first, second = questions
    assert (first.query_id, first.query, first.answer, first.tags) == ("q_001", "谁?", "Anna", ("travel",))
    assert first.labels == {"docA#chunk12": 2.0, "x": 1.0}
    assert [piece.kind for piece in first.evidence] == ["span", "text"]
    assert [(p.chunk_id, p.gain) for p in first.id_pieces] == [("docA#chunk12", 2.0), ("x", 1.0)]
    assert (second.query_id, second.query, second.labels, second.evidence) == ("2", "?", None, ())
    assert (first.where, second.where) == (f"{path}, line 1", f"{path}, line 2")


@pytest.mark.parametrize("name", ["questions.jsonl", "questions.jsonl.gz"])
def test_a_folder_with_questions(tmp_path: Path, name: str) -> None:
    import gzip

    text = json.dumps(FULL).encode() + b"\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert Questions.read(tmp_path)[0].query_id == "q_001"


def test_grades_are_labels_by_id() -> None:
    questions = Questions([{"qid": "q", "grades": {"c1": 8.0, "c2": 0}}, {"qid": "r", "gold_evidence": []}])
    assert questions[0].labels == {"c1": 8.0, "c2": 0.0}
    assert questions[1].labels == {}


def test_rel_map_goes_before_grades() -> None:
    """They are on scales of their own, so they are never mixed; ids that stand in neither have gain 1."""
    line = {"qid": "q", "gold_evidence": ["a", "b"], "rel_map": {"a": 2}, "grades": {"a": 8.0, "b": 3.0}}
    assert Questions([line])[0].labels == {"a": 2.0, "b": 1.0}


def test_a_question_twice_names_both_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "twice.jsonl", {"qid": "1"}, {"qid": "b"}, {"qid": 1})
    with pytest.raises(DuplicateError, match=r"twice.jsonl, line 3: question '1' .* in .*twice.jsonl, line 1;"):
        Questions.read(path)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=r"empty\.jsonl: holds no question"):
        Questions.read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"answer": "no id"}, "has no `query`, and is no question (keys: answer)"),
        ({"query": " "}, "has no `query_id` or `qid`, and no `query`"),
        ({"_id": "d1", "title": "", "text": "A document."}, "has no `query`, and is no question"),
        ({"id": "c1", "doc": "d", "text": "A chunk."}, "has no `query`, and is no question"),
        ({"qid": "q", "doc_id": "d", "gain": 1}, "is a judged document (`doc_id`, `gain`), and no question"),
        ({"qid": None, "query": "?"}, "`qid` is None"),
        ({"qid": "q", "query": 5}, "`query` must be text, not 5"),
        ({"qid": "q", "tags": "travel"}, "`tags` must be a list of texts, not 'travel'"),
        ({"qid": "q", "tags": [1]}, "`tags` must be a list of texts"),
        ({"qid": "q", "gold_evidence": "c1"}, "`gold_evidence` must be a list of ids"),
        ({"qid": "q", "rel_map": {"c1": "high"}}, "gain 'high' is not a finite number"),
        ([1], "holds a list, expected an object"),
    ],
)
def test_lines_that_are_no_question(tmp_path: Path, line: object, message: str) -> None:
    path = written(tmp_path / "bad.jsonl", {"qid": "fine"}, line)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        Questions.read(path)
    assert str(error.value).startswith(f"{path}, line 2")


def test_a_folder_that_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither questions\.jsonl nor qrels/\*\.tsv"):
        Questions.read(tmp_path)


def beir(folder: Path, qrels: str, *queries: object) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels)
    written(folder / "queries.jsonl", *queries)
    written(folder / "corpus.jsonl", {"_id": "d1", "title": "", "text": "one"})
    return folder


def test_a_beir_folder(tmp_path: Path) -> None:
    texts = [{"_id": "q2", "text": "second"}, {"_id": "q1", "text": "first"}, {"_id": "q9", "text": "unjudged"}]
    folder = beir(tmp_path / "tiny", "q1\td1\t2\nq1\td2\t0\nq2\td3\t1\n", *texts)
    questions = Questions.read(folder)
    assert questions.name == "tiny"
    assert {q.query_id: q.query for q in questions} == {"q1": "first", "q2": "second"}
    gold = {q.query_id: sorted((p.doc, p.gain) for p in q.evidence) for q in questions}
    assert gold == {"q1": [("d1", 2.0), ("d2", 0.0)], "q2": [("d3", 1.0)]}
    assert {piece.kind for q in questions for piece in q.evidence} == {"document"}
    assert list(questions.unjudged) == ["q9"]


def test_lines_of_a_beir_folder_may_have_answers(tmp_path: Path) -> None:
    texts = [
        {"_id": "q1", "text": "first", "answers": ["nine", "9", "nine"]},
        {"_id": "q2", "text": "second", "answerable": False},
        {"_id": "q3", "text": "third", "metadata": {}},
    ]
    folder = beir(tmp_path / "tiny", "q1\td1\t1\nq2\td1\t0\nq3\td1\t0\n", *texts)
    expected = {"q1": (("nine", "9"), True), "q2": ((), False), "q3": ((), None)}
    assert {q.query_id: (q.answers, q.answerable) for q in Questions.read(folder)} == expected
    assert {q.query_id: (q.answers, q.answerable) for q in Questions.read(folder / "queries.jsonl")} == expected


def test_a_judged_query_without_a_text_is_not_dropped_silently(tmp_path: Path) -> None:
    folder = beir(tmp_path / "tiny", "q1\td1\t1\nq3\td1\t1\n", {"_id": "q1", "text": "first"})
    assert {q.query_id: q.query for q in Questions.read(folder)} == {"q1": "first", "q3": None}


def test_a_beir_folder_with_a_question_twice(tmp_path: Path) -> None:
    folder = beir(tmp_path / "tiny", "q1\td1\t1\n", {"_id": "q1", "text": "first"}, {"_id": "q1", "text": "again"})
    with pytest.raises(DuplicateError, match=r"line 2: question 'q1' is listed already, in .*line 1"):
        Questions.read(folder)


def test_a_beir_folder_without_queries(tmp_path: Path) -> None:
    folder = beir(tmp_path / "tiny", "q1\td1\t1\n", {"_id": "q1", "text": "first"})
    (folder / "queries.jsonl").unlink()
    with pytest.raises(InputError, match=r"has no queries\.jsonl"):
        Questions.read(folder)


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", FULL)
    before = Questions.read(path).digest()
    assert before == Questions.read(path).digest()
    assert before.startswith("sha256:")
    written(path, {**FULL, "tags": []})
    assert Questions.read(path).digest() != before
    held = [Questions([line]).digest() for line in (FULL, FULL, {**FULL, "gold_answer": "Anne"})]
    assert held[0] == held[1] != held[2]


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
@pytest.mark.parametrize("suffix", ["", ".jsonl", ".tsv"])
def test_queries_without_a_line_are_refused(text: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"queries{suffix}"
    path.write_text(text)
    with pytest.raises(InputError, match=r"queries.*: holds no question"):
        Questions.read(path)


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ({"answer": "four"}, ("four",)),
        ({"gold_answer": "four", "answer": "five"}, ("four",)),
        ({"gold_answer": None, "answer": 4}, ("4",)),
        ({"gold_answers": ["four", "4", "four", ""]}, ("four", "4")),
        ({"answers": ["四", 4]}, ("四", "4")),
        ({"answers": {"text": ["four", "4"], "answer_start": [1, 2]}}, ("four", "4")),
        ({"answer": ""}, ()),
        ({"answer": []}, ()),
        ({}, ()),
    ],
)
def test_gold_answers(line: dict[str, Any], want: tuple[str, ...]) -> None:
    (question,) = Questions([{"qid": "q", **line}])
    assert question.answers == want
    assert question.answer == (want[0] if want else None)


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ({}, None),
        ({"evidence": []}, None),
        ({"rel_map": {"d1": 0}}, None),
        ({"rel_map": {"d1": 1}}, True),
        ({"gold_evidence": ["d1"]}, True),
        ({"evidence": ["bees"]}, True),
        ({"answer": "four"}, True),
        ({"answer": "I do not know.", "answerable": False}, False),
        ({"answerable": True}, True),
    ],
)
def test_whether_a_question_has_an_answer(line: dict[str, Any], want: bool | None) -> None:
    assert Questions([{"qid": "q", **line}])[0].answerable is want


def test_nuggets() -> None:
    nuggets = ["a", {"text": "b", "vital": False}, {"nugget": "c", "importance": "okay"}, {"text": "d"}]
    (question,) = Questions([{"qid": "q", "nuggets": nuggets}])
    assert [(nugget.text, nugget.vital) for nugget in question.nuggets] == [
        ("a", True),
        ("b", False),
        ("c", False),
        ("d", True),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"answers": [["four"]]}, "question 1: `answers` must be a text, or a list of texts, not"),
        ({"answer": {"value": "four"}}, "question 1: `answer` must be a text, or a list of texts, not"),
        ({"answerable": "no"}, "question 1: `answerable` must be true or false, not 'no'"),
        (
            {"nuggets": "a"},
            "question 1: `nuggets` must be a list of texts, or of objects with `text` and `vital`, not 'a'",
        ),
        ({"nuggets": ["a", " "]}, "question 1, nugget 2: must be a text, or an object with `text` and `vital`"),
        ({"nuggets": [{"text": "a", "vital": "very"}]}, "question 1, nugget 1: must be a text, or an object"),
    ],
)
def test_answers_that_do_not_fit(line: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Questions([{"qid": "q", **line}])


def test_all_that_is_said_of_answers_is_in_the_digest() -> None:
    lines = [
        {"answer": "a"},
        {"answers": ["a", "b"]},
        {"answer": "a", "answerable": False},
        {"answer": "a", "nuggets": ["b"]},
    ]
    digests = {Questions([{"qid": "q", **line}]).digest() for line in lines}
    assert len(digests) == len(lines)
