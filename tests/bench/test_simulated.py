"""The reranker that looks up the truth: as good, and as fast, as it is told to be."""

import json
import time
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError, StageError
from steelyard.bench.config import BenchConfig
from steelyard.bench.simulated import SimulatedReranker
from steelyard.rag.making import make_stage
from steelyard.rag.stages import Reranker

KIND = "steelyard.bench.simulated:SimulatedReranker"
QUERIES = [{"_id": "q1", "text": "What weighs?"}, {"_id": "q2", "text": "什么能称重？"}]
DOCUMENTS = [
    {"_id": "d1", "text": "A steelyard weighs."},
    {"_id": "d2", "text": "Bees dance."},
    {"_id": "d3", "text": "秤。"},
]
QRELS = "q1 0 d1 1\nq2 0 d1 2\nq2 0 d3 4\nq2 0 d2 0\n"
TEXTS = ["Bees dance.", "A steelyard weighs.", "秤。"]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "corpus.jsonl").write_text(lines(DOCUMENTS))
    (tmp_path / "queries.jsonl").write_text(lines(QUERIES))
    return tmp_path


def reranker(folder: Path, **settings: Any) -> SimulatedReranker:
    files = {"truth": "qrels.txt", "documents": "corpus.jsonl", "queries": "queries.jsonl"}
    table = {"kind": KIND, **files, **settings}
    (system,) = BenchConfig.of({"systems": {"simulated": {"rerank": table}}}, base=folder).rerankers
    stage: SimulatedReranker = make_stage("rerank", system.rerank, folder)
    return stage


def test_without_noise_scores_are_the_gains(folder: Path) -> None:
    perfect = reranker(folder)
    assert isinstance(perfect, Reranker)
    assert perfect.scores("What weighs?", TEXTS) == [0.0, 0.25, 0.0]
    assert perfect.scores("什么能称重？", TEXTS) == [0.0, 0.5, 1.0]
    assert perfect.scores("什么能称重？", []) == []


def test_evidence_is_a_text_that_holds_the_quote(tmp_path: Path) -> None:
    pieces = [
        {"doc": "a", "quote": "weighs a Load", "gain": 2},
        {"text": "so and so"},
        {"doc": "b", "start": 2, "end": 6},
    ]
    question = {"qid": "q", "query": "What weighs?", "evidence": pieces}
    (tmp_path / "questions.jsonl").write_text(lines([question]))
    (tmp_path / "corpus.jsonl").write_text(lines([{"_id": "b", "text": "a bee and"}]))
    stage = reranker(tmp_path, truth="questions.jsonl", queries=None)
    texts = ["It weighs\na load.", "So and  so", "my bee", "It weighs", ""]
    assert stage.scores("what weighs?", texts) == [1.0, 0.5, 0.5, 0.0, 0.0]


def test_noise_of_a_text_depends_on_seed_question_and_text_alone(folder: Path) -> None:
    noisy = reranker(folder, noise=0.5)
    scores = noisy.scores("什么能称重？", TEXTS)
    assert noisy.scores("什么能称重？", TEXTS[::-1]) == scores[::-1]
    assert reranker(folder, noise=0.5).scores("什么能称重？", TEXTS) == scores
    assert reranker(folder, noise=0.5, seed=1).scores("什么能称重？", TEXTS) != scores
    assert scores != [0.0, 0.5, 1.0]


def test_noise_is_normal_and_as_large_as_it_is_said_to_be(folder: Path) -> None:
    texts = [f"text {i}" for i in range(4000)]
    z = np.array(reranker(folder, noise=2.0).scores("What weighs?", texts)) / 2
    assert abs(z.mean()) < 4 / np.sqrt(4000)
    assert abs(z.std() - 1) < 4 / np.sqrt(8000)
    # The share of texts without gain that one of the highest gain beats, as the docstring has it.
    gain, gainless = 1 + z[:2000], z[2000:]
    assert (gain > gainless).mean() == pytest.approx(NormalDist().cdf(0.5**0.5), abs=0.04)


def test_it_sleeps_as_long_as_it_is_told(folder: Path) -> None:
    slow = reranker(folder, fixed_ms=30, ms_per_text=10)
    slow.scores("What weighs?", [])
    began = time.perf_counter()
    slow.scores("What weighs?", TEXTS)
    assert 0.06 <= time.perf_counter() - began < 2


def test_another_truth_is_another_reranker(folder: Path) -> None:
    first = reranker(folder).identity()
    assert reranker(folder, noise=1.0).identity() == first
    (folder / "qrels.txt").write_text(QRELS.replace("d1 2", "d1 3"))
    assert reranker(folder).identity() != first


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"noise": -1.0}, InputError, "noise must be a number from 0, not -1.0"),
        ({"truth": "none.txt"}, InputError, "none.txt"),
        ({"queries": None}, InputError, "name a file that does: queries"),
        ({"documents": None}, InputError, "name the documents: documents"),
    ],
)
def test_what_cannot_be_simulated(folder: Path, settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        reranker(folder, **settings).scores("What weighs?", TEXTS)


def test_a_question_of_another_truth(folder: Path) -> None:
    with pytest.raises(StageError, match="has no question 'Where\\?' in"):
        reranker(folder).scores("Where?", TEXTS)
