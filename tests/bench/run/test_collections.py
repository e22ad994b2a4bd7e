"""Benches over public collections, in English and Chinese, with all systems that need no download."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.bench.config import BenchConfig
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.data.truth import Truth
from steelyard.experiment.door.opening import open_inputs
from tests.shared_data import shared

pytestmark = pytest.mark.slow


class Labelled:
    """A reranker that looks up the labels of a collection: gain / highest gain + noise * z, where z is normal."""

    def __init__(self, collection: str, noise: float = 0.0) -> None:
        inputs = open_inputs(collection, {"none": {}}, on_duplicate="max", documents=None, questions=None)
        assert isinstance(inputs.gold, Truth)
        labels = dict(zip(inputs.gold.query_ids, inputs.gold.labels, strict=True))
        texts = inputs.texts({doc for gains in labels.values() for doc in gains})
        self._noise, self._highest = noise, max(gain for gains in labels.values() for gain in gains.values())
        self._gains = {
            inputs.questions[query_id].query: {texts[doc]: gain for doc, gain in gains.items() if doc in texts}
            for query_id, gains in labels.items()
        }

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        gains = [self._gains[query].get(text, 0.0) / self._highest for text in texts]
        z = [np.random.default_rng(crc32(f"{query}\0{text}".encode())).standard_normal() for text in texts]
        return [float(gain + self._noise * draw) for gain, draw in zip(gains, z, strict=True)]


def shortest(query: str, texts: Sequence[str]) -> list[float]:
    """A function as a reranker: no good one."""
    return [-float(len(text)) for text in texts]


def bench(folder: Path, collection: Path, **values: Any) -> sy.Bench:
    perfect = {"kind": f"{__name__}:Labelled", "collection": str(collection)}
    systems = {
        "none": {},
        "words": {"rerank": "lexical"},
        "shortest": {"rerank": f"{__name__}:shortest"},
        "perfect": {"rerank": perfect},
        "noisy": {"rerank": {**perfect, "noise": 0.1}},
    }
    config = {
        "truth": str(collection), "documents": str(collection), "depths": [1, 10, 50], "repetitions": 2, "warm_up": 1,
    }  # fmt: skip
    return bench_rerankers(BenchConfig.of({**config, **values, "systems": systems}, base=folder))


def check(measured: sy.Bench, n: int) -> pl.DataFrame:
    """What holds of any bench, and the table of its first measure."""
    quality = measured.quality
    assert measured.requests["outcome"].unique().to_list() == ["ok"]
    assert quality["n"].unique().to_list() == [n]
    first = quality.filter(depth=1)
    assert first["reranked"].to_list() == first["base"].to_list()
    perfect = quality.filter(system="perfect")
    assert perfect["reranked"].to_list() == pytest.approx(perfect["ceiling"].to_list(), abs=1e-12)
    assert (quality["reranked"] <= quality["ceiling"] + 1e-12).all()
    assert measured.diagnostics["n_unstable"].sum() == 0
    return quality.filter(measure=quality["measure"][0], depth=50)


def test_cranfield(tmp_path: Path) -> None:
    run = shared("cranfield", "runs", "results_english_bm25.run.gz")
    measured = bench(tmp_path, shared("cranfield", "beir"), candidates=str(run))
    rows = check(measured, 225)
    verdicts = dict(rows.select("system", "verdict").iter_rows())
    assert verdicts == {"words": "worse", "shortest": "worse", "perfect": "better", "noisy": "better"}


def test_chinese_questions(tmp_path: Path) -> None:
    collection = shared("zh_cmrc2018", "beir")
    folder = tmp_path / "cmrc"  # The same collection with its first 300 questions.
    (folder / "qrels").mkdir(parents=True)
    for name in ("corpus.jsonl.gz", "queries.jsonl.gz"):
        (folder / name).symlink_to(collection / name)
    labels = (collection / "qrels" / "test.tsv").read_text("utf-8").splitlines(keepends=True)
    (folder / "qrels" / "test.tsv").write_text("".join(labels[:301]))
    pipeline = sy.Pipeline(folder, chunk="none", index="bm25", unit="document", k=50)
    rows = check(bench(tmp_path, folder, candidates=str(pipeline.run(folder, tmp_path / "runs").path)), 300)
    assert rows["base"][0] > 0.9  # Little is left to gain: titles and texts share their words with the questions.
    assert rows.filter(system="shortest")["verdict"].to_list() == ["worse"]
