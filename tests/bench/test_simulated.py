"""The simulated reranker of the example: as good, and as fast, as it is told to be."""

import json
import time
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError, StageError
from steelyard.bench.config import BenchConfig
from steelyard.demo_data.simulated import SimulatedReranker
from steelyard.rag.protocols import Reranker
from steelyard.rag.registry import make_stage

QUESTIONS = [
    {"qid": "q1", "query": "What weighs?", "evidence": [{"doc": "a", "quote": "weighs a Load", "gain": 1}]},
    {
        "qid": "q2",
        "query": "什么能称重？",
        "evidence": [{"doc": "a", "quote": "weighs a load", "gain": 2}, {"doc": "b", "quote": "秤", "gain": 4}],
    },
]
TEXTS = ["Bees dance.", "It weighs\na load.", "秤。"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    return tmp_path


def reranker(folder: Path, **settings: Any) -> SimulatedReranker:
    table = {"kind": "steelyard.demo_data.simulated:SimulatedReranker", "truth": "questions.jsonl", **settings}
    (system,) = BenchConfig.of({"systems": {"simulated": {"rerank": table}}}, base=folder).rerankers
    stage: SimulatedReranker = make_stage("rerank", system.rerank, folder)
    return stage


def test_without_noise_scores_are_the_gains_of_the_quotes_that_texts_hold(folder: Path) -> None:
    perfect = reranker(folder)
    assert isinstance(perfect, Reranker)
    assert perfect.scores("what weighs?", TEXTS) == [0.0, 0.25, 0.0]
    assert perfect.scores("什么能称重？", TEXTS) == [0.0, 0.5, 1.0]
    assert perfect.scores("什么能称重？", []) == []


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
    questions = folder / "questions.jsonl"
    questions.write_text(questions.read_text().replace("weighs a Load", "weighs"))
    assert reranker(folder).identity() != first


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"noise": -1.0}, InputError, "noise must be a number from 0, not -1.0"),
        ({"truth": "none.txt"}, InputError, "none.txt"),
    ],
)
def test_what_cannot_be_simulated(folder: Path, settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        reranker(folder, **settings).scores("What weighs?", TEXTS)


def test_a_question_of_another_truth(folder: Path) -> None:
    with pytest.raises(StageError, match="has no question 'Where\\?' in"):
        reranker(folder).scores("Where?", TEXTS)
