"""Stores that are damaged, full, read-only, old, or of somebody else: one line says so, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from steelyard.experiment.parts import parts_of
from steelyard.store import schema
from steelyard.store.blobs import Bundle
from tests.cli.command import complaint
from tests.store.writing import scores_of

TRUTH = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}
RUNS = {"bm25": {"q1": {"a": 0.9, "b": 0.3}, "q2": {"c": 0.5}}, "dense": {"q1": {"b": 0.8}, "q2": {"b": 0.9, "c": 0.1}}}
SCORES = sy.evaluate(TRUTH, RUNS, ["ndcg@10", "recall@5"])


def filled(path: Path) -> sy.Store:
    """A store of two entries: scores of which a part is kept by itself, and a gate."""
    store = sy.Store(path)
    store.add(scores_of("a", 0), tags=["v1"], note="first", commit="c0ffee")
    store.add(sy.gate(SCORES, profile="ratings", min_questions=1), commit="c0ffee")
    store.accept("tag=v1", who="Ada", why="the release")
    return store


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "history.db"
    filled(path)
    assert not path.with_name("history.db-wal").exists()
    return path.read_bytes()


def read_all(store: sy.Store) -> None:
    """Read everything that a store has."""
    store.means()
    store.outcomes()
    store.acceptances()
    for id in store.entries()["id"]:
        for part in store.entry(id).parts:
            store.result(id, part)


def refusal(call: Callable[[], Any]) -> str | None:
    """What is said of a store, in one line; None where it is read."""
    try:
        call()
    except sy.SteelyardError as error:
        said = str(error)
    else:
        return None
    assert "\n" not in said
    return said


def damages(good: bytes, n: int, seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for number in range(n):
        damaged = bytearray(good)
        if number % 5 == 0:
            damaged = damaged[: rng.randrange(len(damaged))]
        elif number % 5 == 1:  # The header, and the table of tables behind it.
            damaged[rng.randrange(4096)] = rng.randrange(256)
        else:
            for _ in range(rng.choice((1, 1, 8, 64))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        yield bytes(damaged)


@pytest.mark.parametrize("n", [60, pytest.param(3_000, marks=pytest.mark.slow)])
def test_damaged_files(n: int, tmp_path: Path, good: bytes) -> None:
    path, refusals = tmp_path / "history.db", list[str]()
    for damaged in damages(good, n, seed=4):
        path.write_bytes(damaged)
        refusals += filter(None, [refusal(lambda: read_all(sy.Store(path)))])
        for more in ("-wal", "-shm"):
            path.with_name(f"{path.name}{more}").unlink(missing_ok=True)
    assert n / 6 < len(refusals) < n


def test_what_others_left_beside_it(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(good)
    for more in ("-wal", "-shm"):
        path.with_name(f"{path.name}{more}").write_bytes(b"what is this" * 3000)
    store = sy.Store(path)
    store.add(SCORES)
    assert store.entries().height == 3
    read_all(store)


@contextlib.contextmanager
def no_room(n_bytes: int) -> Iterator[None]:
    """No file grows beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk(tmp_path: Path) -> None:
    store = filled(tmp_path / "history.db")
    size = Path(store.name).stat().st_size
    for room in (0, 4096, size // 4):
        with no_room(room):
            said = refusal(lambda: store.add(scores_of("b", 1)))
        assert said is not None
        assert "cannot be written" in said
        assert said.endswith("; make room on the disk, and try again")
    assert store.entries().height == 2
    store.add(scores_of("b", 1))
    read_all(store)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder and its files are read-only; root, who may write all the same, is another user meanwhile."""
    for path in (folder, *folder.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.getuid() == 0:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if os.getresuid()[2] == 0:
            os.setresuid(0, 0, 0)
        folder.chmod(0o755)


def test_a_read_only_folder() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = filled(folder / "history.db")
        before = sorted(folder.iterdir())
        with read_only(folder):
            read_all(sy.Store(store.name))
            again, new = sy.Store(store.name), sy.Store(folder / "new.db")
            said = [refusal(lambda store=store: store.add(SCORES)) for store in (again, new)]
        assert sorted(folder.iterdir()) == before
        for text in said:
            assert text is not None
            assert text.endswith("; allow writing to the file and its folder, or name another store")
        assert store.entries().height == 2
    missing = refusal(lambda: sy.Store(folder / "history.db").add(SCORES))
    assert missing is not None
    assert missing.endswith("; create its folder first")


def more_tables(connection: Any) -> None:
    connection.exec_driver_sql("CREATE TABLE more_of_the_next_version (x INTEGER)")


@pytest.mark.parametrize("version", range(1, schema.VERSION + 1))
def test_older_stores_are_migrated_and_a_copy_stays(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = (*schema.MIGRATIONS, more_tables)
    path = tmp_path / "history.db"
    monkeypatch.setattr(schema, "MIGRATIONS", every[:version])
    monkeypatch.setattr(schema, "VERSION", version)
    entries = filled(path).entries()
    monkeypatch.setattr(schema, "MIGRATIONS", every)
    monkeypatch.setattr(schema, "VERSION", len(every))
    with read_only_by_name(monkeypatch):
        said = refusal(sy.Store(path).entries)
        assert said is not None
        assert f"is a store of version {version}, which is changed to {len(every)} when it is first read" in said
    assert sy.Store(path).entries().equals(entries)
    read_all(sy.Store(path))
    sy.Store(path).add(SCORES)
    copy = tmp_path / f"history.db.version-{version}"
    assert sorted(tmp_path.iterdir()) == [path, copy]
    with sqlite3.connect(copy) as connection:
        assert connection.execute("SELECT version FROM steelyard_store").fetchall() == [(version,)]
        assert connection.execute("SELECT count(*) FROM entries").fetchall() == [(2,)]
    connection.close()


@contextlib.contextmanager
def read_only_by_name(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr("steelyard.store.database.os.access", lambda *_: False)
        yield


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: Any) -> None:
        more_tables(connection)
        connection.exec_driver_sql("INSERT INTO nothing VALUES (1)")

    path = tmp_path / "history.db"
    entries = filled(path).entries()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fail))
        patch.setattr(schema, "VERSION", schema.VERSION + 1)
        said = refusal(sy.Store(path).entries)
        assert said is not None
    assert sy.Store(path).entries().equals(entries)


SQL = {
    "a view": ("ALTER TABLE entries RENAME TO others", "CREATE VIEW entries AS SELECT * FROM others"),
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM blobs; END",),
    "a table is missing": ("DROP TABLE means",),
    "no version": ("DELETE FROM steelyard_store",),
    "a version that is none": ("UPDATE steelyard_store SET version = 'x'",),
    "versions": ("UPDATE steelyard_store SET version = -1",),
    "a time that is none": ("UPDATE entries SET time = 'x'",),
    "a time of no calendar": ("UPDATE entries SET time = 9000000000000000000",),
    "a mean that is a text": ("UPDATE means SET mean = 'x'",),
    "settings that are no JSON": ("UPDATE systems SET settings = '{'",),
    "versions that are no JSON": ("UPDATE entries SET versions = 'x'",),
    "deep JSON": (f"UPDATE entries SET versions = '{'[' * 100_000}'",),
    "bytes for a text": ("UPDATE entries SET note = x'ff00ff'",),
    "a text that is no UTF-8": ("UPDATE entries SET note = CAST(x'ff00ff' AS TEXT)",),
    "another blob": ("UPDATE blobs SET data = x'00'",),
    "a text for a blob": ("UPDATE blobs SET data = 'x'",),
    "no blob": ("DELETE FROM blobs",),
    "a part of a kind of no store": ("UPDATE parts SET kind = 'subprocess.Popen'",),
    "a part of another kind": ("UPDATE parts SET kind = 'Verdicts'",),
    "a part that is scores and a gate": ("UPDATE parts SET kind = 'Gate'",),
    "a frame that is a result": ("UPDATE parts SET kind = 'Report'",),
}
"""What somebody wrote into the database of a store, or removed from it."""


@pytest.mark.parametrize("label", SQL)
def test_a_database_that_others_changed(label: str, tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(good)
    connection = sqlite3.connect(path)
    for statement in SQL[label]:
        connection.execute(statement)
    connection.commit()
    connection.close()
    assert refusal(lambda: read_all(sy.Store(path))) is not None


def array(type_: object = "<f8", shape: object = (1, 1, 2), **more: Any) -> dict[str, Any]:
    return {"$": "array", "type": type_, "shape": list(shape) if isinstance(shape, tuple) else shape, **more}


ZEROS = "AAAAAAAAAAAAAAAAAAAAAA=="
TREES: dict[str, Any] = {
    "objects": array("|O", data=ZEROS),
    "structures": array("<f8,<i8", data=ZEROS),
    "long texts": array("<U1000000000", shape=(1, 1, 0), data=""),
    "a type that is none": array(["<f8"], data=ZEROS),
    "a shape that does not fit": array(shape=(3, 3, 3), data=ZEROS),
    "a huge shape": array(shape=(10**12, 10**12), data=ZEROS),
    "a negative shape": array(shape=(-1,), data=ZEROS),
    "a shape that is none": array(shape="x", data=ZEROS),
    "no data": array(),
    "data that are no text": array(data=7),
    "kept objects": array("|O", kept=["0" * 64]),
    "what is kept nowhere": array(kept=["0" * 64]),
    "what is kept under no name": array(kept=[{"$": "x"}]),
    "an unknown kind": {"$": "os.system", "command": "touch x"},
    "a class of no scores": {"$": "Pipeline"},
    "a measure that is none": {"$": "Measure", "name": 7},
    "a map with keys that are lists": {"$": "map", "items": [[[1], 2]]},
    "a map without items": {"$": "map"},
    "a path": {"$": "path", "value": "/etc/passwd"},
    "a frame that is none": {"$": "frame", "data": ZEROS},
    "a number that is none": {"$": "float", "value": "x"},
    "nothing": None,
    "a text": "x",
    "deep": json.loads("[" * 500 + "]" * 500),
}
"""What somebody put in the place of the values of scores."""


@pytest.mark.parametrize("label", TREES)
def test_results_that_others_made(label: str, tmp_path: Path) -> None:
    store, tree = sy.Store(tmp_path / "history.db"), parts_of(SCORES)
    entry = store.add(SCORES, commit="c0ffee")
    replace_part(store, entry, Bundle(), tree | {"values": TREES[label]})
    said = refusal(lambda: store.scores(entry.id))
    assert said is not None


def test_a_small_blob_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.store.blobs._MOST_BYTES", 1 << 24)
    store, fetched = sy.Store(tmp_path / "history.db"), list[int]()
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda frame, own=pl.LazyFrame.collect: counted(own(frame), fetched))
    for n_rows, times in ((1_000_000, 1_000), (100_000_000, 1)):
        bundle, entry = Bundle(), store.add(SCORES, commit="c0ffee")
        zeros = bundle.keep(pl.DataFrame({"": pl.zeros(n_rows, dtype=pl.Boolean, eager=True)}))
        tree = parts_of(SCORES) | {"values": array("|b1", shape=(1, 1, n_rows * times), kept=[zeros] * times)}
        replace_part(store, entry, bundle, tree)
        assert "the entry holds more than" in (refusal(lambda entry=entry: store.scores(entry.id)) or "")
    assert sum(fetched) < 1 << 25


def counted(frame: pl.DataFrame, fetched: list[int]) -> pl.DataFrame:
    fetched.append(int(frame.estimated_size()))
    return frame


def replace_part(store: sy.Store, entry: sy.Entry, bundle: Bundle, tree: object) -> None:
    """Let the scores of an entry be made of a tree of somebody else."""
    digest = bundle.keep_text(json.dumps(tree))
    blobs = [{"digest": key, "data": data} for key, data in bundle.blobs.items()]
    with store._database.writing() as connection:
        connection.execute(schema.BLOBS.insert(), blobs)
        connection.execute(schema.PARTS.update().where(schema.PARTS.c.entry == entry.number).values(blob=digest))


def test_the_command_line_says_it_in_one_line(tmp_path: Path, good: bytes) -> None:
    (tmp_path / "cut.db").write_bytes(good[:9000])
    (tmp_path / "text.db").write_bytes(b"no store " * 900)
    for url, problem in (
        ("cut.db", "cut.db: is no store, or is damaged (database disk image is malformed); restore a copy of it"),
        ("text.db", "text.db: is no store, or is damaged (file is not a database); restore a copy of it"),
        ("none.db", "none.db: there is no store; begin one with"),
        ("postgresql://me:5b1f@localhost:1/x", "postgresql://me:***@localhost:1/x: cannot be read (connection failed"),
    ):
        said = complaint("history", "--store", url, cwd=tmp_path)
        assert problem in said
        assert "5b1f" not in said
