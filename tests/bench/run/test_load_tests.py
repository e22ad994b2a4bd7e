"""Load tests from what is named to a folder, against a real server, functions, pipelines and rerankers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from steelyard.base.errors import InputError, StageError
from steelyard.base.notes import Note
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import block_names
from steelyard.bench.config import LoadTable
from steelyard.bench.frames import REQUESTS, SERVICE_MS
from steelyard.bench.load.levels import Level
from steelyard.bench.load.served import request_scores
from steelyard.bench.run.load_tests import load_test
from steelyard.bench.run.loads import BenchInterrupted, late_notes, short_notes
from steelyard.services.announcements import LIVE, LiveRequests
from tests.bench.load.sleepy import SleepySettings, sleepy_server
from tests.bench.run.test_rerankers import bench_config
from tests.rag.ranking_model import PATH
from tests.rag.server import change, serving, status

SHORT: dict[str, Any] = {"duration": 0.1, "warm_up": 0, "timeout": 5, "arrivals": "constant"}
CALLS: list[str] = []


def answer(query: str) -> list[str]:
    """A system of one's own."""
    CALLS.append(query)
    sleep(0.001)
    return ["d1"]


ANSWER = f"{__name__}:answer"


class Slow:
    """A reranker that takes a while, and is no good in two threads."""

    def __init__(self) -> None:
        self.is_busy = False

    def scores(self, query: str, texts: list[str]) -> list[float]:
        assert not self.is_busy, "asked by two threads"
        self.is_busy = True
        sleep(0.01)
        self.is_busy = False
        return [float(len(text)) for text in texts]


SLOW = f"{__name__}:Slow"


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    lines = [{"qid": f"q{n}", "query": f"what is {n}?"} for n in range(3)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def test_of(tmp_path: Path, queries: Path) -> Callable[..., Bench]:
    def run(system: Any, **options: Any) -> Bench:
        return load_test(system, questions=queries, folder=tmp_path / "bench", **(SHORT | options))

    return run


@pytest.fixture
def no_calls() -> Iterator[None]:
    CALLS.clear()
    yield
    CALLS.clear()


def test_a_url_is_measured_at_each_load_and_read_back(test_of: Callable[..., Bench]) -> None:
    with sleepy_server(SleepySettings(service_s=0.005)) as server:
        bench = test_of(f"{server.url}search", rate=[50, 100], users=2, slo="p95=500ms,p99=1s")
        n_asked = server.n_requests
        again = test_of(f"{server.url}search", rate=[50, 100], users=2, slo="p95=500ms,p99=1s")
        assert server.n_requests == n_asked
    assert bench.folder.kind == "load"
    assert block_names(bench.folder.path) == ["closed-search-2", "open-search-100", "open-search-50"]
    assert bench.scores.systems == ["search 50/s", "search 100/s", "search 2 users"]
    assert [str(measure) for measure in bench.scores.measures] == ["latency_ms", "service_ms", "dispatch_ms"]
    assert set(bench.requests["outcome"]) == {"ok"}
    assert bench.requests.schema == REQUESTS
    n_open = bench.requests.filter(loop="open").group_by("rate").len().sort("rate")
    assert n_open.rows() == [(50.0, 5), (100.0, 10)]
    assert bench.config.load is not None
    assert bench.config.load.slo == {"p95": 0.5, "p99": 1.0}
    assert again.requests.equals(bench.requests)


def test_how_a_level_does_is_announced_while_it_runs(
    test_of: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.bench.run.loads._EVERY_S", 0.01)
    news, seconds = list[LiveRequests](), list[int]()
    with sleepy_server(SleepySettings(service_s=0.005, fail_every=4)) as server, LIVE.listening(news.append):
        test_of(f"{server.url}search", rate=200, users=2, progress=lambda stage, done, total: seconds.append(done))
    assert {live.label for live in news} == {"search 200/s", "search 2 users"}
    last = [live for live in news if live.label == "search 200/s"][-1]
    assert 1 <= last.n <= 20
    assert last.n_failed <= last.n / 4 + 1
    assert len(seconds) > 12  # Else eight: before, and after, each level.


def test_rates_that_can_show_nothing_are_said_before() -> None:
    def notes(slo: dict[str, float], *rates: float, **values: Any) -> list[Note]:
        load = LoadTable(rates=rates, slo=slo, duration=10, **{"sustained": False, **values})
        return short_notes([Level("a", None, "open", rate, 10.0) for rate in rates], load)

    (note,) = notes({"p50": 0.1, "p95": 0.5}, 2.0, 5.0, 8.0)
    assert note.values == {"n": 2, "names": ["2/s", "5/s"], "most": 50, "percentile": "P95", "least": 72, "seconds": 36}
    assert notes({"p50": 0.1}, 2.0) == []
    assert notes({"p99": 0.1}, 8.0)[0].values["seconds"] == 46
    assert notes({"p95": 0.5}, 2.0, sustained=True) == []


def test_another_load_adds_its_blocks_and_another_duration_is_another_test(test_of: Callable[..., Bench]) -> None:
    with sleepy_server() as server:
        first = test_of(server.url, rate=50)
        second = test_of(server.url, rate=[50, 80])
        of_both = second.requests.filter(rate=50)
        assert of_both.equals(first.requests)
        with pytest.raises(InputError, match="--overwrite"):
            test_of(server.url, rate=50, duration=0.2)
        assert len(test_of(server.url, rate=50, duration=0.2, overwrite=True).requests) == 10


def frame(*rows: tuple[str, str, float, float]) -> pl.DataFrame:
    """Requests of system, loop, intended start and sending, numbered within a system; each takes a second."""
    columns = {"rate": 10.0, "depth": None, "users": None, "repetition": 1, "outcome": "ok"}
    numbers = count()
    dicts = [
        {
            "system": system, "loop": loop, "intended_s": intended_s, "sent_s": sent_s, "end_s": sent_s + 1,
            "number": next(numbers), **columns,
        }
        for system, loop, intended_s, sent_s in rows
    ]  # fmt: skip
    return pl.DataFrame(dicts, schema=REQUESTS)


def test_requests_of_one_second_are_a_cluster() -> None:
    scores = request_scores(
        frame(*(("a", "open", intended_s, intended_s) for intended_s in (0.0, 0.99, 0.9999999999, 1.5)))
    )
    assert scores.systems == ["a 10/s"]
    assert list(scores.query_ids) == ["10/s:000000", "10/s:000001", "10/s:000002", "10/s:000003"]
    assert scores.clustering is not None
    assert scores.clustering.codes.tolist() == [0, 0, 1, 1]


def test_requests_that_fail_are_marked_and_kept(test_of: Callable[..., Bench]) -> None:
    with sleepy_server(SleepySettings(fail_every=2)) as server:
        bench = test_of(server.url, rate=100)
    errors = bench.requests.filter(outcome="error")["error"]
    assert len(errors) == 5
    assert "answered 500 (Internal Server Error)" in errors[0]
    assert int(bench.scores.failed.sum()) == 5
    assert bench.scores.mean()["n"].to_list() == [5, 5, 5]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (SleepySettings(rate_limit=4), r"answered 429 \(Too Many Requests\)"),
        (SleepySettings(wrong_every=2), "no 'results'"),
    ],
)
def test_servers_that_refuse_or_answer_nonsense_are_errors(
    test_of: Callable[..., Bench], settings: SleepySettings, error: str
) -> None:
    with sleepy_server(settings) as server:
        requests = test_of(server.url, rate=100).requests
    assert requests["outcome"].value_counts().filter(outcome="error")["count"].to_list() >= [5]
    assert requests["error"].drop_nulls().str.contains(error).all()


def test_a_server_that_is_down_is_said_before_load_is_put_on_it(test_of: Callable[..., Bench]) -> None:
    with pytest.raises(StageError, match=r"search: none of the first 3 requests was answered: .* refused"):
        test_of("http://127.0.0.1:9/search", rate=1, duration="10m")


def test_a_function_is_asked_by_as_many_threads_as_it_allows(test_of: Callable[..., Bench], no_calls: None) -> None:
    requests = test_of(ANSWER, rate=200).requests
    assert requests["system"].unique().to_list() == ["answer"]
    assert set(CALLS) == {"what is 0?", "what is 1?", "what is 2?"}


@pytest.mark.parametrize(("concurrency", "most"), [(None, 1), (2, 2)])
def test_a_function_takes_as_many_at_once_as_is_said(tmp_path: Path, concurrency: int | None, most: int) -> None:
    (tmp_path / "q.jsonl").write_text('{"qid": "q", "query": "who else is here?"}\n')
    here, counts = list[int](), list[int]()

    def meet(query: str) -> list[str]:
        here.append(1)
        counts.append(len(here))
        time.sleep(0.01)
        here.pop()
        return ["d1"]

    globals()["meet"] = meet
    options = SHORT | {"questions": tmp_path / "q.jsonl", "users": 2, "concurrency": concurrency}
    bench = load_test(f"{__name__}:meet", folder=tmp_path / "bench", **options)
    assert bench.requests["outcome"].unique().to_list() == ["ok"]
    assert max(counts) == most


def test_another_number_at_once_is_another_measurement(tmp_path: Path, queries: Path) -> None:
    def run(concurrency: int) -> int:
        n_calls = len(CALLS)
        load_test(ANSWER, questions=queries, folder=tmp_path / "bench", rate=50, concurrency=concurrency, **SHORT)
        return len(CALLS) - n_calls

    assert run(2) == 1 + 5
    assert run(2) == 0
    with pytest.raises(InputError, match="another"):
        run(3)


def test_an_address_is_sent_all_that_comes() -> None:
    with pytest.raises(InputError, match="an address is sent all that comes"):
        load_test("http://127.0.0.1:9/search", concurrency=2, **SHORT)


def test_an_interrupted_load_test_goes_on_where_it_was(tmp_path: Path, no_calls: None) -> None:
    (tmp_path / "q.jsonl").write_text('{"qid": "q", "query": "interrupt"}\n')
    # The first request is asked alone; the third of the second level is the fifth in all.
    options = SHORT | {"questions": tmp_path / "q.jsonl", "rate": [20, 100], "folder": tmp_path / "bench"}
    import _thread

    def interrupting(query: str) -> list[str]:
        CALLS.append(query)
        if len(CALLS) == 6:
            _thread.interrupt_main()
        return ["d1"]

    globals()["interrupting"] = interrupting
    with pytest.raises(BenchInterrupted) as interrupted:
        load_test(f"{__name__}:interrupting", **options)
    assert (interrupted.value.n_done, interrupted.value.n) == (1, 2)
    with pytest.raises(InputError, match="was interrupted"):
        Bench.read(tmp_path / "bench")
    n_calls = len(CALLS)
    bench = load_test(f"{__name__}:interrupting", **options)
    assert len(CALLS) == n_calls + 1 + 10
    assert len(bench.requests) == 2 + 10


def test_rerankers_have_an_instance_a_user(tmp_path: Path) -> None:
    load = {"rates": [40], "concurrency": [1, 3], "duration": 0.15, "warm_up": 0, "sustained": False}
    config = bench_config(tmp_path, systems={"none": {}, "slow": {"rerank": SLOW}}, load=load)
    bench = load_test(config)
    assert bench.scores.systems == ["slow@6 40/s", "slow@6 1 user", "slow@6 3 users"]
    assert set(bench.requests["outcome"]) == {"ok"}
    assert bench.requests["n_pairs"].unique().to_list() == [6]
    assert bench.requests["counted"].unique().to_list() == ["estimate"]
    users = bench.requests.filter(loop="closed").group_by("users").len().sort("users")["len"]
    assert users[1] > 1.5 * users[0]  # One instance would answer as many in all.


def test_pipelines_report_their_stages(tmp_path: Path, queries: Path) -> None:
    (tmp_path / "a.txt").write_text("What is one? One is a number.")
    (tmp_path / "pipeline.toml").write_text('documents = "a.txt"\nrerank = "lexical"\nk = 1\n')
    config = {"systems": {"mine": {"pipeline": str(tmp_path / "pipeline.toml")}}, "questions": str(queries)}
    bench = load_test(config, folder=tmp_path / "bench", rate=50, **SHORT)
    stages = bench.requests.explode("stages_ms").unnest("stages_ms")["stage"].unique().to_list()
    assert {"search", "rerank"} <= set(stages)
    assert "total" not in stages
    assert bench.requests.select(SERVICE_MS.alias("ms"))["ms"].min() > 0  # type: ignore[operator]


def test_the_sustained_rate_is_searched_by_probes_that_are_blocks_too(tmp_path: Path, queries: Path) -> None:
    load = {"rates": [100], "duration": 0.2, "warm_up": 0, "slo": {"p50": 0.001}}
    with sleepy_server(SleepySettings(service_s=0.002)) as server:
        config = {"name": "s", "systems": {"mine": {"target": {"url": server.url}}}, "questions": str(queries)}
        bench = load_test({**config, "load": load}, folder=tmp_path / "bench")
        n_asked = server.n_requests
        assert load_test({**config, "load": load}, folder=tmp_path / "bench").scores.systems == ["mine 100/s"]
        assert server.n_requests == n_asked
    probes = [name for name in block_names(bench.folder.path) if name.startswith("probe-mine-")]
    assert probes  # No rate holds 1 ms where each request takes 2.
    assert bench.requests.filter(repetition=2)["rate"].n_unique() == len(probes)
    assert bench.folder.manifest["blocks"].keys() == {*probes, "open-mine-100"}


def logged(folder: Path, *, n: int = 6) -> Path:
    """Requests at the same instant, and one a little later, with what they asked."""
    path = folder / "log.jsonl"
    lines = [{"time": 0.05 if i == n - 1 else 0.0, "query": f"why is {i}?"} for i in range(n)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_log_is_sent_as_it_came_and_asks_what_it_says(tmp_path: Path, no_calls: None) -> None:
    options = {**SHORT, "arrivals": logged(tmp_path), "folder": tmp_path / "bench"}
    del options["duration"]
    bench = load_test(ANSWER, speed=[1, 2], **options)
    assert block_names(bench.folder.path) == ["log-answer-1", "log-answer-2"]
    at_once = bench.requests.filter(rate=120)
    assert at_once["intended_s"].to_list() == pytest.approx([0, 0, 0, 0, 0, 0.05], abs=1e-9)
    assert at_once["query_id"].to_list() == [f"{i:06d}" for i in range(6)]
    assert set(CALLS) == {f"why is {i}?" for i in range(6)}
    assert bench.requests.filter(rate=240)["intended_s"].max() == pytest.approx(0.025)
    notes = [note["code"] for note in bench.folder.manifest["notes"]]
    assert set(notes) - {"load_late"} == {"load_replayed"}  # A busy machine may send late.
    n_calls = len(CALLS)
    assert load_test(ANSWER, speed=[1, 2], **options).requests.equals(bench.requests)
    assert len(CALLS) == n_calls
    options["arrivals"].write_text('{"time": 0, "query": "a"}\n{"time": 0.01, "query": "b"}\n')
    with pytest.raises(InputError, match="--overwrite"):
        load_test(ANSWER, speed=[1, 2], **options)


def test_named_questions_go_before_those_of_the_log(
    tmp_path: Path, test_of: Callable[..., Bench], no_calls: None
) -> None:
    requests = test_of(ANSWER, arrivals=logged(tmp_path), warm_up="20ms").requests
    assert requests["query_id"].to_list() == ["q0", "q1", "q2"] * 2
    assert set(CALLS) <= {"what is 0?", "what is 1?", "what is 2?"}


def test_without_a_load_a_sweep_goes_from_one_user_to_the_ceiling(
    test_of: Callable[..., Bench], tmp_path: Path
) -> None:
    with sleepy_server(SleepySettings(service_s=0.02, capacity=3)) as server:
        bench = test_of(f"{server.url}search", sustained=False, duration=0.3)
        n_asked = server.n_requests
        assert test_of(f"{server.url}search", sustained=False, duration=0.3).requests.equals(bench.requests)
        assert server.n_requests == n_asked
    closed = bench.throughput.filter(loop="closed").sort("users")
    assert closed["users"].to_list()[:3] == [1, 4, 16]
    rates = bench.throughput.filter(loop="open")["rate"].to_list()
    ceiling = closed["achieved"].max()
    assert rates == pytest.approx([ceiling * share for share in (0.25, 0.5, 0.75)], rel=0.01)  # type: ignore[operator]
    assert bench.sustained.height == 1
    assert not any(level["is_asked"] for level in json.loads(bench.folder.levels.read_text())["levels"])
    text = bench.text(lang="en")
    assert "search, one request at a time: P50" in text
    assert "At most" in text


def test_a_sweep_searches_from_what_users_were_answered(
    test_of: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = list[tuple[pl.DataFrame, float]]()

    def search(offer: Any, objective: Any, *, first: float, is_guess: bool, levels: pl.DataFrame) -> None:
        assert is_guess
        searches.append((levels, first))
        offer(first, 0)

    monkeypatch.setattr("steelyard.bench.run.loads.sustained_rate", search)
    monkeypatch.setattr("steelyard.bench.load.levels.probe_seconds", lambda *_, least_s: least_s)
    seconds = list[tuple[int, int]]()

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "levels":
            seconds.append((done, total))

    bench = test_of(ANSWER, concurrency=2, progress=progress)
    ((levels, first),) = searches
    assert levels.filter(loop="closed")["users"].sort().to_list()[:1] == [1]
    assert levels.filter(loop="closed")["users"].max() == 2  # Not more than the function takes at once.
    assert first > 0
    assert bench.requests.filter(repetition=2)["rate"].unique().to_list() == [first]
    assert seconds[-1][0] == seconds[-1][1] == len(bench.folder.manifest["blocks"])


def test_a_short_level_of_a_sweep_rules_no_rate_out(
    test_of: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = list[pl.DataFrame]()
    monkeypatch.setattr("steelyard.bench.run.loads.sustained_rate", lambda *_, levels, **__: searches.append(levels))
    with sleepy_server(SleepySettings(service_s=0.005, fail_every=4)) as server:
        bench = test_of(f"{server.url}search", slo="p50=500ms", concurrency=None)
    assert bench.throughput.filter(loop="open")["holds"].to_list() == [False] * 3
    assert searches[0]["loop"].unique().to_list() == ["closed"]


def test_a_sweep_of_a_system_that_fails_ends_with_one_user(test_of: Callable[..., Bench]) -> None:
    with sleepy_server(SleepySettings(silent_after=1)) as server:
        bench = test_of(f"{server.url}search", timeout=0.05)
    assert block_names(bench.folder.path) == ["closed-search-1"]
    assert "does not hold" in bench.text(lang="en") or bench.sustained.is_empty()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0}, "rates.*above 0"),
        ({"users": 1.5}, "concurrency"),
        ({"rate": 1, "slo": "fast"}, "no objective"),
        ({"rate": 1, "slo": "p95=500"}, "p95=500ms or p95=500s"),
        ({"rate": 1, "slo": {"p95": "500"}}, "with a unit"),
        ({"rate": 50, "slo": {"p95": 500}}, 'given up after 5 s.*"500ms"'),
        ({"rate": 1, "slo": {"p95": "2s", "p50": "3s"}}, "p50 may take 3 s, and p95 2 s"),
        ({"rate": 1, "slo": "p100=1s"}, "no percentile"),
        ({"rate": 1, "slo": {"p95": -1}}, "slo"),
        ({"rate": 1, "duration": "soon"}, "duration"),
        ({"rate": 1, "arrivals": "bursts"}, "bursts' is neither poisson nor constant"),
        ({"arrivals": "bursts"}, r"arrivals: there is no /.*bursts.* poisson, constant, or a log"),
        ({"arrivals": "log.csv", "sustained": True}, "a log has the rate that it has"),
        ({"rate": 1, "speed": 2}, "speeds are those of a log"),
    ],
)
def test_loads_that_cannot_be_are_refused(test_of: Callable[..., Bench], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        test_of("http://127.0.0.1:9/", **options)


def test_judgements_alone_say_nothing_to_ask(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    config = {"systems": {"mine": {"target": {"url": "http://127.0.0.1:9/"}}}, "truth": str(tmp_path / "qrels.txt")}
    with pytest.raises(InputError, match=r"nothing to ask.*--questions"):
        load_test(config, rate=1, folder=tmp_path / "bench")


def test_keys_are_in_no_file(tmp_path: Path, queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "Bearer sesame")
    with sleepy_server(SleepySettings(fail_every=2)) as server:
        target = {"url": server.url, "headers_env": {"Authorization": "MY_KEY"}}
        config = {"systems": {"mine": {"target": target}}, "questions": str(queries)}
        load_test(config, rate=50, folder=tmp_path / "bench", **SHORT)
    for path in (tmp_path / "bench").rglob("*"):
        assert path.is_dir() or b"sesame" not in path.read_bytes()


def test_a_rate_that_this_machine_cannot_offer_is_noted() -> None:
    delays = [("a", "open", 0.06), ("b", "open", 0.04), ("c", "closed", 0.06)]
    requests = frame(*((system, loop, n / 10, n / 10 + late) for system, loop, late in delays for n in range(100)))
    notes = late_notes(requests, LoadTable(slo={"p95": 0.5, "p99": 1.0}))
    assert [note.as_json() for note in notes] == [
        {"code": "load_late", "values": {"n": 1, "names": ["a 10/s"], "ms": 60.0}}
    ]
    faster = requests.with_columns(rate=pl.lit(20.0))
    (note,) = late_notes(pl.concat([requests, faster]), LoadTable(slo={"p95": 0.5}))
    assert note.values == {"n": 2, "names": ["a 10/s 20/s"], "ms": 60.0}


def test_an_endpoint_that_refuses_is_asked_once_a_request_and_accounts_for_the_others(tmp_path: Path) -> None:
    def account(answer: Any) -> Any:
        return answer | {"meta": {"billed_units": {"search_units": 1}}, "usage": {"total_tokens": 90}}

    load = {"rates": [100], "arrivals": "constant", "duration": 0.1, "warm_up": 0, "sustained": False}
    with serving() as server:
        system = {"rerank": {"kind": "endpoint", "url": f"{server.url}/rerank"}}
        config = bench_config(tmp_path, systems={"none": {}, "api": system}, load=load)
        busy = status(429, Retry_After="60")
        server.script("/rerank", *[change(account)] * 3, *[busy] * 4)
        server.always("/rerank", change(account))
        requests = load_test(config).requests
        assert len(server.seen("/rerank")) == 1 + len(requests)  # One was asked before.
    assert requests["outcome"].value_counts().sort("count").rows() == [("error", 4), ("ok", 6)]
    answered = requests.filter(outcome="ok")
    assert answered.select("tokens_in", "counted", "search_units").unique().rows() == [(90, "server", 1.0)]
    assert requests["error"].drop_nulls().str.contains("429").all()


def test_a_chat_model_is_asked_once(tmp_path: Path) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    load = {"rates": [20], "duration": 0.2, "warm_up": 0, "sustained": False}
    with serving() as server:
        server.always(PATH, status(500))
        model = {"kind": "llm", "mode": "listwise", "model": "m", "base_url": f"{server.url}/ranker/v1"}
        config = bench_config(tmp_path, systems={"none": {}, "llm": {"rerank": model}}, load=load)
        with pytest.raises(StageError, match=r"none of the first 3 requests .* answered 500 .* after 1 attempt"):
            load_test(config)
        assert len(server.seen(PATH)) == 3


class Together:
    """Holds answers back until so many are waited for, or none more come; most is how many were at once."""

    def __init__(self, n: int) -> None:
        self.n, self.most, self._n_here = n, 0, 0
        self._condition = threading.Condition()

    def __call__(self, answer: Any) -> Any:
        with self._condition:
            self._n_here += 1
            self.most = max(self.most, self._n_here)
            self._condition.notify_all()
            self._condition.wait_for(lambda: self.most == self.n, timeout=2)
            self._n_here -= 1
        return answer


@pytest.mark.parametrize("load", [{"rates": [60], "concurrency": []}, {"rates": [], "concurrency": [12]}])
@pytest.mark.parametrize("kind", ["endpoint", "pointwise", "listwise", "pipeline"])
def test_endpoints_are_sent_all_that_comes_whatever_calls_them(
    tmp_path: Path, queries: Path, kind: str, load: dict[str, Any]
) -> None:
    """Of a chat model, 8 calls at once are the default of runs; of one question they still are."""
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    load = {"duration": 0.2, "warm_up": 0, "sustained": False, "arrivals": "constant", **load}
    with serving() as server:
        path = "/rerank" if kind == "endpoint" else PATH
        chat = {"kind": "llm", "mode": "listwise", "model": "m", "base_url": f"{server.url}/ranker/v1"}
        rerank = {"kind": "endpoint", "url": f"{server.url}/rerank", "concurrency": 2} if kind == "endpoint" else chat
        if kind == "pointwise":
            rerank = {**chat, "mode": kind}
        values: dict[str, Any] = {"systems": {"none": {}, "api": {"rerank": rerank}}}
        if kind == "pointwise":
            values["depths"] = [1]  # One call a question.
        if kind == "pipeline":
            table = ", ".join(f"{name} = {json.dumps(value)}" for name, value in rerank.items())
            (tmp_path / "pipeline.toml").write_text(f'documents = "texts"\nk = 1\nrerank = {{ {table} }}\n')
            (tmp_path / "texts").mkdir()
            for word in ("one", "two"):
                (tmp_path / "texts" / f"{word}.txt").write_text(f"What is {word}? A number.")
            values = {"systems": {"mine": {"pipeline": str(tmp_path / "pipeline.toml")}}, "questions": str(queries)}
        config = bench_config(tmp_path, load=load, **values)
        server.script(path, None)
        together = Together(12)
        server.always(path, change(together))
        assert set(load_test(config).requests["outcome"]) == {"ok"}
    assert together.most == 12


def gate_of(scores: object, folder: Path, limit_ms: float) -> str:
    """The outcome of a gate on the P95."""
    pytest.importorskip("scipy", reason="gates need the extra stats")
    (folder / "mine.toml").write_text(
        'name = "mine"\nlevels = ["slo"]\nbelow = "too_slow"\n[measures."latency_ms:p95"]\n'
        f'given = true\nbetter = "lower"\nlevels = {{ slo = {limit_ms} }}\n'
    )
    return sy.gate(scores, profile=str(folder / "mine.toml")).outcome


@pytest.mark.parametrize(("limit_ms", "outcome"), [(1_500, "pass"), (900, "fail")])
def test_requests_under_load_can_be_gated(tmp_path: Path, limit_ms: float, outcome: str) -> None:
    times = [n / 10 for n in range(2_000)]
    scores = request_scores(frame(*(("a", "open", at, at) for at in times)))
    assert gate_of(scores, tmp_path, limit_ms) == outcome


def test_the_folder_of_a_load_test_has_no_base_to_be_gated_against(
    test_of: Callable[..., Bench], tmp_path: Path
) -> None:
    with sleepy_server(SleepySettings(service_s=0.005)) as server:
        bench = test_of(f"{server.url}search", rate=200)
    assert gate_of(str(bench.folder.path), tmp_path, 500) == "insufficient"  # All is of one second.
