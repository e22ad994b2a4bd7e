"""What a monitor remembers is there again, and a look that was overtaken writes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import select

from steelyard.monitoring.alerts import Alert, Change, Example, Shift
from steelyard.monitoring.memory import Memory, Overtaken, alert_of, alert_text
from steelyard.store.schema import DELIVERIES
from steelyard.traffic.series import POINTS

T0 = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SHIFT = Shift(
    "ctr", "language=zh", "feedback", "higher", 0.31, 0.22, -0.12, -0.06, T0, T0 - HOUR, T0 + HOUR, "cusum", 800.0
)  # fmt: skip
ALERT = Alert(
    "3f9a", "alert", "segment", T0 + HOUR, [SHIFT], [Change("config", T0, "v12")], [Example("r1", "退货政策？")]
)  # fmt: skip
DELIVERY = {
    "key": "3f9a", "sink": "slack", "created": 0, "message": "{}", "attempts": 0, "next_time": 0, "error": ""
}  # fmt: skip


def points(n: int, value: float | None = 0.3) -> pl.DataFrame:
    rows = [("ctr", "", T0 + i * HOUR, T0 + (i + 1) * HOUR, value, 0.01, None, 80) for i in range(n)]
    return pl.DataFrame(rows, POINTS, orient="row")


def test_a_memory_that_was_never_written_is_empty(tmp_path: Path) -> None:
    remembered = Memory(tmp_path / "history.db", "support").load()
    assert remembered.points.schema == POINTS
    assert (remembered.points.height, remembered.documents, remembered.alerts, remembered.n_looks) == (0, {}, (), 0)


def test_what_was_recorded_is_there_again_bit_for_bit(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "history.db", "support")
    frame = points(3, value=0.1 + 0.2)
    memory.record(memory.load(), points=frame, documents={"positions": {"a": [1]}, "old": 1}, alerts=[ALERT])
    memory.record(memory.load(), points=points(4, value=None), documents={"old": None}, alerts=[])
    remembered = memory.load()
    assert remembered.points.head(3).equals(frame, null_equal=True)  # Windows that are there stay as they are.
    assert remembered.points["value"].to_list()[3] is None
    assert remembered.documents == {"positions": {"a": [1]}}
    assert list(remembered.alerts) == [ALERT]
    assert remembered.n_looks == 2
    assert memory.load(after=T0 + 3 * HOUR).points.height == 1
    assert Memory(tmp_path / "history.db", "another").load().points.is_empty()


def test_a_look_that_was_overtaken_writes_nothing(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "history.db", "support")
    before = memory.load()
    memory.record(before, points=points(1), documents={}, alerts=[ALERT], deliveries=[DELIVERY])
    with pytest.raises(Overtaken):
        memory.record(
            before, points=points(9), documents={"x": 1}, alerts=[], deliveries=[{**DELIVERY, "sink": "mail"}]
        )
    remembered = memory.load()
    assert (remembered.points.height, remembered.documents, remembered.n_looks) == (1, {}, 1)
    memory.record(remembered, points=points(1), documents={}, alerts=[ALERT], deliveries=[DELIVERY])
    with memory.database.reading() as connection:
        assert connection.execute(select(DELIVERIES.c.sink)).scalars().all() == ["slack"]  # Once, however often raised.


def test_an_alert_is_text_and_back() -> None:
    assert alert_of(alert_text(ALERT)) == ALERT
    with pytest.raises(ValueError, match="validation error"):
        alert_of("{}")
