"""Logs that were read: three tables, clean and in the order of time, and what was wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl


@dataclass(frozen=True)
class Trouble:
    """Something that was wrong with logs, and how often.

    kind      such as "torn_line", "duplicate", "future", "orphan_event", "unknown_kind", "negative_dwell"
    n         records
    example   where the first one is: "logs/2026-11-01.jsonl, line 17"
    is_fatal  whether the records were left out; others were repaired, or are only reported
    """

    kind: str
    n: int
    example: str = ""
    is_fatal: bool = True


@dataclass(frozen=True, eq=False)
class Logs:
    """Impressions, events and answers of a service.

    impressions   schema IMPRESSIONS, and one String column per segment that was asked for, in the order of time; with
                  `is_bot`, Boolean, and `row`, UInt32, its number from 0.  Each request is there once
    events        schema EVENTS, in the order of time, and `row`, that of its impression, by which a join is faster than
                  by `request`
    answers       schema ANSWERS, one per request at most, and `row`
    troubles      what was wrong, most frequent first
    sources       files that were read
    n             records of each kind that are in the tables
    first, last   earliest and latest time of an impression; None without any
    """

    impressions: pl.LazyFrame
    events: pl.LazyFrame
    answers: pl.LazyFrame
    troubles: Sequence[Trouble] = ()
    sources: Sequence[str] = ()
    n: Mapping[str, int] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None
