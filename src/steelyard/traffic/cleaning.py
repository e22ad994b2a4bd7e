"""What only all records together show: order, duplicates, events of no request, clocks that differ, sessions, bots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
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
_EVENT = ("time", "key", "kind", "position", "value", "doc_id")


@dataclass(frozen=True)
class Tables:
    """Records that belong together; `row` of events and answers is the row of their impression."""

    impressions: pl.DataFrame
    events: pl.DataFrame
    answers: pl.DataFrame


def clean(frames: Mapping[str, pl.DataFrame], gap: timedelta, lateness: timedelta, tally: Tally) -> Tables:
    """Tables of all records.

    frames     by kind, as `Rules.schema` has them
    gap        without a request of a user after which a new session begins
    lateness   how long after its request an event or an answer counts
    """
    impressions = _one_a_request(_in_order(frames["impression"], tally), tally)
    impressions = _with_sessions(impressions, gap, tally).with_row_index("row")
    shown = pl.col("doc_ids").list.len().alias("n_shown")
    asked = impressions.select("key", "row", pl.col("time").alias("asked"), shown)
    events = _events(_one_of_a_kind(_in_order(frames["event"], tally), tally), asked, lateness, tally)
    answers = _of_requests(_one_a_request(_in_order(frames["answer"], tally), tally), asked, lateness, tally)
    own = ("key", "file", "line")
    return Tables(impressions.drop(own), events.drop(own), answers.drop(*own, "asked", "n_shown"))


def _in_order(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """The rows by time, those of one time by request, whatever order they were written in."""
    time, file = frame["time"], frame["file"]
    is_back = ((time < time.shift(1)) & (file == file.shift(1))).fill_null(False)
    tally.note("out_of_order", frame, is_back)
    if not time.is_sorted():
        frame = frame.sort("time", maintain_order=True)
    ties = _ties(frame["time"])
    if not len(ties):
        return frame
    own = [column for column in _EVENT if column in frame.columns]
    order = np.arange(frame.height)
    order[ties] = ties[frame[ties].select(pl.arg_sort_by(own, nulls_last=True)).to_series().to_numpy()]
    return frame[order]


def _ties(time: pl.Series) -> Ints:
    """Rows whose time another row has too; times ascend."""
    values = time.to_physical().to_numpy()
    same = values[1:] == values[:-1]
    tied = np.zeros(len(values), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return np.flatnonzero(tied)


def _one_a_request(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """The earliest record of each request; of several of one time, the first by its content."""
    twice = frame["key"].is_duplicated()
    if not twice.any():
        return frame
    columns = [pl.col(column) for column in frame.columns if column not in ("time", "key", "file", "line")]
    several = frame.with_row_index("row").filter(twice)
    content = several.select(pl.struct(columns).cast(_texts(several, columns)).struct.json_encode()).to_series()
    first = several.with_columns(content.alias("content")).sort("time", "content").unique("key", keep="first")["row"]
    is_repeat = twice.clone()
    is_repeat = is_repeat.scatter(first, False)
    return tally.drop("duplicate", frame, is_repeat)


def _texts(frame: pl.DataFrame, columns: list[pl.Expr]) -> Any:
    """The type of rows with texts in place of numbers for them, which differ from one reading to the next."""
    kinds = {
        name: pl.List(pl.String)
        if dtype == pl.List(pl.Categorical)
        else pl.String
        if dtype == pl.Categorical
        else dtype
        for name, dtype in frame.select(columns).schema.items()
    }
    return pl.Struct(kinds)


def _one_of_a_kind(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Events without those that are of the same request, time, kind, position, value and document as the one before."""
    ties = _ties(frame["time"])
    if not len(ties):
        return frame
    is_repeat = np.zeros(frame.height, np.bool_)
    is_repeat[ties] = ~frame[ties].select(pl.struct(_EVENT).is_first_distinct()).to_series().to_numpy()
    return tally.drop("duplicate", frame, pl.Series(is_repeat))


def _of_requests(frame: pl.DataFrame, asked: pl.DataFrame, lateness: timedelta, tally: Tally) -> pl.DataFrame:
    """Records with the row and the time of their impression; without those of none, and those that come too late."""
    frame = frame.join(asked, on="key", how="left", maintain_order="left")
    frame = tally.drop("orphan", frame, frame["row"].is_null())
    return tally.drop("late", frame, frame["time"] > frame["asked"] + lateness)


def _events(events: pl.DataFrame, asked: pl.DataFrame, lateness: timedelta, tally: Tally) -> pl.DataFrame:
    events = _of_requests(events, asked, lateness, tally)
    of_list = events["kind"].cast(pl.String) != "citation_click"
    events = tally.drop("beyond_list", events, of_list & (events["position"] > events["n_shown"]))
    ahead = events["asked"] - events["time"]
    events = tally.drop("before_request", events, ahead > SKEW)
    if tally.note("clock_skew", events, events["time"] < events["asked"]):
        events = events.with_columns(pl.max_horizontal("time", "asked").alias("time")).sort("time", maintain_order=True)
    return events.drop("asked", "n_shown")


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
        order = np.argsort(users, kind="stable")
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
    starts: Ints = times[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return starts


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
