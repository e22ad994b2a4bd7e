"""How fast logs are read, cleaned and made into series, and how much memory that takes.

    python -m benchmarks.logs [--events N] [--markdown FILE]

A log of 8 weeks, one file a day for impressions and one for events, by a seed: 10 million events of 3 million requests
of 200,000 users, five documents each, a hundredth of the events written twice and as many late in their file.  As lines
of JSON and as Parquet.  A process of its own reads each, and makes series of days; what comes out is compared with the
numbers that the log was written from, before any clock is looked at.  Seconds are the least of three.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.traffic.reading import read_logs
from steelyard.traffic.tabulating import tabulate
from steelyard.traffic.windows import Windows

DAYS, EVENTS_A_REQUEST, USERS = 56, 10 / 3, 200_000
ARMS = ["live", "next"]
MEASURES = ["ctr", "clicks@5", "first_click_rr", "abandonment", "satisfied_click", "empty_rate", "latency_ms:p95",
            "error_rate", "requests", "users"]  # fmt: skip
SECONDS, MEGABYTES = 10.0, 2048.0
"""At most, for 10 million events on two cores."""
_DAY = 86_400_000_000
_START = 1_790_553_600_000_000
"""2026-09-28 UTC, a Monday, in microseconds."""
_KINDS = np.array(["click", "click", "click", "dwell", "copy"])
FORMATS = {"jsonl": "JSONL", "parquet": "Parquet"}


@dataclass
class Truth:
    """What was written: requests, requests with a click and events, by day.

    by_arm   of each day, (2, 2) requests and those with a click, by arm;   users   of each day, that of each request
    """

    requests: list[int]
    clicked: list[int]
    n_events: int = 0
    by_arm: list[Ints] = field(default_factory=list)
    users: list[Ints] = field(default_factory=list)


def write_day(folder: Path, day: int, n_requests: int, truth: Truth) -> None:
    """Write the files of a day in both formats."""
    rng = np.random.default_rng([1, day])
    asked = np.sort(rng.integers(0, _DAY, n_requests)) + _START + day * _DAY
    n_events = round(n_requests * EVENTS_A_REQUEST)
    user = rng.integers(0, USERS, n_requests)
    # An eighth of the requests get none; the last ones of a day leave a minute for theirs.
    of = np.sort(rng.integers(0, n_requests * 7 // 8, n_events))
    kind = _KINDS[rng.integers(0, len(_KINDS), n_events)]
    events = pl.DataFrame(
        {
            "time": times(asked[of] + rng.integers(1_000_000, 60_000_000, n_events)),
            "request": names("r", day * 10**7 + of, 9),
            "kind": kind,
            "position": rng.integers(1, 6, n_events),
            "value": pl.Series(rng.gamma(2, 20, n_events).round(1)).set(pl.Series(kind != "dwell"), None),
        }
    )
    impressions = pl.DataFrame(
        {
            "time": times(asked),
            "request": names("r", day * 10**7 + np.arange(n_requests), 9),
            "user": names("u", user, 6),
            "query": pl.select(
                pl.format("how to repair part {} of model {}", names("", rng.integers(0, 500, n_requests), 3),
                          names("", rng.integers(0, 100, n_requests), 2))
            ).to_series(),
            "arm": np.array(ARMS)[user % 2],
            "doc_ids": names("doc-", rng.integers(0, 50_000, n_requests * 5), 5).reshape((n_requests, 5))
            .arr.to_list(),
            "latency_ms": rng.gamma(4, 60, n_requests).round(1),
        }
    )  # fmt: skip
    clicked = np.unique(of[kind == "click"])
    truth.requests.append(n_requests)
    truth.clicked.append(len(clicked))
    truth.users.append(user)
    truth.by_arm.append(np.array([np.bincount(arm, minlength=2) for arm in (user % 2, user[clicked] % 2)]))
    truth.n_events += n_events
    disordered = rng.permuted(np.arange(n_events // 100))
    events = pl.concat([events.sort("time"), events.head(n_events // 100)[disordered]])
    for name, frame in (("impressions", impressions), ("events", events)):
        for format in FORMATS:
            target = folder / format / name
            target.mkdir(parents=True, exist_ok=True)
            if format == "parquet":
                frame.write_parquet(target / f"{day:03}.parquet")
            else:
                text = pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
                frame.with_columns(text).write_ndjson(target / f"{day:03}.jsonl")


def times(values: Ints) -> pl.Series:
    """Microseconds since 1970 as times."""
    return pl.Series(values).cast(pl.Datetime("us", "UTC"))


def names(prefix: str, numbers: Ints, width: int) -> pl.Series:
    """Names such as r000000017."""
    return pl.select(prefix + pl.lit(pl.Series(numbers)).cast(pl.String).str.zfill(width)).to_series()


def read(folder: Path) -> dict[str, Any]:
    """Read a log and make series of it: seconds of both, megabytes, and values, as JSON holds them."""
    start = time.perf_counter()
    logs = read_logs(folder, now=datetime(2027, 1, 1, tzinfo=UTC))
    n_seconds = time.perf_counter() - start
    points = tabulate(logs, Windows.parse("1d"), MEASURES)
    return {
        "read": n_seconds,
        "all": time.perf_counter() - start,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "n": logs.n,
        "troubles": {trouble.kind: trouble.n for trouble in logs.troubles},
        "values": {name: points.filter(pl.col("series") == name)["value"].to_list() for name in MEASURES},
    }


def check(reading: Mapping[str, Any], truth: Truth) -> None:
    """Hold what was read against what was written.

    Raises   AssertionError where a number differs.
    """
    assert reading["n"] == {"impression": sum(truth.requests), "event": truth.n_events, "answer": 0}, reading["n"]
    assert reading["values"]["requests"] == truth.requests
    ctr: Floats = np.array(truth.clicked) / np.array(truth.requests)
    np.testing.assert_allclose(reading["values"]["ctr"], ctr, rtol=1e-12)
    np.testing.assert_allclose(reading["values"]["abandonment"], 1 - ctr, rtol=1e-12)
    assert reading["troubles"].keys() == {"duplicate", "out_of_order"}, reading["troubles"]


def main() -> None:
    """Write the log, read it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        print(json.dumps(read(options.read)))
        return
    rows = list[str]()
    with TemporaryDirectory() as name:
        truth = Truth([], [])
        for day in range(DAYS):
            write_day(Path(name), day, round(options.events / EVENTS_A_REQUEST / DAYS), truth)
        for format, title in FORMATS.items():
            size = sum(file.stat().st_size for file in (Path(name) / format).rglob(f"*.{format}")) / 1e9
            command = [sys.executable, "-m", "benchmarks.logs", "--read", str(Path(name) / format)]
            outputs = [subprocess.run(command, check=True, capture_output=True) for _ in range(options.repeats)]
            readings = [json.loads(output.stdout) for output in outputs]
            for reading in readings:
                check(reading, truth)
            best = min(readings, key=lambda reading: reading["all"])
            megabytes = max(reading["megabytes"] for reading in readings)
            is_met = options.events < 10**7 or (best["all"] < SECONDS and megabytes < MEGABYTES)
            cells = [
                title, f"{truth.n_events:,}", f"{size:.2f} GB", f"{best['read']:.1f} s",
                f"{best['all'] - best['read']:.1f} s", f"{best['all']:.1f} s", f"{megabytes:,.0f} MiB",
                "holds" if is_met else "**missed**",
            ]  # fmt: skip
            rows.append(f"| {' | '.join(cells)} |")
    floor = f"≤ {SECONDS:g} s, {MEGABYTES:,.0f} MiB"
    head = f"| format | events | files | read and cleaned | series | together | memory | {floor} |"
    table = "\n".join([head, "|---|---|---|---|---|---|---|---|", *rows])
    print(table)
    if options.markdown is not None:
        text = (
            f"# Logs\n\n{(__doc__ or '').partition('FILE]')[2].strip()}\n\n{platform.machine()}, 2 cores.\n\n{table}\n"
        )
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
