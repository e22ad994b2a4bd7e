"""Logs for tests: pages that systems share, and what users do with them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import steelyard as sy


def rows(
    seed: int, n: int = 60, systems: Sequence[str] = ("old", "new"), method: Any = "team-draft"
) -> dict[str, list[Any]]:
    """Pages of users who ask several times, and what they do: by position, by document, twice, or on other requests."""
    rng = np.random.default_rng(seed)
    impressions, events, answers = list[Any](), list[Any](), list[Any]()
    for i in range(n):
        rankings = {name: [f"d{k}" for k in rng.permutation(8)[: rng.integers(3, 8)]] for name in systems}
        page = sy.interleave(rankings, f"r{i}", k=5, method=method)
        own = {"request": f"r{i}", "user": f"u{rng.integers(n // 3)}", **page.record()}
        impressions.append(own | ({"error": "timeout"} if rng.random() < 0.1 else {"is_bot": bool(rng.random() < 0.1)}))
        for _ in range(rng.integers(0, 4)):
            place = int(rng.integers(len(page.doc_ids)))
            at = {"position": place + 1} if rng.random() < 0.5 else {"doc_id": page.doc_ids[place]}
            kind = str(rng.choice(["click", "dwell", "copy"]))
            events.append({"request": f"r{i}", "kind": kind, "value": float(rng.choice([5, 30, 90])), **at})
        answers.append({"request": f"r{i}", "answer": "text", "citations": [f"d{k}" for k in rng.permutation(8)[:2]]})
    impressions.append({"request": "alone", "user": "u0", "doc_ids": ["d1"], "arm": "old"})
    events.append({"request": "alone", "kind": "click", "position": 1})
    return {"impressions": impressions, "events": events, "answers": answers}


def write_log(path: Path, **tables: Sequence[Mapping[str, Any]]) -> None:
    """Rows as lines of JSON, a minute between requests, which their events and answers follow."""
    start = datetime(2026, 11, 1, tzinfo=UTC)
    times = {row["request"]: start + timedelta(minutes=n) for n, row in enumerate(tables["impressions"])}
    lines = (
        json.dumps({"type": name, "time": times[row["request"]].isoformat(), **row})
        for name, records in tables.items()
        for row in records
    )
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
