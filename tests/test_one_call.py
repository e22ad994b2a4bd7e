"""Every function that weighs takes the same: paths, dicts, frames, rows that hold both sides, or what weighed them."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.base.result import Result

TRUTH = {f"q{n}": {"d1": 1, "d2": 2} for n in range(8)}
RUNS = {
    "bm25": {f"q{n}": {"d1": 2.0, f"x{n % 3}": 1.0} for n in range(8)},
    "dense": {f"q{n}": {"d2": 2.0, f"d{n % 3}": 1.0} for n in range(8)},
}
ROWS = [
    {"user_input": f"Who sings {n}?", "retrieved_contexts": ["Whales sing.", "Snails do not."],
     "response": "Whales.", "reference": "Whales.", "reference_contexts": ["Snails do not." if n else "Whales sing."]}
    for n in range(4)
]  # fmt: skip
MEASURES = ["ndcg@10", "mrr"]
FUNCTIONS: dict[str, Callable[..., Result]] = {
    "evaluate": lambda *sides, measures=MEASURES: sy.evaluate(*sides, measures=measures),
    "compare": lambda *sides, measures=MEASURES: sy.compare(*sides, measures=measures),
    "diagnose": lambda *sides, **of_scores: sy.diagnose(*sides),
    "report": lambda *sides, measures=MEASURES: sy.report(*sides, measures=measures, date="2026-11-24"),
    "gate": lambda *sides, measures=MEASURES: sy.gate(*sides, measures=measures, min_questions=2, max_failed=0.1),
    "plan": lambda *sides, measures=MEASURES: sy.plan(*sides, measures=measures[0], difference=0.05),
}


def frames(make: Callable[[list[dict[str, Any]]], Any]) -> tuple[object, object]:
    truth = [{"query_id": q, "doc_id": d, "gain": g} for q, gains in TRUTH.items() for d, g in gains.items()]
    runs = {
        name: make([{"query_id": q, "doc_id": d, "score": s} for q, docs in run.items() for d, s in docs.items()])
        for name, run in RUNS.items()
    }
    return make(truth), runs


def paths(folder: Path) -> tuple[object, object]:
    qrels = folder / "truth.qrels"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, gains in TRUTH.items() for d, g in gains.items()))
    for name, run in RUNS.items():
        lines = (f"{q} Q0 {d} 1 {s} {name}\n" for q, docs in run.items() for d, s in docs.items())
        (folder / f"{name}.run").write_text("".join(lines))
    return str(qrels), [folder / f"{name}.run" for name in RUNS]


FORMS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "dicts": lambda folder: (TRUTH, RUNS),
    "paths": paths,
    "polars": lambda folder: frames(pl.DataFrame),
    "pandas": lambda folder: frames(lambda rows: pl.DataFrame(rows).to_pandas()),
    "arrow": lambda folder: frames(pa.Table.from_pylist),
    "weighing": lambda folder: (sy.weigh(TRUTH, RUNS),),
    "scores": lambda folder: (sy.evaluate(TRUTH, RUNS, MEASURES),),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_truth_and_runs_come_in_every_form(name: str, form: str, tmp_path: Path) -> None:
    sides, call = FORMS[form](tmp_path), FUNCTIONS[name]
    if name == "evaluate" and len(sides) == 1:
        with pytest.raises(InputError, match="takes a truth and runs, and was given"):
            call(*sides)
        return
    assert call(*sides).frame.equals(call(TRUTH, RUNS).frame)


def test_scores_know_what_they_were_computed_from() -> None:
    scores = sy.evaluate(TRUTH, RUNS, MEASURES, min_gain=2)
    report, diagnosis = sy.report(scores, date="2026-11-24"), sy.diagnose(scores)
    assert report.scores.frame.equals(scores.frame)
    assert report.data() == sy.report(TRUTH, RUNS, MEASURES, min_gain=2, date="2026-11-24").data()
    assert diagnosis.data() == sy.diagnose(TRUTH, RUNS, min_gain=2).data()
    assert [str(measure) for measure in sy.report(scores, measures="mrr").scores.measures] == ["mrr(min_gain=2)"]
    compared = [
        sy.compare(*sides, margin=0.1, movers=2)
        for sides in ((scores,), (sy.weigh(TRUTH, RUNS, min_gain=2), None, MEASURES))
    ]
    assert compared[0].data() == compared[1].data()
    assert compared[0].sensitivity is not None


@pytest.mark.parametrize("name", ["diagnose", "report"])
def test_scores_that_were_read_or_cut_hold_no_rankings(name: str, tmp_path: Path) -> None:
    scores = sy.evaluate(TRUTH, RUNS, MEASURES)
    scores.write(tmp_path / "scores.json")
    for bare in (
        sy.Scores.read(tmp_path / "scores.json"),
        scores.filter(systems="bm25"),
        pickle.loads(pickle.dumps(scores)),
    ):
        assert bare.weighing is None
        with pytest.raises(InputError, match=rf"{name} needs rankings, and was given Scores.*sy.{name}\(truth, runs\)"):
            FUNCTIONS[name](bare)
    with pytest.raises(
        InputError, match=r"rule says how runs are evaluated, and these are already; .*\(truth, runs, rule="
    ):
        getattr(sy, name)(scores, rule="share>=0.9")
    with pytest.raises(InputError, match=rf"{name} was given a Weighing, which holds its runs, and a dict"):
        FUNCTIONS[name](scores, RUNS)


def rows_file(folder: Path, suffix: str) -> Path:
    file = folder / f"run{suffix}"
    if suffix == ".json":
        file.write_text(json.dumps(ROWS))
    elif suffix == ".jsonl":
        file.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    elif suffix == ".csv":
        lists = pl.col("retrieved_contexts", "reference_contexts")
        pl.DataFrame(ROWS).with_columns(lists.map_elements(lambda of: json.dumps([*of]), pl.String)).write_csv(file)
    else:
        pl.DataFrame(ROWS).write_parquet(file)
    return file


BOTH: dict[str, Callable[[Path], object]] = {
    "rows": lambda folder: ROWS,
    "polars": lambda folder: pl.DataFrame(ROWS),
    "pandas": lambda folder: pl.DataFrame(ROWS).to_pandas(),
    "jsonl": lambda folder: rows_file(folder, ".jsonl"),
    "json": lambda folder: rows_file(folder, ".json"),
    "csv": lambda folder: str(rows_file(folder, ".csv")),
    "parquet": lambda folder: rows_file(folder, ".parquet"),
}


@pytest.mark.parametrize("form", BOTH)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_that_hold_both_sides_are_enough(name: str, form: str, tmp_path: Path) -> None:
    rows, call, measures = BOTH[form](tmp_path), FUNCTIONS[name], ["evidence_recall@1", "answer_f1"]
    if name == "plan":
        assert sy.plan(rows, measures="evidence_recall@1", difference=0.1).frame.equals(
            sy.plan(ROWS, {"run": ROWS}, measures="evidence_recall@1", difference=0.1).frame
        )
        return
    if name == "compare":
        with pytest.raises(InputError, match="needs two systems at least, and run is the only one"):
            call(rows, measures=measures)
        return
    assert call(rows, measures=measures).frame.equals(call(ROWS, {"run": ROWS}, measures=measures).frame)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "evaluate"])
def test_a_truth_alone_asks_for_runs_in_the_words_of_the_call(name: str) -> None:
    advice = rf"a dict holds judged documents and no results; name one run .*: sy.{name}\(truth, runs\)"
    with pytest.raises(InputError, match=advice):
        FUNCTIONS[name](TRUTH)


def test_a_gate_may_have_rows_as_its_baseline(tmp_path: Path) -> None:
    gate = sy.gate(ROWS, baseline=rows_file(tmp_path, ".jsonl"), margin=0.1, measures=["answer_f1"], min_questions=2)
    assert [(check.name, check.kind, check.value) for check in gate.checks] == [("answer_f1", "baseline", 0.0)]
