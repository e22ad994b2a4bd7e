"""Examples of alerts from logs: queries that lost most, the slowest requests, new queries, documents that are gone."""

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from steelyard.monitoring.alerts import Alert, Shift
from steelyard.monitoring.examples import examples_of
from steelyard.traffic.logs import Logs
from steelyard.traffic.windows import time_of
from tests.monitoring.looks import CTR, alert, shift
from tests.traffic.made_logs import START, logs_of

EVENT = 1000


def service() -> Logs:
    """200 requests of four queries; from request 100 on "lamp" has no clicks, and lost its document."""
    queries = ["lamp", "desk", " Lamp", "chair"]
    impressions = [
        {
            "time": 10 * i, "request": f"r{i:03}", "query": queries[i % 4] if i < 100 or i % 4 != 3 else f"new {i % 3}",
            "doc_ids": ["d1" if i % 2 == 0 and i < 100 else "d2", "d3"], "latency_ms": float(i),
            "language": "zh" if i % 2 else "en", "is_bot": i == 150,
        }
        for i in range(200)
    ]  # fmt: skip
    clicked = [i for i in range(200) if i < 100 or i % 2]
    events = [{"time": 10 * i + 1, "request": f"r{i:03}", "kind": "click", "position": 1} for i in clicked]
    return logs_of(impressions, events)


def raised(
    series: str = "ctr", segment: str = "", *, before: float = 1.0, after: float = 0.5, cause: str = "regression"
) -> Alert:
    since = time_of(START) + timedelta(seconds=EVENT)
    moved = replace(shift(CTR, segment, before=before, after=after), series=series, since=since)
    return alert(shifts=[moved], time=since + timedelta(seconds=2000), cause=cause)


def test_queries_that_lost_most_come_with_the_documents_that_are_gone() -> None:
    queries, document = examples_of(raised(), service())
    assert (queries.id, queries.text, queries.note) == ("r100", "lamp", "ctr 1 → 0, n = 49")
    assert (document.id, document.note) == ("d1", "top 3: 0.5 → 0, n = 0")


CASES = [
    (raised("latency_ms:p95", before=10, after=100), [("r199", "latency_ms 199"), ("r198", "latency_ms 198")]),
    (raised("latency_ms:p95", before=100, after=10), [("r100", "latency_ms 100"), ("r101", "latency_ms 101")]),
    (
        raised("latency_ms:p95", "language=en", before=10, after=100),
        [("r198", "latency_ms 198"), ("r196", "latency_ms 196")],
    ),
    (raised("query_length:psi", cause="traffic"), [("r103", "0 → 0.0909, n = 9"), ("r107", "0 → 0.0808, n = 8")]),
    (raised(cause="traffic"), [("r103", "0 → 0.0909, n = 9"), ("r107", "0 → 0.0808, n = 8")]),
    (raised("ctr", "language=zh"), []),
    (raised("requests", cause="traffic"), [("r103", "0 → 0.0909, n = 9")]),
    (alert(shifts=[]), []),
]


@pytest.mark.parametrize(("of", "want"), CASES)
def test_what_shows_it_depends_on_the_series(of: Alert, want: list[tuple[str, str]]) -> None:
    found = examples_of(of, service(), most=len(want) or 10)
    assert [(example.id, example.note) for example in found] == want


def test_without_logs_before_it_queries_are_compared_with_the_mean_before() -> None:
    logs, since = service(), time_of(START) + timedelta(seconds=EVENT)
    late = replace(logs, impressions=logs.impressions.filter(pl.col("time") >= since))
    assert [example.note for example in examples_of(raised(before=0.8), late)] == ["ctr 0.8 → 0, n = 49"]
    assert examples_of(raised(), replace(logs, impressions=logs.impressions.clear())) == []


def test_a_series_that_no_log_has_leaves_it_to_the_next_one() -> None:
    recall: Shift = replace(raised().shifts[0], stream="replay", series="recall@10")
    both = replace(raised(), shifts=[recall, *raised().shifts])
    assert examples_of(both, service()) == examples_of(raised(), service())
