"""How the sinks of a monitor answered a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from steelyard.monitoring.sinks.declared import Outcome, SinkTest
from steelyard.reports.views.view import Block, Column, Look, Sheet, Text, View, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words, read_words


def verdict_text(test: SinkTest, words: Words) -> str:
    """Whether all sinks answer, else how many do not; or that there is none."""
    if not test.outcomes:
        return words("sinks.none", monitor=single_line(test.monitor))
    total, n_failed = len(test.outcomes), len(test.failures)
    key, n = ("sinks.some", n_failed) if n_failed else ("sinks.all", total)
    return words(key, n=n, total=total, monitor=single_line(test.monitor))


def _answer(outcome: Outcome, words: Words) -> str:
    if outcome.error:
        return words("sinks.failed", error=single_line(outcome.error))
    return words("sinks.took" if outcome.is_sent else "sinks.ready")


def _sheet(test: SinkTest, words: Words) -> Sheet:
    columns = [
        Column[Outcome](words("sinks.head.sink"), lambda own: single_line(own.sink)),
        Column[Outcome](words("sinks.head.type"), lambda own: own.type),
        Column[Outcome](words("sinks.head.seconds"), lambda own: f"{own.seconds:.1f}"),
        Column[Outcome](words("sinks.head.answer"), lambda own: _answer(own, words)),
    ]
    return sheet_of(test.outcomes, columns)


def _blocks(test: SinkTest, look: Look) -> Iterator[Block]:
    yield Text(verdict_text(test, look.words), "bold")
    if test.outcomes:
        yield _sheet(test, look.words)


def _data(test: SinkTest) -> dict[str, Any]:
    sinks = [asdict(outcome) for outcome in test.outcomes]
    return {"monitor": test.monitor, "sinks": sinks, "in_words": verdict_text(test, read_words("en"))}


VIEWS = {
    SinkTest: View[SinkTest](
        "a test of sinks",
        blocks=_blocks,
        data=lambda test, words: _data(test),
        rows=lambda test: test.frame,
        papers=lambda test, words: [_sheet(test, words)],
    )
}
