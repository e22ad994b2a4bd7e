"""An alert in sentences: what, since when, how large, where, what else changed then, what to try."""

from dataclasses import replace
from typing import get_args

import pytest

from steelyard.monitoring.alerts import Alert, Cause, Change
from steelyard.reports.views.alerts import alert_sentences
from steelyard.reports.words import read_words
from tests.monitoring.looks import CTR, DAY, START, alert, shift

SILENT = alert(cause="logging", shifts=[], changes=[Change("window without data", START + 50 * DAY, "ctr")])


def test_sentences_of_a_broken_reranker() -> None:
    title, since, size, also, where, changes, advice = alert_sentences(
        alert(), read_words("en"), timezone="Asia/Shanghai"
    )
    assert title == "Worse: ctr, ctr of language=zh, abandonment"
    assert since == "Since 2026-11-17, or at some time from 2026-11-16 to 2026-11-18."
    assert size == "ctr: 0.300 → 0.240 (−0.060), 95% interval of the difference −0.080 to −0.040."
    assert also == "2 series more moved at the same time: ctr of language=zh, abandonment."
    assert where == "Where: all traffic."
    assert changes == (
        "What else changed then: configuration: reranker: v7 -> v8 (2026-11-17). "
        "First suspect: reranker: v7 -> v8. Undo it, or compare both on your questions."
    )
    assert "store:accepted" not in advice  # Nothing may be accepted where nothing is replayed.
    assert advice.endswith("`steelyard monitor monitor.toml --accept 5f5f5f`.")


@pytest.mark.parametrize("case", [
    (alert(cause="segment", shifts=[shift(CTR, "language=zh")], changes=[]),
     ["部分流量变差：ctr（language=zh）", "位置：language=zh。", "未发现同时有其他变化。"]),
    (alert(until=START + 55 * DAY), ["变差：", "已于 2026-11-22 结束。", "首要嫌疑：reranker: v7 -> v8。"]),
    (SILENT, ["日志缺少事件或列：ctr", "ctr 此后没有数值", "`steelyard logs check LOGS`"]),
], ids=["segment", "ended", "silent"])  # fmt: skip
def test_chinese_sentences(case: tuple[Alert, list[str]]) -> None:
    of, parts = case
    text = "\n".join(alert_sentences(of, read_words("zh"), timezone="Asia/Shanghai"))
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize("code", ["en", "zh"])
def test_every_cause_has_its_sentences(code: str) -> None:
    texts = {alert_sentences(replace(alert(), cause=cause), read_words(code))[-1] for cause in get_args(Cause)}
    assert len(texts) == len(get_args(Cause))
    assert alert_sentences(SILENT, read_words(code))


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("cause", ["regression", "segment", "corpus", "judge"])
def test_a_baseline_is_advised_only_where_a_replay_has_one(code: str, cause: Cause) -> None:
    of, words = replace(alert(), cause=cause), read_words(code)
    replayed = replace(of, shifts=[*of.shifts, replace(of.shifts[0], stream="replay")])
    commands = ("history", "store:accepted")
    assert not any(command in alert_sentences(of, words)[-1] for command in commands)
    assert any(command in alert_sentences(replayed, words)[-1] for command in commands)
