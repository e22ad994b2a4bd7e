"""The line by which a result is quoted."""

from __future__ import annotations

import json

import polars as pl

import steelyard as sy
from steelyard.experiment.scores import Scores
from steelyard.experiment.signature import Signature, signature_of
from steelyard.report.formats.scores import FORMATS

TRUTH = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}}
RUNS = {name: {"q1": {"a": 1.0, name: 2.0}, "q2": {"b": 1.0}} for name in ("one", "two", "three", "four")}
DIGEST = "sha256:" + "0123456789abcdef" * 4


def test_all_that_must_be_equal_is_in_the_line() -> None:
    scores = sy.evaluate(TRUTH, {"one": RUNS["one"]}, ["ndcg@10", "P@5"], missing="skip", no_relevant="skip")
    signature = scores.signature
    truth, run = scores.recipe["truth"]["digest"], scores.recipe["runs"]["one"]
    assert signature == Signature(
        ("ndcg@10", "precision@5"), (2, 2), "skip", "skip", None, truth, {"one": run}, sy.__version__
    )
    assert str(signature) == (
        f"ndcg@10,precision@5; n:2; missing:skip; no_relevant:skip; truth:{truth[7:15]}; runs:{run[7:15]}; "
        f"steelyard:{sy.__version__}"
    )


def test_what_differs_shows() -> None:
    lines = {
        str(sy.evaluate(truth, RUNS["one"], measure, missing=missing).signature)  # type: ignore[arg-type]
        for truth in (TRUTH, {**TRUTH, "q1": {"a": 2}})
        for measure in ("map", "map@5")
        for missing in ("zero", "skip")
    }
    assert len(lines) == 8


def test_means_of_unequal_numbers_of_queries_and_many_runs() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["map", "judged@5"], no_relevant="skip", missing="zero")
    line = str(scores.signature)
    assert "; n:2-3; " in line
    assert "; runs:4x" in line
    turned = sy.evaluate(TRUTH, dict(reversed(RUNS.items())), ["map", "judged@5"], no_relevant="skip")
    assert str(turned.signature) == line
    few = scores.filter(systems=["one", "two"])
    assert len(few.signature.runs) == 2
    assert "x" not in str(few.signature).partition("runs:")[2].partition(";")[0]


def test_of_a_recipe() -> None:
    recipe = {
        "measures": ["recall@5"], "missing": "zero", "no_relevant": "zero", "rule": "share>=0.5", "steelyard": "1",
        "truth": {"name": "gold", "digest": DIGEST}, "runs": {"a": DIGEST},
    }  # fmt: skip
    assert str(signature_of(recipe, 7)) == (
        "recall@5; n:7; missing:zero; no_relevant:zero; rule:share>=0.5; truth:01234567; runs:01234567; steelyard:1"
    )


def test_of_a_frame_there_are_no_inputs_to_name() -> None:
    frame = pl.DataFrame({"query_id": ["a", "b"], "measure": "clicks", "value": [1, 2]})
    assert str(Scores.of(frame).signature) == (
        f"clicks; n:2; missing:zero; no_relevant:zero; steelyard:{sy.__version__}"
    )


def test_a_comparison_has_one_too() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["map"], no_relevant="skip")
    assert str(sy.compare(scores).signature) == str(scores.signature)


def test_it_is_written_under_tables_and_in_files() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["map"])
    line = str(scores.signature)
    for name in ("table", "markdown"):
        assert line in FORMATS[name](scores, per_query=False)
    assert line.replace("_", r"\_") in FORMATS["latex"](scores, per_query=False)
    assert json.loads(FORMATS["json"](scores, per_query=False))["signature"] == line
