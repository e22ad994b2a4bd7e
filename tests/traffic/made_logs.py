"""Logs for tests: of rows as they are written down, and by chance."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS, TIME

Row = Mapping[str, Any]
START = 1_790_000_000_000_000
"""2026-09-21 14:13:20 UTC, in microseconds."""


def logs_of(impressions: Sequence[Row], events: Sequence[Row] = (), answers: Sequence[Row] = ()) -> Logs:
    """Logs of rows; `time` in seconds behind START, and 0 where it is not given; bots where is_bot says so."""
    own = [{"is_bot": False, **row} for row in impressions]
    return Logs(_frame(own, {**IMPRESSIONS, "is_bot": pl.Boolean}), _frame(events, EVENTS), _frame(answers, ANSWERS))


def _frame(rows: Sequence[Row], schema: Mapping[str, Any]) -> pl.LazyFrame:
    more = {name: pl.String for row in rows for name in row if name not in schema}
    frame = pl.DataFrame(list(rows), schema={**schema, "time": pl.Float64, **more})
    time = (pl.col("time").fill_null(0) * 1e6).round().cast(pl.Int64) + START
    return frame.with_columns(time.cast(TIME)).lazy()


def chance_rows(seed: int, n: int = 120, n_users: int = 30, hours: int = 5) -> dict[str, list[Row]]:
    """Rows of a small service: impressions, events and answers."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, hours * 3600, n))
    impressions = [
        {
            "time": float(time), "request": f"r{i}",
            "user": f"u{rng.integers(n_users)}" if rng.random() < 0.9 else None,
            "session": f"s{rng.integers(n_users)}" if rng.random() < 0.7 else None,
            "query": " ".join(rng.choice(["red", "blue", "退款", "wie", "sort"], rng.integers(1, 4))),
            "language": rng.choice(["en", "zh", None]), "arm": rng.choice(["a", "b"]),
            "doc_ids": [f"d{rng.integers(4)}#{k}" for k in range(rng.integers(0, 4))],
            "latency_ms": float(rng.lognormal(5, 1)), "cost_usd": float(rng.lognormal(-9, 1)),
            "error": "timeout" if rng.random() < 0.1 else None, "is_bot": bool(rng.random() < 0.05),
        }
        for i, time in enumerate(times)
    ]  # fmt: skip
    kinds = ["click", "click", "dwell", "copy", "thumb", "rating", "survey", "accept", "success", "citation_click"]
    events = [
        {
            "time": float(times[i] + rng.integers(0, 90)), "request": f"r{i}", "kind": rng.choice(kinds),
            "position": int(rng.integers(1, 6)) if rng.random() < 0.7 else None, "doc_id": f"d{rng.integers(4)}#0",
            "value": float(rng.choice([-1, 1, 3, 4.5])),
        }
        for i in rng.integers(0, n, n)
    ]  # fmt: skip
    answers = [
        {"request": f"r{i}", "answer": "text", "citations": ["d1"] * rng.integers(0, 3),
         "abstained": bool(rng.random() < 0.2)}
        for i in range(0, n, 2)
    ]  # fmt: skip
    return {"impressions": impressions, "events": events, "answers": answers}
