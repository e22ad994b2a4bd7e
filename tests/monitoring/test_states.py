"""Streams whose windows have too few users: they are not well, and the reason and a longer window are said."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from steelyard.base.notes import Note
from steelyard.monitoring.detection import CHART, Detection
from steelyard.monitoring.looking import Look
from steelyard.monitoring.states import few_users, looked_later, state_of, states_of, unknown_segments
from steelyard.reports.views.look import look_sections, title_text
from steelyard.reports.views.view import Look as Form
from steelyard.reports.words import read_words
from steelyard.traffic.series import POINTS, Series
from steelyard.traffic.windows import Windows
from tests.monitoring.looks import START

pytest.importorskip("scipy", reason="charts need the extra stats")

HOUR = timedelta(hours=1)
CTR, REQUESTS = Series("ctr", "feedback", scale="share"), Series("requests", "service")
DETECTIONS = [
    Detection(CTR, "", "few", CHART.to_frame(), note=Note("monitor_few_windows", {"n": 0, "least": 20})),
    Detection(REQUESTS, "", "well", CHART.to_frame()),
]


def points(n_windows: int, users: int, *, value: float | None = None, every: timedelta = HOUR) -> pl.DataFrame:
    rows = [
        {"series": "ctr", "segment": "", "start": START + i * every, "end": START + (i + 1) * every, "value": value,
         "n": users}
        for i in range(n_windows)
    ]  # fmt: skip
    return pl.DataFrame(rows, POINTS)


def notes(frame: pl.DataFrame, window: str = "1h") -> list[Note]:
    return list(few_users(DETECTIONS, states_of(DETECTIONS, []), frame, Windows.parse(window)))


def test_a_stream_without_users_enough_in_any_window_is_not_well() -> None:
    (note,) = notes(points(240, 6))
    assert (note.code, note.values["window"], note.values["most"]) == ("monitor_few_users_longer", "6h", 36)
    streams = states_of(DETECTIONS, [])
    assert streams == {"feedback": "few", "service": "well"}
    assert state_of(streams, [note]) == "few"
    assert state_of({**streams, "service": "warn"}, [note]) == "warn"
    assert state_of(streams, []) == "well"  # As before: windows are few yet, and something is watched.


def test_the_window_that_would_do_is_the_shortest_with_users_enough() -> None:
    assert [note.values["window"] for note in notes(points(240, 1))] == ["1d"]
    assert [note.code for note in notes(points(40, 1, every=timedelta(days=7)), "1w")] == ["monitor_few_users"]
    assert [note.values["window"] for note in notes(points(40, 4), "5 requests")] == ["25 requests"]


@pytest.mark.parametrize("frame", [points(19, 6), points(240, 0), points(240, 40, value=0.3)],
                         ids=["early", "idle", "watched"])  # fmt: skip
def test_other_streams_are_not_blind(frame: pl.DataFrame) -> None:
    assert notes(frame) == []


def test_the_reason_is_the_gravest_caution_in_words() -> None:
    found = notes(points(240, 6))
    look = Look("shop", START, "few", states_of(DETECTIONS, []), DETECTIONS, notes=found)
    words = read_words("en")
    assert title_text(look, words).startswith("Too few data")
    first = look_sections(look, Form("table", words))[0].paragraphs[0]
    assert first.text == (
        'feedback is not watched: most windows have 6 users, and 10 are needed; window = "6h" would have up to 36'
    )


def test_a_segment_without_any_value_is_named_with_the_nearest_column() -> None:
    frame = pl.concat([points(2, 20), points(2, 20).with_columns(segment=pl.lit("arm=a"))])
    found = [(note.code, note.values["near"]) for note in unknown_segments(["languge", "tenant", "arm"], frame)]
    assert found == [("monitor_near_segment", "language"), ("monitor_no_segment", "")]
    assert list(unknown_segments(["languge"], frame.clear())) == []


def test_a_look_before_the_last_one_says_so() -> None:
    (note,) = looked_later(points(5, 20), START + HOUR)
    assert note == Note("monitor_later", {"time": "2026-09-27 21:00 UTC"})
    assert list(looked_later(points(5, 20), START + 5 * HOUR)) == []
