"""A check of a monitor: false alarms in simulated quiet traffic, and how soon losses are found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from steelyard.monitoring.checking import CheckedSeries, MonitorCheck
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.numbers import amount, number
from steelyard.reports.views.view import Block, Column, Look, Sheet, Text, View, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_MOST_ROWS, _CLEARLY = 8, 2.0


def check_sheet(check: MonitorCheck, words: Words, n_rows: int | None = None) -> Sheet:
    """A row a series, those with most false alarms first;   n_rows   of them, None for all"""

    def windows(n: float | None) -> str:
        return "–" if n is None else words("monitor_check.more", n=60) if math.isinf(n) else f"{n:.0f}"

    columns = [
        Column[CheckedSeries](words("look.head.series"), lambda row: single_line(row.series)),
        Column[CheckedSeries](words("look.head.segment"), lambda row: single_line(row.segment) or words("look.all")),
        Column[CheckedSeries](words("monitor_check.head.per_month"), lambda row: number(row.per_month, 3)),
        Column[CheckedSeries](words("monitor_check.head.to_sd"), lambda row: windows(row.to_sd)),
        Column[CheckedSeries](words("monitor_check.head.to_floor"), lambda row: windows(row.to_floor), optional=True),
    ]
    return sheet_of(check.rows[:n_rows], columns, n_labels=2)


def verdict_text(check: MonitorCheck, words: Words) -> str:
    """Whether the budget is kept, in one sentence."""
    return words(f"monitor_check.{_verdict(check)}", rate=number(check.per_month, 2), budget=amount(check.budget))


def _verdict(check: MonitorCheck) -> str:
    if check.per_month - _CLEARLY * check.error > 1.3 * check.budget:
        return "exceeded"
    return "kept"


def _notes(check: MonitorCheck, words: Words) -> Iterator[str]:
    low, high = (max(check.per_month + sign * _CLEARLY * check.error, 0.0) for sign in (-1, 1))
    yield words("monitor_check.error", low=number(low, 2), high=number(high, 2), months=number(check.months, 0))
    yield words("monitor_check.columns")


def _cautions(check: MonitorCheck, words: Words) -> Iterator[str]:
    if check.n_few:
        yield words("monitor_check.few", n=check.n_few)


def _brief(check: MonitorCheck, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(verdict_text(check, words), "bold")
    notes = [next(_notes(check, words)), *careful(_cautions(check, words), look)]
    yield replace(check_sheet(check, words, _MOST_ROWS), notes=notes)


def _blocks(check: MonitorCheck, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(verdict_text(check, words), "bold")
    yield replace(check_sheet(check, words), notes=[*_notes(check, words), *_cautions(check, words)])


def _data(check: MonitorCheck, words: Words) -> dict[str, Any]:
    names = ("budget", "per_month", "error", "months", "n_few", "seed")
    return {
        **{name: getattr(check, name) for name in names},
        "in_words": verdict_text(check, words),
        "series": check.frame.to_dicts(),
    }


VIEWS = {
    MonitorCheck: View[MonitorCheck](
        "a check of a monitor", blocks=_blocks, brief=_brief, data=_data, rows=lambda check: check.frame
    )
}
