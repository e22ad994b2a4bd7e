"""Logs that were read: three tables, clean and in the order of time, and what was wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import polars as pl

from steelyard.base.short_repr import short_repr


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


@dataclass(frozen=True, eq=False, repr=False)
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
    ends          says where the files ended, for `positions`; None for tables that were not read from files
    """

    impressions: pl.LazyFrame
    events: pl.LazyFrame
    answers: pl.LazyFrame
    troubles: Sequence[Trouble] = ()
    sources: Sequence[str] = ()
    n: Mapping[str, int] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None
    ends: Callable[[datetime], dict[str, Any]] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return short_repr(self)

    def positions(self, closed: datetime) -> dict[str, Any]:
        """Where the next look reads on, once windows before `closed` are measured: `positions` of `read_logs`, as JSON.

        Nothing before these places has a time at or after `closed`.  They begin earlier than it, at the first request
        whose events may still come or whose session may still be open, so that what is at or after `closed` is read as
        it would be with all before it.  Tables alone have none.
        """
        return {} if self.ends is None else self.ends(closed)

    def between(self, after: datetime | None, until: datetime) -> Logs:
        """The same with the impressions of a time alone.

        after   the first moment, None for any;   until   the first one that is left out
        """
        time = pl.col("time")
        inside = time < until if after is None else time.is_between(after, until, closed="left")
        return replace(self, impressions=self.impressions.filter(inside))
