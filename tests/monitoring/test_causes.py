"""What alarms are about: cases by hand, as tables of which series moved, and of what else changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import polars as pl
import pytest

from steelyard.monitoring import causes
from steelyard.monitoring.alerts import Alert, Change
from steelyard.monitoring.causes import RULES, alerts, role_of
from steelyard.monitoring.detection import Detection
from steelyard.traffic.series import Series
from tests.monitoring.looks import DAY, START, detection

SERIES = {
    "ctr": Series("ctr", "feedback", scale="share"),
    "rr": Series("first_click_rr", "feedback"),
    "recall": Series("recall@10", "replay", scale="share"),
    "faithful": Series("faithfulness", "sample", scale="share"),
    "anchors": Series("anchors", "sample", scale="share"),
    "top": Series("top_score", "label_free", "either"),
    "psi": Series("query_length:psi", "label_free", "lower", floor=0.1, is_test=True),
    "p95": Series("latency_ms:p95", "operations", "lower", "positive"),
    "errors": Series("error_rate", "operations", "lower", "share"),
    "replayed": Series("answered", "service", scale="share"),
}
SEGMENTS = ("", "language=en", "language=zh")
LEVEL, LAST = 0.4, 50


@dataclass
class Case:
    """Falls of series on day 50 of 56, and what they are about.

    falls   "SERIES" or "SERIES SEGMENT" -> by how much of .4, or by how much and on which day; falls of other series
            are not alarmed, and stay in their charts alone
    quiet   the same, of series that did not alarm
    want    "cause", or "cause segment" of the first shift, of all alerts
    """

    label: str
    falls: dict[str, float | tuple[float, int]]
    want: set[str]
    changes: Sequence[Change] = ()
    quiet: dict[str, float] = field(default_factory=dict)


def change(kind: str, day: float = LAST, days: float | None = None) -> Change:
    at = START + day * DAY
    return Change(kind, at, f"{kind} 1 -> 2", None if days is None else at + days * DAY)


ALL_ALIKE = {"ctr": 0.08, "ctr language=en": 0.08, "ctr language=zh": 0.08}
WEEK_OFF = change("holiday", LAST, 7)
ZH = {"ctr": 0.06, "ctr language=zh": 0.2}
CASES = [
    Case("fewer clicks", {"ctr": 0.08, "rr": 0.1}, {"regression"}),
    Case("fewer clicks in all languages", ALL_ALIKE, {"regression"}),
    Case("recall of replays", {"recall": 0.05}, {"regression"}),
    Case("a reranker that also takes longer", {"ctr": 0.08, "p95": -0.2}, {"regression"}, [change("config")]),
    Case("one language", ZH, {"segment language=zh"}),
    Case("one language alarms alone", {"ctr language=zh": 0.2}, {"segment language=zh"}, quiet={"ctr": 0.06}),
    Case("one language with errors", {**ZH, "errors": -0.12, "errors language=zh": -0.4}, {"segment language=zh"}),
    Case("requests fail", {"errors": -0.5, "ctr": 0.39, "p95": -0.3, "top": 0.1}, {"outage"}),
    Case("a replay is refused", {"replayed": 0.4, "recall": 0.3}, {"outage"}),
    Case("latency", {"p95": -0.2}, {"operations"}),
    Case("some errors", {"errors": -0.05}, {"operations"}),
    Case("other queries", {"psi": -0.3}, {"traffic"}),
    Case("other queries, with fewer clicks", {"psi": -0.3, "ctr": 0.08}, {"traffic"}),
    Case("other queries, and recall of replays", {"psi": -0.3, "recall": 0.08}, {"regression"}),
    Case("another mix", {"ctr": 0.08}, {"traffic"}, quiet={"ctr language=en": 0.0, "ctr language=zh": 0.0}),
    Case("clicks vanish", {"ctr": 0.4, "rr": 0.4}, {"logging"}),
    Case("clicks vanish as nothing is retrieved", {"ctr": 0.4, "top": 0.4}, {"regression"}),
    Case("a corpus update", {"recall": 0.05, **ALL_ALIKE}, {"corpus"}, [change("corpus")]),
    Case("a corpus update the day before", {"recall": 0.05}, {"corpus"}, [change("corpus", LAST - 1)]),
    Case("a corpus update weeks before", {"recall": 0.05}, {"regression"}, [change("corpus", LAST - 14)]),
    Case("an update, slower answers", {"recall": 0.05, "p95": -0.2}, {"corpus", "operations"}, [change("corpus")]),
    Case("a corpus update and a language", ZH, {"segment language=zh"}, [change("corpus")]),
    Case(
        "a corpus update that moves all, and a language", {"ctr": 0.13, "ctr language=zh": 0.3, "recall": 0.05},
        {"corpus", "segment language=zh"}, [change("corpus")], {"ctr language=en": 0.06},
    ),
    Case("an update, and worse", {"recall": (0.05, 38), "ctr": 0.1}, {"corpus", "regression"}, [change("corpus", 38)]),
    Case("another judge", {"faithful": 0.1}, {"judge"}, [change("judge")]),
    Case("a judge that moved on its anchors", {"faithful": 0.1, "anchors": 0.1}, {"judge"}),
    Case("another judge, and fewer clicks", {"faithful": 0.1, "ctr": 0.08}, {"judge", "regression"}, [change("judge")]),
    Case("a holiday", {"ctr": 0.08, "p95": -0.2, "psi": -0.2}, {"holiday"}, [WEEK_OFF]),
    Case("a holiday does not explain replays", {"ctr": 0.08, "recall": 0.05}, {"holiday", "regression"}, [WEEK_OFF]),
    Case("a holiday that is over", {"ctr": (0.08, 40)}, {"regression"}, [change("holiday", 40, 3)]),
]  # fmt: skip


def detections(case: Case) -> list[Detection]:
    """Charts of all series that a case names, in all segments; half of the traffic of all is of a third language."""
    falls = {name: fall if isinstance(fall, tuple) else (fall, LAST) for name, fall in case.falls.items()}
    names = dict.fromkeys(name.split()[0] for name in [*falls, *case.quiet])
    result = []
    for name in names:
        for segment in SEGMENTS:
            key = f"{name} {segment}".strip()
            fall, day = falls.get(key, (case.quiet.get(key, 0.0), LAST))
            if not falls.keys() & {f"{name} {own}" for own in SEGMENTS[1:]} and not case.quiet and segment:
                continue
            own = detection(SERIES[name], segment, level=LEVEL, fall=fall, day=day, seed=len(result))
            share = {"": 1.0, "language=en": 0.7, "language=zh": 0.3}[segment]
            chart = own.chart.with_columns(
                n=(1000 * own.chart["n"] * share).cast(int),
                is_alarm=(pl.col("start") >= START + day * DAY) & bool(fall),
            )
            result.append(replace(own, chart=chart, alarms=own.alarms if key in falls else []))
    return result


def summary(alert: Alert) -> str:
    return f"{alert.cause} {alert.shifts[0].segment}".strip() if alert.cause == "segment" else alert.cause


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_the_cause_is_named(case: Case) -> None:
    found = alerts(detections(case), case.changes, monitor="shop")
    assert {summary(alert) for alert in found} == case.want
    assert len(found) == len(case.want)
    assert all((alert.state == "warn") == (alert.cause in ("corpus", "judge", "holiday")) for alert in found)
    assert sum(len(alert.shifts) for alert in found) == len(case.falls)


def seen(case: Case, day: float, *, recovered: float = 99) -> list[Detection]:
    """The detections of a case as a look on a day has them; from the day of recovery on all is well."""
    end, back = START + day * DAY, START + recovered * DAY
    result = []
    for own in detections(case):
        well = pl.col("start") >= back
        chart = own.chart.filter(pl.col("end") <= end).with_columns(
            value=pl.when(well).then("expected").otherwise("value"), is_alarm=pl.col("is_alarm") & ~well
        )
        raised = [shift for shift in own.alarms if chart["is_alarm"].any() and shift.since < end]
        result.append(replace(own, chart=chart, alarms=raised))
    return result


ONE = Case("", {"ctr": 0.08, "rr": (0.1, 51)}, set())


def test_an_alert_has_one_key_from_look_to_look_and_ends_with_its_last_series() -> None:
    previous: list[Alert] = []
    keys, untils = set(), []
    for day in (51, 52, 53, 54, 55, 56):
        previous = alerts(seen(ONE, day, recovered=53), (), monitor="shop", previous=previous)
        assert [(alert.cause, alert.time) for alert in previous] == [("regression", START + 51 * DAY)]
        keys |= {alert.key for alert in previous}
        untils.append(previous[0].until)
    assert len(keys) == 1
    assert untils == [None, None, None, *[START + 54 * DAY] * 3]
    assert alerts(seen(ONE, 51), (), monitor="other")[0].key not in keys


def test_an_alert_keeps_its_key_while_its_cause_and_its_first_window_become_clearer() -> None:
    first = alerts(seen(Case("", {"ctr": 0.06}, set()), 51), (), monitor="shop")
    later = detections(Case("", ZH, set()))
    moved = [replace(own, alarms=[replace(shift, since=START + 49 * DAY) for shift in own.alarms]) for own in later]
    second = alerts(moved, (), monitor="shop", previous=first)
    assert [(alert.cause, alert.key, alert.time) for alert in second] == [("segment", first[0].key, first[0].time)]


@pytest.mark.parametrize(("days", "is_same"), [(2, True), (8, False)])
def test_what_comes_back_within_the_cooldown_is_not_raised_again(days: int, is_same: bool) -> None:
    ended = alerts(seen(Case("", {"ctr": (0.08, 40)}, set()), 46, recovered=43), (), monitor="shop")
    assert ended[0].until == START + 44 * DAY
    again = seen(Case("", {"ctr": (0.08, 44 + days)}, set()), 44 + days + 1)
    found = alerts(again, (), monitor="shop", previous=ended, cooldown=timedelta(days=3))
    assert (found[0].key == ended[0].key) is is_same
    assert found[0].until is None


def test_a_notice_that_did_not_explain_it_after_all_is_raised_as_an_alarm() -> None:
    holiday, case = change("holiday", LAST, 2), Case("", {"ctr": 0.08}, set())
    first = alerts(seen(case, 52), [holiday], monitor="shop")
    assert [(alert.cause, alert.state) for alert in first] == [("holiday", "warn")]
    later = alerts(seen(case, 56), [holiday], monitor="shop", previous=first)
    assert [(alert.cause, alert.state) for alert in later] == [("regression", "alert"), ("holiday", "warn")]
    assert later[0].key != first[0].key
    assert later[1] == replace(first[0], until=START + 56 * DAY)


def test_an_open_alert_that_its_series_show_no_more_ends_and_one_without_its_series_stays() -> None:
    first = alerts(seen(ONE, 52), (), monitor="shop")
    quiet = [replace(own, alarms=[]) for own in seen(ONE, 53)]
    assert alerts(quiet, (), monitor="shop", previous=first) == [replace(first[0], until=START + 53 * DAY)]
    assert alerts(quiet[:1], (), monitor="shop", previous=first) == []


def test_a_series_that_falls_silent_while_others_have_data_is_missing_from_the_logs() -> None:
    case = Case("", {"ctr": 0.0, "rr": 0.0, "p95": 0.0}, set())

    def silent(names: set[str], gaps: list[int], *, day: int = 56) -> list[Alert]:
        empty = pl.col("start").is_in([START + gap * DAY for gap in gaps])
        charts = [
            replace(own, alarms=[], chart=own.chart.with_columns(value=pl.when(~empty).then("value")))
            if own.series.name in names
            else replace(own, alarms=[])
            for own in seen(case, day)
        ]
        return alerts(charts, (), monitor="shop")

    both = {"ctr", "first_click_rr"}
    (alert,) = silent(both, [53, 54, 55])
    assert (alert.cause, alert.state, alert.since) == ("logging", "alert", START + 53 * DAY)
    assert (alert.time, {change.text for change in alert.changes}) == (START + 55 * DAY, both)
    assert silent(both, [53, 54], day=55)[0].key == alert.key
    assert silent(both, [55]) == silent(both, [30, 31, 53, 54, 55]) == silent({*both, "latency_ms:p95"}, [54, 55]) == []


def test_every_role_has_a_rule_and_every_cause_a_row_of_the_table() -> None:
    assert frozenset().union(*(rule.takes for rule in RULES)) == {role_of(series) for series in SERIES.values()}
    table = causes.__doc__ or ""
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")][2:]
    assert rows == [rule.cause for rule in RULES]


def test_a_shift_that_was_raised_late_as_its_series_was_in_alarm_already_began_with_the_others() -> None:
    ctr, top = detections(Case("", {"ctr": 0.08, "top": (0.1, 54)}, set()))
    (shift,) = (replace(own, since_low=own.since, since_high=own.since) for own in top.alarms)
    assert len(alerts([ctr, replace(top, alarms=[shift])], (), monitor="shop")) == 2
    covered = pl.col("start").is_between(START + 44 * DAY, START + 52 * DAY) | (pl.col("start") >= shift.since)
    late = replace(top, chart=top.chart.with_columns(is_alarm=covered), alarms=[shift])
    assert [len(alert.shifts) for alert in alerts([ctr, late], (), monitor="shop")] == [2]


def test_what_a_stream_raised_by_itself_lasts_until_the_stream_says_no_more() -> None:
    (recall,) = detections(Case("", {"recall": 0.05}, set()))
    direct = replace(recall, chart=recall.chart.with_columns(is_alarm=False, z=pl.lit(None), expected=pl.lit(None)))
    first = alerts([direct], (), monitor="shop")
    assert [(alert.cause, alert.time, alert.until) for alert in first] == [("regression", START + 51 * DAY, None)]
    over = alerts([replace(direct, alarms=[])], (), monitor="shop", previous=first)
    assert over == [replace(first[0], until=START + 56 * DAY)]


def test_an_earlier_alert_is_not_continued_by_a_later_one_that_another_series_may_have_begun_long_ago() -> None:
    ended = alerts(seen(Case("", {"ctr": (0.08, 30)}, set()), 40, recovered=33), (), monitor="shop")
    later = detections(Case("", {"ctr": 0.08, "rr": 0.1}, set()))
    slow = replace(later[1], alarms=[replace(shift, since_low=START + 20 * DAY) for shift in later[1].alarms])
    (found,) = alerts([later[0], slow], (), monitor="shop", previous=ended)
    assert (found.key != ended[0].key, len(found.shifts)) == (True, 2)
