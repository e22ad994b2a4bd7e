"""A declaration and the logs of its test, as files."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 10, 5, tzinfo=UTC)
DECLARATION = """start = 2026-10-05
days = 7
primary = "ctr"
difference = "10%"
secondary = ["latency_ms"]
segments = ["language"]
before = "7d"
[arms]
control = 0.5
wide = 0.5
[[guardrail]]
metric = "latency_ms:p95"
margin = "30%"
"""


def write_experiment(folder: Path, *, lift: float = 0.3, n_users: int = 200, seed: int = 0) -> tuple[Path, Path]:
    """layout.toml, and ab.jsonl: two weeks of users who come about every other day, arms in the second one."""
    rng = random.Random(seed)
    rows = list[dict[str, object]]()
    for i in range(n_users):
        arm, chance = rng.choice(["control", "wide"]), rng.betavariate(4, 6)
        for day in range(-7, 7):
            if rng.random() < 0.5:
                time = START + timedelta(days=day, seconds=rng.randrange(86_000))
                shown = {"arm": arm} if day >= 0 else {}
                rows.append({
                    "type": "impression", "time": time.isoformat(), "request": f"r{i}-{day}", "user": f"u{i}",
                    "query": "opening hours", "language": rng.choice(["en", "zh"]), "doc_ids": ["a", "b"],
                    "latency_ms": rng.lognormvariate(5, 0.3), **shown,
                })  # fmt: skip
                if rng.random() < chance * (1 + lift * (arm == "wide" and day >= 0)):
                    later = (time + timedelta(seconds=5)).isoformat()
                    click = {"type": "event", "kind": "click", "request": f"r{i}-{day}", "position": 1}
                    rows.append({**click, "time": later})
    logs, declaration = folder / "ab.jsonl", folder / "layout.toml"
    rows.sort(key=lambda row: str(row["time"]))
    logs.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    declaration.write_text(DECLARATION, "utf-8")
    return declaration, logs
