"""The example of monitoring, with fewer sessions: exactly what goes wrong is alarmed, by its cause and its day."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from steelyard.monitoring.watching import monitor

pytest.importorskip("bm25s", reason="BM25, of the extra rag")
pytest.importorskip("sklearn", reason="LSA, of the extra rag")
pytest.importorskip("scipy", reason="charts need the extra stats")
pytest.importorskip("sqlalchemy", reason="a monitor remembers in the extra store")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "monitoring"


@pytest.mark.slow
def test_a_broken_reranker_and_a_lost_language_alone_are_alerts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    import simulate

    service = simulate.Service(tmp_path, sessions=150)
    for day in range(simulate.N_DAYS):
        service.day(day)
    start = simulate.START
    measures = ["ctr", "first_click_rr", "empty_rate", "diversity", "latency_ms:p50", "requests"]
    holiday = [start + timedelta(days=day) for day in (simulate.HOLIDAY.start, simulate.HOLIDAY.stop - 1)]
    look = monitor(
        {
            "logs": [str(tmp_path / "logs")], "window": "1d", "timezone": str(simulate.ZONE), "drift": False,
            "false_alarms": "1 per year", "segments": ["language"], "measures": measures,
            "holiday": [{"start": holiday[0].date(), "end": holiday[1].date(), "text": "National Day"}],
            "store": {"url": str(tmp_path / "history.db")},
        },
        now=start + timedelta(days=simulate.N_DAYS, hours=2),
    )  # fmt: skip
    raised = [(own.state, own.cause, (own.since - start).days) for own in (*look.past, *look.alerts)]
    assert sorted(own for own in raised if own[0] == "alert") == [
        ("alert", "regression", simulate.BROKEN.start), ("alert", "segment", simulate.CHINESE_LOST),
    ]  # fmt: skip
    assert {own[1:] for own in raised if own[0] == "warn"} <= {("corpus", simulate.DOCUMENTS)}
    assert ("corpus", start + timedelta(days=simulate.DOCUMENTS)) in [(own.kind, own.time) for own in look.changes]
    (segment,) = [own for own in look.alerts if own.until is None]
    assert {shift.segment for shift in segment.shifts} <= {"", "language=zh"}
