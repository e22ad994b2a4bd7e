"""Messages on their way to the sinks: kept in the store until each was taken, and sent again where one was not."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from steelyard.base.errors import SteelyardError
from steelyard.monitoring.sinks.message import DeliveryError, Message
from steelyard.monitoring.sinks.sink import Sink
from steelyard.store.database import Database
from steelyard.store.entries import microseconds

LOOK_S = 10.0
"""Seconds that all deliveries of a look take at most; sinks are served at once."""
_LEASE_US = 120 * 1_000_000
"""For so long a message belongs to the process that took it: longer than any delivery lasts."""
_FIRST_WAIT_S, _LONGEST_WAIT_S, _LONGEST_ASKED_S = 30.0, 900.0, 3_600.0
_KEPT_US, _TRIED = 3 * 86_400 * 1_000_000, 8
"""A message is given up when it is older and was tried that often: a clock that jumps ahead alone loses nothing."""
_YOUNG = 3
"""After so many attempts, a message no longer holds back those behind it: it may be the one that is refused."""
_BATCH = 15
"""Messages to one sink in a look: the chats take 20 a minute."""
_LEAST_S, _GRACE_S = 0.2, 1.0


@dataclass(frozen=True)
class Delivery:
    """What became of a message in a look.

    sink, key   which message, and to whom;   title   of the message
    error       why it was not taken; empty for one that was
    is_lost     whether it is not tried again
    """

    sink: str
    key: str
    title: str
    error: str = ""
    is_lost: bool = False


def rows_of(messages: Iterable[Message], sinks: Iterable[Sink], now: datetime) -> list[dict[str, Any]]:
    """Rows of the table of deliveries, but for the monitor: every message for every sink that takes messages."""
    created, takers = microseconds(now), [sink.label for sink in sinks if sink.TAKES_MESSAGES]
    texts = {message.key: json.dumps(message.record, ensure_ascii=False) for message in messages}
    row = {"created": created, "next_time": created, "attempts": 0, "error": ""}
    return [{**row, "key": key, "sink": sink, "message": text} for key, text in texts.items() for sink in takers]


class Outbox:
    """The messages of one monitor.

    clock   the time now, in UTC: leases and waits are compared between processes by it
    """

    def __init__(
        self, database: Database, monitor: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._database, self._monitor, self._clock = database, monitor, clock
        self._owner = uuid.uuid4().hex

    def deliver(self, sinks: Sequence[Sink], seconds: float = LOOK_S) -> list[Delivery]:
        """Send what is due, to all sinks at once, the messages of a sink in the order in which they came.

        A sink that fails gets no other message in this look.  Whatever a sink does, this ends in time; a message that
        was under way then belongs to this process a while longer, and is sent again under the same key.
        seconds   that all of it takes at most
        Raises    as `Database`.
        """
        until = time.monotonic() + seconds
        by_name = {sink.label: sink for sink in sinks if sink.TAKES_MESSAGES}
        claims = self._claim(by_name)
        deliveries: dict[str, list[Delivery]] = {name: [] for name in claims}
        workers = []
        for name, rows in claims.items():
            job = (by_name[name], rows, deliveries[name], until)
            workers.append(threading.Thread(target=self._serve, args=job, name=f"sink-{name}", daemon=True))
            workers[-1].start()
        for worker, (name, rows) in zip(workers, claims.items(), strict=True):
            worker.join(max(until + _GRACE_S - time.monotonic(), 0))
            if worker.is_alive():
                row = rows[len(deliveries[name])]
                deliveries[name] = [*deliveries[name], _delivery(row, f"{name}: did not end within {seconds:g} s")]
        return [delivery for own in deliveries.values() for delivery in own]

    def waiting(self, sinks: Iterable[Sink]) -> list[Delivery]:
        """What was not taken yet, oldest first, with the last error of each."""
        names = {sink.label for sink in sinks}
        with self._database.reading() as connection:
            rows = [row for row in self._unsent(connection) if row["sink"] in names]
        return [_delivery(row, row["error"], is_lost=self._is_lost(row)) for row in rows]

    def _unsent(self, connection: Any) -> list[Mapping[str, Any]]:
        from sqlalchemy import select

        from steelyard.store.schema import DELIVERIES

        c = DELIVERIES.c
        query = select(DELIVERIES).where(c.monitor == self._monitor, c.sent.is_(None)).order_by(c.created, c.key)
        return list(connection.execute(query).mappings())

    def _claim(self, names: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
        """Take what is due: sink -> its messages, oldest first, which belong to this process for a while."""
        from steelyard.store.schema import DELIVERIES

        c, now = DELIVERIES.c, microseconds(self._clock())
        by_sink: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        with self._database.writing() as connection:
            for row in self._unsent(connection):
                if not self._is_lost(row):
                    by_sink[row["sink"]].append(row)
            claims = {name: rows for name in names if (rows := _due(by_sink[name], now))}
            for name, rows in claims.items():
                keys = [row["key"] for row in rows]
                own = (c.monitor == self._monitor, c.sink == name, c.key.in_(keys))
                values = {"claimed_until": now + _LEASE_US, "claimed_by": self._owner}
                connection.execute(DELIVERIES.update().where(*own).values(**values))
        return claims

    def _is_lost(self, row: Mapping[str, Any]) -> bool:
        return bool(row["attempts"] >= _TRIED and microseconds(self._clock()) - row["created"] > _KEPT_US)

    def _serve(self, sink: Sink, rows: list[Mapping[str, Any]], deliveries: list[Delivery], until: float) -> None:
        """Send the messages of a sink until one fails, and note each at once."""
        for n, row in enumerate(rows):
            seconds = until - time.monotonic()
            error: SteelyardError | None = None
            try:
                if seconds < _LEAST_S:
                    self._note(rows[n:], claimed_until=None, claimed_by=None)
                    return
                sink.send(Message.of(json.loads(row["message"])), seconds)
            except SteelyardError as failure:
                error = failure
            try:
                self._note([row], **self._outcome(row, error))
                if error is not None:
                    self._note(rows[n + 1 :], claimed_until=None, claimed_by=None)
            except SteelyardError as failure:
                error = error or failure
            deliveries.append(_delivery(row, str(error or "")))
            if error is not None:
                return

    def _outcome(self, row: Mapping[str, Any], error: SteelyardError | None) -> dict[str, Any]:
        """What changes in a row after an attempt."""
        now, attempts = microseconds(self._clock()), row["attempts"] + 1
        values = {"attempts": attempts, "claimed_until": None, "claimed_by": None, "error": str(error or "")}
        if error is None:
            return {**values, "sent": now}
        wait_s = min(_FIRST_WAIT_S * 2.0 ** min(row["attempts"], 10), _LONGEST_WAIT_S)
        asked_s = error.wait_s if isinstance(error, DeliveryError) else None
        wait = timedelta(seconds=max(wait_s, min(asked_s or 0.0, _LONGEST_ASKED_S)))
        return {**values, "next_time": now + wait // timedelta(microseconds=1)}

    def _note(self, rows: Sequence[Mapping[str, Any]], **values: Any) -> None:
        """Change rows that still belong to this process."""
        from steelyard.store.schema import DELIVERIES

        c, keys = DELIVERIES.c, [row["key"] for row in rows]
        if keys:
            own = (c.monitor == self._monitor, c.sink == rows[0]["sink"], c.key.in_(keys), c.claimed_by == self._owner)
            with self._database.writing() as connection:
                connection.execute(DELIVERIES.update().where(*own).values(**values))


def _due(rows: Sequence[Mapping[str, Any]], now: int) -> list[Mapping[str, Any]]:
    """The messages to send now, of those of one sink, oldest first: the order is kept, but behind one that fails often.

    A time that lies further ahead than any wait or lease was set by a clock that has gone back since.
    """
    due: list[Mapping[str, Any]] = []
    for row in rows:
        until, next_time = row["claimed_until"] or now, row["next_time"]
        is_claimed = now < until <= now + _LEASE_US
        waits = now < next_time <= now + _LONGEST_ASKED_S * 1_000_000
        if is_claimed or (waits and row["attempts"] < _YOUNG):
            break
        if not waits:
            due.append(row)
    return due[:_BATCH]


def _delivery(row: Mapping[str, Any], error: str = "", *, is_lost: bool = False) -> Delivery:
    return Delivery(row["sink"], row["key"], json.loads(row["message"])["title"], error, is_lost)
