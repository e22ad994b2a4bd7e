"""How near to ideal questions are asked at once: three calls a question, of 50 ms each, beside what they would take.

    python benchmarks/concurrency.py [--questions 64] [--call-ms 50] [--rounds 3] [--markdown FILE]

A process of its own plays an embedding, a rerank and a chat endpoint, and waits so long before each answer.  The lines
of each run are compared with those of a run that asks one question after the other: same order, passages, scores and
answers.  Ideal is questions / concurrency x 3 calls, and nothing else.  Needs Steelyard's extras rag and endpoints.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loopback import serving
from steelyard import Pipeline

CALLS, WIDTH = 3, 64
DOCUMENTS = {f"d{i}": f"Weight {i} hangs on arm {i % 7} of steelyard {i % 11}." for i in range(200)}


def vector(text: str) -> list[float]:
    """How often each letter occurs, so that texts differ."""
    counts = [1.0] * WIDTH
    for letter in text:
        counts[ord(letter) % WIDTH] += 1.0
    return counts


def embeddings(body: Any) -> Any:
    return {"data": [{"index": i, "embedding": vector(text)} for i, text in enumerate(body["input"])]}


def scores(body: Any) -> Any:
    asked = set(body["query"].lower())
    texts = enumerate(body["documents"])
    return {"results": [{"index": i, "relevance_score": len(asked & set(t.lower())) / len(asked)} for i, t in texts]}


def chat(body: Any) -> Any:
    content = f"Of {len(body['messages'][-1]['content'])} characters."
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}


ANSWERS = {"/v1/embeddings": embeddings, "/rerank": scores, "/v1/chat/completions": chat}


def pipeline(url: str, concurrency: int) -> Pipeline:
    """Dense search, reranking and generation, all behind an address; ready to be asked."""
    system = Pipeline(
        DOCUMENTS,
        chunk="whole",
        index={"kind": "dense", "backend": "numpy"},
        embed={"kind": "openai", "model": "m", "base_url": f"{url}/v1"},
        rerank={"kind": "http", "url": f"{url}/rerank", "top_n": 10},
        generate={"kind": "openai", "model": "g", "base_url": f"{url}/v1"},
        concurrency=concurrency,
    )
    system.prepare()
    return system


def results(system: Pipeline, questions: list[dict[str, str]]) -> tuple[list[dict[str, Any]], float]:
    """The lines of a run, without their times, and the seconds from the first question to the finished folder."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run = system.run(questions, Path(folder) / "run")
        seconds = time.perf_counter() - start
        lines = [json.loads(line) for line in run.outputs.open(encoding="utf-8")]
    assert all("error" not in line for line in lines), next(line["error"] for line in lines if "error" in line)
    return [{key: value for key, value in line.items() if key != "latency_ms"} for line in lines], seconds


def rows(n: int, call_s: float, rounds: int) -> Iterator[str]:
    questions = [{"qid": f"q{i}", "query": f"What weighs {i} on arm {i % 5}?"} for i in range(n)]
    with serving(ANSWERS, call_s) as url:
        results(pipeline(url, 1), questions[:1])  # Imports, and the first connection.
        in_turn, _ = results(pipeline(url, 1), questions)
        assert [line["qid"] for line in in_turn] == [question["qid"] for question in questions]
        for concurrency in (1, 8, 16, 64):
            times = []
            for _ in range(rounds):
                at_once, seconds = results(pipeline(url, concurrency), questions)
                assert at_once == in_turn, "other lines than one question after the other"
                times.append(seconds)
            ideal = math.ceil(n / concurrency) * CALLS * call_s
            median = statistics.median(times)
            yield f"| {concurrency} | {ideal:.2f} s | {median:.2f} s | {ideal / median:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=64)
    parser.add_argument("--call-ms", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    lines = [
        "| questions at once | ideal | measured | of ideal |\n|---:|---:|---:|---:|",
        *rows(options.questions, options.call_ms / 1000, options.rounds),
        f"\n{options.questions} questions of {CALLS} calls of {options.call_ms:g} ms; medians of {options.rounds} "
        f"rounds on {os.cpu_count()} cores, Python {platform.python_version()}.",
    ]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
