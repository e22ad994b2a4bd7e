"""A whole bench over the real code of sentence-transformers, with a model of random weights that the test makes."""

import json
from pathlib import Path

import pytest

from steelyard.bench.config import BenchConfig
from steelyard.bench.run.rerankers import bench_rerankers
from tests.services.tiny import cross_encoder_folder

pytest.importorskip("sentence_transformers", reason="the models' library")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    cross_encoder_folder(folder / "tiny")
    texts = {"d1": "the whale of the sea", "d2": "鲸 鱼 。", "d3": "load " * 100, "d4": "a ship ."}
    queries = {"q1": "whale", "q2": "大 海"}
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in texts.items()))
    (folder / "queries.jsonl").write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in queries.items()))
    (folder / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    run = "".join(f"{q} Q0 {d} {i} {1 / i} bm25\n" for q in queries for i, d in enumerate(texts, 1))
    (folder / "bm25.run").write_text(run)
    return folder


def test_quality_times_and_tokens_of_a_folder_that_the_user_names(folder: Path) -> None:
    rerank = {"kind": "cross-encoder", "model": "tiny", "device": "cpu"}
    config = {
        "truth": "qrels.txt", "candidates": "bm25.run", "documents": "corpus.jsonl", "questions": "queries.jsonl",
        "depths": [1, 4], "warm_up": 1, "repetitions": 2, "folder": "bench", "measures": ["mrr@10"],
        "systems": {"none": {}, "tiny": {"rerank": rerank, "price": {"per_1m_tokens": 0.05}}},
    }  # fmt: skip
    bench = bench_rerankers(BenchConfig.of(config, base=folder))
    requests = bench.requests.sort("depth", "query_id", "repetition")
    assert requests["outcome"].unique().to_list() == ["ok"]
    assert requests["counted"].unique().to_list() == ["tokenizer"]
    # [CLS] whale [SEP] the whale of the sea [SEP]; one of the four pairs is longer than the 64 tokens of the model.
    tokens = requests.filter(query_id="q1", repetition=1).select("depth", "n_pairs", "tokens_in", "n_truncated")
    assert tokens.rows() == [(1, 1, 9, 0), (4, 4, 9 + 7 + 64 + 7, 1)]
    assert bench.rankings.filter(depth=4, query_id="q1")["pair_tokens"].to_list() == [[9, 7, 104, 7]] * 2
    scores = bench.rankings.filter(depth=4, query_id="q1")["scores"].to_list()
    assert scores[0] == scores[1]
    mean = bench.scores.mean()
    by_system = {row["system"]: row["mean"] for row in mean.filter(measure="mrr@10").iter_rows(named=True)}
    assert by_system["tiny@1"] == by_system["none"]
    shares = mean.filter(system="tiny@4", measure="truncated_pairs")["mean"].to_list()
    assert shares == [0.25]
