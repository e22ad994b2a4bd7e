"""Several questions at once: how many, whose turn it is at a stage that takes fewer, and the threads that ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Annotated, Any, TypeVar

from steelyard.base.limits import at_least
from steelyard.base.settings import validate
from steelyard.services.loops import SIGNAL_S, cancel_requests

CONCURRENCY = 8
"""Questions under way at once where a stage calls out and nobody says how many."""

Concurrency = Annotated[int, at_least(1)] | None
"""Questions that a stage takes at once; None for as many as there are."""
Turn = AbstractContextManager[Any]


def concurrency_of(stage: object) -> int | None:
    """Questions that a stage takes at once, by its `concurrency`; None for any number, and 1 without that attribute.

    Raises   InputError where the attribute is no such number.
    """
    limit: int | None = validate(Concurrency, getattr(stage, "concurrency", 1), type(stage).__name__, "concurrency")
    return limit


def n_at_once(limits: Iterable[int | None], wished: int | None = None) -> int:
    """Questions under way at once: as many as are wished, else as the stages name or 8, and none in vain.

    limits   of each stage, by `concurrency_of`; where all are 1, so is this

    >>> n_at_once([1, None]), n_at_once([1, None, 16]), n_at_once([4], 16), n_at_once([1, 1], 16), n_at_once([])
    (8, 16, 4, 1, 1)
    """
    limits = list(limits)
    wished = wished or max((CONCURRENCY if limit is None else limit for limit in limits), default=1)
    return wished if None in limits else min(wished, max((limit for limit in limits if limit), default=1))


def turns(stages: Mapping[str, object], concurrency: float) -> dict[str, Turn]:
    """Locks to hold while a question is at a stage, by its name; nothing for a stage that takes all at once.

    Stages that name no number work on this computer.  One question at a time is at all of these: several would have one
    processor between them, and their times would be those of others.
    """
    if concurrency == 1:
        return {}
    local, by_name = threading.Lock(), dict[str, Turn]()
    for name, stage in stages.items():
        limit = concurrency_of(stage)
        if not hasattr(stage, "concurrency"):
            by_name[name] = local
        elif limit is not None and limit < concurrency:
            by_name[name] = threading.Semaphore(limit)
    return by_name


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
) -> Generator[tuple[Item, Result]]:
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
