"""Where no question has gold for a measure, nothing is measured."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.reports.views.scores import scores_sheet
from steelyard.reports.words import read_words

N = 15
RUN = {f"q{i:02}": ["a", "b", "c"] for i in range(N)}
QRELS = {q: {"b": 1.0} for q in RUN}
OUTPUTS = [{"qid": q, "retrieved": [{"text": "Cats are nine."}], "answer": "Nine."} for q in RUN]


def questions(n_gold: int = 0, **more: object) -> list[dict[str, Any]]:
    """Questions, of which the first ones have evidence that was retrieved."""
    gold = {"evidence": [{"text": "Cats are nine."}]}
    return [{"qid": q, "query": "How many?", **more, **(gold if i < n_gold else {})} for i, q in enumerate(RUN)]


def bare(scores: sy.Scores) -> list[str]:
    return [str(measure) for measure in scores.without_gold]


def notes(scores: sy.Scores) -> list[str]:
    return [note.code for note in scores.notes.get(scores.systems[0], ()) if note.code.startswith("no_gold")]


@pytest.mark.parametrize(
    ("truth", "run", "measures", "without", "advice"),
    [
        (questions(), OUTPUTS, ["recall@5", "ndcg@5:p10", "judged@5"], ["recall@5", "ndcg@5:p10"], ["unlabelled"]),
        (questions(), OUTPUTS, ["evidence_recall@5", "answer_f1"], ["evidence_recall@5", "answer_f1"],
         ["unlabelled", "answers"]),
        (questions(answer="Nine."), OUTPUTS, ["recall@5", "answer_f1"], ["recall@5"], ["answers_alone"]),
        (questions(n_gold=N), OUTPUTS, ["recall@5", "answer_f1"], ["answer_f1"], ["answers"]),
        ({q: {"a": 0, "b": -1} for q in RUN}, RUN, ["map", "n_relevant"], ["map"], ["zeros"]),
        (QRELS, RUN, ["recall(min_gain=2)@5", "ndcg@5"], ["recall(min_gain=2)@5"], ["gains"]),
        (QRELS, RUN, ["recall@5"], [], []),
        (questions(n_gold=1), OUTPUTS, ["recall@5", "mrr"], [], []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("policy", ["zero", "skip"])
def test_measures_whose_gold_no_question_has_have_no_value(
    truth: Any, run: Any, measures: list[str], without: list[str], advice: list[str], policy: Any
) -> None:
    scores = sy.evaluate(truth, run, measures, no_relevant=policy)
    assert bare(scores) == without
    assert notes(scores) == [f"no_gold_{code}" for code in advice]
    means = dict(zip(map(str, scores.measures), scores.means[0].tolist(), strict=True))
    assert {name for name, mean in means.items() if math.isnan(mean)} == set(without)
    table = scores.mean().filter(pl.col("measure").is_in(without))
    assert table.select("mean", "low", "high").null_count().row(0) == (len(without),) * 3
    assert set(table["n"]) <= {0}
    assert not np.isfinite(scores.reachable[:, [str(m) in without for m in scores.measures]]).any()


def test_a_question_without_gold_among_others_counts_as_before() -> None:
    scores = sy.evaluate(questions(n_gold=5), OUTPUTS, "evidence_recall@5")
    assert scores.mean().select("mean", "n", "no_relevant").row(0) == (pytest.approx(1 / 3), N, N - 5)
    assert sy.evaluate(questions(n_gold=5), OUTPUTS, "evidence_recall@5", no_relevant="skip").means.item() == 1


def test_gold_that_is_in_no_chunk_is_gold(tmp_path: Path) -> None:
    lost = [{**question, "evidence": [{"doc": "a", "quote": "Dogs"}]} for question in questions()]
    chunk = {"id": "a1", "doc": "a", "start": 0, "end": 14, "text": "Cats are nine."}
    asked = [{"qid": q, "retrieved": [chunk]} for q in RUN]
    (chunks := tmp_path / "chunks.jsonl").write_text(json.dumps(chunk) + "\n")
    for corpus in (None, chunks):
        scores = sy.evaluate(lost, asked, ["evidence_recall@5", "recall@5"], documents=corpus)
        assert (scores.means.tolist(), bare(scores)) == ([[0, 0]], [])
    some = [*lost[:3], *questions()[3:]]
    assert bare(sy.evaluate(some, asked, ["evidence_recall@5", "recall@5"], documents=chunks)) == []


def test_several_runs_and_systems_have_no_value() -> None:
    truth = {q: {"a": 0} for q in RUN}
    scores = sy.evaluate(truth, {"one": sy.Repeats([RUN, RUN]), "two": RUN}, ["map", "judged@1"])
    assert np.isnan(scores.means[:, 0]).all()
    assert np.isnan(scores.repeats["one"][:, 0]).all()
    assert scores.components.filter(measure="map").select("sd_runs").null_count().item() == 1


def test_files_and_parts_keep_what_was_not_measured(tmp_path: Path) -> None:
    scores = sy.evaluate(questions(n_gold=N), OUTPUTS, ["recall@5", "answer_f1"])
    (path := tmp_path / "scores.json").write_text(as_json(scores))
    again = read_scores(path)
    assert (bare(again), notes(again)) == (["answer_f1"], ["no_gold_answers"])
    assert bare(sy.Scores.concat([again])) == ["answer_f1"]
    assert bare(sy.Scores.of(scores.frame)) == ["answer_f1"]
    assert notes(scores.filter(measures="recall@5")) == []
    assert notes(scores.filter(measures="answer_f1")) == ["no_gold_answers"]


@pytest.mark.parametrize(
    ("lang", "reason", "advice"),
    [
        ("en", "map, answer_f1: not measured, as none of the 15 questions has gold for it.",
         "has no gold. `steelyard label QUESTIONS RUN... -o grades.jsonl`"),
        ("zh", "map、answer_f1：未测得，因为 15 个问题都没有相应的标准证据或答案。",
         "没有标准证据。`steelyard label QUESTIONS RUN..."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("n_systems", [1, 2])
def test_tables_say_why_and_what_to_do(lang: str, reason: str, advice: str, n_systems: int) -> None:
    run = {f"s{i}": OUTPUTS for i in range(n_systems)}
    sheet = scores_sheet(sy.evaluate(questions(), run, ["map", "answer_f1"]), read_words(lang))
    assert {cell for row in sheet.rows for cell in row[1:3]} == {"–"}
    assert sheet.notes[0] == reason
    assert any(advice in note for note in sheet.notes)
    assert not any(word in note for note in sheet.notes for word in ("without a relevant", "没有相关文档", "left out"))
    assert not any(note.startswith(("No intervals", "Gold:")) for note in sheet.notes)


def test_one_question_is_told_of_as_one() -> None:
    sheet = scores_sheet(sy.evaluate({"q": {"a": 0}}, {"q": ["a"]}, "map"), read_words("en"))
    assert sheet.notes[0] == "map: not measured, as the one question has no gold for it."


def test_systems_that_lack_it_are_named() -> None:
    values = [
        ("a", "q1", 0.5, "ok"),
        ("a", "q2", 0.0, "no_relevant"),
        *(("b", q, None, "no_relevant") for q in ("q1", "q2")),
    ]
    rows = [{"system": s, "query_id": q, "measure": "map", "value": v, "status": t} for s, q, v, t in values]
    scores = sy.Scores.of(pl.DataFrame(rows))
    assert bare(scores) == []
    assert scores.lacks_gold.tolist() == [[False], [True]]
    assert (
        scores_sheet(scores, read_words("en")).notes[0].startswith("b: map: not measured, as none of the 2 questions")
    )
