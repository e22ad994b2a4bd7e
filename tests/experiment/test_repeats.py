"""Several runs of one system: values are means over them, question by question."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated.repeats import commit_rates
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.experiment.table.repeats import repeated

RNG = np.random.default_rng(4)
TRUTH = {f"q{i:02}": {"d": 1} for i in range(20)}


def ranked() -> dict[str, list[str]]:
    return {q: ["x", "d"] if RNG.random() < 0.4 else ["d", "x"] for q in TRUTH}


FIRST, SECOND, THIRD, OTHER = (ranked() for _ in range(4))
RUNS = {"bm25": sy.Repeats([FIRST, SECOND, THIRD]), "lsa": OTHER}


def alone(run: Any) -> sy.Scores:
    return sy.evaluate(TRUTH, {"bm25": run}, ["mrr", "p@1"])


def test_values_are_means_of_the_runs() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["mrr", "p@1"])
    each = np.stack([alone(run).values[0] for run in (FIRST, SECOND, THIRD)])
    assert scores.systems == ["bm25", "lsa"]
    assert scores.values[0].tolist() == each.mean(axis=0).tolist()
    assert scores.values[1].tolist() == alone(OTHER).values[0].tolist()
    assert scores.repeats["bm25"].tolist() == each.tolist()
    assert list(scores.repeats) == ["bm25"]


def test_both_components_are_there() -> None:
    components = sy.evaluate(TRUTH, RUNS, ["mrr", "p@1"]).components
    assert components["measure"].to_list() == ["mrr", "precision@1"]
    assert components.select("system", "n_runs", "n").rows() == [("bm25", 3, 20)] * 2
    each = np.stack([alone(run).values[0, 0] for run in (FIRST, SECOND, THIRD)])
    within = each.var(axis=0, ddof=1).mean()
    row = components.row(0, named=True)
    assert row["sd_runs"] == pytest.approx(within**0.5)
    assert row["sd_questions"] == pytest.approx(max(each.mean(axis=0).var(ddof=1) - within / 3, 0) ** 0.5)
    assert (row["least"], row["greatest"]) == (each.mean(axis=1).min(), each.mean(axis=1).max())
    assert alone(FIRST).components.is_empty()


def test_a_comparison_is_of_the_means_and_says_so() -> None:
    weighing = sy.weigh(TRUTH, RUNS)
    comparison = sy.compare(weighing, measures="mrr", baseline="lsa")
    scores = weighing.scores("mrr")
    row = next(row for row in comparison.rows["mrr"] if row.system == "bm25")
    assert row.difference == pytest.approx(float((scores.values[0] - scores.values[1]).mean()))
    assert comparison.components.equals(scores.components)
    assert comparison.sensitivity is not None
    assert comparison.sensitivity.mean[0, 0] == pytest.approx(scores.means[0, 0])
    text = comparison.text(lang="en", explain=True)
    assert "bm25 is the mean of 3 runs, question by question. Standard deviations: mrr " in text
    assert "bm25 为 3 次运行的逐题平均" in comparison.text(lang="zh", explain=True)


def test_one_repeat_is_a_run() -> None:
    scores = sy.evaluate(TRUTH, {"bm25": sy.Repeats([FIRST])}, "mrr")
    assert (scores.systems, scores.repeats) == (["bm25"], {})
    with pytest.raises(sy.InputError, match="no run among the repeats"):
        sy.Repeats([])


def test_runs_over_other_questions_are_refused() -> None:
    fewer = {q: SECOND[q] for q in list(SECOND)[:-2]}
    with pytest.raises(sy.InputError, match=r"bm25: .* run 2 .* lacks 'q18', which run 1 has, and 2 differ in all"):
        sy.weigh(TRUTH, {"bm25": sy.Repeats([FIRST, fewer])})
    with pytest.raises(sy.InputError, match=r"run 1 .* lacks 'q18', which run 2 has"):
        sy.weigh(TRUTH, {"bm25": sy.Repeats([fewer, FIRST])})
    # What all runs lack alike is missing, as of a single run.
    both = sy.evaluate(TRUTH, {"bm25": sy.Repeats([fewer, fewer])}, "mrr", missing="skip")
    assert (int(both.missing.sum()), int(np.isnan(both.repeats["bm25"]).sum())) == (2, 4)


def test_outputs_with_evidence() -> None:
    questions = [{"qid": f"q{i}", "query": "?", "evidence": [{"text": f"word {i}"}]} for i in range(4)]
    time = {"latency_ms": {"total": 1.5}}
    lines: list[Any] = [
        [{"qid": f"q{i}", "retrieved": [{"id": f"c{i}", "text": f"a word {i + (i < n)}"}], **time} for i in range(4)]
        for n in (0, 1, 2)
    ]
    lines[2][3] = {"qid": "q3", "error": "timeout", "retrieved": []}
    weighing = sy.weigh(questions, {"rag": sy.Repeats(lines)})
    scores = weighing.scores("hit_rate@1")
    assert scores.values[0, 0].tolist() == pytest.approx([1 / 3, 2 / 3, 1.0, 2 / 3])
    assert scores.failed[0].tolist() == [False, False, False, True]
    assert [len(run) for run in weighing.latency_ms["rag"]] == [4, 4, 4]
    assert weighing.latency_ms["rag"][2][3] == math.inf
    assert sy.diagnose(weighing).funnels[0].n_queries == 4


def test_a_file_holds_the_runs(tmp_path: Path) -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["mrr", "p@1"])
    (path := tmp_path / "scores.json").write_text(as_json(scores), encoding="utf-8")
    for again in (read_scores(path), pickle.loads(pickle.dumps(scores))):
        assert again.components.equals(scores.components)
        assert as_json(again) == as_json(scores)
    path.write_text(as_json(scores).replace('"runs": [[[', '"runs": [[[1.0, '), encoding="utf-8")
    with pytest.raises(sy.InputError, match="runs have other than 2 measures of 20 values"):
        read_scores(path)


def test_parts_keep_their_runs() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["mrr", "p@1"])
    assert scores.filter(systems="lsa").repeats == {}
    first, rest = scores.filter(query_ids=["q00", "q01"]), scores.filter(query_ids=[f"q{i:02}" for i in range(2, 20)])
    assert first.filter(measures="p@1").repeats["bm25"].shape == (3, 1, 2)
    union = sy.Scores.concat([first, rest])
    assert union.repeats["bm25"].tolist() == scores.repeats["bm25"].tolist()
    fewer = sy.evaluate(TRUTH, {"bm25": sy.Repeats([FIRST, SECOND])}, ["map"])
    with pytest.raises(sy.InputError, match="bm25: has 2 runs in one part"):
        sy.Scores.concat([scores, fewer])


def test_a_gate_and_a_report_show_the_components() -> None:
    weighing = sy.weigh(TRUTH, RUNS)
    scores = weighing.scores("mrr")
    gate = sy.gate(scores, baseline="lsa", margin=0.5)
    assert gate.components.equals(scores.components)
    report = sy.report(weighing, measures="mrr")
    assert "bm25 is the mean of 3 runs" in report.text("markdown", lang="en")
    assert sy.Report.from_parts(report.parts()).text("json") == report.text("json")
    assert isinstance(report.scores.components, pl.DataFrame)


def test_runs_that_are_alike_share_a_line() -> None:
    runs = {name: sy.Repeats([FIRST, FIRST, FIRST]) for name in ("bm25", "lsa")}
    text = sy.gate(sy.evaluate(TRUTH, runs, "mrr"), profile="faq", max_failed=0.5).text(lang="en", explain=True)
    assert "bm25, lsa: mean of 3 runs, which are alike in mrr." in text
    assert "Standard deviations" not in text
    differing = sy.gate(sy.evaluate(TRUTH, RUNS | runs, "mrr"), profile="faq", max_failed=0.5).text(
        lang="zh", explain=True
    )
    assert "3 次运行的平均，各次的 mrr 都相同" in differing


SCORE = st.lists(st.permutations(["d", "x", "y"]), min_size=4, max_size=4)


@given(st.lists(SCORE, min_size=2, max_size=4), st.sampled_from(["zero", "skip"]))
def test_scores_of_runs_together_are_those_of_repeats(runs: list[list[list[str]]], missing: Any) -> None:
    truth = {f"q{i}": {"d": 1} for i in range(5)}
    of_runs = [{f"q{i}": ranking for i, ranking in enumerate(run)} for run in runs]

    def evaluated(run: object) -> sy.Scores:
        return sy.evaluate(truth, {"rag": run}, ["mrr", "p@1"], missing=missing)

    together = repeated([evaluated(run) for run in of_runs])
    assert as_json(together) == as_json(evaluated(sy.Repeats(of_runs)))
    # Those of repeats count with all of their runs.
    grouped = repeated([evaluated(sy.Repeats(of_runs[:2])), *(evaluated(run) for run in of_runs[2:])])
    assert as_json(grouped) == as_json(together)


def test_what_is_no_repeat_is_refused() -> None:
    scores, other = alone(FIRST), sy.evaluate(TRUTH | {"q99": {"d": 1}}, {"bm25": FIRST}, "mrr")
    assert repeated([scores]) is scores
    with pytest.raises(sy.InputError, match="no scores to put together"):
        repeated([])
    with pytest.raises(sy.InputError, match="run 2 is of other questions than the first, such as 'q99'"):
        repeated([scores, other])
    with pytest.raises(sy.InputError, match="run 2 is of other systems than the first, such as 'bm25'"):
        repeated([scores, sy.evaluate(TRUTH, {"lsa": FIRST}, "mrr")])
    with pytest.raises(sy.InputError, match="run 2 is of another truth than the first"):
        repeated([scores, sy.evaluate({q: {"x": 1} for q in TRUTH}, {"bm25": FIRST}, "mrr")])
    with pytest.raises(sy.InputError, match=r"no measure is in all 2 runs; the first has mrr, precision@1"):
        repeated([scores, sy.evaluate(TRUTH, {"bm25": FIRST}, "map")])
    with pytest.raises(sy.InputError, match=r"bm25: its runs cover different questions, such as 'q19'"):
        repeated([scores, alone({q: SECOND[q] for q in list(SECOND)[:-1]})])


@pytest.mark.slow
def test_runs_of_commits_hold_the_level_and_estimate_their_spread() -> None:
    shown, half, sd = commit_rates(1_000, 5, (3, 3), 0.15, 0.0)
    # Three standard errors of a simulated .05 are .021.
    assert 0.029 <= shown <= 0.071
    assert half < commit_rates(200, 5, (1, 1), 0.15, 0.0)[1]
    assert sd == pytest.approx(0.15, abs=0.005)
