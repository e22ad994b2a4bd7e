"""Work that waits for others, such as questions that a service answers: several threads at once do it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import TypeVar

from steelyard.services.loops import SIGNAL_S, cancel_requests

Item = TypeVar("Item")
Result = TypeVar("Result")
_LEAVING_S = 1.0


def results_of(
    work: Callable[[Item], Result], items: Iterable[Item], *, concurrency: int
) -> Generator[tuple[Item, Result]]:
    """Each item with its result, as soon as that is there; items are begun in their order.

    concurrency   how many are under way at most, in no more threads than there are items; one is done in the caller's
                  own thread, one after the other
    Raises        what `work` raises, Ctrl-C among it.  Then, and where the caller stops asking, no other item is begun
                  and requests to services are cancelled.

    >>> list(results_of(str.upper, "ab", concurrency=1)), sorted(results_of(str.upper, "ab", concurrency=2))
    ([('a', 'A'), ('b', 'B')], [('a', 'A'), ('b', 'B')])
    """
    if concurrency == 1:
        return ((item, work(item)) for item in items)
    return _by_threads(work, items, concurrency)


def _by_threads(
    work: Callable[[Item], Result], items: Iterable[Item], concurrency: int
) -> Generator[tuple[Item, Result]]:  # fmt: skip
    remaining, lock, stopped = iter(items), threading.Lock(), threading.Event()
    first = list(islice(remaining, concurrency))
    remaining = chain(first, remaining)
    # Of each item one function that gives its result or raises; None from a thread that ends.
    outcomes: SimpleQueue[Callable[[], tuple[Item, Result]] | None] = SimpleQueue()

    def serve() -> None:
        while not stopped.is_set():
            with lock:
                batch = list(islice(remaining, 1))
            if not batch:
                break
            outcomes.put(_outcome(work, batch[0]))
        outcomes.put(None)

    # Daemons: whoever presses Ctrl-C does not wait for an answer that may never come.
    threads = [threading.Thread(target=serve, name=f"steelyard-asking-{i}", daemon=True) for i in range(len(first))]
    for thread in threads:
        thread.start()
    try:
        n_serving = len(threads)
        while n_serving:
            try:
                outcome = outcomes.get(timeout=SIGNAL_S)
            except Empty:
                continue
            if outcome is None:
                n_serving -= 1
            else:
                yield outcome()
    finally:
        stopped.set()
        _leave(threads)


def _leave(threads: Sequence[threading.Thread]) -> None:
    """Wait a little until threads have ended, which ask nothing any more."""
    deadline = time.monotonic() + _LEAVING_S
    while time.monotonic() < deadline and (alive := [thread for thread in threads if thread.is_alive()]):
        cancel_requests(alive)
        alive[0].join(_LEAVING_S / 20)


def _outcome(work: Callable[[Item], Result], item: Item) -> Callable[[], tuple[Item, Result]]:
    try:
        result = work(item)
    except BaseException as error:
        raised = error

        def fail() -> tuple[Item, Result]:
            raise raised

        return fail
    return lambda: (item, result)
