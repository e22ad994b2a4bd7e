"""Runs and sweeps weighed by their answers; measures that they cannot have are refused before anything is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError, MeasureError
from steelyard.rag.config import Config
from steelyard.rag.sweeping import Swept, sweep
from steelyard.rag.weighed_run import run_and_weigh
from tests.rag import small

BASE: dict[str, Any] = {
    "documents": "documents", "questions": "questions.jsonl", "k": 2, "name": "mine", "chunk": "tests.rag.small:Stops",
    "index": "bm25",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small.write(tmp_path)


def test_a_run_is_weighed_by_its_answers(folder: Path) -> None:
    config = Config.of({**BASE, "generate": "extractive"}, base=folder)
    scores = run_and_weigh(config, measures=["faithfulness", "citation_validity", "mrr"]).scores
    assert scores.means[0, :2].tolist() == [1, 1]
    assert "judged_by_default" in [note.code for note in scores.notes["mine"]]
    (folder / "questions.jsonl").write_text(
        "".join(json.dumps({"qid": q["qid"], "query": q["query"], "answer": "九 nine"}) + "\n" for q in small.QUESTIONS)
    )
    config = Config.of({**BASE, "name": "alone", "generate": "extractive"}, base=folder)
    assert str(run_and_weigh(config).scores.primary) == "faithfulness"
    with pytest.raises(InputError, match="has expected answers, but no gold for what is retrieved, which mrr is of"):
        run_and_weigh(Config.of({**BASE, "name": "other"}, base=folder), measures=["mrr"])
    assert not (folder / "runs" / "other").exists()


def test_a_sweep_shows_measures_of_answers(folder: Path) -> None:
    varied = {"generate": "extractive", "sweep": {"k": [1, 2]}}
    swept = sweep(Config.of({**BASE, **varied}, base=folder), measures=["faithfulness", "mrr"])
    assert swept.means()[:, 0].tolist() == [1, 1]


def test_the_best_of_a_sweep_has_the_least_of_what_is_better_low() -> None:
    values = np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.0, 0.5], [1.0, 1.0]]])
    swept = Swept([{}, {}], [], ["hallucination", "abstention_f1"], values, ["1", "2"], np.zeros(2, bool), [])
    assert swept.best == 1
    assert swept.means().tolist() == [[0.5, pytest.approx(2 / 3)], [0.25, 1]]
    assert replace(swept, measures=["faithfulness", "mrr"]).best == 0
    assert replace(swept, measures=["faithfulness", "mrr"]).means().tolist() == [[0.5, 0.5], [0.25, 1]]


def test_a_pipeline_without_answers_is_refused_before_it_runs(folder: Path) -> None:
    complaint = "faithfulness is of answers, and the pipeline gives none"
    with pytest.raises(MeasureError, match=f"mine: {complaint}"):
        run_and_weigh(Config.of(BASE, base=folder), measures=["mrr", "faithfulness"])
    varied = {"sweep": {"generate": ["extractive", "none"]}}
    with pytest.raises(MeasureError, match=complaint):
        sweep(Config.of({**BASE, **varied}, base=folder), measures=["faithfulness"])
    assert not (folder / "runs").exists()
