"""What other tools measured, as Scores."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from tests.io.test_mtrag import CONTENT

RAGAS = [
    {"user_input": "Who?", "response": "Bees.", "retrieved_contexts": ["Bees."], "faithfulness": 0.5, "relevancy": 1},
    {"user_input": "谁？", "response": "鲸。", "retrieved_contexts": [], "faithfulness": None, "relevancy": 0},
]


def values(scores: sy.Scores) -> list[tuple[str, str, float | None]]:
    return scores.frame.select("query_id", "measure", "value").rows()


def test_columns_of_ragas_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RAGAS))
    pd.DataFrame(RAGAS).to_csv(tmp_path / "r.csv", index=False)
    ids = [question.query_id for question in sy.Questions(RAGAS)]
    want = sorted(
        [(ids[0], "ragas_faithfulness", 0.5), (ids[0], "ragas_relevancy", 1.0),
         (ids[1], "ragas_faithfulness", None), (ids[1], "ragas_relevancy", 0.0)], key=str,
    )  # fmt: skip
    for data in (RAGAS, pd.DataFrame(RAGAS), tmp_path / "r.jsonl", str(tmp_path / "r.csv")):
        assert sorted(values(sy.Scores.of(data)), key=str) == want


def test_two_systems_are_compared_by_what_ragas_said() -> None:
    rows = [{**RAGAS[0], "user_input": str(n), "faithfulness": n % 3 / 2} for n in range(12)]
    gains = [0.25 + 0.05 * (n % 2) for n in range(12)]
    better = [{**row, "faithfulness": row["faithfulness"] + gain} for row, gain in zip(rows, gains, strict=True)]
    scores = sy.Scores.concat([sy.Scores.of(rows, system="old"), sy.Scores.of(better, system="new")])
    row = sy.compare(scores.filter(measures="ragas_faithfulness")).frame.row(0, named=True)
    assert (row["system"], row["difference"] > 0) == ("new", True)


def test_metrics_of_deepeval_and_ragchecker(tmp_path: Path) -> None:
    metrics = [{"name": "Answer Relevancy", "score": 0.5}, {"name": "Toxicity", "score": None}]
    case = {"input": "Who?", "actualOutput": "Bees.", "tokenCost": 3, "metricsData": metrics}
    (tmp_path / "d.json").write_text(json.dumps({"testCases": [case]}))
    rows = [row[1:] for row in values(sy.Scores.of(tmp_path / "d.json"))]
    assert rows == [("deepeval_answer_relevancy", 0.5), ("deepeval_toxicity", None)]
    result = {"query_id": "0", "query": "Who?", "gt_answer": "Bees.", "response": "Bees.", "retrieved_context": [],
              "metrics": {"precision": 0.25}}  # fmt: skip
    assert values(sy.Scores.of([result])) == [("0", "ragchecker_precision", 0.25)]


def test_annotations_of_mtrag_are_means_of_raters(tmp_path: Path) -> None:
    by_raters = {"x": {"value": "3"}, "y": {"value": 4}}
    grades: dict[str, Any] = {"faithfulness": by_raters, "notes": {"x": {"value": "fine"}}}
    evaluations = [{**CONTENT["evaluations"][0], "annotations": grades}, CONTENT["evaluations"][1]]
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**CONTENT, "evaluations": evaluations}))
    assert ("c<::>1", "mtrag_faithfulness", 3.5) in values(sy.Scores.of(path, system="a"))


def test_what_was_exported_comes_back() -> None:
    exported = sy.export(RAGAS, RAGAS, "ragas", measures=["faithfulness", "exact_match"])
    rows = [json.loads(line) for line in exported.text.splitlines()]
    own = sy.evaluate(RAGAS, RAGAS, ["faithfulness"])
    assert sy.Scores.of(rows).filter(measures="ragas_faithfulness").values.tolist() == own.values.tolist()


def test_files_without_values_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps({"user_input": "Who?", "response": "Bees."}))
    with pytest.raises(InputError, match=r"r\.jsonl: holds no values of measures"):
        sy.Scores.of(tmp_path / "r.jsonl")
    (tmp_path / "t.csv").write_text("query_id,measure,value\nq,mrr,1\n")
    with pytest.raises(InputError, match=r"t\.csv: is no file of ragas"):
        sy.Scores.of(tmp_path / "t.csv")
