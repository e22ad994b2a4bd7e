"""Reading a bench back, and the files of its blocks."""

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import block_name, has_block, plan_blocks, read_rankings, read_requests, write_block
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import RANKINGS, REQUESTS
from steelyard.data.folders.manifests import BLOCKS, CEILINGS, CONFIG, SCORES, write_bench_manifest, write_json
from steelyard.experiment.table.json import as_json
from steelyard.experiment.table.scores import Scores

REQUEST = dict.fromkeys(REQUESTS) | {
    "system": "words", "depth": 2, "loop": "sequential", "repetition": 1, "number": 0, "query_id": "q1",
    "intended_s": 0.0, "sent_s": 0.0, "end_s": 0.25, "outcome": "ok", "n_pairs": 2,
}  # fmt: skip
RANKING = {"system": "words", "depth": 2, "repetition": 1, "query_id": "q1", "scores": [0.5, 1.0], "pair_tokens": None}


def requests(**values: object) -> pl.DataFrame:
    return pl.DataFrame([REQUEST | values], schema=REQUESTS)


def rankings(**values: object) -> pl.DataFrame:
    return pl.DataFrame([RANKING | values], schema=RANKINGS)


def scores(*systems: str) -> Scores:
    rows = {"query_id": ["q1", "q2"], "measure": ["ndcg@10"] * 2, "value": [0.5, 1.0]}
    return Scores.concat(Scores.of(pl.DataFrame(rows), system=system) for system in systems)


def config(folder: Path) -> BenchConfig:
    (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    values = {
        "name": "small",
        "truth": folder / "qrels.txt",
        "depths": [2],
        "systems": {"none": {}, "words": {"rerank": "lexical"}},
        "prices": {"mine": {"per_query": 0.1, "date": date(2026, 1, 2)}},
    }
    return BenchConfig.of(values, base=folder)


def write_bench(folder: Path, *, finished: str | None = "2026-11-22T00:00:00+00:00") -> Path:
    path = folder / "bench"
    write_block(path, "r1-words-2", requests(), rankings())
    write_json(path / CONFIG, config(folder).resolved())
    (path / SCORES).write_text(as_json(scores("none", "words@2")))
    (path / CEILINGS).write_text(as_json(scores("ceiling@2")))
    write_bench_manifest(path, {"name": "small", "kind": "rerank", "base": "none", "finished": finished})
    return path


def test_a_bench_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = write_bench(tmp_path)
    write_bench_manifest(path, {"name": "small", "kind": "\0", "base": "none", "finished": "2026-11-22T00:00:00+00:00"})
    with pytest.raises(sy.InputError, match=r"of kind '\\x00'; expected rerank or load"):
        Bench.read(path)


def test_bench_is_read_after_its_inputs_have_gone(tmp_path: Path) -> None:
    path = write_bench(tmp_path)
    (tmp_path / "qrels.txt").unlink()
    bench = Bench.read(path)
    assert bench.config.depths == [2]
    assert (bench.config.truth, bench.config.resolved()["truth"]) == (None, str(tmp_path / "qrels.txt"))
    assert bench.config.prices == {"mine": {"per_query": 0.1, "date": "2026-01-02"}}
    assert bench.base_name == "none"
    assert bench.scores.systems == ["none", "words@2"]
    assert bench.ceilings is not None
    assert bench.ceilings.systems == ["ceiling@2"]
    assert bench.requests.schema == REQUESTS
    assert bench.requests["end_s"].to_list() == [0.25]
    assert bench.rankings["scores"].to_list() == [[0.5, 1.0]]


def test_what_is_no_bench_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match="is no folder of a bench"):
        Bench.read(tmp_path)
    with pytest.raises(sy.InputError, match="was interrupted; start it again"):
        Bench.read(write_bench(tmp_path, finished=None))


def test_files_of_several_benches_are_refused(tmp_path: Path) -> None:
    path = write_bench(tmp_path)
    for name, systems in ((CEILINGS, ["ceiling@3"]), (SCORES, ["none", "words@3"])):
        whole = (path / name).read_text()
        (path / name).write_text(as_json(scores(*systems)))
        with pytest.raises(sy.InputError, match="are not of one bench; start the same bench again"):
            Bench.read(path)
        (path / name).write_text(whole)
    (path / CEILINGS).unlink()
    with pytest.raises(sy.InputError, match="are not of one bench"):
        Bench.read(path)


@pytest.mark.parametrize("name", [SCORES, CEILINGS])
def test_damaged_scores_are_computed_again_by_the_bench(tmp_path: Path, name: str) -> None:
    path = write_bench(tmp_path)
    (path / name).write_text('{"systems":')
    with pytest.raises(sy.InputError, match=rf"{name}, .* is not JSON .*; start the same bench again, which computes"):
        Bench.read(path)


def test_secrets_are_not_stored(tmp_path: Path) -> None:
    values = {"systems": {"a": {"rerank": {"kind": "http", "url": "http://me:pw@host", "api_key": "sk-1"}}}}
    text = json.dumps(BenchConfig.of(values, base=tmp_path).resolved())
    assert "sk-1" not in text
    assert "pw" not in text


def test_blocks_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    write_block(tmp_path, "r2-words-2", requests(repetition=2), rankings(repetition=2))
    write_block(tmp_path, "r1-words-2", requests(), rankings())
    write_block(tmp_path, "open-words-2-5.0", requests(loop="open", rate=5.0))
    assert read_requests(tmp_path)["loop"].to_list() == ["open", "sequential", "sequential"]
    assert read_rankings(tmp_path)["repetition"].to_list() == [1, 2]


def test_rankings_count_only_with_their_requests(tmp_path: Path) -> None:
    """They are written first: a kill in between leaves them alone."""
    write_block(tmp_path, "r1-words-2", requests(), rankings())
    (tmp_path / BLOCKS / "r1-words-2.parquet").unlink()
    assert not has_block(tmp_path, "r1-words-2")
    assert read_rankings(tmp_path).is_empty()


def test_damaged_block_is_named(tmp_path: Path) -> None:
    write_block(tmp_path, "r1-words-2", requests())
    (tmp_path / BLOCKS / "r1-words-2.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(sy.InputError, match=r"r1-words-2\.parquet.*delete it, and start the same bench again"):
        read_requests(tmp_path)
    write_block(tmp_path, "r1-words-2", rankings().select(pl.lit(None).cast(t).alias(n) for n, t in REQUESTS.items()))
    rankings().write_parquet(tmp_path / BLOCKS / "r1-words-2.parquet")
    with pytest.raises(sy.InputError, match="holds other columns than those of a block"):
        read_requests(tmp_path)


def test_columns_that_an_earlier_version_did_not_write_are_empty(tmp_path: Path) -> None:
    write_block(tmp_path, "r1-words-2", requests())
    requests().drop("n_repaired").write_parquet(tmp_path / BLOCKS / "r1-words-2.parquet")
    assert read_requests(tmp_path).equals(requests())


def test_names_of_blocks_do_not_meet() -> None:
    names = ["minilm", "MiniLM", "模型", "a/b", "a:b", "x" * 100, "x" * 101]
    blocks = [block_name("r1", name, 10) for name in names]
    assert len(set(blocks)) == len(names)
    assert all(len(block) < 80 and "/" not in block for block in blocks)


def test_repetitions_come_forth_and_back() -> None:
    systems = {"none": {}, "a": {"rerank": "lexical"}, "b": {"rerank": "lexical"}}
    values = {"systems": systems, "depths": [5, 10, 20], "repetitions": 4}
    blocks = plan_blocks(BenchConfig.of(values))
    orders = [[(block.option.system, block.option.depth) for block in blocks[6 * n : 6 * n + 6]] for n in range(4)]
    assert all(sorted(order) == [(name, depth) for name in "ab" for depth in (5, 10, 20)] for order in orders)
    assert orders[1] == orders[0][::-1]
    assert orders[3] == orders[2][::-1]
    assert orders[2] not in orders[:2]
    assert len({block.name for block in blocks}) == len(blocks)
    assert blocks == plan_blocks(BenchConfig.of(values))
    assert blocks != plan_blocks(BenchConfig.of(values | {"seed": 8}))


def test_only_the_blocks_that_the_manifest_names_count(tmp_path: Path) -> None:
    path = write_bench(tmp_path)
    write_block(path, "r1-words-5", requests(depth=5), rankings(depth=5))
    write_bench_manifest(
        path, {"name": "small", "kind": "rerank", "base": "none", "finished": "now", "blocks": {"r1-words-2": "f00"}}
    )
    bench = Bench.read(path)
    assert bench.requests["depth"].to_list() == bench.rankings["depth"].to_list() == [2]
    (path / BLOCKS / "r1-words-2.parquet").unlink()
    with pytest.raises(sy.InputError, match=r"r1-words-2\.parquet.*start the same bench again"):
        Bench.read(path)
