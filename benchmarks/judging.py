"""How near to ideal a language model is asked for verdicts: 1,000 calls of 50 ms each, 32 at once.

    python benchmarks/judging.py [--calls 1000] [--concurrency 32] [--call-ms 50] [--rounds 3] [--markdown FILE]

A process of its own plays the model.  Ideal is calls / concurrency x the wait, and nothing else; the clock runs from
`judge` to its verdicts, cache included, after one call that imports and connects.  In the second row every tenth
request is answered 429 with Retry-After, and every hundredth stalls for longer than the client waits.  The verdicts of
each round are compared with those that are due, in their order.  Needs Steelyard's extra endpoints.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from loopback import Refusal, serving
from steelyard.judges.llm.judge import LLMJudge
from steelyard.judges.verdict import Case, Verdict

STATEMENTS = 3
RETRY_AFTER_S, STALL_S, TIMEOUT_S = 0.05, 5.0, 0.5
TARGET = 0.9
_counter = itertools.count(1)


def verdicts(body: Any) -> Any:
    """Each statement has the number of its source as the reason."""
    number = re.search(r"number (\d+)", body["messages"][-1]["content"])
    entries = [
        {"id": str(i), "reason": number[1] if number else "", "verdict": "supported", "score": 1.0}
        for i in range(1, STATEMENTS + 1)
    ]
    choice = {"message": {"content": json.dumps({"verdicts": entries})}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 400, "completion_tokens": 60}}


def faulty(body: Any) -> Any:
    n = next(_counter)
    if n % 100 == 0:
        return Refusal(stall_s=STALL_S)
    return Refusal(429, RETRY_AFTER_S) if n % 10 == 0 else verdicts(body)


def cases(n: int, offset: int = 0) -> list[Case]:
    padding = "A steelyard weighs an unknown load against one known weight. " * 12
    return [
        Case(f"{padding} The number {i + offset}.", tuple(f"It says {j} of {i}." for j in range(STATEMENTS)))
        for i in range(n)
    ]


@dataclass(frozen=True)
class Round:
    """One run over all cases."""

    seconds: float
    cpu_s: float
    counts: dict[str, Any]


def run(url: str, n: int, concurrency: int, offset: int) -> Round:
    with tempfile.TemporaryDirectory() as folder:
        judge = LLMJudge(
            model="m", base_url=f"{url}/v1", concurrency=concurrency, timeout_s=TIMEOUT_S, attempts=20,
            cache=f"{folder}/cache.sqlite",
        )  # fmt: skip
        judge.judge(cases(1, offset - 1))  # Imports, and the first connection.
        asked = cases(n, offset)
        start, cpu = time.perf_counter(), time.process_time()
        rows = judge.judge(asked)
        seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu
        due = [(Verdict("supported", 1.0, str(i + offset)),) * STATEMENTS for i in range(n)]
        assert rows == due, "verdicts are missing, twice, or in another order"
        judge.close()
        return Round(seconds, cpu_s, judge.counts())


def row(label: str, answer: Callable[[Any], Any], options: argparse.Namespace, *, target: float | None) -> str:
    ideal = math.ceil(options.calls / options.concurrency) * options.call_ms / 1000
    with serving({"/v1/chat/completions": answer}, options.call_ms / 1000) as url:
        rounds = [run(url, options.calls, options.concurrency, (i + 1) * 10_000_000) for i in range(options.rounds)]
    seconds = statistics.median(one.seconds for one in rounds)
    cpu_ms = statistics.median(one.cpu_s for one in rounds) / options.calls * 1000
    failed, share = rounds[-1].counts["failed_attempts"] or "none", ideal / seconds
    goal = "all, each once" if target is None else f"≥ {target:.0%}"
    return f"| {label} | {ideal:.2f} s | {seconds:.2f} s | {share:.0%} | {goal} | {cpu_ms:.2f} ms | {failed} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--call-ms", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    line = partial(row, options=options)
    lines = [
        "| server | ideal | measured | of ideal | target | processor a call | failed attempts |",
        "|---|---:|---:|---:|---:|---:|---|",
        line("well", verdicts, target=TARGET),
        line("10 % 429, 1 % stalls", faulty, target=None),
        f"\n{options.calls} calls of {options.call_ms:g} ms, {options.concurrency} at once; medians of "
        f"{options.rounds} rounds on {os.cpu_count()} cores, Python {platform.python_version()}.",
    ]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
