import json

import pytest

import steelyard as sy
from steelyard.abtests.interleaving.runs import interleave_runs, text_keys
from steelyard.base.errors import InputError

OLD = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 2.0, "b": 1.0}}
NEW = {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q3": {"a": 9.0, "b": 3.0}}


def test_pages_of_runs_are_those_of_the_serving_path(tmp_path):
    result = interleave_runs({"old": OLD, "new": NEW}, tmp_path / "pages.jsonl", salt="s")
    page = sy.interleave({"old": ["a", "b", "c"], "new": ["a", "x", "b"]}, "q1", salt="s")
    assert result.pages["q1"] == page
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text("utf-8").splitlines()]
    assert lines[0] == {"qid": "q1", **page.record()}
    assert [line["qid"] for line in lines] == ["q1", "q2", "q3"]
    assert (result.n_alike, dict(result.lacking)) == (2, {"old": 0, "new": 1})
    assert result.credited == {"old": 1, "new": 1}
    assert result.frame.columns == ["query_id", "doc_ids", "teams", "seed"]


def test_files_are_named_and_texts_make_documents_one(tmp_path):
    for name, run in {"a.json": {"q": {"d1": 2.0, "d2": 1.0}}, "b.json": {"q": {"d3": 2.0, "d2": 1.0}}}.items():
        (tmp_path / name).write_text(json.dumps(run))
    documents = [sy.Document("d1", "Fees: none."), sy.Document("d3", "fees   NONE"), sy.Document("d2", "Hours")]
    runs = [str(tmp_path / "a.json"), f"new={tmp_path / 'b.json'}"]
    apart, one = interleave_runs(runs), interleave_runs(runs, documents=documents)
    assert apart.systems == ["a", "new"]
    assert sorted(apart.pages["q"].doc_ids) == ["d1", "d2", "d3"]
    assert (one.pages["q"].doc_ids, one.n_alike) == (["d1", "d2"], 1)


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("Ｆｅｅｓ", "fees", True),
        ("退款 政策。", "退款政策", True),
        ("14 days", "41 days", False),
        ("?!", "...", False),
        ("", " ", False),
    ],
)
def test_fingerprints_are_of_letters_and_digits(text, other, same):
    keys = text_keys({"a": text, "b": other})
    assert (keys["a"] == keys["b"]) is same


@pytest.mark.parametrize(
    ("runs", "message"),
    [({"old": OLD}, "runs are of 1 system"), ({"old": OLD, "new": sy.Repeats([OLD, NEW])}, "new: has 2 runs")],
)
def test_what_cannot_be_interleaved_is_said(runs, message):
    with pytest.raises(InputError, match=message):
        interleave_runs(runs)
    with pytest.raises(InputError, match="k is 0; expected at least 1 place"):
        interleave_runs({"old": OLD, "new": NEW}, k=0)


def test_runs_of_one_name_are_said(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(OLD))
    with pytest.raises(InputError, match="two runs are called 'a'"):
        interleave_runs([tmp_path / "a.json", tmp_path / "a.json"])
