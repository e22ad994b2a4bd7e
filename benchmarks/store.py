"""How fast and how large a store is: a million values of each question, and 10,000 entries.

    python -m benchmarks.store [--markdown FILE]

In a SQLite file, and in PostgreSQL where Debian's package is installed.  A million values: random ones, which nothing
compresses, and those of `sy.evaluate` on rankings of random quality, both of few systems on many questions and of many
systems on few.  10,000 entries: three systems and four measures each, 50 minutes apart.  Before any clock is looked at,
what comes back is compared with what was added, to the last bit.  Seconds are the least of three; run it on a machine
that does nothing else, or ahead of all that runs there: chrt -r 1 python -m benchmarks.store
"""

from __future__ import annotations

import argparse
import os
import platform
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from tests.store.server import NoServer, running

import steelyard as sy
from steelyard.experiment.parts import parts_of
from steelyard.store.adding import insert_entry, rows_of
from steelyard.store.entries import microseconds

MEASURES = ["ndcg@10", "map", "mrr", "recall@5", "recall@10", "precision@5", "ndcg@5", "ndcg@3", "hit_rate@1",
            "hit_rate@5"]  # fmt: skip
SHAPES = ((10, 10_000), (1_000, 100))
"""Systems and questions, of ten measures."""
N_ENTRIES = 10_000
WRITE_SECONDS, READ_SECONDS, LIST_SECONDS, BYTES = 10.0, 1.0, 0.5, 12.0
"""At most, to write a million values, to read one measure of them, to list 10,000 entries; and a value on disk."""
_DAY = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass
class Row:
    """A figure and its floor: what must not be more; None where nothing is promised."""

    database: str
    what: str
    value: float
    unit: str
    most: float | None

    @property
    def is_met(self) -> bool:
        return self.most is None or self.value <= self.most

    def __str__(self) -> str:
        floor = "" if self.most is None else f"≤ {self.most:g} {self.unit}"
        verdict = "" if self.most is None else "holds" if self.is_met else "**missed**"
        return f"| {self.database} | {self.what} | {floor} | {self.value:.2f} {self.unit} | {verdict} |"


def random_scores(n_systems: int, n_questions: int) -> sy.Scores:
    """Values that nothing compresses."""
    n, m = n_systems * n_questions * len(MEASURES), len(MEASURES)
    frame = {
        "system": np.repeat([f"system {i}" for i in range(n_systems)], m * n_questions),
        "measure": np.tile(np.repeat(MEASURES, n_questions), n_systems),
        "query_id": np.tile([f"q{k}" for k in range(n_questions)], n_systems * m),
        "value": np.random.default_rng(0).random(n),
    }
    return sy.Scores.of(pl.DataFrame(frame))


def real_scores(n_systems: int, n_questions: int) -> sy.Scores:
    """Values of rankings of random quality, of questions with one to five relevant documents."""
    rng = np.random.default_rng(1)
    truth = {f"q{k}": {f"d{k}-{i}": int(rng.integers(1, 4)) for i in range(rng.integers(1, 6))}
             for k in range(n_questions)}  # fmt: skip
    runs: dict[str, dict[str, dict[str, float]]] = {f"system {i}": {} for i in range(n_systems)}
    for query, gains in truth.items():
        documents = [*gains, *(f"x{n}" for n in range(8))]
        scores = rng.random((n_systems, len(documents)))
        for run, own in zip(runs.values(), scores.tolist(), strict=True):
            run[query] = {document: score for document, score in zip(documents, own, strict=True) if score > 0.2}
    return sy.evaluate(truth, runs, MEASURES)


def seconds(work: Callable[[], object], *, times: int = 3) -> float:
    """Seconds of some work, the least of several times."""
    least = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - start)
    return least


def of_values(database: str, new_url: Callable[[], str], size: Callable[[str], int]) -> Iterator[Row]:
    """What a million values take."""
    for n_systems, n_questions in SHAPES:
        for kind, make in (("random", random_scores), ("evaluated", real_scores)):
            scores, url = make(n_systems, n_questions), new_url()
            n = scores.values.size
            store = sy.Store(url)
            written = seconds(lambda store=store, scores=scores: store.add(scores, commit="c0ffee"), times=1)
            check(parts_of(store.scores("latest")) == parts_of(scores), "what comes back is not what was added")
            bytes_each = size(url) / n
            read = seconds(lambda store=store: store.scores("latest").filter(measures=MEASURES[0]).frame)
            what = f"{kind}, {n_systems:,} systems × {len(MEASURES)} × {n_questions:,}"
            yield Row(database, f"{what}: write", written, "s", WRITE_SECONDS)
            yield Row(database, f"{what}: read one measure", read, "s", READ_SECONDS)
            yield Row(database, f"{what}: on disk", bytes_each, "bytes a value", BYTES)


def of_entries(database: str, url: str) -> Iterator[Row]:
    """What 10,000 entries take."""
    store = sy.Store(url)
    means = fill(store)
    listed = store.means("ndcg@10", "system 0")
    check(listed["mean"].to_list() == means, "the means that are listed are not those that were added")
    check(store.entries()["id"].to_list() == listed["entry"].to_list()[::-1], "other entries are listed")
    number, one, name = f"{N_ENTRIES:,} entries", {"system": "system 0"}, "ndcg@10"
    for what, work, most in (
        ("`Store.entries()`", store.entries, LIST_SECONDS),
        ("`Store.means()` of a measure", lambda: store.means(name), LIST_SECONDS),
        ("`Store.trend()` of a measure, one system", lambda: store.trend(name, **one), LIST_SECONDS),
        ("`Store.trend()` of a measure, three systems", lambda: store.trend(name), None),
    ):
        yield Row(database, f"{number}: {what}", seconds(work), "s", most)
    yield Row(database, f"{number}: one by its tag", seconds(lambda: store.entry("tag=v60")), "s", None)
    for words in (("history", "list"), ("history", "trend", "-m", "ndcg@10")):
        taken = seconds(lambda words=words: command(*words, "--store", url))
        yield Row(database, f"{number}: the command `{' '.join(words)}`", taken, "s", None)


def fill(store: sy.Store) -> list[float]:
    """Add 10,000 entries at once, and return the means of the first system."""
    rng, scores = np.random.default_rng(2), real_scores(3, 40).filter(measures=MEASURES[:4])
    plain = {"command": "evaluate questions.jsonl runs/bm25 runs/dense runs/hybrid", "note": "", "dirty": False}
    rows = rows_of(scores, tags=[], commit="c0ffee", time=_DAY, **plain)
    added = []
    with store._database.writing() as connection:
        for number in range(N_ENTRIES):
            time_ = microseconds(_DAY + timedelta(minutes=50 * number))
            own = {**rows["entries"][0], "id": secrets.token_hex(5), "time": time_, "git_commit": f"{number:040x}"}
            means = [{**row, "mean": row["mean"] + rng.normal() * 0.01} for row in rows["means"]]
            tags = [{"tag": f"v{number}"}] if number % 20 == 0 else []
            insert_entry(connection, {**rows, "entries": [own], "means": means, "tags": tags})
            added.append(means[0]["mean"])
    return added


def command(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "steelyard", *words], check=True, stdout=subprocess.DEVNULL)


def check(holds: bool, problem: str) -> None:
    if not holds:
        raise SystemExit(problem)


def file_size(url: str) -> int:
    return Path(url).stat().st_size


def database_size(url: str) -> int:
    """Bytes of all tables of a database in PostgreSQL."""
    from sqlalchemy import text

    with sy.Store(url)._database.reading() as connection:
        query = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200"
        return int(connection.execute(text(query)).scalar_one())


def all_rows() -> Iterator[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        names = (str(folder / f"{number}.db") for number in range(100))
        yield from of_values("SQLite", lambda: next(names), file_size)
        yield from of_entries("SQLite", next(names))
        try:
            server = stack.enter_context(running())
        except NoServer as error:
            print(f"PostgreSQL is left out: {error}")
            return
        yield from of_values("PostgreSQL", server.new_database, database_size)
        yield from of_entries("PostgreSQL", server.new_database())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    options = parser.parse_args()
    cpus = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    where = f"{os.cpu_count()} cores of {cpus[0].partition(': ')[2]}, Python {platform.python_version()}"
    head = ["| database | what | floor | measured | |", "|---|---|---|---:|---|"]
    print("\n".join(head))
    rows = []
    for row in all_rows():
        rows.append(row)
        print(row, flush=True)
    foot = f"The least of three, on {where}. A command is a whole process, which loads Python's libraries first."
    if options.markdown:
        options.markdown.write_text("\n".join([*head, *map(str, rows), "", foot, ""]), encoding="utf-8")
    return int(not all(row.is_met for row in rows))


if __name__ == "__main__":
    sys.exit(main())
