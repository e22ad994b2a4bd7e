"""One refusal is every worker's: requests to a service that wants none, or fewer, wait together."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from steelyard.services.http.replies import Throttle
from tests.rag.server import Server, serving, status

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

from steelyard.services.announcements import WAITS, Wait
from steelyard.services.http.client import Patience, Service

N = 8
BODY = {"query": "what weighs", "documents": ["a balance weighs"], "top_n": 1}


def test_one_refusal_holds_all_back() -> None:
    """The requests that were under way are refused; no other is sent before the time that the first of them named."""

    class Timed(Server):
        def take(self, request):
            came.append(time.perf_counter())
            return super().take(request)

    waits, came = list[Wait](), list[float]()
    with serving(Timed) as server, ThreadPoolExecutor(N) as pool, WAITS.listening(waits.append):
        rerank = Service("rerank", f"{server.url}/rerank", Patience(attempts=2))
        rerank.request("POST", body=BODY)
        server.script("/rerank", status(429, Retry_After="0.4"))
        first = pool.submit(rerank.request, "POST", body=BODY)
        while not waits:
            time.sleep(0.005)
        others = [pool.submit(rerank.request, "POST", body=BODY) for _ in range(N - 1)]
        for asked in (first, *others):
            asked.result()
    _, refused, *later = came
    assert len(later) == N
    assert min(later) - refused >= 0.4
    assert waits == [Wait("127.0.0.1", 0.4, 429)]


def test_a_limit_of_requests_a_second_fails_no_question() -> None:
    """A server that takes four requests each .2 s is asked by eight: they find its pace, and none gives up."""

    class Limited(Server):
        def take(self, request):
            now = int(time.monotonic() / 0.2)
            with lock:
                taken[now] = taken.get(now, 0) + 1
                if taken[now] > 4:
                    refusals.append(now)
            return (
                status(429, Retry_After=f"{0.2 - time.monotonic() % 0.2:.3f}")
                if taken[now] > 4
                else super().take(request)
            )

    lock, taken, refusals = threading.Lock(), dict[int, int](), list[int]()
    with serving(Limited) as server, ThreadPoolExecutor(N) as pool:
        rerank = Service("rerank", f"{server.url}/rerank", Patience(wait_max_s=5))
        answers = list(pool.map(lambda _: rerank.request("POST", body=BODY), range(24)))
    assert answers == [answers[0]] * 24
    assert 0 < len(refusals) < 24


def run(work: Callable[[], object]) -> None:
    asyncio.run(work())


def test_half_as_many_go_after_a_refusal_and_one_more_after_each_round() -> None:
    async def work() -> None:
        throttle, under_way, most = Throttle(), 0, 0

        async def ask(*, refused: bool = False) -> None:
            nonlocal under_way, most
            async with throttle.turn(1) as turn:
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0.001)
                if refused:
                    throttle.refuse(turn, None)
                under_way -= 1

        await asyncio.gather(*(ask(refused=True) for _ in range(N)))
        assert most == N
        most = 0
        await asyncio.gather(*(ask() for _ in range(4)))
        assert most == 4  # One refusal counted, not eight.
        most = 0
        await asyncio.gather(*(ask() for _ in range(20)))
        assert 4 < most <= 8

    run(work)


def test_what_was_refused_goes_first() -> None:
    async def work() -> None:
        throttle, order = Throttle(), list[str]()

        async def ask(name: str, attempt: int) -> None:
            async with throttle.turn(attempt):
                order.append(name)

        async with throttle.turn(1) as turn:
            throttle.refuse(turn, 0.3)
        asked = [asyncio.create_task(ask(f"new {i}", 1)) for i in range(3)]
        await asyncio.sleep(0.01)
        asked.append(asyncio.create_task(ask("refused", 2)))
        await asyncio.gather(*asked)
        assert order == ["refused", "new 0", "new 1", "new 2"]

    run(work)


def test_whoever_gives_up_waiting_leaves_no_gap() -> None:
    async def work() -> None:
        throttle, passed = Throttle(), list[int]()

        async def ask(i: int) -> None:
            async with throttle.turn(1):
                passed.append(i)

        async with throttle.turn(1) as turn:
            throttle.refuse(turn, 0.3)
        asked = [asyncio.create_task(ask(i)) for i in range(4)]
        await asyncio.sleep(0.01)
        asked[0].cancel()
        asked[2].cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await asyncio.wait_for(ask(4), 10)
        assert passed == [1, 3, 4]

    run(work)


def test_a_limit_holds_also_after_refusals_and_successes() -> None:
    async def work() -> None:
        throttle, under_way, most = Throttle(4), 0, 0

        async def ask() -> None:
            nonlocal under_way, most
            async with throttle.turn(1):
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0)
                under_way -= 1

        async with throttle.turn(1) as turn:
            throttle.refuse(turn, None)
        await asyncio.gather(*(ask() for _ in range(60)))
        assert most == 4

    run(work)
