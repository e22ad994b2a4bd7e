"""Ids in two Unicode forms: with `normalise_ids` they meet, on every way in; without, nothing changes."""

import json
import pickle
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from steelyard.base.options import WeighOptions
from steelyard.data.corpus import Document
from steelyard.judges.people.review import Review, StratifiedSample, Stratum
from tests.cli.command import complaint, printed

# (label, an id that has two forms)
NAMES = [
    ("accent", "caf\u00e9-1"),
    ("two marks", "\u1ec7"),
    ("Hangul", "\uc11c\uc6b8"),
    ("kana with a mark", "\u30ac\u30a4\u30c9"),
    ("Chinese and an accent", "\u5dee\u65c5\u2013r\u00e9sum\u00e9"),
    ("a compatibility ideograph", "\uf900"),
    ("angstrom", "\u212b"),
]
# (label, id): one form alone, so that nothing may change
NEGATIVE = [("Chinese", "\u5dee\u65c5"), ("ASCII", "q1"), ("full width", "\uff21\uff11"), ("ligature", "\ufb01")]


def forms(name: str) -> tuple[str, str]:
    """As a truth and as a run have it."""
    nfc, nfd = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    return nfc, nfd if nfd != nfc else name


def trec(folder: Path, q: str, d: str) -> object:
    (path := folder / "a.run").write_text(f"{q} Q0 x 1 3 t\n{q} Q0 {d} 2 2 t\n", "utf-8")
    return path


def of_lines(folder: Path, q: str, d: str) -> object:
    (path := folder / "a.jsonl").write_text(json.dumps({"qid": q, "retrieved": ["x", d]}), "utf-8")
    return path


WAYS: dict[str, Callable[[Path, str, str], object]] = {
    "TREC": trec,
    "JSONL": of_lines,
    "dict": lambda _, q, d: {q: {"x": 3.0, d: 2.0}},
    "list": lambda _, q, d: {q: ["x", d]},
    "frame": lambda _, q, d: pl.DataFrame({"query_id": [q, q], "doc_id": ["x", d], "score": [3.0, 2.0]}),
    "Run": lambda _, q, d: sy.Run({q: ["x", d]}),
    "Outputs": lambda _, q, d: sy.Outputs([{"qid": q, "retrieved": [{"id": "x"}, {"id": d}]}]),
    "Repeats": lambda _, q, d: {"s": sy.Repeats([sy.Run({q: ["x", d]}), sy.Run({q: ["x", d]})])},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [row[1] for row in NAMES], ids=[row[0] for row in NAMES])
def test_ids_in_two_forms_meet(name: str, way: str, tmp_path: Path) -> None:
    ours, theirs = forms(name)
    assert ours != theirs
    for truth in ({ours: {ours: 1}}, [{"qid": ours, "query": "?", "rel_map": {ours: 1}}]):
        scores = sy.evaluate(truth, WAYS[way](tmp_path, theirs, theirs), "mrr", normalise_ids="nfc")
        assert (list(scores.query_ids), scores.means[0, 0]) == ([unicodedata.normalize("NFC", name)], 0.5)
    with pytest.raises(sy.InputError):
        sy.evaluate({ours: {ours: 1}}, WAYS[way](tmp_path, theirs, theirs), "mrr")


@pytest.mark.parametrize("name", [row[1] for row in NEGATIVE], ids=[row[0] for row in NEGATIVE])
def test_other_ids_stay_as_they_are(name: str) -> None:
    truth, run = {name: {name: 1, "b": 2}}, {name: ["x", name]}
    plain, normalised = (sy.evaluate(truth, run, "ndcg", normalise_ids=form) for form in (None, "nfc"))
    assert plain.values.tolist() == normalised.values.tolist()
    assert plain.query_ids == normalised.query_ids


def test_two_ids_that_become_one_are_a_duplicate() -> None:
    ours, theirs = forms("caf\u00e9")
    cases: list[tuple[object, object]] = [
        ({"q": {ours: 1, theirs: 2}}, {"q": ["x"]}),
        ({"q": {ours: 1}}, {"q": [ours, theirs]}),
        ([{"qid": id, "query": "?", "rel_map": {"d": 1}} for id in (ours, theirs)], {ours: ["d"]}),
        ([{"qid": "q", "query": "?", "rel_map": {ours: 1, theirs: 1}}], {"q": ["d"]}),
        ({"q": {"a": 1}}, sy.Outputs([{"qid": "q", "retrieved": [{"id": ours}, {"id": theirs}]}])),
    ]
    for truth, run in cases:
        with pytest.raises(sy.DuplicateError):
            sy.evaluate(truth, run, "mrr", normalise_ids="nfc")
    scores = sy.evaluate(cases[1][0], {"q": ["x", ours, theirs]}, "mrr", normalise_ids="nfc", on_duplicate="first")
    assert scores.means[0, 0] == 0.5


def test_evidence_corpus_queries_and_clusters_follow() -> None:
    ours, theirs = forms("caf\u00e9")
    truth = [{"qid": ours, "query": "?", "evidence": [{"doc": ours, "start": 0, "end": 4}]}]
    run = [{"qid": theirs, "retrieved": [{"id": theirs, "doc": theirs, "start": 0, "end": 4}]}]
    weighing = sy.weigh(
        truth, sy.Outputs(run), documents=[Document(theirs, "Nine bells")], cluster={theirs: "c"}, normalise_ids="nfc",
        questions=[{"qid": theirs, "query": "How many?", "tags": ["t"]}],
    )  # fmt: skip
    assert weighing.scores("evidence_recall@1").means[0, 0] == 1.0
    assert weighing.clustering is not None
    assert weighing.questions[ours].query == "How many?"
    assert pickle.loads(pickle.dumps(weighing)).scores("evidence_recall@1").means[0, 0] == 1.0


def test_verdicts_labels_and_their_outputs_follow() -> None:
    ours, theirs = forms("caf\u00e9")
    asked = [{"qid": ours, "query": "How many?", "answer": "Nine."}]
    lines = [{"qid": theirs, "retrieved": [{"id": theirs, "text": "Nine bells."}], "answer": "Nine bells."}]
    verdicts = sy.judge([{**asked[0], "qid": theirs}], sy.Outputs(lines), "lexical")
    review = Review(
        [StratifiedSample("grounded", "run", "0", 1, (Stratum("all", (theirs,), (theirs,)),), unit="answer")]
    )
    options: dict[str, Any] = {"normalise_ids": "nfc", "verdicts": verdicts}
    by_file = sy.evaluate(asked, sy.Outputs(lines), "faithfulness", **options)
    assert by_file.means[0, 0] == sy.evaluate(asked, sy.Outputs(lines), "faithfulness", normalise_ids="nfc").means[0, 0]
    from steelyard.experiment.door.id_forms import review_in_form

    assert review_in_form(review, "nfc").samples[0].drawn == (ours,)
    assert review_in_form(review, None) is review


def test_scores_with_and_without_are_told_apart() -> None:
    truth, run = {"q": {"a": 1}}, {"q": ["a"]}
    plain = sy.evaluate(truth, {"plain": run}, "mrr")
    normalised = sy.evaluate(truth, {"normalised": run}, "mrr", normalise_ids="nfc")
    assert normalised.recipe["normalise_ids"] == "nfc"
    assert "normalise_ids" not in plain.recipe
    assert "normalise_ids:nfc" in str(normalised.signature)
    with pytest.raises(sy.InputError, match="normalise_ids"):
        sy.Scores.concat([plain, normalised])
    with pytest.raises(sy.InputError, match="evaluate both alike"):
        sy.gate(normalised, baseline=plain, margin=0.1)


def test_nothing_is_read_or_copied_where_it_is_not_asked_for() -> None:
    from steelyard.experiment.door.id_forms import same_form
    from steelyard.experiment.door.opening import open_inputs

    inputs = open_inputs({"q": {"a": 1}}, {"q": ["a"]}, WeighOptions())
    assert same_form(inputs, None) is inputs


def test_the_hint_names_the_option_that_helps(tmp_path: Path) -> None:
    ours, theirs = forms("caf\u00e9")
    (tmp_path / "a.qrels").write_text(f"{ours} 0 d 1\n", "utf-8")
    (tmp_path / "a.run").write_text(f"{theirs} Q0 d 1 2 t\n", "utf-8")
    files = ("evaluate", "a.qrels", "a.run", "-m", "mrr")
    assert "--normalise-ids nfc" in complaint(*files, cwd=tmp_path)
    assert "1.0000" in printed(*files, "--normalise-ids", "nfc", cwd=tmp_path)
