"""Many systems in one call: time, memory, and whether both grow with their number alone.

    python benchmarks/systems.py [--systems 10000] [--runs 100] [--markdown FILE]

Values are compared first: those of a sample of systems with pytrec_eval, and those of the call with all systems with a
call for each alone, to the bit.  Then whole processes are timed, imports included, and their peak memory is taken.
Needs benchmarks/requirements.txt; inputs are made on the first run (about 1.1 GB).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytrec_eval

from inputs import DATA, Shape, make
from speed import machine, print_table

N_QUERIES, POOL, DEPTHS = 50, 250, (20, 100)
MILLION = Shape("million", 1_000, 1_000, 60_000)
SAMPLE = 10
MEASURES = {"ndcg@10": "ndcg_cut_10", "map": "map", "recall@100": "recall_100", "precision@10": "P_10"}


HEAD = ["| work | target | measured | peak memory | |", "|---|---|---:|---:|---|"]


@dataclass
class Row:
    """One line of the table."""

    work: str
    target: str
    measured: str
    memory: str
    holds: bool

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "**missed**"
        return f"| {self.work} | {self.target} | {self.measured} | {self.memory} | {verdict} |"


@dataclass
class Cost:
    """Of a whole process: seconds from start to end, seconds of all cores, and peak memory in MiB."""

    seconds: float
    cpu: float
    peak: float


def cost(*arguments: str, output: Path | None = None) -> Cost:
    """What one command takes; its output goes into a file or nowhere."""
    with (output or Path(os.devnull)).open("wb") as file:
        start = time.perf_counter()
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "steelyard", *arguments],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, file.fileno(), 1)],
        )
        _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"steelyard {' '.join(arguments[:3])} ...: exit status {os.waitstatus_to_exitcode(status)}")
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def small_runs(n: int) -> tuple[Path, list[str]]:
    """Judgments of 50 questions, and so many runs of 20 to 100 documents each, with ties, some better than others."""
    folder, qrels = DATA / "systems", DATA / "systems.qrels"
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(2026)
    queries = np.arange(1, N_QUERIES + 1) + 100
    doc_ids = pl.Series([f"doc{number:07d}" for number in rng.choice(8_841_823, N_QUERIES * POOL, replace=False)])
    gain = rng.integers(1, 4, (N_QUERIES, POOL)) * (rng.random((N_QUERIES, POOL)) < 0.2)
    judged = np.flatnonzero(rng.random(N_QUERIES * POOL) < 0.4)
    labels = {"query": queries[judged // POOL], "0": 0, "doc": doc_ids.gather(judged), "gain": gain.ravel()[judged]}
    pl.DataFrame(labels).write_csv(qrels, separator=" ", include_header=False)
    paths = [folder / f"sys{number:05d}.run" for number in range(n)]
    for number, path in enumerate(paths):
        if not path.exists():
            _write_run(np.random.default_rng([2026, number]), path, queries, doc_ids, gain)
    return qrels, list(map(str, paths))


def _write_run(rng: np.random.Generator, path: Path, queries: np.ndarray, doc_ids: pl.Series, gain: np.ndarray) -> None:
    depth = int(rng.integers(DEPTHS[0], DEPTHS[1] + 1))
    scores = rng.random(gain.shape) + rng.random() * (gain > 0)
    top = np.argsort(-scores, axis=1)[:, :depth]
    rows = (top + np.arange(N_QUERIES)[:, None] * POOL).ravel()
    run = {
        "query": np.repeat(queries, depth), "Q0": "Q0", "doc": doc_ids.gather(rows),
        "rank": np.tile(np.arange(1, depth + 1), N_QUERIES), "score": scores.ravel()[rows], "tag": path.stem,
    }  # fmt: skip
    pl.DataFrame(run).write_csv(path, separator=" ", include_header=False, float_precision=3)


def long_runs(n: int) -> tuple[Path, list[str]]:
    """Judgments of 1,000 queries, and a run of 1 M lines under so many names."""
    make(MILLION)
    folder = DATA / "million"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"run{number:03d}.run" for number in range(n)]
    for path in paths:
        if not path.exists():
            try:
                os.link(MILLION.run, path)
            except OSError:
                shutil.copyfile(MILLION.run, path)
    return MILLION.qrels, list(map(str, paths))


def check(qrels: Path, paths: list[str]) -> None:
    """A sample of systems has pytrec_eval's values, and alone the same bits as among all others."""
    written = DATA / "systems.json"
    cost("evaluate", str(qrels), *paths, "--format", "json", output=written)
    together = json.loads(written.read_text())["systems"]
    evaluator = pytrec_eval.RelevanceEvaluator(_nested(qrels, 3, int), set(MEASURES.values()))
    for path in paths[:: max(1, len(paths) // SAMPLE)]:
        cost("evaluate", str(qrels), path, "--format", "json", output=written)
        (name, alone), *_ = json.loads(written.read_text())["systems"].items()
        if alone != together[name]:
            raise SystemExit(f"{name} has other numbers among {len(paths)} systems than alone")
        for query, values in evaluator.evaluate(_nested(Path(path), 4, float)).items():
            for ours, theirs in MEASURES.items():
                if not math.isclose(alone["per_query"][query][ours], values[theirs], abs_tol=1e-9):
                    raise SystemExit(f"{name}, query {query}: {ours} is not that of pytrec_eval")
    written.unlink()


def _nested(path: Path, column: int, number: type) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        words = line.split()
        nested.setdefault(words[0], {})[words[2]] = number(words[column])
    return nested


def many_systems(n: int) -> Iterator[Row]:
    """Table, JSON and comparison of all systems, and how the time of a quarter of them compares."""
    qrels, paths = small_runs(n)
    # In a process of its own: what a process held before it starts another counts for that one's peak too.
    subprocess.run([sys.executable, __file__, "--systems", str(n), "--check"], check=True)
    for name, command, options in (
        ("table", "evaluate", []),
        ("JSON", "evaluate", ["--format", "json"]),
        ("compare with a baseline", "compare", ["--baseline", "sys00000"]),
    ):
        whole = cost(command, str(qrels), *paths, *options)
        yield Row(
            f"{n:,} systems × {N_QUERIES} queries, {name}",
            "≤ 10 s, ≤ 1 GiB",
            f"{whole.seconds:.1f} s ({whole.cpu:.1f} s of all cores)",
            f"{whole.peak:.0f} MiB",
            whole.seconds <= 10 and whole.peak <= 1024,
        )
        part = cost(command, str(qrels), *paths[: n // 4], *options)
        ratio = whole.cpu / part.cpu
        yield Row(
            f"the same beside {n // 4:,} systems",
            "≤ 4.4× the work",
            f"{ratio:.1f}×",
            f"{part.peak:.0f} MiB",
            ratio <= 4.4,
        )


def many_long_runs(n: int) -> Row:
    """Runs of 1 M lines in one call, each beside a call of its own."""
    qrels, paths = long_runs(n)
    cost("evaluate", str(qrels), *paths)
    alone = statistics.median(cost("evaluate", str(qrels), path).seconds for path in paths[:5])
    every = cost("evaluate", str(qrels), *paths)
    ratio = every.seconds / n / alone
    return Row(
        f"{n} runs of 1 M lines, one truth: each beside a call of its own",
        "≤ 0.6×, ≤ 500 MiB",
        f"{ratio:.2f}× ({every.seconds / n:.2f} s, {alone:.2f} s)",
        f"{every.peak:.0f} MiB",
        ratio <= 0.6 and every.peak <= 500,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=100, help="of 1 M lines")
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    parser.add_argument("--check", action="store_true", help="compare values, and leave the clock alone")
    options = parser.parse_args()
    if options.check:
        check(*small_runs(options.systems))
        return
    rows = chain(many_systems(options.systems), (many_long_runs(n) for n in [options.runs]))
    print_table(HEAD, rows, f"Whole processes on {machine()}.", options.markdown)


if __name__ == "__main__":
    main()
