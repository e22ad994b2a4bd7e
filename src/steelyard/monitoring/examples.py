"""Examples of an alert from the logs: the queries, requests and documents that show most what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from steelyard.base.errors import InputError
from steelyard.monitoring.alerts import Alert, Example, Shift
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures import Percentile, Quantity, Ratio, traffic_measures
from steelyard.traffic.requests import column_type, requests

MOST = 10
LOGGED = ("feedback", "label_free", "operations")
"""Streams that come from logs."""
_TOP = 3
"""Ranks that a document leaves."""
_PRIOR = 10.0
"""Requests at the mean that are added to those of a query before: a query that was asked once says little."""
_FIRST = {
    name: pl.col(name).sort_by("is_after", "time", "request", descending=[True, False, False]).first()
    for name in ("request", "query")
}
"""The first request of a group after the beginning, by which it is named."""
_CLEAR = 4.0
"""Standard errors from which a document left the top ranks, of the many that are there."""


def examples_of(alert: Alert, logs: Logs, *, most: int = MOST) -> list[Example]:
    """What shows an alert best, by the first of its series that logs say something of; empty where they say nothing.

    A mean or a share is lost by queries: those come first whose requests, from the beginning of the alert to the window
    that raised it, are further below what such requests were worth before.  Of a percentile, the requests that were
    furthest off are shown; where other things are asked, the queries that are more of the traffic than before.  Where
    rankings are logged, half of the examples are documents that left the first ranks.

    logs   of the windows of the alert, and of as many before it as there are: without these, a query is compared with
           the mean before
    """
    for shift in alert.shifts:
        if shift.stream in LOGGED and (found := list(_examples(shift, alert, logs, most))):
            return found
    return []


def _examples(shift: Shift, alert: Alert, logs: Logs, most: int) -> Iterator[Example]:
    quantity, seen = _quantity(shift.series, logs), _Seen(shift, alert, logs)
    if isinstance(quantity, Percentile):
        yield from seen.furthest(quantity, most)
    elif isinstance(quantity, Ratio) and alert.cause != "traffic":
        gone = seen.gone(most // 2)
        yield from seen.lost(quantity, most - len(gone))
        yield from gone
    else:
        yield from seen.risen(most)


def _quantity(series: str, logs: Logs) -> Quantity | None:
    """What a series is computed from; None for one that is no measure of requests, such as a test."""
    try:
        (measure,) = traffic_measures([series], partial(column_type, logs))
    except InputError:
        return None
    return measure.quantity


class _Seen:
    """Requests of the segment of a shift, before it began and from then to the window that raised it."""

    def __init__(self, shift: Shift, alert: Alert, logs: Logs) -> None:
        self.shift, self.alert, self.logs = shift, alert, logs
        self.fell = shift.after < shift.before

    def _requests(self, *columns: str) -> pl.LazyFrame:
        segment, _, value = self.shift.segment.partition("=")
        names = ["time", "request", "query", *([segment] if segment else []), *columns]
        frame = requests(self.logs, list(dict.fromkeys(names))).filter(pl.col("time") < self.alert.time)
        frame = frame.filter(pl.col(segment) == value) if segment else frame
        text = pl.col("query").str.strip_chars().str.to_lowercase()
        return frame.with_columns(is_after=pl.col("time") >= self.alert.since, text=text)

    def lost(self, ratio: Ratio, most: int) -> list[Example]:
        """Queries that lost most against what they, and all others, were worth before."""
        roots = [*ratio.numerator.meta.root_names(), *ratio.denominator.meta.root_names()]
        parts = {"y": ratio.numerator, "x": ratio.denominator}
        sums = {name: part.cast(pl.Float64).fill_null(0.0).sum() for name, part in parts.items()}
        groups = self._requests(*roots).group_by("text", "is_after").agg(**sums, n=pl.len(), **_FIRST)
        table = groups.filter(pl.col("x") > 0).collect()
        before, after = (table.filter(pl.col("is_after") == side) for side in (False, True))
        level = float(before["y"].to_numpy().sum() / before["x"].to_numpy().sum()) if len(before) else self.shift.before
        pairs = after.join(before.select("text", "y", "x"), on="text", how="left", suffix="_before", nulls_equal=True)
        y, x = (pl.col(name).fill_null(0.0) for name in ("y_before", "x_before"))
        usual = (y + _PRIOR * level) / (x + _PRIOR)
        loss = (pl.col("x") * usual - pl.col("y")) * (1 if self.fell else -1)
        worst = pairs.with_columns(usual=usual, loss=loss).filter(pl.col("loss") > 0)
        rows = worst.sort("loss", "text", descending=[True, False]).head(most).iter_rows(named=True)
        return [
            self._example(row, f"{self.shift.series} {row['usual']:.3g} → {row['y'] / row['x']:.3g}, n = {row['n']:,}")
            for row in rows
        ]

    def furthest(self, percentile: Percentile, most: int) -> list[Example]:
        """Requests with the largest values; with the smallest ones where the series fell."""
        value = percentile.values.cast(pl.Float64)
        frame = self._requests(*percentile.values.meta.root_names()).filter("is_after")
        values = frame.select("request", "query", value=value).filter(pl.col("value").is_finite())
        rows = values.sort("value", "request", descending=[not self.fell, False]).head(most).collect()
        name = self.shift.series.partition(":")[0]
        return [self._example(row, f"{name} {row['value']:,.6g}") for row in rows.iter_rows(named=True)]

    def risen(self, most: int) -> list[Example]:
        """Queries that are more of the traffic than before, those first that are so most clearly."""
        rows = self._shares("text", self._requests()).head(most).iter_rows(named=True)
        return [self._example(row, _note(row)) for row in rows if row["z"] > 0]

    def gone(self, most: int) -> list[Example]:
        """Documents that left the first ranks more clearly than chance explains."""
        frame = self._requests("doc_ids").filter(pl.col("doc_ids").list.len() > 0)
        frame = frame.with_columns(doc_id=pl.col("doc_ids").list.head(_TOP).list.unique())
        rows = self._shares("doc_id", frame).reverse().head(most).iter_rows(named=True)
        return [Example(row["doc_id"], "", f"top {_TOP}: {_note(row)}") for row in rows if row["z"] < -_CLEAR]

    def _shares(self, key: str, frame: pl.LazyFrame) -> pl.DataFrame:
        """Share of requests that have a value, or have it among several, before and after: those that rose first."""
        totals = dict(frame.group_by("is_after").len().collect().iter_rows())
        n_before, n_after = (max(totals.get(side, 0), 1) for side in (False, True))
        own = frame.explode(key) if frame.collect_schema()[key] == pl.List(pl.String) else frame
        is_after = pl.col("is_after")
        counts = own.group_by(key).agg(
            before=(~is_after).sum() / n_before, after=is_after.sum() / n_after, n=is_after.sum(), **_FIRST
        )
        both = (pl.col("before") * n_before + pl.col("after") * n_after) / (n_before + n_after)
        error = (both * (1 - both) * (1 / n_before + 1 / n_after)).sqrt().clip(1e-9)
        return (
            counts.with_columns(z=(pl.col("after") - pl.col("before")) / error)
            .sort("z", key, descending=True)
            .collect()
        )

    def _example(self, row: Mapping[str, Any], note: str) -> Example:
        return Example(row["request"], row["query"] or "", note)


def _note(row: Mapping[str, Any]) -> str:
    return f"{row['before']:.3g} → {row['after']:.3g}, n = {row['n']:,}"
