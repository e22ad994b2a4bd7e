"""Stores of somebody else: damaged files, and whole ones in which cells, results and frames are something else."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

import steelyard as sy
from steelyard.store.blobs import Bundle
from tests.fuzz.foreign import SECRET, watched
from tests.fuzz.fuzzing import Counts, run_case
from tests.fuzz.mutations import ODD_JSON, cut, flip, mutated, odd_json, places, splice

Damage = Callable[[sqlite3.Connection, random.Random], None]
FILE = "history.db"
_TRUTH = {f"q{n}": {"a": 1, "b": n % 3} for n in range(40)}
_RUNS = {
    "old": {query: ["b", "a", "c"] for query in _TRUTH},
    "new": {query: ["a", "c", "b"] if n % 4 else ["c"] for n, query in enumerate(_TRUTH)},
}
_HEAD = ("--store", FILE)
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("history", *_HEAD), ("history", *_HEAD, "-v", "--lang", "zh"), ("history", *_HEAD, "-f", "json"),
    ("history", "show", "latest", *_HEAD, "-v"), ("history", "show", "tag=v1", *_HEAD, "-v"),
    ("history", "show", "accepted", *_HEAD, "-f", "json"), ("history", "diff", "tag=v1", "tag=v2", *_HEAD, "-v"),
    ("history", "trend", "-m", "mrr", *_HEAD, "-v"), ("history", "wear", *_HEAD),
    ("gate", "scores.json", "--baseline", "store:accepted", "--margin", "0.05", *_HEAD),
    ("gate", "scores.json", "--baseline", "store:tag=v1", "--margin", "0.05", *_HEAD),
    ("history", "export", "--to", "mlflow", "-o", "mlflow", *_HEAD), ("history", "tag", "latest", "v9", *_HEAD),
)  # fmt: skip
ODD_CELLS = (
    None, 0, -1, 7, 2**62, -(2**62), 1e300, float("inf"), "", "x", "\x00", "{", "[]", "{}", '{"a": []}', "[" * 9_000,
    b"", b"\xff\x00", "../" * 9 + "etc/passwd", "<script>", "\x1b[31m", "x" * 20_000,
)  # fmt: skip
ODD_FRAMES = (
    pl.DataFrame(), pl.DataFrame({"x": [1]}), pl.DataFrame({"": ["a", None]}), pl.DataFrame({"": [None, 1.0]}),
    pl.DataFrame({"": [[1], [2, 3]]}), pl.DataFrame({"": [1 << 62] * 80}), pl.DataFrame({"": [float("nan")] * 80}),
    pl.DataFrame({"": [datetime(2026, 1, 1, tzinfo=UTC)]}), pl.DataFrame({"": [b"x"]}), pl.DataFrame({"": [{"a": 1}]}),
)  # fmt: skip


def write_store(folder: Path) -> bytes:
    """A store, what commands read beside it, and what lies where nobody named it."""
    scores = sy.evaluate(_TRUTH, _RUNS, ["mrr", "ndcg@5"])
    later = sy.evaluate(_TRUTH, _RUNS | {"third": _RUNS["new"]}, ["mrr", "ndcg@5"])
    scores.write(folder / "scores.json")
    with sy.Store(folder / FILE) as store:
        about = {"commit": "c0ffee", "dirty": False, "command": "evaluate truth.jsonl runs"}
        for day in range(1, 9):
            store.add(scores, time=datetime(2026, 1, day, tzinfo=UTC), **about)
        store.add(scores, tags=["v1"], note="the release", **about)
        store.add(later, tags=["v2"], **about)
        store.add(sy.compare(scores), **about)
        store.add(sy.gate(scores, baseline="old", margin=0.05), **about)
        store.accept("tag=v1", who="Ada", why="good")
    (folder / "home").mkdir()
    (folder / "home" / "notes").write_text(SECRET)
    return (folder / FILE).read_bytes()


def fuzz_stores(folder: Path, good: bytes, *, n_cases: int, seed: int) -> Counts:
    """Change a store in one way a case, and run a command that reads it.

    Raises   AssertionError where a file is opened, or printed, that the store alone names.
    """
    rng, counts = random.Random(seed), Counts()
    with contextlib.chdir(folder):
        for number in range(n_cases):
            damage = rng.choice((None, _cell, _cell, _tree, _tree, _tree, _frame, _frame))
            _restore(folder, mutated(good, ".db", rng) if damage is None else good)
            if damage is not None:
                with (
                    contextlib.closing(sqlite3.connect(FILE)) as connection,
                    contextlib.suppress(sqlite3.IntegrityError),
                ):
                    damage(connection, rng)
                    connection.commit()
            words = rng.choice(COMMANDS)
            name = "bytes" if damage is None else damage.__name__
            label = f"case {number} of seed {seed}: steelyard {' '.join(words)} with other {name}"
            with watched(folder / "home") as opened:
                printed = run_case(list(words), label, counts)
            assert not opened, f"{label}: opened {opened}"
            assert SECRET not in printed, f"{label}: printed {printed}"
    return counts


def _restore(folder: Path, content: bytes) -> None:
    # Another file, and not the same with other bytes, which SQLite would take for a disk that fails.
    for more in ("", "-wal", "-shm"):
        (folder / f"{FILE}{more}").unlink(missing_ok=True)
    (folder / FILE).write_bytes(content)


def _cell(connection: sqlite3.Connection, rng: random.Random) -> None:
    """A value of a table is another one."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice([name for name in tables if not name.startswith("sqlite_")])
    column = rng.choice([row[1] for row in connection.execute(f"PRAGMA table_info({table})")])
    # Tables of monitors have no row ids: all of their rows are changed.
    has_rows = not connection.execute("SELECT wr FROM pragma_table_list WHERE name = ?", [table]).fetchone()[0]
    where = "" if rng.random() < 0.5 or not has_rows else f" WHERE rowid = {rng.randrange(1, 15)}"
    connection.execute(f"UPDATE {table} SET {column} = ?{where}", [rng.choice(ODD_CELLS)])


def _tree(connection: sqlite3.Connection, rng: random.Random) -> None:
    """What a result is made of is something else: a value, a kind, or a path to elsewhere."""
    number, text = _part(connection, rng)
    if rng.random() < 0.5:
        tree = json.loads(text)
        holders = [(holder, key) for holder, key in places(tree) if isinstance(holder, dict) and "$" in holder]
        holder, key = rng.choice(holders)
        holder[rng.choice((key, "$", "type", "shape", "kept", "data", "items", "value"))] = rng.choice((
            *ODD_JSON[:20], "|O", "<f8", "<U9", "os.system", "path", "home/notes", [1] * 9, [10**12], [], {"$": "Note"},
            {"$": "path", "value": "home/notes"},
        ))  # fmt: skip
        text = json.dumps(tree)
    else:
        text = odd_json(text.encode(), rng).decode("utf-8", "replace")
    _replace(connection, number, text, Bundle())


def _frame(connection: sqlite3.Connection, rng: random.Random) -> None:
    """A frame or array that is kept apart is damaged, or another one."""
    number, text = _part(connection, rng)
    digests = [holder[key] for holder, key in places(json.loads(text)) if _is_digest(holder[key])]
    if not digests:
        return
    digest, bundle = rng.choice(digests), Bundle()
    if rng.random() < 0.5:
        other = bundle.keep(rng.choice(ODD_FRAMES))
    else:
        [data] = connection.execute("SELECT data FROM blobs WHERE digest = ?", [digest]).fetchone()
        data = rng.choice((flip, flip, cut, splice))(data, rng)
        other = hashlib.sha256(data).hexdigest()
        bundle.blobs[other] = data
    _replace(connection, number, text.replace(digest, other), bundle)


def _part(connection: sqlite3.Connection, rng: random.Random) -> tuple[int, str]:
    """The row of a result, and what it is made of."""
    rows = connection.execute("SELECT parts.rowid, data FROM parts JOIN blobs ON blob = digest").fetchall()
    number, data = rng.choice(rows)
    return number, pl.read_ipc(io.BytesIO(data)).item()


def _replace(connection: sqlite3.Connection, number: int, text: str, bundle: Bundle) -> None:
    """Let results that are made like that of a row be made of another text."""
    digest = bundle.keep_text(text)
    for key, data in bundle.blobs.items():
        connection.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", [key, data])
    same = "blob = (SELECT blob FROM parts WHERE rowid = ?)"
    connection.execute(f"UPDATE parts SET blob = ? WHERE {same}", [digest, number])


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and value.isalnum()
