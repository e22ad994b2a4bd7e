"""What a monitor remembers from look to look, in a store: points, documents by name, alerts, and messages to send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from steelyard.monitoring.alerts import Alert
from steelyard.store.database import Database
from steelyard.store.entries import microseconds
from steelyard.traffic.series import POINTS

_LOOKS = "looks"
_ROWS = 5_000
"""Points that are written by one statement."""


class Overtaken(Exception):
    """Another look of the same monitor was recorded since this one began."""


@dataclass(frozen=True, eq=False)
class Remembered:
    """A monitor as it was when a look began.

    points      schema POINTS, by series, segment and start
    documents   what was kept by name: plain data that JSON holds
    alerts      by time, oldest first
    n_looks     how many looks were recorded before
    """

    points: pl.DataFrame
    documents: Mapping[str, Any] = field(default_factory=dict)
    alerts: Sequence[Alert] = ()
    n_looks: int = 0


class Memory:
    """The memory of one monitor.

    url       of the store, as `Store` takes it;   monitor   its name
    Raises    as `Store`
    """

    def __init__(self, url: str | Path, monitor: str) -> None:
        self.monitor = monitor
        self.database = Database(url)

    def load(self, *, after: datetime | None = None) -> Remembered:
        """What is there; nothing where the store does not exist yet.

        after   points of windows that start before it are left out
        """
        from sqlalchemy import select

        from steelyard.store.schema import ALERTS, STATES
        from steelyard.store.schema import POINTS as TABLE

        if not self.database.exists:
            return Remembered(POINTS.to_frame())
        if self.database.path is None:
            with self.database.writing():
                """A database of a server is there before its tables are: the first look creates them."""
        with self.database.reading() as connection:
            columns = [TABLE.c[name] for name in POINTS]
            query = select(*columns).where(TABLE.c.monitor == self.monitor)
            if after is not None:
                query = query.where(TABLE.c.start >= microseconds(after))
            points = _points(connection.execute(query.order_by(TABLE.c.series, TABLE.c.segment, TABLE.c.start)))
            states = connection.execute(select(STATES.c.name, STATES.c.value).where(STATES.c.monitor == self.monitor))
            documents = {name: json.loads(value) for name, value in states}
            own = select(ALERTS.c.value).where(ALERTS.c.monitor == self.monitor).order_by(ALERTS.c.time, ALERTS.c.key)
            alerts = [alert_of(value) for (value,) in connection.execute(own)]
        n_looks = int(documents.pop(_LOOKS, 0))
        return Remembered(points, documents, alerts, n_looks)

    def record(
        self,
        before: Remembered,
        *,
        points: pl.DataFrame,
        documents: Mapping[str, Any],
        alerts: Iterable[Alert],
        deliveries: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Record a look, whole or not at all.

        points       schema POINTS: windows that are there already stay as they are
        documents    those that changed; a value of None removes one
        alerts       new ones, and those that changed
        deliveries   rows of the table of deliveries, without the monitor; those that are there already stay
        Raises       Overtaken where another look was recorded since `before` was read, and then nothing is written
        """
        from steelyard.store.schema import ALERTS, DELIVERIES, STATES
        from steelyard.store.schema import POINTS as TABLE

        own = {"monitor": self.monitor}
        with self.database.writing() as connection:
            if self._n_looks(connection) != before.n_looks:
                raise Overtaken
            for rows in points.select(*POINTS).iter_slices(_ROWS):
                _insert_new(connection, TABLE, [own | _row(row) for row in rows.iter_rows(named=True)])
            values = {name: value for name, value in documents.items() if value is not None}
            values |= {_LOOKS: before.n_looks + 1}
            for name in {*documents, _LOOKS}:
                connection.execute(STATES.delete().where(STATES.c.monitor == self.monitor, STATES.c.name == name))
            texts = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
            connection.execute(STATES.insert(), [own | {"name": name, "value": text} for name, text in texts.items()])
            for alert in alerts:
                connection.execute(ALERTS.delete().where(ALERTS.c.monitor == self.monitor, ALERTS.c.key == alert.key))
                row = {"key": alert.key, "time": microseconds(alert.time), "value": alert_text(alert)}
                connection.execute(ALERTS.insert().values(**own, **row))
            _insert_new(connection, DELIVERIES, [own | dict(row) for row in deliveries])

    def _n_looks(self, connection: Any) -> int:
        from sqlalchemy import select

        from steelyard.store.schema import STATES

        query = select(STATES.c.value).where(STATES.c.monitor == self.monitor, STATES.c.name == _LOOKS)
        return int(connection.execute(query).scalar() or 0)


def alert_text(alert: Alert) -> str:
    """An alert in JSON."""
    text: str = _adapter().dump_json(alert).decode()
    return text


def alert_of(text: str) -> Alert:
    """The alert that `alert_text` wrote.

    Raises   ValueError for anything else.
    """
    alert: Alert = _adapter().validate_json(text)
    return alert


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Alert)


def _insert_new(connection: Any, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows; those whose key is there already stay as they are."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    else:
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]
    connection.execute(insert(table).on_conflict_do_nothing(), rows)


def _points(rows: Iterable[Any]) -> pl.DataFrame:
    types = POINTS | {"start": pl.Int64, "end": pl.Int64}
    frame = pl.DataFrame([tuple(row) for row in rows], pl.Schema(types), orient="row")
    return frame.with_columns(pl.col("start", "end").cast(POINTS["start"]))


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "start": microseconds(row["start"]), "end": microseconds(row["end"])}
