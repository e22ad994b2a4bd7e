"""Whether benches measure systems rather than themselves, and how long they take: every floor with its figure.

    python -m benchmarks.bench [--cranfield FOLDER] [--output benchmarks/BENCH.md]

The server is a process of its own on the same machine, which answers at once.  What a request takes beyond a bare
socket's is the harness's own.  A figure that misses its floor makes the exit status 1.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import polars as pl

from steelyard.base.machine import machine
from steelyard.bench.arrivals import Schedule
from steelyard.bench.frames import DISPATCH_MS, LATENCY_MS, REQUESTS
from steelyard.bench.load.latency import latency
from steelyard.bench.load.loops import LoadTarget, offer
from steelyard.bench.load.served import Served
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.demo import copy_data
from steelyard.experiment.table.scores import Scores
from steelyard.services.http.client import Patience, Service
from steelyard.services.http.direct import DirectService

_BODY = b'{"results": [{"id": "d1"}]}'
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BODY) + _BODY
ROUNDS = 3
"""The middle one of so many counts: other work on the machine disturbs some."""
QUERIES = {f"q{n}": f"what weighs {n}?" for n in range(100)}


@dataclass(frozen=True)
class Row:
    """A floor and what was measured; smaller is better."""

    what: str
    figure: float
    floor: float
    unit: str
    beside: str

    @property
    def holds(self) -> bool:
        """Whether the figure is below the floor."""
        return self.figure < self.floor

    def cells(self) -> list[str]:
        """As a line of the table."""
        verdict = "yes" if self.holds else "**no**"
        return [self.what, f"{self.figure:.3g} {self.unit}", f"< {self.floor:g} {self.unit}", verdict, self.beside]


class _AtOnce(asyncio.Protocol):
    """Answers each request as soon as all of it is there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._data = transport, b""

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]):
            self._data = b""
            self._transport.write(_RESPONSE)  # type: ignore[attr-defined]


def _serve(ready: Connection) -> None:
    async def listen() -> None:
        server = await asyncio.get_running_loop().create_server(_AtOnce, "127.0.0.1", 0, backlog=1024)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


@contextmanager
def answering_at_once() -> Iterator[int]:
    """The port of a server in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def bare_round_trip_ms(port: int, n: int = 2_000) -> float:
    """The median time of a request that a bare socket sends and receives."""
    body = b'{"query":"what weighs?"}'
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    times = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(n):
            began = time.perf_counter()
            connection.sendall(request)
            connection.recv(65_536)
            times.append(time.perf_counter() - began)
    return float(np.median(times)) * 1000


def offered(port: int, rate: float, duration_s: float) -> pl.DataFrame:
    """Requests to the server at a rate, with their latency and dispatch delay."""
    service = DirectService(Service("target", f"http://127.0.0.1:{port}/", Patience()), 10.0)

    def ask(query_id: str, query: str) -> Served:
        service.request("POST", body={"query": query})
        return Served(answered_at=service.answered_at)

    schedule = Schedule.at_rate(rate, duration_s, "poisson", np.random.default_rng(1), warm_up_s=2.0)
    requests = offer(LoadTarget(ask, QUERIES, timeout_s=10.0), schedule)
    service.close()
    assert set(requests["outcome"]) == {"ok"}, requests["error"].drop_nulls().unique().to_list()
    return requests.select(latency=LATENCY_MS, dispatch=DISPATCH_MS)


def overhead(port: int) -> Row:
    """What a request takes beyond a bare socket's, at 1,000 a second."""
    bare, began = bare_round_trip_ms(port), time.process_time()
    rounds = sorted((offered(port, 1_000, 10)["latency"] - bare for _ in range(ROUNDS)), key=lambda own: own.mean())
    cpu_ms = (time.process_time() - began) / (ROUNDS * 12 * 1_000) * 1000
    own = rounds[ROUNDS // 2]
    beside = (
        f"mean; P50 {own.quantile(0.5):.2f}, P99 {own.quantile(0.99):.2f} ms; a bare socket {bare:.3f} ms; "
        f"{cpu_ms:.2f} ms of a processor"
    )
    return Row("harness overhead a request, at 1,000/s", float(own.mean()), 1, "ms", beside)  # type: ignore[arg-type]


def schedule_error(port: int) -> Row:
    """How late requests are sent, at 200 a second."""
    rounds = [offered(port, 200, 10)["dispatch"] for _ in range(ROUNDS)]
    delays = sorted(rounds, key=lambda late: late.quantile(0.99))[ROUNDS // 2]
    beside = f"P99; P50 {delays.quantile(0.5):.2f}, most {delays.max():.2f} ms"
    return Row("schedule error at 200/s", delays.quantile(0.99) or 0.0, 5, "ms", beside)


def summary() -> Iterator[Row]:
    """Percentiles of a million latencies with their intervals, of scores and of requests."""
    n = 1_000_000
    values = np.random.default_rng(1).lognormal(3, 0.6, n)
    names = [f"latency_ms:{name}" for name in ("p50", "p95", "p99")]
    scores = Scores.of(pl.DataFrame({"query_id": np.arange(n).astype(str), "value": values, "measure": "latency_ms"}))
    seconds = _seconds(lambda: scores.with_percentiles(names).filter(measures=names).mean(), 7)
    yield Row(
        "1,000,000 latencies summarised",
        seconds,
        1,
        "s",
        "P50, P95, P99 of scores, with intervals; the middle of 7 rounds",
    )
    at = np.arange(n) / 1000
    frame = pl.DataFrame({
        "system": "s", "loop": "open", "repetition": 1, "rate": 1000.0, "number": np.arange(n), "query_id": "q",
        "intended_s": at, "sent_s": at, "end_s": at + values / 1000, "outcome": "ok",
    }).match_to_schema(REQUESTS, missing_columns="insert", integer_cast="upcast")  # fmt: skip
    seconds = _seconds(lambda: latency(frame), ROUNDS)
    yield Row(
        "1,000,000 requests under load summarised", seconds, 1, "s", "of latency, service time and dispatch delay"
    )


def cranfield(folder: Path) -> Row:
    """A whole bench: 225 questions × 4 depths × 3 offline rerankers × 3 repetitions."""
    with tempfile.TemporaryDirectory() as bench:
        config = {
            "truth": str(folder / "beir"), "candidates": str(folder / "runs" / "results_custom_bm25.run.gz"),
            "documents": str(folder / "beir"), "depths": [10, 20, 50, 100], "repetitions": 3,
            "systems": {
                "words": {"rerank": {"kind": "lexical", "pairs": 0.0}}, "half": {"rerank": "lexical"},
                "pairs": {"rerank": {"kind": "lexical", "pairs": 1.0}},
            },
        }  # fmt: skip
        seconds = _seconds(lambda: bench_rerankers(config, folder=bench))
    return Row("bench rerank of Cranfield", seconds, 60, "s", "225 questions × 4 depths × 3 rerankers × 3 repetitions")


def killed() -> Row:
    """Blocks that are measured twice, where a bench of the bundled example is killed and started again."""
    with tempfile.TemporaryDirectory() as folder:
        copy_data(Path(folder))
        search = [sys.executable, "-m", "steelyard", "run", "bm25.toml"]
        subprocess.run(search, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        blocks = Path(folder, "bench", "blocks")
        script = "import sys, steelyard as sy; sy.bench_rerankers('bench.toml', folder='bench')"
        process = subprocess.Popen([sys.executable, "-c", script], cwd=folder)
        while len(times_of(blocks)) < 5 and process.poll() is None:
            time.sleep(0.001)
        process.kill()
        process.wait()
        before = times_of(blocks)
        subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
        after = times_of(blocks)
    repeated = sum(after[name] != changed for name, changed in before.items())
    return Row("blocks measured twice after SIGKILL", repeated, 1, "", f"{len(before)} of {len(after)} were on disk")


def times_of(folder: Path) -> dict[str, int]:
    """When each block of a folder was written; it is whole once its requests are there, which come last."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.parquet") if ".rankings." not in path.name}


def _seconds(work: Callable[[], object], rounds: int = 1) -> float:
    """Seconds that work takes, the median of some rounds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def table(rows: list[Row]) -> str:
    """All rows as Markdown."""
    cells = [["what", "measured", "floor", "holds", "beside"], ["---"] * 5, *(row.cells() for row in rows)]
    lines = ["| " + " | ".join(line) + " |" for line in cells]
    here = machine()
    first = ", ahead of all other work (chrt)" if _is_first() else ""
    return "\n".join([
        "# Floors of benches", "",
        f"By `python -m benchmarks.bench`, on {here['cpu']}, {here['cores']} cores, {here['os']}{first}.", "",
        *lines, "",
        "Overhead is what a request takes from its intended start to the last byte of its answer, less what a bare",
        "socket takes for the same to the same server, which answers at once from a process of its own on the same",
        "machine.  The schedule error is how late a request is sent.  Of three rounds, the middle one counts.", "",
    ])  # fmt: skip


def _is_first() -> bool:
    """Whether this process has a processor before all others, so that they do not disturb it."""
    return hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)


def main() -> int:
    """Measure, print, and say by the exit status whether all floors hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cranfield", type=Path, help="a folder with beir/ and runs/results_custom_bm25.run.gz")
    parser.add_argument("--output", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    with answering_at_once() as port:
        rows = [overhead(port), schedule_error(port)]
    rows += [*summary(), killed()]
    if arguments.cranfield is not None:
        rows.append(cranfield(arguments.cranfield))
    text = table(rows)
    print(text, end="")
    if arguments.output is not None:
        arguments.output.write_text(text, encoding="utf-8")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
