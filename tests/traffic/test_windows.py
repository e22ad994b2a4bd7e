"""Where windows of logs begin and end."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.traffic.windows import Windows, microseconds, time_of
from tests.hypothesis_profiles import examples

HOUR = 3_600_000_000
ZONES = ("UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Shanghai", "Australia/Lord_Howe", "Asia/Kathmandu")


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", datetime(2026, 3, 29), 23),
        ("Europe/Berlin", datetime(2026, 10, 25), 25),
        ("America/Sao_Paulo", datetime(2018, 11, 4), 23),  # whose midnight is skipped
        ("Asia/Shanghai", datetime(2026, 3, 29), 24),
    ],
)
def test_a_day_runs_from_midnight_to_midnight_and_its_hours_fill_it(zone, day, hours):
    noon = np.array([microseconds(day.replace(hour=12, tzinfo=ZoneInfo(zone)))])
    (start,), (end,) = Windows.parse("1d", timezone=zone).bounds(noon)
    assert (end - start) / HOUR == hours
    next_day = (day + timedelta(days=1)).replace(tzinfo=ZoneInfo(zone))
    starts, ends = Windows.parse("1h", timezone=zone).bounds(
        noon, after=time_of(int(start)), until=next_day.astimezone(UTC)
    )
    assert len(starts) == hours
    assert starts[0] == start
    assert ends[-1] == end


def test_weeks_begin_on_mondays():
    (start,), (end,) = Windows.parse("1w").bounds(np.array([microseconds(datetime(2026, 11, 26, tzinfo=UTC))]))
    assert time_of(int(start)) == datetime(2026, 11, 23, tzinfo=UTC)
    assert end - start == 7 * 24 * HOUR


@given(
    times=st.lists(st.integers(1_540_000_000, 1_542_000_000), min_size=1, max_size=20),
    zone=st.sampled_from(ZONES),
    length=st.sampled_from(("1h", "6h", "90m", "1d", "2d", "1w")),
)
@examples(60)
def test_every_time_is_in_one_window_and_windows_are_those_of_any_other_times(times, zone, length):
    windows = Windows.parse(length, timezone=zone)
    ordered = np.sort(np.array(times)) * 1_000_000
    starts, ends = windows.bounds(ordered)
    assert (starts[1:] == ends[:-1]).all()
    assert starts[0] <= ordered[0] < ends[0]
    assert starts[-1] <= ordered[-1] < ends[-1]
    assert (ends - starts <= windows.every / timedelta(microseconds=1) + HOUR).all()
    for start in starts:
        local = time_of(int(start)).astimezone(ZoneInfo(zone))
        assert windows.every.days == 0 or local.date() > time_of(int(start) - 1).astimezone(ZoneInfo(zone)).date()
    alone = windows.bounds(ordered[-1:])
    assert [alone[0][0], alone[1][0]] == [starts[-1], ends[-1]]


def test_only_whole_windows_between_two_moments_and_those_without_times_too():
    hourly = Windows.parse("1h")
    first = datetime(2026, 11, 1, 10, 30, tzinfo=UTC)
    starts, ends = hourly.bounds(np.empty(0, np.int64), after=first, until=first + timedelta(hours=3))
    assert [time_of(int(start)).hour for start in starts] == [10, 11, 12]
    assert time_of(int(ends[-1])).hour == 13
    assert len(hourly.bounds(np.empty(0, np.int64))[0]) == 0


def test_windows_of_a_count_keep_requests_of_one_time_together():
    times = np.array([0, 1, 2, 2, 2, 3, 4, 5])
    starts, ends = Windows(3).bounds(times)
    assert (starts.tolist(), ends.tolist()) == ([0, 3], [3, 6])
    starts, ends = Windows(4).bounds(times, until=time_of(6))
    assert (starts.tolist(), ends.tolist()) == ([0], [3])


def test_times_too_far_apart_are_refused():
    with pytest.raises(InputError, match="at most 500,000"):
        Windows.parse("1m").bounds(np.array([0, 2_000_000_000_000_000]))
