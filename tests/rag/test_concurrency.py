"""Several questions under way at once: the same lines in the same order, nothing lost, nothing twice."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError, StageError
from steelyard.data.folders.run_folder import RunFolder
from steelyard.rag.concurrency import results_of
from steelyard.rag.config import Config
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.runs.running import run
from tests.rag.server import Server, serving, stall, status
from tests.rag.small import TEXTS, Common, Letters, Nearest, Shortest, Stops

N = 8


def questions(n: int) -> list[dict[str, Any]]:
    return [{"qid": f"q{i}", "query": f"the whale {i}"} for i in range(n)]


def lines(folder: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.outputs.read_text(encoding="utf-8").splitlines()]


class Gauge:
    """Counts how many are inside at once."""

    def __init__(self) -> None:
        self.most = self._n = 0
        self._lock = threading.Lock()

    def pass_through(self, seconds: float) -> None:
        with self._lock:
            self._n += 1
            self.most = max(self.most, self._n)
        time.sleep(seconds)
        with self._lock:
            self._n -= 1


class Far(Shortest):
    """A reranker that waits for others, and takes so many questions at once; later questions wait less."""

    def __init__(self, concurrency: int | None = None, seconds: float = 0.02) -> None:
        super().__init__()
        self.concurrency, self._seconds, self._gauge = concurrency, seconds, Gauge()

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self._gauge.pass_through(self._seconds / (1 + int(query.rsplit(maxsplit=1)[-1]) % 3))
        return super().scores(query, texts)


class Near(Common):
    """An index of this computer, that is slow."""

    def __init__(self) -> None:
        super().__init__()
        self._gauge = Gauge()

    def search(self, query: str, vector: Any, k: int) -> Any:
        self._gauge.pass_through(0.004)
        return super().search(query, vector, k)


def pipeline(**options: Any) -> Pipeline:
    return Pipeline(TEXTS, **{"chunk": Stops(), "index": Common(), "k": 3, "name": "mine", **options})


# Threads that work.


def test_results_come_as_they_are_ready_and_items_begin_in_order() -> None:
    others, begun = threading.Semaphore(0), list[int]()

    def work(i: int) -> int:
        begun.append(i)
        for _ in range(19 if i == 0 else 0):
            others.acquire(timeout=10)
        others.release()
        return i * i

    results = list(results_of(work, range(20), concurrency=3))
    assert sorted(results) == [(i, i * i) for i in range(20)]
    assert results.index((0, 0)) >= 17
    assert all(abs(i - place) <= 2 for place, i in enumerate(begun) if i)


def test_there_are_no_more_threads_than_items() -> None:
    before = threading.active_count()
    running = [n for _, n in results_of(lambda _: threading.active_count(), range(3), concurrency=10_000)]
    assert len(running) == 3
    assert max(running) <= before + 3


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_is_raised_ends_the_work(error: type[BaseException], concurrency: int) -> None:
    begun: list[int] = []

    def work(i: int) -> int:
        begun.append(i)
        if i == 5:
            raise error("five")
        time.sleep(0.005)
        return i

    with pytest.raises(error, match="five"):
        list(results_of(work, range(1_000), concurrency=concurrency))
    assert len(begun) < 100
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("steelyard-asking")]


# Runs.


def test_lines_are_those_of_one_question_after_the_other(tmp_path: Path) -> None:
    far = Far()
    at_once = pipeline(rerank=far).run(questions(40), tmp_path / "a")
    in_turn = pipeline(rerank=Far(seconds=0), concurrency=1).run(questions(40), tmp_path / "b")
    without_times = [[{**line, "latency_ms": None} for line in lines(folder)] for folder in (at_once, in_turn)]
    assert without_times[0] == without_times[1]
    assert far._gauge.most == N
    assert (at_once.manifest["concurrency"], in_turn.manifest["concurrency"]) == (N, 1)
    assert at_once.manifest["fingerprint"] == in_turn.manifest["fingerprint"]
    assert sorted(os.listdir(tmp_path / "a")) == sorted(os.listdir(tmp_path / "b"))


@pytest.mark.parametrize(
    ("limit", "concurrency", "most"),
    [(None, None, 8), (None, 3, 3), (None, 20, 20), (4, None, 4), (4, 20, 4), (12, None, 12), (1, 16, 1)],
)
def test_a_stage_takes_as_many_as_it_says(
    limit: int | None, concurrency: int | None, most: int, tmp_path: Path
) -> None:
    far = Far(limit, seconds=0.1)
    pipeline(rerank=far, concurrency=concurrency).run(questions(40), tmp_path / "run")
    assert 0.6 * most <= far._gauge.most <= most


def test_one_question_at_a_time_is_at_the_stages_of_this_computer(tmp_path: Path) -> None:
    gauge, index, other = Gauge(), Near(), Near()
    index._gauge = other._gauge = gauge
    pipeline(rerank=Far(), index=[index, other]).run(questions(20), tmp_path / "run")
    assert gauge.most == 1


def test_time_in_front_of_a_stage_is_not_its_time(tmp_path: Path) -> None:
    """Eight questions wait for an index of 4 ms and a reranker that takes two at once; each is timed for itself."""
    folder = pipeline(rerank=Far(2), index=Near(), concurrency=N).run(questions(40), tmp_path / "run")
    times = [line["latency_ms"] for line in lines(folder)]
    searching, totals = sorted(t["search"] for t in times), sorted(t["total"] for t in times)
    assert searching[20] < 4 * 4
    assert totals[20] < 2 * (4 + 20)
    assert all(t["total"] >= t["search"] + t["rerank"] for t in times)


def test_without_a_stage_that_takes_several_nothing_is_at_once(tmp_path: Path) -> None:
    local = pipeline(index=[Near(), Nearest()], embed=Letters(), concurrency=16)
    assert local.concurrency == 1
    assert local.run(questions(3), tmp_path / "run").manifest["concurrency"] == 1


def test_a_stage_whose_number_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"Far.concurrency must be a whole number from 1, not 0"):
        pipeline(rerank=Far(0))


def test_a_system_that_fails_from_the_start_is_stopped(tmp_path: Path) -> None:
    class Broken(Far):
        def scores(self, query: str, texts: Sequence[str]) -> list[float]:
            super().scores(query, texts)
            raise StageError("no model")

    far = Broken()
    with pytest.raises(StageError, match="the first 5 questions all failed: no model"):
        pipeline(rerank=far).run(questions(500), tmp_path / "run")
    assert len((tmp_path / "run" / "outputs.partial.jsonl").read_bytes().splitlines()) < 100


def test_documents_are_embedded_in_batches_at_once(tmp_path: Path) -> None:
    class Remote(Letters):
        concurrency = 4
        batch_size = 2
        gauge = Gauge()

        def documents(self, texts: Sequence[str]) -> Any:
            self.gauge.pass_through(0.01)
            return super().documents(texts)

    documents = {f"d{i}": f"Text number {i}." for i in range(30)}
    at_once, in_turn = Remote(), Letters()
    systems = [Pipeline(documents, index=Nearest(), embed=embed, chunk="whole") for embed in (at_once, in_turn)]
    assert systems[0].search("number 7") == systems[1].search("number 7")
    assert 1 < at_once.gauge.most <= 4
    assert sorted(at_once._texts) == sorted(in_turn._texts)


# Targets.


def test_functions_are_asked_in_turn_unless_they_say_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_waits.py").write_text(
        "import asyncio\nN = MOST = 0\n\n"
        "async def search(query):\n"
        "    global N, MOST\n"
        "    N += 1\n"
        "    MOST = max(MOST, N)\n"
        "    await asyncio.sleep(0.01)\n"
        "    N -= 1\n"
        "    return [query]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def most(**target: Any) -> int:
        system = TargetSystem.read(Config.of({"target": {"callable": "own_waits:search", **target}}, base=tmp_path))
        module = sys.modules["own_waits"]
        module.MOST = 0
        folder = run(system, questions(20), tmp_path / f"run{system.concurrency}")
        assert [line["retrieved"] for line in lines(folder)] == [[{"id": f"the whale {i}"}] for i in range(20)]
        return int(module.MOST)

    assert most() == 1
    assert most(concurrency=5) == 5


def test_a_function_in_python_is_asked_at_once_where_that_is_said() -> None:
    gauge = Gauge()

    def search(query: str) -> list[str]:
        gauge.pass_through(0.02)
        return [query]

    outputs = sy.run(search, questions(20), concurrency=4)
    assert outputs.run.frame["doc_id"].to_list() == [f"the whale {i}" for i in range(20)]
    assert 1 < gauge.most <= 4
    with pytest.raises(InputError, match="concurrency must be a whole number from 1, not 0"):
        sy.run(search, questions(1), concurrency=0)


def test_where_the_number_is_written(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()

    def at_once(**values: Any) -> int:
        config = Config.of(values, base=tmp_path)
        return (TargetSystem.read(config) if config.target else Pipeline.read(config)).concurrency

    url = "http://127.0.0.1:9/v1"
    far = {"kind": "openai", "model": "m", "base_url": url}
    assert at_once(target={"url": url}) == 8
    assert at_once(target={"url": url}, concurrency=30) == 30
    assert at_once(target={"url": url, "concurrency": 3}) == 3
    assert at_once(documents="docs", generate=far) == 8
    assert at_once(documents="docs", generate={**far, "concurrency": 16}) == 16
    assert at_once(documents="docs", generate=far, concurrency=2) == 2
    assert at_once(documents="docs", embed=far) == 1  # No index needs vectors.
    assert at_once(documents="docs", concurrency=16) == 1
    assert Config.of_options(target=url, concurrency=7).concurrency == 7
    with pytest.raises(InputError, match="concurrency must be a whole number from 1, not 0"):
        at_once(target={"url": url}, concurrency=0)
    with pytest.raises(InputError, match="concurrency must be a whole number from 1, not 'all'"):
        at_once(target={"url": url, "concurrency": "all"})


def test_the_number_and_limits_of_requests_change_no_fingerprint(tmp_path: Path) -> None:
    def fingerprint(**more: Any) -> Any:
        target = {"url": "http://127.0.0.1:9/search", **more}
        return TargetSystem.read(Config.of({"target": target}, base=tmp_path)).fingerprint

    assert fingerprint() == fingerprint(concurrency=4) != fingerprint(texts=True)
    assert fingerprint() == fingerprint(reply_max_mb=99.0, request_max_s=900.0, timeout_s=5.0, attempts=1)


# Processes that end before their time.


def started(folder: Path, server: Server) -> subprocess.Popen[bytes]:
    (folder / "questions.jsonl").write_text(
        "".join(json.dumps({**question, "evidence": [{"text": "x"}]}) + "\n" for question in questions(60))
    )
    command = [
        sys.executable, "-m", "steelyard", "run", "--target", f"{server.url}/search", "--questions", "questions.jsonl",
        "--output", "run",
    ]  # fmt: skip
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_lines(partial: Path, n: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (partial.exists() and partial.read_bytes().count(b"\n") >= n):
        time.sleep(0.01)


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_run_loses_nothing_and_asks_nothing_twice(tmp_path: Path) -> None:
    pytest.importorskip("httpx2", reason="needs the extra endpoints")
    partial = tmp_path / "run" / "outputs.partial.jsonl"
    with serving() as server:
        server.always("/search", stall(0.03))
        process = started(tmp_path, server)
        wait_for_lines(partial, 20)
        process.kill()
        process.communicate()
        n_kept = partial.read_bytes().count(b"\n")
        kept = [json.loads(line)["query"] for line in partial.read_bytes().splitlines()[:n_kept]]
        n_before = len(server.seen("/search"))
        assert len(set(kept)) == n_kept >= 20
        assert n_before - n_kept <= N
        out, err = started(tmp_path, server).communicate(timeout=60)
        assert b"were answered before and are kept" in out, err
        again = [request.body["query"] for request in server.seen("/search")[n_before:]]
    assert sorted(kept + again) == sorted(question["query"] for question in questions(60))
    written = [json.loads(line)["qid"] for line in (tmp_path / "run" / "outputs.jsonl").read_text().splitlines()]
    assert written == [question["qid"] for question in questions(60)]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as a terminal does")
def test_ctrl_c_ends_at_once_and_keeps_every_line(tmp_path: Path) -> None:
    pytest.importorskip("httpx2", reason="needs the extra endpoints")
    partial = tmp_path / "run" / "outputs.partial.jsonl"
    with serving() as server:
        server.script("/search", *[None] * 10, *[stall(60)] * N)
        process = started(tmp_path, server)
        wait_for_lines(partial, 10)
        pressed = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert time.monotonic() - pressed < 10
    assert process.returncode == 130
    assert err.decode() == (
        "steelyard: interrupted; 10 questions are done and kept. The same command goes on from there\n"
    )
    assert partial.read_bytes().count(b"\n") == 10


def test_a_refusal_with_retry_after_pauses_a_run_and_is_said_once(tmp_path: Path) -> None:
    pytest.importorskip("httpx2", reason="needs the extra endpoints")
    with serving() as server:
        server.script("/search", status(429, Retry_After="1.1"))
        out, err = started(tmp_path, server).communicate(timeout=60)
        assert len(server.seen("/search")) == 61
    assert b"60 questions" in out
    assert err.decode() == "steelyard: waiting 2 s for 127.0.0.1 (429)\n"
