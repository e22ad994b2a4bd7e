"""Who may send now: a service that is asked for too much says so once, not to each who asks."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio  # Slow to import, and many runs need none.


class Throttle:
    """Lets the requests to one service go: as many as come, or as may be at once, until the service refuses one.

    After a refusal half as many as were under way go at once, and one more for as many successes as that.  A refusal
    that says for how long holds all requests back until then; what was refused goes first.  Of several that were sent
    before the first of them was refused, one counts.  Used on one event loop alone.

    limit   requests that go at once at most
    """

    def __init__(self, limit: float = math.inf) -> None:
        self._limit = self._most = limit
        self._n_under_way = self._n_refusals = 0
        self._opens = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @asynccontextmanager
    async def turn(self, attempt: int) -> AsyncIterator[int]:
        """Wait until a request may be sent, later attempts first; gives what `refuse` takes."""
        if self._waiting or not self._is_open():
            await self._wait(attempt)
        else:
            self._n_under_way += 1
        try:
            yield self._n_refusals
            self._most = min(self._most + 1 / self._most, self._limit)
        finally:
            self._n_under_way -= 1
            self._let_go()

    def refuse(self, turn: int, wait_s: float | None) -> None:
        """A request of this turn was too much; wait_s: the service wants none for so long."""
        if turn == self._n_refusals:
            self._n_refusals += 1
            self._most = max(min(self._most, self._n_under_way) / 2, 1.0)
        if wait_s is not None:
            self._opens = max(self._opens, time.monotonic() + wait_s)

    def _is_open(self) -> bool:
        return self._n_under_way + 1 <= self._most and time.monotonic() >= self._opens

    async def _wait(self, attempt: int) -> None:
        turn = _loop().create_future()
        heapq.heappush(self._waiting, (-attempt, next(self._numbers), turn))
        self._let_go()
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # Let go and cancelled at once.
                self._n_under_way -= 1
                self._let_go()
            raise

    def _let_go(self) -> None:
        """Wake as many as may go now, or later where the service is to be left alone until then."""
        while self._waiting and self._is_open():
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._n_under_way += 1
                turn.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        closed_s = self._opens - time.monotonic()
        self._timer = _loop().call_later(closed_s, self._let_go) if self._waiting and closed_s > 0 else None


def _loop() -> asyncio.AbstractEventLoop:
    import asyncio

    return asyncio.get_running_loop()
