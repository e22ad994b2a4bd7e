"""A look of a monitor in every format: its verdict, alerts, streams, and what to be careful with."""

import json
import math
import re
from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from steelyard.base.notes import Note
from steelyard.monitoring.alerts import Change
from steelyard.reports.views.look import by_gravity, look_line, nearness, well_since
from steelyard.reports.words import read_words
from steelyard.traffic.logs import Trouble
from steelyard.traffic.series import Series
from tests.monitoring.looks import CTR, DAY, ENDED, START, alert, detection, look, shift, too_short

HERE = "Asia/Shanghai"


@pytest.mark.parametrize(
    ("state", "first"),
    [
        ("well", "Well since 2026-09-28: shop up to 2026-11-23, 24 series, 1 false alarm a month allowed."),
        ("alert", "ALERT: shop has 1 open alert at 2026-11-23, 23 series, 1 false alarm a month allowed."),
        ("few", "Too few data: shop up to 2026-11-23, 8 series, 1 false alarm a month allowed."),
    ],
)
def test_a_terminal_shows_the_verdict_and_a_row_an_alert_or_a_stream(state: str, first: str) -> None:
    shown = look(state).text(lang="en", width=100)  # type: ignore[arg-type]
    lines = shown.splitlines()
    assert lines[0] == first
    assert "2 records of the logs" not in shown
    assert "Careful: 38 records of the logs were left out" in shown
    if state == "alert":
        assert lines[4].split("   ") == ["5f5f5f", "worse", "2026-11-17", "ctr +2", "0.300 → 0.240"]
        assert "feedback" not in shown
    assert len(lines) <= 12


def test_it_is_well_since_the_last_alert_ended_whatever_notices_did() -> None:
    assert well_since(look()) == START
    assert well_since(look(past=[alert(until=START + 20 * DAY), ENDED])) == START + 20 * DAY
    assert well_since(look(detections=[])) is None
    assert look(detections=[], streams={}, time=None).text(lang="en").startswith("shop has no window yet")


def test_many_alerts_are_counted_and_an_ended_one_is_not_open() -> None:
    alerts = [alert(key=f"{n:032x}") for n in range(9)] + [alert(until=START + 56 * DAY), replace(ENDED, until=None)]
    lines = look("alert", alerts=alerts).text(lang="en", width=80).splitlines()
    assert sum(" worse " in line for line in lines) == 6
    assert lines[0].startswith("ALERT: shop has 9 open alerts")
    assert "3 more alerts: -v" in lines


def test_an_alert_of_series_without_values_names_them() -> None:
    silent = [Change("window without data", START, name) for name in ("ctr", "thumbs")]
    text = look("alert", alerts=[alert(cause="logging", shifts=[], changes=silent)]).text(lang="en", width=80)
    assert re.search(r"logs changed +2026-09-28 +ctr \+1 +–$", text, re.M)


def test_a_notice_is_said_and_is_no_alert() -> None:
    lines = look(alerts=[replace(ENDED, until=None)]).text(lang="en", width=80).splitlines()
    assert lines[0].startswith("Well since")
    assert "Notice: The documents changed, and with them recall@10." in lines


def test_one_line_a_look_while_it_stays_up() -> None:
    following, words = START + 56 * DAY + timedelta(minutes=15), read_words("en")
    assert look_line(look(), words, following=following) == "2026-11-23 00:00 well: 24 series, next look 00:15"
    assert look_line(look("alert"), words) == "2026-11-23 00:00 ALERT: 1 open alert, first: ctr +2"
    assert look_line(look(), read_words("zh"), following=following + DAY) == (
        "2026-11-23 00:00 正常：24 条序列，下次检查 2026-11-24 00:15"
    )


def test_the_nearest_to_its_limits_comes_behind_those_in_alarm() -> None:
    near, far = detection(CTR, seed=3), detection(CTR, seed=4)
    near = replace(near, chart=near.chart.with_columns(cusum=4.9))
    alarmed, short = detection(CTR, fall=0.06), too_short(CTR)
    assert nearness(near) == pytest.approx(0.98)
    assert nearness(short) != nearness(short)
    assert by_gravity([short, far, near, alarmed]) == [alarmed, near, far, short]
    sums_alone = replace(far, cusum_limit=None)
    value, expected, low = far.chart.select("value", "expected", "low").row(-1)
    at = far.chart.with_columns(value=pl.lit(value - (value > expected) * 2 * (value - expected)))
    way = abs(value - expected) / (expected - low)
    assert nearness(replace(sums_alone, chart=at)) == pytest.approx(way)
    better = replace(sums_alone, chart=far.chart.with_columns(value="high"))
    assert nearness(better) == 0.0
    one_sided = replace(sums_alone, chart=far.chart.with_columns(high=None, value="low"))
    assert nearness(one_sided) == pytest.approx(1.0)
    at_the_end = far.chart.with_columns(value=1.0, expected=0.9999, high=1.0)
    diversity = Series("diversity", "label_free", "either", "share")
    assert math.isnan(nearness(replace(sums_alone, series=diversity, chart=at_the_end)))
    always_the_same = far.chart.with_columns(value=0.0, expected=0.0, low=0.0, high=2e-23, cusum=0.0)
    assert nearness(replace(far, chart=always_the_same)) == 0.0


def test_cautions_come_with_the_gravest_first() -> None:
    few = look("few", notes=[Note("files_skipped", {"n": 1, "names": ["x.bin"]})], troubles=[Trouble("future", 3)])
    text = few.text("markdown", lang="en")
    places = [text.index(part) for part in ("3 records of the logs", "1 file was skipped: x.bin", "8 series have too")]
    assert places == sorted(places)
    assert "14 windows of the 20 that a chart needs" in text


def test_everything_is_in_the_data_and_csv_has_the_charts() -> None:
    shown = look("alert")
    data = json.loads(shown.text("json"))
    assert data["alerts"][0]["shifts"][1]["segment"] == "language=zh"
    assert data["alerts"][0]["in_words"]
    assert len(data["series"]) == 23
    assert len(data["series"][0]["windows"]) == 56
    assert shown.text("csv").count("\n") == 1 + len(shown.frame)


def test_a_shift_has_the_decimals_that_its_interval_allows() -> None:
    slow = shift(CTR, before=1520.4, after=1911.2)
    text = look("alert", alerts=[alert(shifts=[slow])]).text("markdown", lang="zh")
    assert "1,520 → 1,911（+391）" in text
    assert "261 至 521" in text
