"""Steelyard's speed and memory beside those of other tools, as ratios measured in one run.

    python benchmarks/speed.py [--rounds 5] [--no-large] [--markdown FILE]

Every row first checks that both sides find the same values; then both sides take turns, so that noise of the machine
hits both, and the ratio of the medians is printed.  "Whole process" is the time from starting Python to its end,
imports included.  Needs benchmarks/requirements.txt; inputs are made on the first run (about 3 GB with the large one).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from inputs import DEEP, HUGE, WIDE, make, write_as

HERE = Path(__file__).parent
NAMES = ("pytrec_eval-terrier", "ranx", "polars", "numpy", "numba")


@dataclass
class Row:
    """One line of the table: what was compared, the target, and what was measured."""

    work: str
    against: str
    target: str
    ours: str
    theirs: str
    ratio: str
    holds: bool


def run(name: str, shape: str, *more: str) -> tuple[float, dict]:
    """Seconds of a whole process, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(HERE / "work.py"), name, shape, *more], capture_output=True, text=True, check=True
    )
    return time.perf_counter() - start, json.loads(done.stdout.splitlines()[-1])


def check(ours: str, theirs: str, shape: str, tolerance: float = 1e-9) -> None:
    """Both sides must find the same value for every query."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("ours.json", "theirs.json")]
        for name, file in zip((ours, theirs), files, strict=True):
            run(name, shape, "--dump", str(file))
        mine, other = (json.loads(file.read_text()) for file in files)
    for measure, values in other.items():
        for query, value in values.items():
            if not math.isclose(mine[measure][query], value, abs_tol=tolerance):
                raise SystemExit(
                    f"{ours} and {theirs} differ: {measure}, query {query}: {mine[measure][query]} and {value}"
                )


def compare(ours: str, theirs: str, shape: str, rounds: int, *, inside: bool = False) -> tuple[float, float]:
    """Median seconds of both sides, taking turns; `inside` takes the seconds that the work itself timed."""
    seconds: dict[str, list[float]] = {ours: [], theirs: []}
    for name in (ours, theirs):
        run(name, shape)  # warms the page cache, and compiled code where there is any
    for _ in range(rounds):
        for name in (ours, theirs):
            whole, timings = run(name, shape)
            seconds[name].append(timings["seconds"] if inside else whole)
    return statistics.median(seconds[ours]), statistics.median(seconds[theirs])


def faster(
    work: str, against: str, least: float, sides: tuple[str, str], shape: str, rounds: int, *, inside: bool = False
) -> Row:
    """A row whose ratio must reach a limit; the values are compared first."""
    check(*sides, shape)
    mine, other = compare(*sides, shape, rounds, inside=inside)
    ratio = other / mine
    measured = f"{ratio:.1f}× faster"
    return Row(work, against, f"≥ {least:g}× faster", f"{mine:.3f} s", f"{other:.3f} s", measured, ratio >= least)


def within(work: str, against: str, most: float, mine: float, other: float, unit: str = "s") -> Row:
    """A row whose ratio must not exceed a limit."""
    ratio, show = mine / other, (lambda x: f"{x:.3f} s") if unit == "s" else (lambda x: f"{x:.0f} {unit}")
    measured = f"{ratio:.2f}×"
    return Row(work, against, f"≤ {most:g}×", show(mine), show(other), measured, ratio <= most)


def below(work: str, most: str, shown: str, holds: bool) -> Row:
    """A row that is held against the clock alone."""
    return Row(work, "the clock", f"< {most}", shown, "–", shown, holds)


def plain_functions() -> Row:
    """Microseconds of one call of each plain function on one query of 100 documents."""
    import steelyard as sy

    retrieved = [f"d{i}" for i in range(100)]
    relevant = {f"d{i}": i % 4 for i in range(0, 120, 4)}
    calls = [sy.precision, sy.recall, sy.mrr, sy.map, sy.ndcg, sy.hit_rate, sy.f1]
    micros = {}
    for call in calls:
        timer = timeit.Timer(lambda call=call: call(retrieved, relevant, k=10))
        micros[call.__name__] = statistics.median(timer.repeat(7, 2_000)) / 2_000 * 1e6
    slowest = max(micros, key=micros.__getitem__)
    shown = f"{micros[slowest]:.0f} µs ({slowest}, the slowest of {len(micros)})"
    return below("one query of 100 documents, plain functions", "50 µs a call", shown, micros[slowest] < 50)


def command(arguments: list[str], rounds: int) -> float:
    """Median seconds of a whole process, after one to warm up."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def start_up(rounds: int) -> Iterator[Row]:
    """What it costs to begin."""
    seconds = command([sys.executable, "-m", "steelyard", "--help"], rounds)
    yield below("`steelyard --help`", "0.4 s", f"{seconds:.2f} s", seconds < 0.4)
    ours = command([sys.executable, "-c", "import steelyard"], rounds)
    theirs = command([sys.executable, "-c", "import polars"], rounds)
    yield within("`import steelyard`", "`import polars`", 1.3, ours, theirs)


def memory() -> Row:
    """Peak memory of a run ten times as long."""
    make(HUGE)
    small, large = (run("steelyard_text", shape.name)[1]["peak_kib"] / 1024 for shape in (DEEP, HUGE))
    return within("peak memory, 70 M lines", "peak memory, 7 M lines", 1.3, large, small, "MiB")


def rows(rounds: int, large: bool) -> Iterator[Row]:
    """Every row of the table, in its order."""
    deep, wide, text, evaluate = DEEP.name, WIDE.name, "TREC text, end to end", "pytrec_eval's evaluate"
    for shape in (DEEP, WIDE):
        make(shape)
    write_as(DEEP, "parquet")
    yield faster(text, "pytrec_eval", 6, ("steelyard_text", "pytrec_text"), deep, rounds)
    yield faster(text, "ranx, warm cache", 25, ("steelyard_text", "ranx_text"), deep, rounds)
    mine, other = compare("steelyard_text", "polars_stream", deep, rounds)
    yield within(text, "Polars streaming the three columns, nothing else", 2, mine, other)
    yield faster(
        "Parquet, end to end", "pytrec_eval on the text", 8, ("steelyard_parquet", "pytrec_text"), deep, rounds
    )
    for work, ours, least in (
        ("dict of dicts in memory", "steelyard_dicts", 3),
        ("prepared Run and Truth, evaluated again", "steelyard_prepared", 10),
        ("the same, for the first time", "steelyard_prepared_first", 1),
    ):
        yield faster(work, evaluate, least, (ours, "pytrec_text"), deep, rounds, inside=True)
    yield faster(f"100,000 queries × 10, {text}", "pytrec_eval", 3, ("steelyard_text", "pytrec_text"), wide, rounds)
    yield plain_functions()
    if large:
        yield memory()
    yield from start_up(max(rounds, 9))


def machine() -> str:
    """What it was measured on."""
    versions = []
    for name in NAMES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    cpu = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
    where = f"{os.cpu_count()} cores of {cpu}, {platform.system()}, Python {platform.python_version()}"
    return ", ".join([where, *versions])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-large", action="store_true", help="leave out the 70 M line run")
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    options = parser.parse_args()
    lines = ["| work | against | target | ours | theirs | measured | |", "|---|---|---|---:|---:|---:|---|"]
    print(*lines, sep="\n", flush=True)
    for row in rows(options.rounds, not options.no_large):
        verdict = "holds" if row.holds else "**missed**"
        lines.append(
            f"| {row.work} | {row.against} | {row.target} | {row.ours} | {row.theirs} | {row.ratio} | {verdict} |"
        )
        print(lines[-1], flush=True)
    lines.append(f"\nMedians of {options.rounds} rounds on {machine()}.")
    print(lines[-1])
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
