"""Scores as one long frame: into it and back, put together and filtered, with columns of numbers of any origin."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.base.schema import SCORES
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.experiment.table.scores import Scores
from tests.experiment.test_scores_json import ARRAYS, all_scores, same
from tests.hypothesis_profiles import examples

TRUTH = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}, "q3": {"d": 0}, "问题四": {"e": 1}}
RUNS = {"one": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"y": 1.0}}, "two": {"q1": {"b": 1.0}, "问题四": {"e": 1.0}}}
MEASURES = ["ndcg@10", "recall@5", "map"]


def small(**options: object) -> Scores:
    return sy.evaluate(TRUTH, RUNS, MEASURES, **options)  # type: ignore[arg-type]


def same_values(one: Scores, two: Scores) -> None:
    assert (list(one.systems), list(one.query_ids)) == (list(two.systems), list(two.query_ids))
    assert list(one.measures) == list(two.measures)
    for name in ARRAYS[:-1]:
        a, b = getattr(one, name), getattr(two, name)
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), name
    assert one.frame.equals(two.frame)


# There and back -------------------------------------------------------------------------------------------------------


@examples(100)
@given(all_scores(), st.randoms(use_true_random=False))
def test_arrays_become_a_frame_and_arrays_again(scores: Scores, random: object) -> None:
    scores = scores.filter(query_ids=scores.query_ids)
    order = np.argsort(np.array([query_id.encode() for query_id in scores.query_ids], object))
    for name in ("values", "missing", "no_relevant", "failed", "unwinnable", "judged"):
        object.__setattr__(scores, name, getattr(scores, name)[..., order])
    object.__setattr__(scores, "query_ids", [scores.query_ids[place] for place in order])
    assert scores.frame.schema == SCORES
    same_values(Scores.of(scores.frame), scores)
    # Systems and measures come in the order of the rows, queries in that of their ids.
    shuffled = Scores.of(scores.frame.sample(fraction=1.0, shuffle=True, seed=1))
    assert shuffled.query_ids == list(scores.query_ids)
    assert shuffled.frame.sort("system", "query_id", "measure").equals(
        scores.frame.sort("system", "query_id", "measure")
    )


@pytest.mark.parametrize("policy", ["zero", "skip"])
def test_of_the_frame_of_evaluate(policy: str) -> None:
    scores = small(missing=policy, no_relevant=policy)
    again = Scores.of(scores.frame)
    same_values(again, scores)
    assert again.mean().equals(scores.mean())
    assert (again.recipe["missing"], again.recipe["no_relevant"]) == (policy, policy)


def test_status_is_the_gravest_and_reason_names_all() -> None:
    frame = small().frame.filter(system="two", measure="map")
    assert frame.select("query_id", "status", "reason").rows() == [
        ("q1", "ok", None),
        ("q2", "missing", "missing"),
        ("q3", "missing", "missing, no_relevant"),
        ("问题四", "ok", None),
    ]
    assert small().per_query.equals(small().frame.select("system", "query_id", "measure", "value", "status"))


@pytest.mark.parametrize(
    "convert", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, lambda data: pl.DataFrame(data).to_arrow()]
)
def test_frames_of_any_library(convert: object) -> None:
    data = {
        "system": ["a", "a", "b"],
        "qid": [1, 2, 1],
        "measure": ["clicks", "clicks", "P@5"],
        "value": [2.0, 0.0, 0.5],
        "status": ["ok", "failed", "ok"],
    }
    scores = Scores.of(convert(data))  # type: ignore[operator]
    assert scores.frame.select("system", "query_id", "measure", "value", "status").rows() == [
        ("a", "1", "clicks", 2.0, "ok"), ("a", "1", "precision@5", None, "not_measured"),
        ("a", "2", "clicks", 0.0, "failed"), ("a", "2", "precision@5", None, "failed"),
        ("b", "1", "clicks", None, "not_measured"), ("b", "1", "precision@5", 0.5, "ok"),
        ("b", "2", "clicks", None, "not_measured"), ("b", "2", "precision@5", None, "not_measured"),
    ]  # fmt: skip


# Put together and taken apart -----------------------------------------------------------------------------------------


def test_single_systems_put_together_equal_all_at_once() -> None:
    parts = [sy.evaluate(TRUTH, {name: run}, MEASURES) for name, run in RUNS.items()]
    same(Scores.concat(parts), small())


def test_measures_and_queries_put_together_equal_all_at_once() -> None:
    scores = small()
    same(Scores.concat([scores.filter(measures=name) for name in MEASURES]), scores)
    same(Scores.concat([scores.filter(query_ids=id) for id in scores.query_ids]), scores)
    same(Scores.concat([scores]), scores)


@examples(60)
@given(all_scores(), st.data())
def test_parts_of_a_split_equal_the_whole(scores: Scores, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(scores.systems)))
    parts = [scores.filter(systems=scores.systems[:cut]), scores.filter(systems=scores.systems[cut:])]
    same(Scores.concat(part for part in parts if part.systems), scores)


def test_a_filter_keeps_order_values_and_recipe() -> None:
    scores = small()
    part = scores.filter(systems=["two"], measures=["map", "nDCG@10"], query_ids=["q2", "q1"])
    assert (list(part.systems), list(part.query_ids)) == (["two"], ["q1", "q2"])
    assert [str(measure) for measure in part.measures] == ["ndcg@10", "map"]
    assert part.values.tolist() == scores.values[1:, [0, 2]][:, :, :2].tolist()
    assert (
        part.frame.rows()
        == scores.frame.filter(
            pl.col("system") == "two", pl.col("measure") != "recall@5", pl.col("query_id").is_in(["q1", "q2"])
        ).rows()
    )
    assert part.recipe["truth"] == scores.recipe["truth"]
    for wrong, message in (
        ({"systems": "tow"}, "two"),
        ({"measures": "recall@50"}, "recall@5"),
        ({"query_ids": "q10"}, "q1"),
    ):
        with pytest.raises(InputError, match=f"did you mean {message}|there are {message}"):
            scores.filter(**wrong)  # type: ignore[arg-type]


def test_what_cannot_be_put_together() -> None:
    with pytest.raises(InputError, match="there are no scores to put together"):
        Scores.concat([])
    with pytest.raises(InputError, match=r"system 'one', question 'q1': ndcg@10 is there twice; keep one"):
        Scores.concat([small(), small().filter(systems="one", measures="ndcg@10")])
    with pytest.raises(InputError, match="scores of different missing cannot be put together: 'zero' and 'skip'"):
        Scores.concat([small().filter(systems="one"), small(missing="skip").filter(systems="two")])


# Columns of numbers ---------------------------------------------------------------------------------------------------


def latencies(*systems: str, values: tuple[float | None, ...] = (120.0, 80.0, None, 95.5)) -> pl.DataFrame:
    rows = [
        (system, query_id, "latency_ms", None if value is None else value * (1 + place))
        for place, system in enumerate(systems)
        for query_id, value in zip(TRUTH, values, strict=True)
    ]
    return pl.DataFrame(rows, schema=["system", "query_id", "measure", "value"], orient="row")


def test_latency_beside_retrieval() -> None:
    scores = Scores.concat([small(), Scores.of(latencies("one", "two"))])
    spec = scores.measures[-1]
    assert (str(spec), spec.definition.direction, spec.definition.range) == (
        "latency_ms",
        "lower",
        (-math.inf, math.inf),
    )
    assert Scores.of(scores.frame).measures == scores.measures
    row = scores.mean().filter(system="one", measure="latency_ms").to_dicts()[0]
    assert (row["mean"], row["n"], row["judged"]) == (pytest.approx(295.5 / 3), 3, None)
    assert row["low"] <= row["mean"] <= row["high"] or math.isnan(row["low"] or math.nan)
    assert scores.frame.filter(measure="latency_ms", query_id="q3")["status"].to_list() == ["missing", "missing"]
    same(scores.filter(measures=MEASURES), small())
    with pytest.raises(sy.MeasureError, match="latency_ms is a column of numbers that were handed in; it cannot be"):
        spec(sy.weigh(TRUTH, RUNS).alignments[0])
    with pytest.raises(sy.UnknownMeasureError):
        sy.parse("latency_ms")


def test_a_column_is_written_and_read(tmp_path: Path) -> None:
    scores = Scores.concat([small(), Scores.of(latencies("one", "two"))])
    (path := tmp_path / "scores.json").write_text(as_json(scores), encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["columns"] == ["latency_ms"]
    same(read_scores(path), scores)
    table = pl.read_csv(io.StringIO(scores.text("csv", per_query=True)))
    same_values(Scores.of(table), Scores.of(scores.per_query))
    for name in ("table", "markdown", "latex", "trec"):
        assert "latency" in scores.text(name, per_query=True)
    # The best latency is the lowest, and it is the one in bold.
    best = [line for line in scores.text("markdown").splitlines() if line.startswith("| one")]
    assert "**98.5" in best[0]


def test_a_column_is_compared_and_gated() -> None:
    frame = pl.DataFrame(
        [(system, f"q{i:02}", "latency_ms", 100.0 + i % 7 + extra) for system, extra in (("old", 0.0), ("new", 20.0))
         for i in range(40)], schema=["system", "query_id", "measure", "value"], orient="row",
    )  # fmt: skip
    scores = Scores.of(frame)
    comparison = sy.compare(scores, baseline="old")
    assert comparison.rows["latency_ms"][-1].difference == pytest.approx(20.0) or any(
        row.difference == pytest.approx(20.0) for row in comparison.rows["latency_ms"]
    )
    assert [check.reason for check in sy.gate(scores, baseline="old", margin=5.0).checks] == ["worse"]
    assert [check.reason for check in sy.gate(scores, baseline="new", margin=5.0).checks] == ["not_worse"]


def test_true_and_false_are_numbers() -> None:
    frame = pl.DataFrame({"query_id": ["a", "b", "c"], "measure": "answered", "value": [True, False, None]})
    assert Scores.of(frame, system="s").values.tolist()[0][0][:2] == [1.0, 0.0]
    assert Scores.of(frame).mean()["n"].to_list() == [2]


BAD = {
    "no frame": ({"q": 1}, "cannot be read from dict"),
    "no measure": (pl.DataFrame({"query_id": ["q"], "value": [1]}), "no column 'measure'.*unpivot"),
    "no rows": (pl.DataFrame({"query_id": [], "measure": [], "value": []}), "no rows"),
    "text": (pl.DataFrame({"query_id": ["q"], "measure": "m", "value": ["1"]}), "holds text, such as '1'"),
    "infinite": (pl.DataFrame({"query_id": ["q", "r"], "measure": "m", "value": [1.0, math.inf]}), "row 2: value"),
    "no id": (pl.DataFrame({"query_id": ["q", None], "measure": "m", "value": [1, 2]}), "row 2: query_id is empty"),
    "twice": (pl.DataFrame({"query_id": ["q", "q"], "measure": "m", "value": [1, 2]}), "'q': m has two values"),
    "twice in two spellings": (
        pl.DataFrame({"query_id": ["q", "q"], "measure": ["P@5", "P_5"], "value": [1, 2]}), "has two values"),
    "a status": (
        pl.DataFrame({"query_id": ["q"], "measure": "m", "value": [1], "status": "faild"}), "did you mean failed"),
    "a reason": (
        pl.DataFrame({"query_id": ["q"], "measure": "m", "value": [1], "reason": "failed, late"}), "reason is 'late'"),
    "a misspelt measure": (pl.DataFrame({"query_id": ["q"], "measure": "recal@5", "value": [1]}), "mean recall"),
    "a bad parameter": (pl.DataFrame({"query_id": ["q"], "measure": "rbp(p=3)", "value": [1]}), "p must be a number"),
}  # fmt: skip


@pytest.mark.parametrize("label", BAD)
def test_frames_that_are_no_scores(label: str) -> None:
    data, message = BAD[label]
    with pytest.raises(sy.SteelyardError, match=message):
        Scores.of(data)


# The file ------------------------------------------------------------------------------------------------------------


def test_files_have_a_format_number_and_older_ones_are_read(tmp_path: Path) -> None:
    content = json.loads(as_json(small()))
    assert content.pop("format") == 1
    (path := tmp_path / "scores.json").write_text(json.dumps(content), encoding="utf-8")
    same(read_scores(path), small())
    path.write_text(json.dumps({"format": 2, **content}), encoding="utf-8")
    with pytest.raises(InputError, match="has format 2, and this Steelyard reads up to 1; update Steelyard"):
        read_scores(path)
