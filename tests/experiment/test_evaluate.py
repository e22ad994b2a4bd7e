"""evaluate: policies, several runs, what a call means, and what stands beside the numbers."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.base.schema import SCORES
from steelyard.data.folders.manifests import write_bench_manifest

TRUTH: dict[str, dict[str, float]] = {
    "found": {"a": 1, "b": 2, "c": 0},
    "lost": {"a": 1},
    "missing": {"a": 2},
    "neither": {"c": 0, "n": -1},  # judged, nothing relevant, absent from RUN
    "unjudged": {},
    "useless": {"c": 0, "n": -1},
}
RUN: dict[str, dict[str, float]] = {
    "found": {"b": 3, "x": 2, "a": 1},
    "lost": {"x": 1},
    "other": {"a": 1},
    "another": {"a": 1},
    "unjudged": {"a": 1},
    "useless": {"c": 2, "n": 1},
}
WEAK = {query: dict.fromkeys(docs, 1.0) for query, docs in RUN.items() if query != "lost"}
AP = (1 + 2 / 3) / 2


def values(scores: sy.Scores, system: int = 0, measure: int = 0) -> dict[str, float | None]:
    return {
        query: None if math.isnan(value) else value
        for query, value in zip(scores.query_ids, scores.values[system, measure].tolist(), strict=True)
    }


def write_run(path: Path, run: Mapping[str, Mapping[str, float]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, docs in run.items() for d, s in docs.items()))
    return path


# --------------------------------------------------------------------------- policies

POLICIES: list[tuple[str, str, dict[str, float | None], int]] = [
    # missing, no_relevant, map of every query, n
    ("zero", "zero", {"found": AP, "lost": 0, "missing": 0, "neither": 0, "unjudged": 0, "useless": 0}, 6),
    ("skip", "zero", {"found": AP, "lost": 0, "missing": None, "neither": None, "unjudged": 0, "useless": 0}, 4),
    ("zero", "skip", {"found": AP, "lost": 0, "missing": 0, "neither": None, "unjudged": None, "useless": None}, 3),
    ("skip", "skip", {"found": AP, "lost": 0, "missing": None, "neither": None, "unjudged": None, "useless": None}, 2),
]
STATUS = {
    "found": "ok",
    "lost": "ok",
    "missing": "missing",
    "neither": "missing",
    "unjudged": "no_relevant",
    "useless": "no_relevant",
}


@pytest.mark.parametrize(("missing", "no_relevant", "want", "n"), POLICIES)
def test_policies_skip_or_count_as_zero_and_always_count(
    missing: Any, no_relevant: Any, want: dict[str, float | None], n: int
) -> None:
    scores = sy.evaluate(TRUTH, RUN, "map", missing=missing, no_relevant=no_relevant)
    assert values(scores) == want
    table = scores.per_query
    assert dict(table.select("query_id", "value").iter_rows()) == want
    assert dict(table.select("query_id", "status").iter_rows()) == STATUS
    row = scores.mean().row(0, named=True)
    assert (row["n"], row["missing"], row["no_relevant"]) == (n, 2, 3)
    assert row["mean"] == pytest.approx(AP / n, abs=1e-15)
    assert scores.unjudged_queries.tolist() == [2]


def test_a_measure_that_needs_no_relevant_document_is_skipped_only_where_the_query_is_missing() -> None:
    scores = sy.evaluate(TRUTH, RUN, ["judged@1", "n_retrieved"], missing="skip", no_relevant="skip")
    assert values(scores, measure=0) == {
        "found": 1,
        "lost": 0,
        "missing": None,
        "neither": None,
        "unjudged": 0,
        "useless": 1,
    }
    assert values(scores, measure=1) == {
        "found": 3,
        "lost": 1,
        "missing": None,
        "neither": None,
        "unjudged": 1,
        "useless": 2,
    }
    assert scores.mean()["no_relevant"].to_list() == [0, 0]


def test_nothing_left_gives_no_mean_rather_than_a_number() -> None:
    scores = sy.evaluate({"q": {"a": 0}}, {"q": ["a"]}, ["map", "ndcg@3"], no_relevant="skip")
    table = scores.mean()
    assert table["n"].to_list() == [0, 0]
    for column in ("mean", "low", "high", "judged"):
        assert table[column].to_list() == [None, None], column
    assert scores.per_query["value"].to_list() == [None, None]


def test_judged_is_averaged_over_the_queries_of_the_mean() -> None:
    truth = {"q1": ["a"], "q2": {"b": 0}}
    run = {"q1": ["a", "x", "y", "z"], "q2": ["x", "y"]}
    by_policy = {
        policy: sy.evaluate(truth, run, ["map", "precision@2"], no_relevant=policy).mean()["judged"].to_list()
        for policy in ("zero", "skip")
    }
    assert by_policy == {"zero": [1 / 8, 1 / 4], "skip": [1 / 4, 1 / 2]}


@pytest.mark.parametrize("option", ["missing", "no_relevant", "on_duplicate"])
@pytest.mark.parametrize("value", ["drop", "", None, "Zero"])
def test_an_unknown_policy_is_refused(option: str, value: Any) -> None:
    twice = pl.DataFrame({"query_id": "q", "doc_id": ["a", "a"], "score": 1.0})
    run = twice if option == "on_duplicate" else {"q": ["a"]}
    with pytest.raises(ValueError, match=option) as caught:
        sy.evaluate({"q": ["a"]}, run, "map", **{option: value})
    assert not isinstance(caught.value, sy.DuplicateError)


# --------------------------------------------------------------------------- min_gain


def test_min_gain_is_a_default_that_a_measure_may_override() -> None:
    truth, run = {"q": {"a": 1, "b": 2, "c": 3}}, {"q": ["a", "b", "x", "c"]}
    specs = ["recall@2", "recall(min_gain=3)@2", "precision@2", "ndcg@2", "P(rel=1)@2"]
    plain = sy.evaluate(truth, run, specs)
    raised = sy.evaluate(truth, run, specs, min_gain=2)
    assert plain.values[0, :, 0].tolist()[:3] == [2 / 3, 0.0, 1.0]
    assert raised.values[0, :, 0].tolist()[:3] == [1 / 2, 0.0, 1 / 2]
    assert raised.values[0, 3, 0] == plain.values[0, 3, 0]  # graded measures know no threshold
    assert [str(measure) for measure in raised.measures][:4] == [
        "recall(min_gain=2)@2", "recall(min_gain=3)@2", "precision(min_gain=2)@2", "ndcg@2"]  # fmt: skip
    assert raised.recipe["measures"] == [str(measure) for measure in raised.measures]


def test_an_explicit_threshold_that_equals_the_default_is_kept() -> None:
    scores = sy.evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, "recall(min_gain=1)@1", min_gain=2)
    assert values(scores) == {"q": 1 / 2}


def test_no_relevant_is_counted_for_each_measures_own_threshold() -> None:
    scores = sy.evaluate({"q": {"a": 1}, "r": {"a": 2}}, {"q": ["a"], "r": ["a"]}, ["map", "map(min_gain=2)", "ndcg"])
    assert scores.mean()["no_relevant"].to_list() == [0, 1, 0]
    status = scores.per_query.filter(pl.col("status") != "ok").select("query_id", "measure", "status").rows()
    assert status == [("q", "map(min_gain=2)", "no_relevant")]
    fractions = sy.evaluate({"q": {"a": 0.5}}, {"q": ["a"]}, ["map", "ndcg", "map(min_gain=0.5)"])
    assert fractions.mean()["no_relevant"].to_list() == [1, 0, 0]
    assert fractions.means[0].tolist() == [pytest.approx(np.nan, nan_ok=True), 1.0, 1.0]


def test_an_impossible_threshold_is_refused() -> None:
    for least in (-1, math.nan, math.inf):
        with pytest.raises(sy.MeasureError, match="min_gain must be"):
            sy.evaluate({"q": ["a"]}, {"q": ["a"]}, "map", min_gain=least)


# --------------------------------------------------------------------------- which runs


def test_a_run_in_any_way_and_several_of_them(tmp_path: Path) -> None:
    path = write_run(tmp_path / "bm25.run", RUN)
    frame = sy.Run(RUN).frame
    want = sy.evaluate(TRUTH, RUN, "map").values[0].tobytes()
    cases: list[tuple[object, list[str]]] = [
        (RUN, ["run"]),
        (path, ["bm25"]),
        (str(path), ["bm25"]),
        (frame, ["run"]),
        (sy.Run(RUN, name="mine"), ["mine"]),
        ([path], ["bm25"]),
        ((sy.Run(RUN, name="mine"), path), ["mine", "bm25"]),
        ([RUN], ["run"]),
        (
            {"x": path, "y": str(path), "z": frame, "u": RUN, "v": sy.Run(RUN, name="mine"), "w": frame.to_pandas()},
            list("xyzuvw"),
        ),
        ({"b": RUN, "a": RUN}, ["b", "a"]),
        ({"b": {query: list(docs) for query, docs in RUN.items()}}, ["b"]),
    ]
    for runs, names in cases:
        scores = sy.evaluate(TRUTH, runs, "map")
        assert list(scores.systems) == names
        assert {row.tobytes() for row in scores.values} == {want}
        assert scores.mean()["system"].to_list() == names
        assert list(scores.recipe["runs"]) == names


def test_a_dict_of_queries_and_a_dict_of_runs_are_told_apart() -> None:
    cases: list[tuple[dict[Any, Any], list[str]]] = [
        ({"q": {"a": 1.0}}, ["run"]),
        ({"q": ["a"]}, ["run"]),
        ({"q": ("a",)}, ["run"]),
        ({"q": []}, ["run"]),
        ({"q": {}}, ["run"]),
        ({1: {"a": 1.0}, "q": {"a": 2}}, ["run"]),
        ({"q": {"q": {"a": 1.0}}}, ["q"]),  # a system that bears the name of a query
        ({"s": {"q": ["a"]}}, ["s"]),
        ({"s": {"q": {}}}, ["s"]),
        ({"s": {"q": []}}, ["s"]),
        ({"s": {}, "t": {"q": {"a": 1.0}}}, []),  # a system that answered nothing cannot be weighed
    ]
    for runs, names in cases:
        if names:
            assert list(sy.evaluate({"q": ["a"]}, runs, "map").systems) == names, runs
        else:
            with pytest.raises(sy.InputError):
                sy.evaluate({"q": ["a"]}, runs, "map")


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / folder / "out.run", RUN) for folder in ("bm25", "dense")]
    other = write_run(tmp_path / "third.run", RUN)
    assert list(sy.evaluate(TRUTH, [*paths, other], "map").systems) == ["bm25/out", "dense/out", "third"]
    for twice in ([paths[0], paths[0]], [RUN, RUN], [sy.Run(RUN, name="x"), sy.Run(WEAK, name="x")]):
        with pytest.raises(sy.InputError, match=r"two runs are called '.*'; name each file once"):
            sy.evaluate(TRUTH, twice, "map")
    with pytest.raises(sy.InputError, match="two runs are called 'out'"):
        sy.evaluate(TRUTH, [paths[0], paths[0]], "map")
    assert list(sy.evaluate(TRUTH, {"a": paths[0], "b": paths[0]}, "map").systems) == ["a", "b"]


def test_a_folder_of_runs_is_refused_with_a_pattern_for_them(tmp_path: Path) -> None:
    folder, empty = tmp_path / "runs", tmp_path / "empty"
    write_run(folder / "bm25.run", RUN)
    empty.mkdir()
    (empty / "README.md").write_text("some words\n")
    with pytest.raises(sy.InputError, match=r"runs: is a folder but not of a run; .*; it holds runs, try .*runs/\*$"):
        sy.evaluate(TRUTH, str(folder), "map")
    with pytest.raises(sy.InputError, match=r"empty: is a folder but not of a run; it has no manifest\.json$"):
        sy.evaluate(TRUTH, str(empty), "map")


def test_the_folder_of_a_bench_is_no_run(tmp_path: Path) -> None:
    write_bench_manifest(tmp_path, {"name": "bench", "kind": "rerank"})
    with pytest.raises(
        sy.InputError, match="is the folder of a bench, whose lists are evaluated already; read it with"
    ):
        sy.evaluate({"q": {"d": 1}}, tmp_path)


@pytest.mark.parametrize("runs", [None, 3, [], {}, (), [3], {"a": 3}], ids=repr)
def test_what_is_no_run_is_refused(runs: object) -> None:
    with pytest.raises(sy.InputError):
        sy.evaluate(TRUTH, runs, "map")


def test_an_error_names_the_run_it_is_about(tmp_path: Path) -> None:
    good, bad = write_run(tmp_path / "good.run", RUN), tmp_path / "bad.run"
    bad.write_text("found Q0 a 1 1 t\nfound Q0 b 1 x t\n")
    with pytest.raises(sy.InputError, match=r"bad\.run, line 2"):
        sy.evaluate(TRUTH, [good, bad], "map")
    spoilt = {"found": {"a": math.nan}}
    for runs in ({"good": RUN, "bad one": spoilt}, [sy.Run(RUN), sy.Run(spoilt, name="bad one")]):
        with pytest.raises(sy.InputError, match=r"bad one.*'found'.*'a'"):
            sy.evaluate(TRUTH, runs, "map")
    with pytest.raises(sy.NoCommonQueryError, match="strange: no question of the run is in the truth"):
        sy.evaluate(TRUTH, {"good": RUN, "strange": {"nowhere": ["a"]}}, "map")


def test_no_measure_and_an_unknown_one_are_refused() -> None:
    for measures in ([], "", ","):
        with pytest.raises(sy.MeasureError, match="no measure is given"):
            sy.evaluate(TRUTH, RUN, measures)
    with pytest.raises(sy.UnknownMeasureError, match="no measure is called 'ndgc'; did you mean ndcg"):
        sy.evaluate(TRUTH, RUN, ["map", "ndgc"])


# --------------------------------------------------------------------------- the tables


def test_per_query_has_one_row_a_value() -> None:
    scores = sy.evaluate(TRUTH, {"a": RUN, "b": WEAK}, ["map", "P_5"])
    table = scores.per_query
    assert list(table.schema.items()) == list(SCORES.items())[:5]
    keys = table.select("system", "query_id", "measure").rows()
    assert keys == [(s, q, m) for s in "ab" for q in sorted(TRUTH) for m in ("map", "precision@5")]
    cube = table["value"].to_numpy().reshape(2, len(TRUTH), 2).transpose(0, 2, 1)
    assert cube.tobytes() == scores.values.tobytes()
    assert set(table.filter(query_id="lost", system="b")["status"]) == {"missing"}
    assert set(table.filter(query_id="lost", system="a")["status"]) == {"ok"}


def test_mean_has_one_row_for_each_system_and_measure() -> None:
    scores = sy.evaluate(TRUTH, {"a": RUN, "b": WEAK}, ["map", "gm_map", "n_retrieved"])
    table = scores.mean()
    assert table.columns == ["system", "measure", "mean", "low", "high", "n", "missing", "failed", "unwinnable",
                             "no_relevant", "judged", "not_judged"]  # fmt: skip
    assert table.dtypes == [
        pl.String,
        pl.String,
        pl.Float64,
        pl.Float64,
        pl.Float64,
        pl.Int64,
        pl.Int64,
        pl.Int64,
        pl.Int64,
        pl.Int64,
        pl.Float64,
        pl.Int64,
    ]
    assert table.select("system", "measure").rows() == [(s, m) for s in "ab" for m in ("map", "gm_map", "n_retrieved")]
    assert table["missing"].to_list() == [2, 2, 2, 3, 3, 3]
    assert table["failed"].to_list() == table["unwinnable"].to_list() == [0] * 6
    assert table["mean"][0] == pytest.approx(AP / 6, abs=1e-15)
    assert table["mean"][1] == pytest.approx(math.exp((math.log(AP) + 5 * math.log(1e-5)) / 6), rel=1e-12)
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()


def test_a_single_query_has_no_interval() -> None:
    row = sy.evaluate({"q": ["a"]}, {"q": ["x", "a"]}, "mrr").mean().row(0, named=True)
    assert (row["mean"], row["low"], row["high"], row["n"]) == (0.5, None, None, 1)


def test_measures_are_weighed_once_and_in_order() -> None:
    scores = sy.evaluate(TRUTH, RUN, ["P_5", "map,ndcg@10", "precision@5", sy.parse("AP")])
    assert [str(measure) for measure in scores.measures] == ["precision@5", "map", "ndcg@10"]


# --------------------------------------------------------------------------- the recipe and its digests


def test_the_recipe_says_how_the_numbers_came_about() -> None:
    options: dict[str, Any] = {"missing": "skip", "no_relevant": "zero", "on_duplicate": "max"}
    recipe = sy.evaluate(TRUTH, {"a": RUN}, ["map", "P_5"], **options).recipe
    assert {key: recipe[key] for key in options} == options
    assert recipe["measures"] == ["map", "precision@5"]
    assert recipe["steelyard"].count(".") >= 1
    assert recipe["interval"] == {"level": 0.95, "method": "guarded_t"}
    assert recipe["truth"]["name"] == "truth"
    digests = [recipe["truth"]["digest"], *recipe["runs"].values()]
    assert [digest.partition(":")[0] for digest in digests] == ["sha256", "sha256"]
    assert {len(digest) for digest in digests} == {len("sha256:") + 64}


def run_digest(run: object) -> str:
    return next(iter(sy.evaluate({"q": ["a"], "r": ["a"]}, run, "map").recipe["runs"].values()))


def truth_digest(truth: object) -> str:
    return sy.evaluate(truth, {"q": ["a"], "r": ["a"]}, "map").recipe["truth"]["digest"]


def test_digests_change_with_the_content_and_not_with_the_order_of_rows() -> None:
    base = {"q": {"a": 1.0, "b": 2.0}, "r": {"a": 3.0}}
    same: list[dict[str, dict[str, float]]] = [
        {"r": {"a": 3.0}, "q": {"b": 2.0, "a": 1.0}},
        {"q": {"b": 2, "a": 1}, "r": {"a": 3}},
    ]
    other: list[dict[str, dict[str, float]]] = [
        {"q": {"a": 1.0, "b": 2.5}, "r": {"a": 3.0}},
        {"q": {"a": 1.0, "b": 2.0000000000000004}, "r": {"a": 3.0}},
        {"q": {"a": 1.0, "c": 2.0}, "r": {"a": 3.0}},
        {"q": {"a": 1.0, "b": 2.0}, "r": {"a": 3.0}, "s": {"a": 1.0}},
        {"q": {"a": 1.0}, "r": {"b": 2.0, "a": 3.0}},
        {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 3.0}},
    ]
    for digest in (run_digest, truth_digest):
        assert {digest(data) for data in same} == {digest(base)}
        assert len({digest(data) for data in (base, *other)}) == 1 + len(other)


def test_digests_of_frames_dicts_and_objects_agree() -> None:
    base = {"q": {"a": 1.0, "b": 2.0}, "r": {"a": 3.0}}
    rows = [("r", "a", 3.0), ("q", "b", 2.0), ("q", "a", 1.0)]
    for digest, number in ((run_digest, "score"), (truth_digest, "gain")):
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", number], orient="row")
        forms = [base, frame, frame.lazy(), frame.to_pandas(), frame.to_arrow(), frame.rename({"doc_id": "docno"})]
        assert len({digest(form) for form in forms}) == 1
        assert len({digest(frame.sample(fraction=1, shuffle=True, seed=seed)) for seed in range(5)}) == 1
    assert run_digest({"q": ["a", "b"]}) != run_digest({"q": ["b", "a"]})


def test_digests_of_files_are_those_of_their_bytes(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.run", {"q": {"a": 1.0}})
    first = run_digest(path)
    assert run_digest(sy.Run.read(path)) == run_digest({"other name": path}) == first
    write_run(path, {"q": {"a": 2.0}})
    assert run_digest(path) != first


# --------------------------------------------------------------------------- bits, arguments


def many(n: int = 60) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    rng = np.random.default_rng(3)
    truth = {f"q{i}": {f"d{j}": float(j % 3) for j in range(8)} for i in range(n)}
    run = {f"q{i}": {f"d{j}": float(s) for j, s in enumerate(rng.integers(0, 6, 12))} for i in range(n)}
    return truth, run


MANY = ["map", "ndcg@5", "gm_map", "bpref", "rbp", "err", "precision@3"]


def bits(scores: sy.Scores) -> list[object]:
    return [scores.values.tobytes(), scores.means.tobytes(), scores.intervals.low.tobytes(),
            scores.intervals.high.tobytes(), scores.per_query.rows(), scores.mean().rows(), scores.recipe]  # fmt: skip


def test_the_same_input_gives_the_same_bits() -> None:
    truth, run = many()
    held_truth, held_run = sy.Truth(truth), sy.Run(run)
    want = bits(sy.evaluate(truth, run, MANY))
    assert bits(sy.evaluate(truth, run, MANY)) == want
    assert bits(sy.evaluate(held_truth, held_run, MANY)) == want
    assert bits(sy.evaluate(held_truth, held_run, MANY)) == want  # nothing was worn out by the first call
    assert bits(sy.evaluate(held_truth, sy.Run(held_run.frame.sample(fraction=1, shuffle=True, seed=1)), MANY)) == want
    backwards = {query: dict(reversed(docs.items())) for query, docs in reversed(run.items())}
    assert bits(sy.evaluate(dict(reversed(truth.items())), backwards, MANY)) == want


def test_the_company_of_a_measure_or_a_run_changes_nothing() -> None:
    truth, run = many()
    together = sy.evaluate(truth, {"b": {**run, "q0": {"d1": 1.0}}, "run": run}, [*MANY, "recall@5"]).mean()
    for measure in MANY:
        alone = sy.evaluate(truth, run, measure).mean()
        assert together.filter(system="run", measure=alone["measure"][0]).rows() == alone.rows()


def test_intervals_end_where_a_perfect_ranking_does() -> None:
    """Of one relevant document precision@5 is a fifth of the hit rate, and so is its interval."""
    truth = {f"q{i}": {"d": 1} for i in range(12)}
    run = {query: ["x", "d"] if i % 4 else ["x"] for i, query in enumerate(truth)}
    ends = sy.evaluate(truth, run, ["precision@5", "hit_rate@5"]).intervals
    assert (5 * ends.low[0, 0], 5 * ends.high[0, 0]) == pytest.approx((ends.low[0, 1], ends.high[0, 1]))
    perfect = sy.evaluate(truth, {query: ["d"] for query in truth}, "precision@5").intervals
    assert (perfect.low[0, 0], perfect.high[0, 0]) == pytest.approx((0.2 * 0.751, 0.2), abs=1e-3)


def test_intervals_of_columns_and_of_measures_on_other_scales() -> None:
    truth = {f"q{i}": {"d": 1} for i in range(12)}
    scores = sy.evaluate(truth, {query: ["d"] for query in truth}, ["gm_map", "num_ret", "dcg@5"])
    ends = scores.intervals
    assert (0 < ends.low[0, 0] < 0.2, ends.high[0, 0]) == (True, 1.0)
    assert np.isnan([ends.low[0, 1], ends.high[0, 1]]).all()
    assert (ends.low[0, 2] < 0.8, ends.high[0, 2]) == (True, 1.0)
    assert scores.mean()["low"].null_count() == 1
    latencies = sy.Scores.of(pl.DataFrame({"query_id": ["a", "b"], "measure": "latency_ms", "value": [7.0, 7.0]}))
    assert latencies.intervals.method == "none"


def test_one_truth_serves_many_runs_and_one_run_many_truths() -> None:
    truth, run = many()
    held_truth, held_run = sy.Truth(truth), sy.Run(run)
    halved = {query: {doc: max(gain - 1, 0) for doc, gain in docs.items()} for query, docs in truth.items()}
    for first in (truth, halved, truth):
        assert sy.evaluate(first, held_run, MANY).values.tobytes() == sy.evaluate(first, run, MANY).values.tobytes()
    for second in (run, {"q0": ["d1"]}, run):
        assert (
            sy.evaluate(held_truth, second, MANY).values.tobytes() == sy.evaluate(truth, second, MANY).values.tobytes()
        )


def unchanged_dict() -> tuple[object, Callable[[], object]]:
    data = copy.deepcopy(RUN)
    return data, lambda: [(q, list(docs.items())) for q, docs in data.items()]


def unchanged_lists() -> tuple[object, Callable[[], object]]:
    data = {query: list(docs) for query, docs in RUN.items()}
    return data, lambda: [(q, list(docs)) for q, docs in data.items()]


def unchanged_polars() -> tuple[object, Callable[[], object]]:
    data = sy.Run(RUN).frame.with_columns(pl.lit(1).alias("rank"))
    return data, lambda: (data.columns, data.rows())


def unchanged_pandas() -> tuple[object, Callable[[], object]]:
    data = pd.DataFrame(sy.Run(RUN).frame.rows(), columns=["qid", "docno", "score"])
    return data, data.to_csv


@pytest.mark.parametrize("make", [unchanged_dict, unchanged_lists, unchanged_polars, unchanged_pandas])
def test_arguments_are_left_as_they_were(make: Callable[[], tuple[object, Callable[[], object]]]) -> None:
    data, look = make()
    truth, measures = copy.deepcopy(TRUTH), ["map", "P_5"]
    before = look()
    for on_duplicate in ("error", "first", "max"):
        scores = sy.evaluate(
            truth, data, measures, min_gain=2, missing="skip", no_relevant="skip", on_duplicate=on_duplicate
        )
        scores.mean(), scores.per_query, scores.recipe
        assert look() == before
        assert [(q, list(docs.items())) for q, docs in truth.items()] == [
            (q, list(docs.items())) for q, docs in TRUTH.items()
        ]
        assert measures == ["map", "P_5"]


# --------------------------------------------------------------------------- the package


def in_a_new_process(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_importing_the_package_imports_neither_polars_nor_numpy() -> None:
    heavy = ("polars", "numpy", "pandas", "pyarrow", "scipy", "rich", "pydantic")
    code = f"import steelyard, sys; print([m for m in {heavy} if m in sys.modules])"
    assert in_a_new_process(code) == "[]\n"


def test_evaluating_a_file_imports_no_other_frame_library(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.run", RUN)
    code = (
        f"import steelyard, sys; print(steelyard.evaluate({{'found': ['a']}}, {str(path)!r}, 'mrr').values.item()); "
        + ("print([m for m in ('pandas', 'pyarrow', 'scipy', 'ranx', 'rich', 'pydantic') if m in sys.modules])")
    )
    assert in_a_new_process(code) == f"{1 / 3}\n[]\n"


def test_every_public_name_can_be_had() -> None:
    assert {name for name in sy.__all__ if getattr(sy, name, None) is None} == set()
    assert sorted(sy.__all__) == sorted(set(sy.__all__)) == sorted(dir(sy))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sy.nothing


def test_by_default_gold_pieces_come_first_where_the_gold_is_evidence() -> None:
    asked = [{"qid": f"q{i}", "evidence": [{"doc": "d", "start": 0, "end": 9}]} for i in range(2)]
    lines = [
        {"qid": f"q{i}", "retrieved": [{"id": "c", "doc": "d", "start": 0, "end": 20, "text": "x" * 20}]}
        for i in range(2)
    ]
    by_evidence = sy.weigh(asked, [sy.Outputs(lines, name=name) for name in "ab"])
    by_id = sy.weigh({"q": {"a": 1}, "r": {"a": 1}}, {name: {"q": ["a"], "r": ["b"]} for name in "ab"})
    assert (by_evidence.by_evidence, by_id.by_evidence) == (True, False)
    for weighing, primary in ((by_evidence, "evidence_recall@5"), (by_id, "ndcg@10")):
        assert str(sy.compare(weighing).measures[0]) == primary
        assert str(sy.report(weighing).scores.primary) == primary
    assert str(sy.evaluate(asked, sy.Outputs(lines)).primary) == "evidence_recall@5"
    assert str(sy.evaluate({"q": {"a": 1}}, {"q": ["a"]}).primary) == "ndcg@10"


ROWS = [
    {"user_input": "What does Plus cost?", "retrieved_contexts": ["Plus costs 260 yuan a year.", "Basic costs 120."],
     "response": "It costs 260 yuan.", "reference": "260 yuan a year."},
    {"user_input": "When do you open?", "retrieved_contexts": ["We open at 9.", "The hall is shut on Monday."],
     "response": "We open at 9.", "reference": "At 9."},
]  # fmt: skip


def test_rows_that_hold_both_sides_need_no_run(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    path = str(tmp_path / "rows.jsonl")
    both = sy.evaluate(path, path, ["faithfulness", "answer_f1"])
    for rows in (path, ROWS):
        assert sy.evaluate(rows, measures=["faithfulness", "answer_f1"]).values.tolist() == both.values.tolist()
    assert sy.weigh(ROWS).systems == ["run"]


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ({"q": {"d": 1}}, "a dict holds judged documents and no results; name one run or several behind it"),
        (
            [{"qid": "q", "query": "?", "evidence": ["x"]}],
            "where there are no results beside the questions, name one run",
        ),
    ],
)
def test_a_truth_alone_is_not_weighed_against_itself(truth: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sy.evaluate(truth)
