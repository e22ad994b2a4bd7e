"""What only all records together show: order, duplicates, events of no request, clocks that differ, sessions, bots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.traffic.tally import Tally

SKEW = timedelta(minutes=1)
"""How far before its request an event may be, as clocks of browsers and servers differ; it is moved to the request."""
MANY_REQUESTS = 300
"""Requests of one user in an hour of the clock from which on nobody types them."""
REGULAR_REQUESTS, REGULAR_SPREAD = 30, 0.05
"""So many requests in an hour whose gaps have a standard deviation below this share of their mean are a timer's."""
ONE_USER, ONE_USER_REQUESTS = 0.9, 100
"""Share of so many requests from which on a single user is a placeholder for all users."""
_HOUR = 3_600_000_000
_FEW = 200
"""Rows that may have to move before all are copied."""
_EVENT = ("time", "key", "row", "kind", "position", "value", "doc_id")


@dataclass(frozen=True)
class Tables:
    """Records that belong together; `row` of events and answers is the row of their impression."""

    impressions: pl.DataFrame
    events: pl.DataFrame
    answers: pl.DataFrame


def clean(
    records: Callable[[str], pl.DataFrame], gap: timedelta, lateness: timedelta, tally: Tally, *,
    since: datetime | None = None,
) -> Tables:  # fmt: skip
    """Tables of all records.

    records    gives those of a kind, as `Rules.schema` has them, once: two kinds at a time would fill the memory
    gap        without a request of a user after which a new session begins
    lateness   how long after its request an event or an answer counts
    since      of earlier impressions there are none, as another look has read them
    """
    known = None if since is None else since + lateness
    impressions = _in_order(records("impression"), tally, one_a_request=True)
    impressions = _with_sessions(impressions, gap, tally).with_row_index("row")
    times, keys = impressions["time"], impressions.select("key", "row")
    events = _in_order(_of_requests(records("event"), keys, tally, known), tally, one_a_request=False)
    events = _events(_soon(events, times, lateness, tally), times, impressions["doc_ids"].list.len(), tally)
    answers = _in_order(_of_requests(records("answer"), keys, tally, known), tally, one_a_request=True)
    answers = _soon(answers, times, lateness, tally)
    return Tables(impressions.drop("key", "file", "line"), events.drop("file", "line"), answers.drop("file", "line"))


def _in_order(frame: pl.DataFrame, tally: Tally, *, one_a_request: bool) -> pl.DataFrame:
    """The rows by time, those of one time by request, whatever order they were written in; each is there once.

    one_a_request   whether there is one row a request, the earliest, and of several of one time the first by its
                    content; else rows are the same that agree in all of _EVENT
    """
    time, file = frame["time"], frame["file"]
    tally.note("out_of_order", frame, ((time < time.shift(1)) & (file == file.shift(1))).fill_null(False))
    values = time.to_physical().to_numpy()
    order: Ints = np.arange(len(values)) if time.is_sorted() else np.argsort(values, kind="stable")
    order = order.astype(np.uint32)  # half of the memory, and what a frame takes
    ties = _ties(values[order])
    del values, time, file
    own = [column for column in _EVENT if column in frame.columns]
    tied = frame.select(own)[order[ties]]
    within = tied.select(pl.arg_sort_by(own, nulls_last=True)).to_series().to_numpy()
    order[ties] = order[ties[within]]
    repeats = _of_request_again(frame, order) if one_a_request else ties[_again(tied[within])]
    if len(repeats):
        is_repeat = np.zeros(len(order), np.bool_)
        is_repeat[order[repeats]] = True
        tally.note("duplicate", frame, pl.Series(is_repeat), is_fatal=True)
        order = np.delete(order, repeats)
    return _rows(frame, order)


def _rows(frame: pl.DataFrame, order: Ints) -> pl.DataFrame:
    """Rows of a frame in an order; where nearly all are where they were, without copies of those."""
    if len(order) < frame.height:
        return frame[order]
    moved = np.flatnonzero(order != np.arange(len(order), dtype=np.uint32))
    if len(moved) > _FEW:
        return frame[order]
    pieces, end = list[pl.DataFrame](), 0
    for run in np.split(moved, np.flatnonzero(np.diff(moved) > 1) + 1) if len(moved) else ():
        pieces += [frame[end : run[0]], frame[order[run]]]
        end = int(run[-1]) + 1
    return pl.concat([*pieces, frame[end:]])


def _ties(values: Ints) -> Ints:
    """Places of ascending values that another place has too."""
    same = values[1:] == values[:-1]
    tied = np.zeros(len(values), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return np.flatnonzero(tied)


def _again(rows: pl.DataFrame) -> Ints:
    """Rows that were there before."""
    return (~rows.select(pl.struct(pl.all()).is_first_distinct()).to_series()).arg_true().to_numpy()


def _of_request_again(frame: pl.DataFrame, order: Ints) -> Ints:
    """Places in an order of rows whose request has another row that counts."""
    id = "key" if "key" in frame.columns else "row"
    if frame[id].n_unique() == frame.height:
        return np.empty(0, np.int64)
    rows = frame.select(id)[order].with_row_index("place").filter(pl.col(id).is_duplicated())
    several = frame[order[rows["place"].to_numpy()]].drop(id, "file", "line")
    content = several.cast(_texts(several)).select(pl.struct(pl.all()).struct.json_encode()).to_series()
    rows = rows.with_columns(several["time"], content.alias("content"))
    first = rows.sort("time", "content").unique(id, keep="first", maintain_order=True)
    return rows.join(first, on="place", how="anti")["place"].to_numpy()


def _texts(frame: pl.DataFrame) -> dict[str, Any]:
    """Types of columns with texts in place of numbers for them, which differ from one reading to the next."""
    lists, words = pl.List(pl.String), pl.String()
    return {
        name: lists if isinstance(dtype, pl.List) and dtype.inner == pl.Categorical else words
        for name, dtype in frame.schema.items()
        if dtype == pl.Categorical or (isinstance(dtype, pl.List) and dtype.inner == pl.Categorical)
    }


def _of_requests(frame: pl.DataFrame, keys: pl.DataFrame, tally: Tally, known: datetime | None) -> pl.DataFrame:
    """Records with the row of their impression in place of its key; without those of none.

    known   from when on each has its impression here; that of an earlier one was read by another look
    """
    row = frame.select("key").join(keys, on="key", how="left", maintain_order="left")["row"]
    frame = frame.drop("key").with_columns(row)
    if known is not None:
        frame = frame.filter(pl.col("row").is_not_null() | (pl.col("time") >= known))
    return tally.drop("orphan", frame, frame["row"].is_null())


def _soon(frame: pl.DataFrame, times: pl.Series, lateness: timedelta, tally: Tally) -> pl.DataFrame:
    """Records that do not come too late after their request;   times   of impressions, by row"""
    return tally.drop("late", frame, frame["time"] > times.gather(frame["row"]) + lateness)


def _events(events: pl.DataFrame, times: pl.Series, n_shown: pl.Series, tally: Tally) -> pl.DataFrame:
    """Events within their list, and not before their request;   n_shown   length of the list of impressions, by row"""
    of_list = events.select(pl.col("kind") != "citation_click").to_series()
    events = tally.drop("beyond_list", events, of_list & (events["position"] > n_shown.gather(events["row"])))
    asked = times.gather(events["row"])
    if not (events["time"] < asked).any():
        return events
    events = tally.drop("before_request", events, events["time"] < asked - SKEW)
    asked = times.gather(events["row"]).alias("asked")
    tally.note("clock_skew", events, events["time"] < asked)
    return events.with_columns(pl.max_horizontal("time", asked).alias("time")).sort("time", maintain_order=True)


def _with_sessions(impressions: pl.DataFrame, gap: timedelta, tally: Tally) -> pl.DataFrame:
    """Impressions with `began`, the time of the first request of a session that the log does not name, and `is_bot`."""
    robot = impressions["is_robot"].fill_null(False)
    rows = impressions["user"].is_not_null().arg_true().to_numpy()
    users = impressions["user"].drop_nulls().to_physical().to_numpy()
    began = np.full(impressions.height, -1)
    is_bot = robot.to_numpy().copy()
    if len(rows):
        real = users != _placeholder(impressions, users, rows, tally)
        rows, users = rows[real], users[real]
        times = impressions["time"].to_physical().to_numpy()[rows]
        order = np.sort(users.astype(np.int64) << 32 | np.arange(len(users))) & 0xFFFFFFFF
        began[rows[order]] = session_starts(users[order], times[order], gap // timedelta(microseconds=1))
        is_bot[rows[order]] |= bot_hours(users[order], times[order])
    tally.note("bot", impressions, pl.Series(is_bot))
    time = pl.Series(began).cast(impressions["time"].dtype).set(pl.Series(began < 0), None)
    return impressions.with_columns(time.alias("began"), pl.Series(is_bot).alias("is_bot")).drop("is_robot")


def _placeholder(impressions: pl.DataFrame, users: Ints, rows: Ints, tally: Tally) -> int:
    """The user who holds nearly all requests; -1 for none."""
    counts = np.bincount(users)
    most = int(counts.argmax())
    if len(rows) < ONE_USER_REQUESTS or counts[most] < ONE_USER * len(rows):
        return -1
    tally.add(
        "one_user", int(counts[most]), str(impressions["user"][int(rows[np.argmax(users == most)])]), is_fatal=False
    )
    return most


def session_starts(users: Ints, times: Ints, gap: int) -> Ints:
    """Time of the first request of the session of each request: until no request of the user for so long.

    users, times   (n,) in the order of user, then time

    >>> session_starts(np.array([1, 1, 1, 2]), np.array([0, 20, 60, 60]), 30)
    array([ 0,  0, 60, 60])
    """
    if not len(users):
        return times
    begins = np.concatenate([[True], (users[1:] != users[:-1]) | (np.diff(times) > gap)])
    starts = np.flatnonzero(begins)
    return np.repeat(times[starts], np.diff(np.append(starts, len(users))))


def bot_hours(users: Ints, times: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether a request is of an hour in which its user asks as only programs do.

    That is at least MANY_REQUESTS, or at least REGULAR_REQUESTS at nearly equal intervals.  Hours are those of the
    clock, so that a look that begins at a full hour judges as a look at all of the log.
    users, times   (n,) in the order of user, then time, in microseconds
    """
    if not len(users):
        return np.zeros(0, np.bool_)
    hours = times // _HOUR
    starts = np.flatnonzero(np.concatenate([[True], (users[1:] != users[:-1]) | (np.diff(hours) != 0)]))
    counts = np.diff(np.append(starts, len(users)))
    is_bot = counts >= MANY_REQUESTS
    for i in np.flatnonzero((counts >= REGULAR_REQUESTS) & ~is_bot):
        gaps = np.diff(times[starts[i] : starts[i] + counts[i]])
        is_bot[i] = gaps.std() < REGULAR_SPREAD * gaps.mean()
    return np.repeat(is_bot, counts)
