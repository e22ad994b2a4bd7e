"""What is recorded of where systems come from: settings and digests of their parts, of every kind of result."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.experiment.judging import judge_run
from steelyard.judges.judging import JudgeOptions
from steelyard.rag.config import Config
from steelyard.rag.sweeping import sweep
from steelyard.rag.weighed_run import run_and_weigh
from tests.bench.benches import rerank_bench
from tests.experiment.judged import outputs, questions

pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")
pytest.importorskip("bm25s", reason="the extra 'rag' is not installed")


@pytest.fixture
def store(tmp_path: Path) -> sy.Store:
    return sy.Store(tmp_path / "history.db")


def config(path: Path, **more: object) -> Config:
    (path / "d.md").write_text("Whales sing. Snails do not. Ants walk in long rows.")
    (path / "questions.jsonl").write_text('{"query_id": "q", "query": "Who sings?", "evidence": ["Whales sing."]}')
    return Config.of({"documents": "d.md", "questions": "questions.jsonl", "index": "bm25", **more}, base=path)


def test_a_run_has_its_settings_and_the_parts_that_it_has(store: sy.Store, tmp_path: Path) -> None:
    run = run_and_weigh(config(tmp_path, name="words"), measures=["mrr"])
    entry = store.add(run)
    assert entry.settings["words"]["index.1.kind"] == "bm25"
    assert {*entry.fingerprints["words"]} == {"corpus", "chunker", "index", "run", "config"}
    evaluated = store.add(sy.evaluate(tmp_path / "questions.jsonl", tmp_path / "runs" / "words", "mrr"))
    assert evaluated.fingerprints == entry.fingerprints
    assert evaluated.truth == entry.truth


def test_each_pipeline_of_a_sweep_counts_as_a_configuration(store: sy.Store, tmp_path: Path) -> None:
    entry = store.add(
        sweep(config(tmp_path, sweep={"chunk.size": [200, 400], "k": [1, 2]}), measures=["recall", "mrr"])
    )
    assert [settings["chunk.size"] for settings in entry.settings.values()] == ["200", "400"]
    assert entry.truth is not None
    assert len(store.configs(entry.truth)) == 2
    means = store.means()
    assert set(means["measure"]) == {"recall@1", "recall@2", "mrr@1", "mrr@2"}
    assert store.result(entry.id).measures == ["recall", "mrr"]


def test_a_comparison_counts_the_systems_that_it_compares(store: sy.Store) -> None:
    truth = {f"q{n}": {"a": 1} for n in range(6)}
    runs = {"one": {query: ["a"] for query in truth}, "two": {query: ["b", "a"] for query in truth}}
    entry = store.add(sy.compare(truth, runs, "mrr"))
    assert entry.truth == sy.evaluate(truth, runs, "mrr").signature.truth
    assert {*entry.fingerprints} == {"one", "two"}
    assert store.scores(entry.id).means.tolist() == [[1.0], [0.5]]


def test_a_bench_has_the_reranker_and_the_depth_of_each_label(store: sy.Store, tmp_path: Path) -> None:
    bench = rerank_bench(tmp_path)
    entry = store.add(bench)
    assert {*entry.settings} == set(bench.scores.systems)
    label = bench.config.options[0].label
    assert entry.settings[label]["depth"] == str(bench.config.options[0].depth)
    assert "rerank.kind" in entry.settings[label]
    configs = {own["config"] for own in entry.fingerprints.values()}
    assert len(configs) == 3, "two names of one reranker, over two depths, beside the base"


def test_verdicts_have_the_settings_of_the_judge(store: sy.Store) -> None:
    judged = judge_run(questions(), outputs(), options=JudgeOptions(save=False, settings={"threshold": 0.7}))
    entries = [store.add(result) for result in (judged, judged.verdicts)]
    [(system, settings)] = entries[0].settings.items()
    assert (settings["judge.name"], settings["judge.threshold"]) == ("lexical", "0.7")
    assert "judge" in entries[0].fingerprints[system]
    assert entries[0].fingerprints == entries[1].fingerprints
