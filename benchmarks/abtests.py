"""How fast an A/B test of 10 million events is analysed, and how much memory that takes.

    python -m benchmarks.abtests [--events N] [--markdown FILE]

The log of `benchmarks.logs`: 8 weeks of 200,000 users, the last four of which are the experiment, with half of the
users in each arm, and the first four the time before it.  A process of its own reads the log, exposes the users, checks
the data, and compares a ratio by day and language, two more ratios and a percentile; units and values of both arms are
compared with the numbers that the log was written from, before any clock is looked at.  Seconds are the least of three;
those of both processors together depend less on what else the machine does.
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
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmarks.logs import ARMS, DAYS, EVENTS_A_REQUEST, FORMATS, Truth, write_day

from steelyard.abtests.analysing import analyse_experiment, further_columns
from steelyard.abtests.config import ExperimentConfig
from steelyard.traffic.reading import read_logs

SECONDS, MEGABYTES = 20.0, 2048.0
"""At most, for 10 million events on two cores."""
_FIRST = 28
_CONFIG = ExperimentConfig.of(
    {
        "start": "2026-10-26", "days": DAYS - _FIRST, "before": f"{_FIRST}d", "primary": "ctr", "difference": "1%",
        "secondary": ["clicks@5", "abandonment"], "arms": dict.fromkeys(ARMS, 0.5), "segments": "language",
        "guardrail": [{"metric": "latency_ms:p95", "margin": "1%"}],
    }
)  # fmt: skip


def analyse(folder: Path) -> dict[str, Any]:
    """Read a log and analyse the experiment: seconds of both, megabytes, and values, as JSON holds them."""
    start = time.perf_counter()
    logs = read_logs(folder, now=datetime(2027, 1, 1, tzinfo=UTC), segments=further_columns(_CONFIG))
    n_seconds = time.perf_counter() - start
    experiment = analyse_experiment(_CONFIG, logs)
    all_seconds, usage = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "read": n_seconds,
        "all": all_seconds,
        "megabytes": usage.ru_maxrss / 1024,
        "processor": usage.ru_utime + usage.ru_stime,
        "events": logs.n["event"],
        "requests": experiment.n_requests,
        "units": list(experiment.units),
        "values": {effect.metric: [effect.baseline, effect.value] for effect in experiment.effects},
        "blocks": [check.code for check in experiment.checks if check.state == "blocks"],
        "outcome": experiment.decisions[0].outcome,
    }


def check(reading: Mapping[str, Any], truth: Truth) -> None:
    """Hold what was analysed against what was written.

    Raises   AssertionError where a number differs.
    """
    requests, clicked = np.sum(truth.by_arm[_FIRST:], axis=0)
    seen = np.unique(np.concatenate(truth.users[_FIRST:]))
    assert reading["requests"] == requests.sum()
    assert reading["units"] == np.bincount(seen % 2, minlength=2).tolist()
    np.testing.assert_allclose(reading["values"]["ctr"], clicked / requests, rtol=1e-12)
    np.testing.assert_allclose(reading["values"]["abandonment"], 1 - clicked / requests, rtol=1e-12)
    assert (reading["blocks"], reading["events"]) == ([], truth.n_events)
    assert reading["outcome"] == "do_not_ship", reading["outcome"]  # arms are alike, and a gain of 1% is ruled out


def main() -> None:
    """Write the log, analyse it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument("--analyse", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.analyse is not None:
        print(json.dumps(analyse(options.analyse)))
        return
    rows = list[str]()
    with TemporaryDirectory() as name:
        truth = Truth([], [])
        for day in range(DAYS):
            write_day(Path(name), day, round(options.events / EVENTS_A_REQUEST / DAYS), truth)
        for format, title in FORMATS.items():
            command = [sys.executable, "-m", "benchmarks.abtests", "--analyse", str(Path(name) / format)]
            outputs = [subprocess.run(command, check=True, capture_output=True) for _ in range(options.repeats)]
            readings = [json.loads(output.stdout) for output in outputs]
            for reading in readings:
                check(reading, truth)
            best = min(readings, key=lambda reading: reading["all"])
            megabytes = max(reading["megabytes"] for reading in readings)
            is_met = options.events < 10**7 or (best["all"] < SECONDS and megabytes < MEGABYTES)
            cells = [
                title, f"{truth.n_events:,}", f"{sum(best['units']):,}", f"{best['read']:.1f} s",
                f"{best['all'] - best['read']:.1f} s", f"{best['all']:.1f} s",
                f"{best['processor']:.1f} s", f"{megabytes:,.0f} MiB",
                "holds" if is_met else "**missed**",
            ]  # fmt: skip
            rows.append(f"| {' | '.join(cells)} |")
    floor = f"≤ {SECONDS:g} s, {MEGABYTES:,.0f} MiB"
    head = f"| format | events | users | read and cleaned | analysed | together | of processors | memory | {floor} |"
    table = "\n".join([head, "|---" * 9 + "|", *rows])
    print(table)
    if options.markdown is not None:
        what = (__doc__ or "").partition("FILE]")[2].strip()
        text = f"# An A/B test of 10 million events\n\n{what}\n\n{platform.machine()}, 2 cores.\n\n{table}\n"
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
