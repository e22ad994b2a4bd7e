"""The 60 commits of the year: what each changes in the configuration of the pipeline, and in the documents."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

N_COMMITS, DAYS_BETWEEN = 60, 6
_START = datetime(2025, 11, 3, 9, tzinfo=UTC)
_BM25_AND_DENSE = ["bm25", "dense"]


@dataclass(frozen=True)
class Commit:
    """One commit.

    settings   of the pipeline from here on, in place of earlier ones;   corpus   True if the documents change here
    """

    number: int
    time: datetime
    subject: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    corpus: bool = False


_EVENTS: Mapping[int, tuple[str, Mapping[str, Any]]] = {
    16: ("Cut documents smaller, to fit more chunks into the prompt", {"size": 110, "overlap": 0}),
    22: ("Cut documents as before", {"size": 300, "overlap": 50}),
    45: ("Index with the new tokeniser", {"index": [{"kind": "bm25", "chinese": "none"}]}),
    50: ("Go back to the tokeniser that knows Chinese", {"index": _BM25_AND_DENSE}),
}
"""Losses, and when they were mended; whoever wrote them meant no harm."""
_CORPUS = 33
_TUNINGS: Mapping[str, tuple[str, range]] = {
    "overlap": ("Try an overlap of {} characters", range(30, 71, 5)),
    "top_n": ("Rerank the first {} chunks", range(24, 41, 2)),
    "dimensions": ("Use {} dimensions of the vectors", range(48, 97, 4)),
}
"""Changes that hardly matter: setting -> subject and values."""


def commits(seed: int) -> Iterator[Commit]:
    """The commits, oldest first; the seed chooses among changes that hardly matter."""
    rng = random.Random(seed)
    for number in range(1, N_COMMITS + 1):
        time = _START + timedelta(days=DAYS_BETWEEN * (number - 1))
        if number in _EVENTS:
            yield Commit(number, time, *_EVENTS[number])
        elif number == _CORPUS:
            yield Commit(number, time, "Take over the documents of the season", corpus=True)
        else:
            setting = rng.choice([*_TUNINGS])
            subject, values = _TUNINGS[setting]
            value = rng.choice(values)
            yield Commit(number, time, subject.format(value), {setting: value})
