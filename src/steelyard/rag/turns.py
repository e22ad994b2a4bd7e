"""How many questions are under way at once, and whose turn it is at a stage that takes fewer."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any

from steelyard.base.limits import at_least
from steelyard.base.settings import validate

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
    """What to hold while a question is at a stage, by its name; nothing for a stage that takes all at once.

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
