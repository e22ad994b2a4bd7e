"""A bench whose candidates are named by the configuration of a pipeline: it is run first."""

import json
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.bench.candidates import open_candidates, search_candidates
from steelyard.bench.config import BenchConfig
from steelyard.bench.run.load_tests import load_test
from steelyard.bench.run.planning import plan_bench
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.data.folders.run_folder import read_run_folder

DOCUMENTS = {"a": "the cat sat on the mat", "b": "a dog in the yard", "c": "the cat and the dog"}
QUESTIONS = [
    {"qid": f"q{n}", "query": query, "evidence": [{"doc": "c", "quote": "the cat and the dog"}]}
    for n, query in enumerate(("cat dog", "dog and cat", "the dog"))
]
SEARCH = 'documents = "texts"\nindex = "bm25"\nchunk = "none"\n'


def bench_config(folder: Path, search: str = SEARCH, **values: object) -> BenchConfig:
    """A bench over the results of a search that nobody has run yet."""
    (folder / "texts").mkdir(exist_ok=True)
    for name, text in DOCUMENTS.items():
        (folder / "texts" / f"{name}.txt").write_text(text)
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    (folder / "words.toml").write_text(search)
    settings = {
        "truth": "questions.jsonl", "candidates": "words.toml", "depths": [2], "repetitions": 1, "warm_up": 0,
        "measures": ["mrr@10"], "systems": {"words": {"rerank": "lexical"}},
    }  # fmt: skip
    return BenchConfig.of({**settings, **values}, base=folder)


def test_the_search_is_run_once(tmp_path: Path) -> None:
    seen = list[str]()
    bench = bench_rerankers(bench_config(tmp_path), progress=lambda stage, done, total: seen.append(stage))
    run = read_run_folder(tmp_path / "runs" / "words")
    assert bench.scores.mean()["n"].to_list()[0] == 3
    assert seen.index("questions") < seen.index("requests")
    started = run.manifest["started"]
    again = bench_rerankers(bench_config(tmp_path, depths=[1, 2]))
    assert again.config.depths == [1, 2]
    assert read_run_folder(run.path).manifest["started"] == started


def test_it_asks_its_own_questions_which_are_the_truth_then(tmp_path: Path) -> None:
    config = bench_config(tmp_path, f'{SEARCH}questions = "questions.jsonl"\n', truth=None)
    search_candidates(config)
    assert open_candidates(config).query_ids == ["q0", "q1", "q2"]
    with pytest.raises(sy.InputError, match=r"words.toml: names no questions to ask; name them"):
        search_candidates(bench_config(tmp_path, truth=None))


def test_another_search_is_refused_or_replaces_it(tmp_path: Path) -> None:
    bench_rerankers(bench_config(tmp_path))
    other = bench_config(tmp_path, f"{SEARCH}depth = 2\nk = 2\n")
    with pytest.raises(sy.InputError, match=r"runs.words: holds the finished run 'words' of another configuration"):
        bench_rerankers(other)
    assert len(bench_rerankers(other, overwrite=True).scores.systems) == 2
    assert len(open_candidates(other).doc_ids["q0"]) == 2


def test_what_is_wrong_is_said_before_anything_is_searched(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match="lexical"):
        bench_rerankers(bench_config(tmp_path, systems={"words": {"rerank": "lexica"}}))
    with pytest.raises(sy.InputError, match=r"words.toml, line 2: .*index"):
        bench_rerankers(bench_config(tmp_path, 'documents = "texts"\nindx = "bm25"\n'))
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_searches_nothing(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match=r"holds no run of words.toml yet; run it first: steelyard run "):
        plan_bench(bench_config(tmp_path))
    assert not (tmp_path / "runs").exists()
    search_candidates(bench_config(tmp_path))
    assert plan_bench(bench_config(tmp_path)).n_blocks == 1


def test_load_on_rerankers_searches_first_too(tmp_path: Path) -> None:
    bench = load_test(bench_config(tmp_path), rate=50, duration=0.1, warm_up=0)
    assert set(bench.requests["query_id"]) <= {"q0", "q1", "q2"}
    assert bench.requests["outcome"].unique().to_list() == ["ok"]
