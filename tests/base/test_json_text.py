"""JSON is written in one way: finite numbers, and times that can be repeated."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.base.json_text import json_text
from steelyard.base.machine import timestamp


def test_what_is_no_number_of_json_is_null() -> None:
    value = {"a": np.float64("nan"), "b": (np.int64(3), float("-inf")), "c": np.array([[1.5, np.inf]]), "d": Path("x")}
    assert json.loads(json_text(value), parse_constant=pytest.fail) == {
        "a": None,
        "b": [3, None],
        "c": [[1.5, None]],
        "d": "x",
    }
    assert json_text({"名": True}) == '{\n  "名": true\n}\n'


def test_times_are_of_iso_8601() -> None:
    times = {"time": datetime(2026, 11, 10, tzinfo=UTC), "day": date(2026, 11, 10)}
    assert json.loads(json_text(times)) == {"time": "2026-11-10T00:00:00+00:00", "day": "2026-11-10"}


def test_a_time_that_is_named_makes_results_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert timestamp() == "2023-11-14T22:13:20+00:00"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is 'soon', expected seconds since 1970"):
        timestamp()
