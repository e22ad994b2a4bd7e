"""Messages of alerts, and how sinks answered a test, in both languages."""

from dataclasses import replace

import pytest

from steelyard.monitoring.alerts import Example
from steelyard.monitoring.sinks.declared import Outcome, SinkTest
from steelyard.monitoring.sinks.message import Message
from steelyard.monitoring.sinks.payloads import body_of
from steelyard.reports.views.messages import alert_message, trial_message
from tests.monitoring.looks import DAY, START, alert

TEST = SinkTest("support", [Outcome("team", "slack", "", 0.3, True), Outcome("md", "markdown", "", 0.0, False)])


@pytest.mark.parametrize(("lang", "raised", "over"), [
    ("en", "support: Worse: ctr", "support: over. Worse: ctr"),
    ("zh", "support：变差：ctr", "support：已恢复。变差：ctr")
])  # fmt: skip
def test_an_alert_is_two_messages_at_most(lang: str, raised: str, over: str) -> None:
    own = replace(alert(), examples=[Example("r1", "退货政策？"), Example("r2", "two\nlines", "no click")])
    first = alert_message(own, monitor="support", lang=lang, timezone="Asia/Shanghai")
    later = alert_message(replace(own, time=own.time + DAY), monitor="support", lang=lang)
    ended = alert_message(replace(own, until=START + 55 * DAY), monitor="support", lang=lang)
    assert first.key == later.key != ended.key
    assert (first.state, ended.state) == ("alert", "well")
    assert (first.time, ended.time) == (own.time, START + 55 * DAY)
    assert first.title.startswith(raised)
    assert ended.title.startswith(over)
    assert first.lines[-2] == "- 退货政策？"
    assert "two lines" in first.lines[-1]
    assert b'"before":0.3' in body_of(first.record)
    assert Message.of(first.record).record == first.record


def test_a_trial_is_another_message_each_time() -> None:
    first, second = (trial_message("support", START + n * DAY, lang="zh") for n in range(2))
    assert first.key != second.key
    assert first.title == "support：通知渠道测试"


def test_a_test_of_no_sink_says_that_there_is_none() -> None:
    none = replace(TEST, outcomes=[])
    assert none.text(lang="en").strip() == "The configuration of support has no [[sink]], so that nothing is sent."


def test_a_test_says_how_each_sink_answered() -> None:
    text = TEST.text(lang="en")
    assert text.startswith("All 2 sinks of support answer.")
    assert [line.split()[-2:] for line in text.splitlines()[-2:]] == [["took", "it"], ["be", "written"]]
    broken = replace(TEST, outcomes=[*TEST.outcomes, Outcome("ops", "webhook", "ops: gave no answer", 5.0, True)])
    assert broken.text(lang="zh").startswith("support 的 3 个通知渠道中有 1 个没有正常回应。")
    assert "失败：ops: gave no answer" in broken.text(lang="zh")
    assert [outcome.sink for outcome in broken.failures] == ["ops"]
