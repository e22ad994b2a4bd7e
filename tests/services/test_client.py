"""The client awaited: many requests at once, from any loop and any thread."""

import asyncio
import gc
import threading
import time
from collections.abc import Iterator

import pytest

from steelyard.base.errors import StageError
from tests.rag.server import Fault, Server, serving, stall, status

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

from steelyard.services.http.client import Patience, Service, ServiceError

QUICK = Patience(timeout_s=5.0, attempts=3, wait_initial_s=0.001, wait_max_s=0.02)
BODY = {"query": "what weighs", "documents": ["a balance weighs", "bees dance"], "top_n": 2}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def service(server: Server) -> Service:
    return Service("rerank", server.url + "/rerank", QUICK)


def test_waiting_and_awaiting_give_one_answer(server: Server) -> None:
    rerank = service(server)
    assert asyncio.run(rerank.request_async("POST", body=BODY)) == rerank.request("POST", body=BODY)


def test_many_requests_are_under_way_at_once(server: Server) -> None:
    rerank = service(server)
    server.script("/rerank", *[stall(0.3)] * 8)

    async def ask_all() -> list[object]:
        return await asyncio.gather(*(rerank.request_async("POST", body=BODY) for _ in range(8)))

    start = time.perf_counter()
    answers = asyncio.run(ask_all())
    assert time.perf_counter() - start < 8 * 0.3
    assert all(answer == answers[0] for answer in answers)


def test_threads_share_one_client(server: Server) -> None:
    rerank = service(server)
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(rerank.request("POST", body=BODY))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [answers[0]] * 6


def test_an_awaited_fault_is_asked_again_and_then_raised(server: Server) -> None:
    rerank = service(server)
    server.script("/rerank", status(500))
    assert asyncio.run(rerank.request_async("POST", body=BODY)) == rerank.request("POST", body=BODY)
    server.always("/rerank", status(503))
    with pytest.raises(StageError, match=r"answered 503 .* after 3 attempts"):
        asyncio.run(rerank.request_async("POST", body=BODY))


@pytest.mark.usefixtures("frozen_objects")
def test_a_service_dropped_within_a_loop_closes_its_client(server: Server) -> None:
    async def ask() -> None:
        await service(server).request_async("POST", body=BODY)
        gc.collect()

    asyncio.run(ask())
    gc.collect()  # An open socket would warn here, and a warning is an error.


def test_bytes_are_posted_as_they_are_and_a_secret_path_is_not_shown(server: Server) -> None:
    hook = Service("hook", f"{server.url}/hook/0123456789", Patience(attempts=1), has_secret_path=True)
    server.script("/hook/0123456789", Fault(body="ok"), status(429, "slow down, hook/0123456789", Retry_After="7"))
    assert hook.post(b'{"a":  1}', {"X-Key": "k1"}).text == "ok"
    with pytest.raises(ServiceError, match=r"^hook: http://[\d.:]+/\[key\] answered 429") as raised:
        hook.post(b"{}", {})
    assert raised.value.fact == "answered 429 (Too Many Requests): slow down, [key]"
    assert raised.value.wait_s == 7
    (first, _) = server.seen("/hook/0123456789")
    assert (first.body, first.headers["x-key"], first.headers["content-length"]) == ({"a": 1}, "k1", "9")
