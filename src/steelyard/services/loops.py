"""Event loops in threads of their own, so that asynchronous code runs from anywhere, a notebook included."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio  # Slow to import, and many runs need none.

T = TypeVar("T")
_CLOSING_S = 5.0
SIGNAL_S = 0.1
"""Seconds that anything is waited for at once: a library that has its own handler of Ctrl-C, as Polars has, may let a
wait for another thread go on, and Windows does so always."""
_awaited: dict[threading.Thread, Future[Any]] = {}
"""What each thread waits for in `BackgroundLoop.run`."""


def cancel_requests(threads: Iterable[threading.Thread]) -> None:
    """Cancel what some threads wait for; they get a CancelledError."""
    for thread in threads:
        if (future := _awaited.get(thread)) is not None:
            future.cancel()


class BackgroundLoop:
    """An event loop that starts on first use in a daemon thread, and stops when it is dropped.

    name   of the thread
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=_serve, args=(started,), name=self._name, daemon=True)
        self._thread.start()
        loop = started.result()
        weakref.finalize(self, _stop, loop, self._thread)
        return loop

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the loop; callable from any thread."""
        import asyncio

        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, or the exception that it raises.  Not for code that runs on the loop itself."""
        future = self.submit(coroutine)
        _awaited[threading.current_thread()] = future
        try:
            return _result(future)
        finally:
            del _awaited[threading.current_thread()]
            future.cancel()  # Ctrl-C leaves nothing running.

    async def awaited(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine of this loop, awaited in any; on this one, it is awaited as it is."""
        import asyncio

        if asyncio.get_running_loop() is self._loop:
            return await coroutine
        return await asyncio.wrap_future(self.submit(coroutine))

    def finish(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a last coroutine, such as one that closes a client; without waiting where the loop itself drops it."""
        if self._loop.is_closed() or not self._thread.is_alive():
            coroutine.close()
            return
        future = self.submit(coroutine)
        if threading.current_thread() is not self._thread:
            future.result(_CLOSING_S)


def _result(future: Future[T]) -> T:
    """The result of a future; asked again and again, as a wait without end may not see Ctrl-C (see `SIGNAL_S`)."""
    while True:
        try:
            return future.result(SIGNAL_S)
        except TimeoutError:
            if future.done():
                return future.result()


def _serve(started: Future[asyncio.AbstractEventLoop]) -> None:
    import asyncio

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        started.set_result(loop)
        loop.run_forever()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join()


_lock = threading.Lock()
_shared: BackgroundLoop | None = None


def shared_loop() -> BackgroundLoop:
    """The one loop on which all requests to services run."""
    global _shared  # noqa: PLW0603  one loop a process, made on first use
    with _lock:
        if _shared is None:
            _shared = BackgroundLoop("steelyard-services")
        return _shared


def _forget() -> None:
    """A forked process has the object but not its thread."""
    global _shared  # noqa: PLW0603
    _shared = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
