"""Rerankers measured from a configuration to a folder; what an interruption costs, and what a change does."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import block_names, write_block
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import RANKINGS, REQUESTS
from steelyard.bench.run.loads import BenchInterrupted
from steelyard.bench.run.planning import BenchPlan
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.bench.run.writing import BenchWriter
from steelyard.data.folders.manifests import BLOCKS, find_bench_folder
from steelyard.data.folders.run_lock import run_lock
from tests.rag.server import Fault, Server, serving, status

DOCUMENTS = {f"d{n}": f"document {n} of cat{n % 3} and dog{n % 4}" for n in range(12)}
QUERIES = {f"q{n}": f"what of cat{n % 3} and dog{n % 4}" for n in range(6)}
SYSTEMS = {"none": {}, "words": {"rerank": "lexical"}, "pairs": {"rerank": {"kind": "lexical", "pairs": 1.0}}}


class Failing:
    """Fails on questions that hold a word."""

    def __init__(self, on: str) -> None:
        self.on = on

    def scores(self, query: str, texts: list[str]) -> list[float]:
        if self.on in query:
            raise RuntimeError(f"the server of {self.on} is down")
        return [float(len(text)) for text in texts]


FAILING = f"{__name__}:Failing"


def bench_config(folder: Path, texts: str = "cat1", **values: Any) -> BenchConfig:
    """A configuration over a dozen documents;   texts   what some of them say"""
    folder.mkdir(exist_ok=True)
    lines = [{"_id": id, "text": text.replace("cat1", texts)} for id, text in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    lines = [{"_id": id, "text": text} for id, text in QUERIES.items()]
    (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(6)))
    rows = [f"q{n} Q0 d{(n + 5 - place) % 12} {place} {1 / (1 + place)} bm25\n" for n in range(6) for place in range(9)]
    (folder / "bm25.run").write_text("".join(rows))
    settings = {
        "name": "small", "truth": "qrels.txt", "candidates": "bm25.run", "documents": "corpus.jsonl",
        "depths": [3, 6], "repetitions": 2, "warm_up": 1, "systems": SYSTEMS,
    }  # fmt: skip
    return BenchConfig.of(settings | values, base=folder)


def requests_asked(config: BenchConfig, **options: Any) -> tuple[Bench, int]:
    """The bench, and how many requests were measured for it now."""
    counts: list[int] = []
    bench = bench_rerankers(config, progress=lambda stage, done, total: counts.append(done), **options)
    return bench, counts[-1] - counts[0] if counts else 0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a configuration and its finished bench; tests copy it."""
    folder = tmp_path_factory.mktemp("finished")
    bench_rerankers(bench_config(folder), folder=folder / "bench")
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    """Endpoints on loopback."""
    with serving() as server:
        yield server


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A finished bench of one's own."""
    return Path(shutil.copytree(finished / "bench", tmp_path / "bench"))


def test_a_bench(finished: Path) -> None:
    bench = Bench.read(finished / "bench")
    assert 48 == len(bench.requests) == len(bench.rankings) == 6 * 2 * 2 * 2
    assert bench.requests.schema == REQUESTS
    assert bench.rankings.schema == RANKINGS
    assert bench.requests["outcome"].unique().to_list() == ["ok"]
    assert bench.requests["loop"].unique().to_list() == ["sequential"]
    assert bench.scores.systems == ["none", "words@3", "words@6", "pairs@3", "pairs@6"]
    assert bench.ceilings is not None
    assert bench.ceilings.systems == ["ceiling@3", "ceiling@6"]
    assert (bench.ceilings.means[:, 0] >= bench.scores.means[1:3, 0]).all()
    assert bench.folder.manifest["finished"]
    assert bench.folder.manifest["recommended"] == bench.recommended is not None


def test_a_finished_bench_is_not_measured_again(finished: Path, folder: Path) -> None:
    config = bench_config(finished)
    before = (folder / "manifest.json").stat().st_mtime_ns
    _, n = requests_asked(config, folder=folder)
    assert n == 0
    assert (folder / "manifest.json").stat().st_mtime_ns == before
    assert requests_asked(config, folder=folder, overwrite=True)[1] == 48


@pytest.mark.parametrize(
    ("values", "n"),
    [
        ({"repetitions": 3}, 24),
        ({"depths": [3, 6, 9]}, 24),
        ({"repetitions": 1}, 0),
        ({"measures": ["mrr"]}, 0),
        ({"systems": SYSTEMS | {"stems": {"rerank": {"kind": "lexical", "stem": "none"}}}}, 24),
    ],
)
def test_only_what_is_new_is_measured(finished: Path, folder: Path, values: dict[str, Any], n: int) -> None:
    config = bench_config(finished, **values)
    bench, n_asked = requests_asked(config, folder=folder)
    assert n_asked == n
    assert len(bench.requests) == 6 * len(config.rerankers) * len(config.depths) * config.repetitions
    if config.measures:
        assert str(bench.scores.primary) == "mrr"


def test_what_was_left_out_for_a_while_is_not_measured_again(finished: Path, folder: Path) -> None:
    config = bench_config(finished)
    fewer = bench_config(finished, systems={"none": {}, "words": SYSTEMS["words"]})
    assert len(requests_asked(fewer, folder=folder)[0].requests) == 24
    bench, n = requests_asked(config, folder=folder)
    assert (n, len(bench.requests)) == (0, 48)


def test_blocks_that_follow_from_others_count(finished: Path, folder: Path) -> None:
    config, planned = bench_config(finished), json.loads((folder / "manifest.json").read_text())["blocks"]
    extra = Bench.read(folder).requests.head(1)

    def writer(digests: dict[str, str] = planned) -> BenchWriter:
        return BenchWriter("rerank", config.model_copy(update={"folder": folder}), digests)

    first = writer()
    first.begin()
    assert not first.add("more", "digest")
    write_block(folder, "more", extra)
    again = writer()
    assert not again.is_finished
    again.begin()  # And is killed here.
    last = writer()
    last.begin()
    assert last.add("more", "digest")
    last.finish(Bench.read(finished / "bench").scores)
    assert len(Bench.read(folder).requests) == 49
    assert writer().is_finished
    changed = writer()
    changed.begin()
    assert not changed.add("more", "another digest")


def test_blocks_of_something_else_are_refused(tmp_path: Path, folder: Path) -> None:
    systems = SYSTEMS | {"pairs": {"rerank": {"kind": "lexical", "pairs": 0.2}}}
    changed = bench_config(tmp_path, systems=systems)
    with pytest.raises(sy.InputError, match=r"4 of its 8 blocks .* were measured with another reranker.*--overwrite"):
        bench_rerankers(changed, folder=folder)
    with pytest.raises(sy.InputError, match="8 of its 8 blocks"):
        bench_rerankers(bench_config(tmp_path / "other", texts="cat9"), folder=folder)


def test_what_was_interrupted_goes_on(tmp_path: Path) -> None:
    config = bench_config(tmp_path)

    def stop(stage: str, done: int, total: int) -> None:
        if done == 6 * 5 + 2:
            raise KeyboardInterrupt

    with pytest.raises(BenchInterrupted) as interrupted:
        bench_rerankers(config, progress=stop)
    assert (interrupted.value.n_done, interrupted.value.n) == (5, 8)
    with pytest.raises(sy.InputError, match="was interrupted; start it again"):
        find_bench_folder(config.folder)
    bench, n = requests_asked(config)
    assert n == 6 * 3
    assert len(bench.requests) == 48


def test_a_block_that_is_gone_or_damaged_is_measured_again(finished: Path, folder: Path) -> None:
    config = bench_config(finished)
    (folder / BLOCKS / "r1-words-3.parquet").unlink()
    assert requests_asked(config, folder=folder)[1] == 6
    (folder / BLOCKS / "r2-pairs-6.parquet").write_bytes(b"PAR1")
    with pytest.raises(sy.InputError, match=r"r2-pairs-6\.parquet.*delete it, and start the same bench again"):
        bench_rerankers(config, folder=folder)


@pytest.mark.parametrize("name", ["scores.json", "ceilings.json", "config.json"])
def test_what_is_computed_is_computed_anew_where_it_is_damaged(finished: Path, folder: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_text("{")
    with pytest.raises(sy.InputError, match=name):
        Bench.read(folder)
    assert requests_asked(bench_config(finished), folder=folder)[1] == 0
    if name != "config.json":  # That names its folder.
        assert (folder / name).read_bytes() == whole


def test_a_bench_that_takes_more_than_its_budget_is_not_begun(server: Server, tmp_path: Path) -> None:
    def config(**more: Any) -> BenchConfig:
        system: dict[str, Any] = {"rerank": {"kind": "endpoint", "url": f"{server.url}/rerank"}}
        if price := more.pop("price", {"per_query": 0.01}):
            system["price"] = price
        return bench_config(tmp_path, systems={"api": system}, **more)

    for budget, values, message in (
        ("0.2usd", {}, r"small takes about 0.26usd, and the budget is 0.2usd; raise it, or ask fewer"),
        ("9tokens", {"price": {}}, r"small takes about [0-9]+tokens, and the budget is 9tokens"),
        ("9usd", {"price": {}}, r"the price of api is not known, so no budget in dollars can hold"),
        ("9usd", {"price": {"per_query": 0.01, "currency": "EUR"}}, r"prices are in EUR, so no budget in dollars"),
        (
            "9usd",
            {"load": {"concurrency": [2], "duration": 1}},
            r"what \[load\] takes is not known before, so no budget",
        ),
        ("lots", {}, r"budget 'lots' is no budget; expected one such as 2.00usd"),
    ):
        with pytest.raises(sy.InputError, match=message):
            bench_rerankers(config(**values), budget=budget)
    assert len(server.seen("/rerank")) == 5
    assert block_names(config().folder) == []
    assert len(bench_rerankers(config(repetitions=1), budget="0.14usd").requests) == 12


def test_requests_that_fail_are_counted_and_do_not_end_the_bench(tmp_path: Path) -> None:
    systems = {"some": {"rerank": {"kind": FAILING, "on": "cat1"}}}
    bench = bench_rerankers(bench_config(tmp_path, systems=systems))
    failed = bench.requests.filter(pl.col("outcome") == "error")
    assert sorted(failed["query_id"].unique()) == ["q1", "q4"]
    assert "the server of cat1 is down" in failed["error"][0]
    assert bench.rankings.filter(pl.col("scores").is_null()).height == failed.height == 8
    assert bench.scores.failed.sum(axis=1).tolist() == [0, 2, 2]


def test_a_reranker_that_fails_from_the_start_ends_the_bench(tmp_path: Path) -> None:
    config = bench_config(tmp_path, systems={"down": {"rerank": {"kind": FAILING, "on": "what"}}})
    down = r"down: none of the first 3 requests was answered: .*the server of what is down"
    with pytest.raises(sy.StageError, match=down):
        bench_rerankers(config)
    assert block_names(config.folder) == []


def test_all_systems_that_do_not_answer_are_named_before_anything_is_measured(finished: Path, folder: Path) -> None:
    failing = {name: {"rerank": {"kind": FAILING, "on": word}} for name, word in (("a", "what"), ("b", "dog"))}
    config, before = bench_config(finished, systems=SYSTEMS | failing), sorted(folder.rglob("*"))
    message = r"2 of 4 systems do not answer.*: \(1\) a: .* of what is down.*; \(2\) b: .* of dog is down"
    with pytest.raises(sy.StageError, match=message):
        bench_rerankers(config, folder=folder, overwrite=True)
    assert sorted(folder.rglob("*")) == before  # What was measured before is kept, too.


def test_one_question_goes_to_each_endpoint_before_anything_is_measured(server: Server, tmp_path: Path) -> None:
    urls = {"a": "/rerank", "b": "/v1/rerank", "c": "/voyage/rerank", "d": "/tei/rerank"}
    shapes = {"c": "voyage", "d": "tei"}
    systems = {
        name: {"rerank": {"kind": "endpoint", "url": server.url + path, "shape": shapes.get(name, "cohere")}}
        for name, path in urls.items()
    }
    server.always("/tei/rerank", Fault(body='{"ranked": [{"n": 0, "p": 0.5}]}'))
    config = bench_config(tmp_path, systems=systems)
    with pytest.raises(sy.StageError, match=r"^d: .* answered an object with ranked, .* results_field$"):
        bench_rerankers(config)
    assert [len(server.seen(path)) for path in urls.values()] == [1, 1, 1, 3]
    server.always("/rerank", status(401))
    with pytest.raises(sy.StageError, match=r"2 of 4 systems .*\(1\) a: .*/rerank answered 401 .*\(2\) d: "):
        bench_rerankers(config)
    for path in ("/rerank", "/tei/rerank"):
        server.always(path, None)
    plans: list[BenchPlan] = []
    bench_rerankers(config, announce=plans.append)
    assert [plan.total("requests") for plan in plans] == [4 * 2 * 13]
    assert plans[0].total("seconds") is not None
    bench_rerankers(config, announce=plans.append)
    assert len(plans) == 1  # Nothing is left to measure.


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"systems": {"none": {}}}, "no system has a reranker; name one"),
        ({"systems": {"a": {"rerank": "lexica"}}}, "lexica"),
        ({"systems": {"a": {"rerank": "lexical", "price": "nobody/none"}}}, "nobody/none"),
        ({"measures": ["faithfulness"]}, "faithfulness is of answers"),
        ({"cluster": "conversation"}, "conversation"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_measured(
    tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    config = bench_config(tmp_path, **values)
    with pytest.raises(sy.InputError, match=message):
        bench_rerankers(config)
    assert not config.folder.exists()


def test_folders_of_others(tmp_path: Path) -> None:
    config = bench_config(tmp_path)
    with pytest.raises(sy.InputError, match=r"holds other things \(bm25.run\), but no bench"):
        bench_rerankers(config, folder=tmp_path)
    with pytest.raises(sy.OutputError, match="cannot hold a bench"):
        bench_rerankers(config, folder=tmp_path / "bm25.run")
    with run_lock(config.folder), pytest.raises(sy.OutputError, match="is being written by"):
        bench_rerankers(config)


def test_damaged_manifests_are_refused(finished: Path, folder: Path) -> None:
    config, path = bench_config(finished), folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for change in ({"blocks": 3}, {"other_blocks": 3}, {"notes": ["x"]}, {"steelyard_bench": 2}):
        path.write_text(json.dumps(manifest | change))
        with pytest.raises(sy.InputError, match=r"manifest\.json"):
            bench_rerankers(config, folder=folder)
