"""Logs of a service for tests: quiet days, then days on which users click less."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 9, 7, tzinfo=UTC)  # a Monday


def day_of_logs(
    day: int, *, ctr: float, n: int = 150, seed: int = 0, config: str = "v1", corpus: str = "", topic: str = "query"
) -> list[dict[str, object]]:
    """Impressions and clicks of one day, in the order of time."""
    rng = random.Random(f"{seed} {day}")
    rows = list[dict[str, object]]()
    for i in range(n):
        time = START + timedelta(days=day, seconds=i * 86_000 / n)
        request, language = f"r{day}-{i}", rng.choice(["en", "en", "zh"])
        rows.append({
            "type": "impression", "time": time.isoformat(), "request": request, "user": f"u{rng.randrange(n)}",
            "query": f"{topic} {rng.randrange(40)}", "language": language, "doc_ids": ["a", "b", "c"],
            "latency_ms": rng.lognormvariate(5, 0.3), "config": config, "corpus": corpus or None,
        })  # fmt: skip
        if rng.random() < ctr:
            click = {
                "time": (time + timedelta(seconds=9)).isoformat(),
                "request": request,
                "position": rng.choice([1, 2]),
            }
            rows.append({"type": "event", "kind": "click", **click})
    return sorted(rows, key=lambda row: str(row["time"]))


def write_days(folder: Path, days: range, *, ctr: float = 0.45, **options: object) -> None:
    """One file a day."""
    folder.mkdir(exist_ok=True)
    for day in days:
        lines = [json.dumps(row) for row in day_of_logs(day, ctr=ctr, **options)]  # type: ignore[arg-type]
        (folder / f"{START + timedelta(days=day):%Y-%m-%d}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
