"""What is alarmed, since when, and what is not."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from steelyard.monitoring.budget import Budget, windows_per_month
from steelyard.monitoring.detection import CHART, Watched, detect, detect_all
from steelyard.traffic.series import POINTS, Series
from steelyard.traffic.windows import Windows

BEGIN, DAY = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=1)
DAYS = Windows.parse("1d")
BUDGET = Budget.shared(1, n_series=40, windows_per_month=windows_per_month(DAY))
CTR = Series("ctr", "feedback", scale="share", floor=0.01)


def points_of(values, *, n=None, error=None, p=None, every=DAY, name="ctr", segment=""):
    """Points of one series, a window after the other."""
    starts = [BEGIN + i * every for i in range(len(values))]
    columns = {
        "series": name, "segment": segment, "start": starts, "end": [start + every for start in starts],
        "value": values, "error": error, "p": p, "n": n,
    }  # fmt: skip
    return pl.DataFrame(columns, schema=POINTS, strict=False)


def shares(rng, chances, n=2000):
    """Points of shares of n sessions a day."""
    values = rng.binomial(n, chances) / n
    return points_of(values, n=[n] * len(values), error=np.sqrt(values * (1 - values) / n))


def test_a_fall_of_a_fifth_is_found_with_its_day_and_size():
    rng = np.random.default_rng(1)
    chances = np.where(np.arange(90) < 80, 0.3, 0.24) + 0.02 * (np.arange(90) % 7 >= 5)
    detection = detect(shares(rng, chances), CTR, BUDGET, windows=DAYS)
    (alarm,) = detection.alarms
    assert detection.state == "alert"
    assert alarm.since == BEGIN + 80 * DAY
    assert alarm.since_low <= alarm.since <= alarm.since_high
    assert alarm.low < -0.06 < alarm.high < 0
    assert alarm.odds == pytest.approx(40 * 30.4375)
    assert detection.chart.schema == CHART
    assert not detection.chart["is_reference"][81:].any()
    assert detection.chart["is_alarm"].to_list() == [False] * 80 + [True] * 10


def test_an_alarm_ends_when_the_series_is_back():
    rng = np.random.default_rng(2)
    day = np.arange(100)
    detection = detect(shares(rng, np.where((day >= 60) & (day < 70), 0.2, 0.3)), CTR, BUDGET, windows=DAYS)
    assert len(detection.alarms) == 1
    assert detection.state == "well"
    assert detection.chart["is_alarm"].arg_true().to_list() == list(range(60, 71))


def test_gains_do_not_alarm_unless_either_is_bad():
    rng = np.random.default_rng(3)
    points = shares(rng, np.where(np.arange(60) < 50, 0.3, 0.4))
    assert not detect(points, CTR, BUDGET, windows=DAYS).alarms
    either = Series("ctr", "feedback", better="either", scale="share")
    assert detect(points, either, BUDGET, windows=DAYS).alarms[0].after == pytest.approx(0.4, abs=0.02)


def test_window_after_window_alarms_as_all_at_once():
    rng = np.random.default_rng(4)
    t = 70
    noise = rng.normal(size=(t, 2)).cumsum(axis=0) * 0.05 + rng.normal(size=(t, 2))
    noise[40:50, 0] -= 4
    noise[rng.random((t, 2)) < 0.1] = np.nan
    noise[55:, 1] += 3
    points = pl.concat([points_of(noise[:, i].tolist(), name=str(i)) for i in range(2)]).with_columns(
        pl.col("value").fill_nan(None)
    )
    watched = [Watched(Series(str(i), "feedback", better="either"), "", Budget(1 / 50)) for i in range(2)]
    watched[1] = Watched(watched[1].series, "", Budget(1 / 50), restarts=[BEGIN + 30 * DAY])
    options = {"windows": DAYS, "excluded": [(BEGIN + 25 * DAY, BEGIN + 27 * DAY)]}
    whole = detect_all(points, watched, **options)
    assert sum(len(own.alarms) for own in whole) > 3
    for end in (1, 19, 24, 31, 33, 41, 42, 51, 56, 57, 63):
        parts = detect_all(points.filter(pl.col("start") < BEGIN + end * DAY), watched, **options)
        for part, own in zip(parts, whole, strict=True):
            assert part.chart.drop("is_reference").equals(own.chart[:end].drop("is_reference"))
            assert [alarm for alarm in own.alarms if alarm in part.alarms] == list(part.alarms)


def test_missing_windows_are_skipped():
    values = [0.5, 0.52, 0.48, None] * 12 + [None] * 10
    detection = detect(points_of(values), Series("x", "feedback"), BUDGET, windows=DAYS)
    assert detection.state == "well"
    assert not detection.alarms
    assert detection.chart["z"].is_null()[-10:].all()
    assert not detection.chart["is_reference"][-10:].any()


def test_a_short_series_has_no_chart_yet():
    detection = detect(points_of([1.0, 0.0] * 7), Series("x", "feedback"), BUDGET, windows=DAYS)
    assert detection.state == "few"
    assert detection.note.values == {"n": 14, "least": 20}
    assert detect(points_of([]), Series("x", "feedback"), BUDGET, windows=DAYS).state == "few"


def test_holidays_teach_nothing_and_do_not_alarm():
    rng = np.random.default_rng(5)
    day = np.arange(80)
    points = shares(rng, np.where((day >= 50) & (day < 57), 0.1, 0.3))
    holiday = (BEGIN + 50 * DAY, BEGIN + 57 * DAY)
    detection = detect(points, CTR, BUDGET, windows=DAYS, excluded=[holiday])
    assert not detection.alarms
    assert detection.chart["is_reference"].arg_true().to_list() == [*range(50), *range(57, 80)]
    assert len(detect(points, CTR, BUDGET, windows=DAYS).alarms) == 1


@pytest.mark.parametrize("is_holiday", [False, True])
def test_windows_that_teach_nothing_do_not_move_what_neighbours_let_expect(is_holiday):
    rng = np.random.default_rng(4)
    noise = np.zeros(100)
    for i in range(1, 100):
        noise[i] = 0.7 * noise[i - 1] + rng.normal()
    away = (np.arange(100) >= 70) & (np.arange(100) < 80)
    spans = [(BEGIN + 70 * DAY, BEGIN + 80 * DAY)] if is_holiday else []
    series = Series("gap", "label_free", better="either")
    detection = detect(
        points_of(20 + noise - 30 * away), series, BUDGET, windows=DAYS, excluded=spans,
    )  # fmt: skip
    after = detection.chart[82:]
    assert [alarm.rule for alarm in detection.alarms] == ([] if is_holiday else ["jump"])
    assert not after["is_alarm"].any()
    middle = (after["low"] + after["high"]) / 2
    assert (middle - after["expected"]).abs().max() < 3


def test_a_restart_learns_the_new_level_and_compares_both():
    rng = np.random.default_rng(6)
    day = np.arange(90)
    points = shares(rng, np.select([day < 50, day < 80], [0.3, 0.2], 0.14))
    restart, alarm = detect(points, CTR, BUDGET, windows=DAYS, restarts=[BEGIN + 50 * DAY]).alarms
    assert (restart.rule, restart.since) == ("restart", BEGIN + 50 * DAY)
    assert restart.low < -0.1 < restart.high
    assert alarm.since == BEGIN + 80 * DAY
    assert alarm.before == pytest.approx(0.2, abs=0.01)


def test_a_replayed_loss_is_found_and_identical_results_never_alarm():
    series = Series("recall@10", "replay")
    same = points_of([0.0] * 30, error=[0.0] * 30)
    assert not detect(same, series, BUDGET, windows=DAYS).alarms
    rng = np.random.default_rng(7)
    lost = points_of([*rng.normal(0, 0.01, 6), -0.05, -0.06], error=[0.01] * 8)
    (alarm,) = detect(lost, series, BUDGET, windows=DAYS).alarms
    assert (alarm.rule, alarm.since, alarm.before) == ("paired", BEGIN + 6 * DAY, 0.0)


def test_a_test_alarms_by_its_p_with_an_effect_from_its_first_window_on():
    series = Series("psi:query_length", "label_free", better="lower", scale="positive", floor=0.1, is_test=True)
    p = [0.4, 0.9, 0.2, 1e-9, 1e-9, 1e-9]
    small = points_of([0.02, 0.01, 0.03, 0.06, 0.05, 0.06], p=p)
    assert not detect(small, series, BUDGET, windows=DAYS).alarms
    large = points_of([0.02, 0.01, 0.03, 0.3, 0.4, 0.3], p=p)
    (alarm,) = detect(large, series, BUDGET, windows=DAYS).alarms
    assert (alarm.rule, alarm.before, alarm.after) == ("test", pytest.approx(0.02), pytest.approx(0.3))


def test_windows_without_a_value_have_no_error_either() -> None:
    n = 260
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "series": ["latency_ms:p95"] * n, "segment": [""] * n,
            "start": [datetime(2026, 11, 2, tzinfo=UTC) + timedelta(hours=i) for i in range(n)],
            "end": [datetime(2026, 11, 2, tzinfo=UTC) + timedelta(hours=i + 1) for i in range(n)],
            "value": [None if i % 7 == 3 else float(v) for i, v in enumerate(rng.lognormal(5, 0.1, n))],
            "error": [None if i % 7 == 3 else 10.0 for i in range(n)], "p": [None] * n, "n": [40] * n,
        },
        POINTS,
    )  # fmt: skip
    series = Series("latency_ms:p95", "operations", "lower", "positive", 0.1)
    detection = detect(frame, series, Budget(0.001), windows=Windows(timedelta(hours=1)))
    assert detection.note is None
    assert detection.chart["expected"].drop_nulls().is_finite().all()


def test_the_error_of_a_window_with_few_units_does_not_make_its_value_an_alarm() -> None:
    """Values are means of skewed units, 12 in a window of the night: a low mean has a small error by chance."""
    n, rng = 1500, np.random.default_rng(0)
    units = [12 if i % 24 < 8 else 100 for i in range(n)]
    drawn = [rng.exponential(0.2, size) for size in units]
    starts = [datetime(2026, 11, 2, tzinfo=UTC) + timedelta(hours=i) for i in range(n)]
    frame = pl.DataFrame(
        {
            "series": ["score_gap"] * n, "segment": [""] * n, "start": starts,
            "end": [start + timedelta(hours=1) for start in starts], "value": [float(own.mean()) for own in drawn],
            "error": [float(own.std(ddof=1)) / math.sqrt(len(own)) for own in drawn], "p": [None] * n, "n": units,
        },
        POINTS,
    )  # fmt: skip
    series = Series("score_gap", "label_free", "higher", "real")
    detection = detect(frame, series, Budget(1 / 3000), windows=Windows(timedelta(hours=1)))
    assert len(detection.alarms) <= 1


def test_one_or_two_rare_events_are_no_alarm_and_many_are() -> None:
    """Two requests of a thousand are asked again, and a window has 20 of them; at the end one of four is."""
    n, rng = 1200, np.random.default_rng(1)
    shares = [float(rng.binomial(20, 0.002 if i < n - 6 else 0.25)) / 20 for i in range(n)]
    starts = [datetime(2026, 11, 2, tzinfo=UTC) + timedelta(hours=i) for i in range(n)]
    frame = pl.DataFrame(
        {
            "series": ["reformulation"] * n, "segment": [""] * n, "start": starts,
            "end": [start + timedelta(hours=1) for start in starts], "value": shares,
            "error": [math.sqrt(share * (1 - share) / 20) for share in shares], "p": [None] * n, "n": [20] * n,
        },
        POINTS,
    )  # fmt: skip
    series = Series("reformulation", "feedback", "lower", "share", 0.01)
    detection = detect(frame, series, Budget(1 / 3000), windows=Windows(timedelta(hours=1)))
    assert [alarm.since >= starts[-7] for alarm in detection.alarms] == [True]
