"""Looks of a monitor, from logs to alerts: what is found, that it is found once, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.monitoring.config import MonitorConfig
from steelyard.monitoring.looking import Look
from steelyard.monitoring.memory import Memory
from steelyard.monitoring.outbox import Outbox
from steelyard.monitoring.watching import accept_level, deliver, monitor
from tests.monitoring.simulated import START, write_days

pytest.importorskip("scipy", reason="charts need the extra stats")
pytest.importorskip("sqlalchemy", reason="a monitor remembers in the extra store")

QUIET, BROKEN = range(40), range(40, 46)
SETTINGS: Mapping[str, Any] = {
    "name": "support", "logs": ["logs"], "window": "1d", "measures": ["ctr", "first_click_rr", "latency_ms:p50"],
    "segments": ["language"], "drift": False, "lang": "en", "sink": [{"type": "json", "path": "alerts.jsonl"}],
}  # fmt: skip


def settings(folder: Path, **changes: Any) -> MonitorConfig:
    return MonitorConfig.of({**SETTINGS, **changes}, base=folder)


def look_at(folder: Path, day: float, **changes: Any) -> Look:
    return monitor(settings(folder, **changes), now=START + timedelta(days=day, hours=2))


def keys_of(look: Look) -> set[str]:
    return {alert.key for alert in (*look.alerts, *look.past)}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Forty quiet days, then six on which users click less, as the configuration is another one."""
    write_days(tmp_path / "logs", QUIET)
    write_days(tmp_path / "logs", BROKEN, ctr=0.2, config="reranker=v2")
    return tmp_path


def test_a_fall_of_clicks_is_one_alert_with_its_beginning_and_what_else_changed(broken: Path) -> None:
    look = look_at(broken, 46)
    assert (look.state, look.streams["feedback"], look.streams["operations"]) == ("alert", "alert", "well")
    (alert,) = look.alerts
    assert (alert.cause, alert.since) == ("regression", START + timedelta(days=40))
    assert {shift.series for shift in alert.shifts} == {"ctr", "first_click_rr"}
    assert [change.kind for change in alert.changes] == ["config"]
    assert look.time == START + timedelta(days=46)


@pytest.mark.slow
def test_looks_one_by_one_say_what_one_look_says(broken: Path, tmp_path: Path) -> None:
    whole = look_at(broken, 46, store={"url": "whole.db"}, drift=True)
    states = list[str]()
    for day in (10, 39, 41, 42, 46):
        look = look_at(broken, day, drift=True)
        states.append(look.state)
        assert look.time == START + timedelta(days=day)
    assert states[:2] == ["few", "well"]
    assert states[-1] == "alert"
    assert keys_of(look) == keys_of(whole)
    assert look.frame.equals(whole.frame)
    deliver(settings(broken), look)
    lines = [json.loads(line) for line in (broken / "alerts.jsonl").read_text("utf-8").splitlines()]
    lasting = [alert.key for alert in whole.alerts if alert.until is None]
    assert [line["key"] for line in lines] == [f"{key}-raised" for key in lasting]  # Once, over all looks.


@pytest.mark.slow
def test_two_monitors_at_once_alarm_once(broken: Path) -> None:
    look_at(broken, 39)
    with ThreadPoolExecutor(2) as pool:
        looks = list(pool.map(lambda _: look_at(broken, 46), range(2)))
    assert keys_of(looks[0]) == keys_of(looks[1])
    for look in looks:
        deliver(settings(broken), look)
    assert len((broken / "alerts.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_level_that_is_accepted_is_the_usual_one(broken: Path) -> None:
    (alert,) = look_at(broken, 46).alerts
    assert accept_level(settings(broken), alert.key[:6], why="the new ranking").key == alert.key
    write_days(broken / "logs", range(46, 56), ctr=0.2, config="reranker=v2")
    look = look_at(broken, 56)
    assert look.streams["feedback"] == "well"
    assert [own.until is not None for own in look.alerts if own.key == alert.key] == [True]
    with pytest.raises(InputError, match="0 alerts begin with 'zz'; the last ones are"):
        accept_level(settings(broken), "zz")


def test_a_look_without_anything_new_changes_nothing(broken: Path) -> None:
    first, second = look_at(broken, 46), look_at(broken, 46)
    assert second.frame.equals(first.frame)
    assert keys_of(second) == keys_of(first)
    assert Memory(broken / "history.db", "support").load().n_looks == 2


def test_a_log_that_stops_growing_is_an_alert_until_it_grows_again(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(30))
    assert look_at(tmp_path, 30).alerts == []
    assert look_at(tmp_path, 31).alerts == []  # A window late is not yet out of the way.
    looks = [look_at(tmp_path, 33), look_at(tmp_path, 34)]
    for look in looks:
        assert look.state == "alert"
        (alert,) = look.alerts
        assert (alert.cause, alert.until, alert.changes[0].text) == ("logging", None, "logs")
    assert looks[0].alerts[0].key == looks[1].alerts[0].key
    write_days(tmp_path / "logs", range(30, 36))
    (over,) = look_at(tmp_path, 36).alerts
    assert over.until is not None


def test_the_end_of_a_log_of_the_past_is_no_alert(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(30))
    assert [look_at(tmp_path, day).state for day in (300, 301)] == ["well", "well"]


def test_what_is_asked_is_compared_with_the_first_two_weeks(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(20))
    write_days(tmp_path / "logs", range(20, 24), topic="how do I return a broken washing machine")
    assert [note.code for note in look_at(tmp_path, 10, drift=True).notes] == ["monitor_no_reference"]
    look = look_at(tmp_path, 24, drift=True)
    alert = look.alerts[0]
    assert (alert.cause, alert.since) == ("traffic", START + timedelta(days=20))
    assert {"psi:query_length", "unseen_words"} <= {shift.series for shift in alert.shifts}
    assert look.notes == []


def test_records_behind_a_look_at_the_past_are_no_trouble(broken: Path) -> None:
    assert not look_at(broken, 30).troubles


def test_events_count_for_as_long_as_windows_wait(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(3), ctr=0.0)
    late = [
        {"type": "event", "kind": "click", "request": f"r1-{i}", "position": 1,
         "time": (START + timedelta(days=1, seconds=i * 86_000 / 150, hours=5)).isoformat()} for i in range(75)
    ]  # fmt: skip
    (tmp_path / "logs" / "late.jsonl").write_text("".join(json.dumps(row) + "\n" for row in late), "utf-8")
    rates = [
        look_at(tmp_path, 4, name=wait, lateness=wait, measures=["ctr"], segments=[]).frame["value"][1]
        for wait in ("1h", "6h")
    ]
    assert rates == [0.0, 0.5]


def test_too_few_windows_are_no_verdict(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(6))
    look = look_at(tmp_path, 6)
    assert look.state == "few"
    assert look.alerts == []


CONFIGURATIONS = [
    ({"logs": []}, "nothing is watched"),
    ({"window": "7h"}, "a window of 7:00:00 does not divide days"),
    ({"window": "soon"}, "window 'soon' is none"),
    ({"timezone": "Mars/Olympus"}, "timezone 'Mars/Olympus' is not known"),
    ({"false_alarms": "none"}, "false alarms over all series, such as '1 per month'"),
    ({"false_alarms": 0}, "false alarms over all series"),
    ({"lateness": 3}, "a time such as '15m'"),
    ({"sink": [{"type": "pigeon"}]}, "there is no sink of type 'pigeon'"),
    ({"holiday": [{"start": date(2026, 10, 7), "end": date(2026, 10, 1), "text": "x"}]}, "before it starts"),
    (
        {"logs": [], "replay": {"questions": "q.jsonl", "system": "m:f"}, "sample": {}},
        r"[sample] draws answers of logs",
    ),
    ({"windw": "1h"}, "windw"),
    ({"measures": []}, "measures"),
]


@pytest.mark.parametrize(("changes", "message"), CONFIGURATIONS, ids=[message for _, message in CONFIGURATIONS])
def test_wrong_configurations_are_refused_in_a_sentence(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        settings(tmp_path, **changes)


@pytest.mark.slow
def test_a_notice_is_sent_once_and_one_of_the_past_is_not(tmp_path: Path) -> None:
    write_days(tmp_path / "logs", range(40), corpus="a")
    look_at(tmp_path, 40)
    write_days(tmp_path / "logs", range(40, 50), ctr=0.25, corpus="b")
    for day in (45, 50):
        deliver(settings(tmp_path), look_at(tmp_path, day))
    lines = [json.loads(line) for line in (tmp_path / "alerts.jsonl").read_text("utf-8").splitlines()]
    assert [(line["state"], line["cause"]) for line in lines] == [("warn", "corpus")]
    first = look_at(tmp_path, 50, name="another")
    assert {alert.cause for alert in (*first.alerts, *first.past)} == {"corpus"}
    outbox = Outbox(Memory(tmp_path / "history.db", "another").database, "another")
    assert outbox.waiting(settings(tmp_path).sink) == []


def test_a_sink_without_its_address_is_named_before_there_is_anything_to_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLACK_URL", raising=False)
    write_days(tmp_path / "logs", range(1))
    team = {"sink": [{"type": "slack", "name": "team", "url_env": "SLACK_URL"}]}
    (line,) = deliver(settings(tmp_path, **team), look_at(tmp_path, 1))
    assert line.startswith("team: ")
    assert "SLACK_URL" in line
    monkeypatch.setenv("SLACK_URL", "https://hooks.slack.com/services/x")
    assert deliver(settings(tmp_path, **team), look_at(tmp_path, 1)) == []
