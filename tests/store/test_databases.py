"""What holds of a store in SQLite as of one in PostgreSQL: writers at once, killed ones, and lost connections."""

from __future__ import annotations

import pickle
import random
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

import steelyard as sy
from steelyard.experiment.parts import parts_of
from steelyard.store import schema
from tests.store.server import PASSWORD, NoServer, Server, running
from tests.store.writing import finish, go, scores_of, started


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    try:
        with running() as server:
            yield server
    except NoServer as error:
        pytest.skip(str(error))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "history.db")
    server: Server = request.getfixturevalue("server")
    return server.new_database()


def counts_of(store: sy.Store) -> dict[str, int]:
    """Rows of each table."""
    with store._database.reading() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar()
            for name, table in schema.METADATA.tables.items()
            if name not in ("steelyard_store", "confirmations")
        }


def check_whole(store: sy.Store, *, sample: int = 1) -> None:
    """Every entry has all that it was added with, and nothing is there besides."""
    entries, counts = store.entries(), counts_of(store)
    n = entries.height
    assert entries["id"].n_unique() == entries["note"].n_unique() == n
    assert counts["entries"] == n == counts["parts"] == counts["means"] == counts["systems"]
    assert counts["tags"] == 2 * n
    with store._database.reading() as connection:
        used = set(connection.execute(select(schema.USES.c.blob)).scalars())
        assert used == set(connection.execute(select(schema.BLOBS.c.digest)).scalars())
    for row in entries[::sample].iter_rows(named=True):
        name, number = row["note"].split()
        assert parts_of(store.result(row["id"])) == parts_of(scores_of(name, int(number)))
        assert sorted(row["tags"]) == sorted([name, f"n{number}"])


def test_an_entry_and_its_removal(url: str) -> None:
    store = sy.Store(url)
    with pytest.raises(sy.InputError, match="there is no store; begin one with"):
        store.entries()
    day = datetime(2026, 1, 1, tzinfo=UTC)
    first = store.add(scores_of("a", 0), note="a 0", tags=["a", "n0"], commit="c", time=day)
    second = store.add(scores_of("a", 1), note="a 1", tags=["a", "n1"], commit="c", dirty=True)
    check_whole(store)
    assert store.entry("latest").dirty is True
    assert store.means("clicks")["mean"].to_list() == [scores_of("a", n).means[0, 0] for n in (0, 1)]
    assert store.accept(first.id, who="Ada", why="v1").accepted[0][1:] == ("Ada", "v1")
    assert store.entries()["accepted"].to_list() == [False, True]
    assert store.tag(first.id, "a", "n7").tags == ("a", "n0", "n7")
    assert store.remove([first.id, "tag=n1"]) == [first.id, second.id]
    assert set(counts_of(store).values()) == {0}


def test_writers_at_once(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    add_at_once(tmp_path, request, processes=2, n=10)


@pytest.mark.slow
def test_eight_writers_of_two_hundred_entries(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    add_at_once(tmp_path, request, processes=8, n=200)


def add_at_once(tmp_path: Path, request: pytest.FixtureRequest, *, processes: int, n: int) -> None:
    """Let processes create and fill a SQLite store and one in PostgreSQL, while both are read."""
    server: Server = request.getfixturevalue("server")
    urls = [str(tmp_path / "history.db"), server.new_database()]
    writers = [started(f"w{number}", n, urls) for number in range(processes)]
    for writer in writers:
        go(writer)
    stores, seen = [sy.Store(url) for url in urls], [0, 0]
    while any(writer.poll() is None for writer in writers):
        time.sleep(0.05)
        for place, store in enumerate(stores):
            n_seen = n_entries(store)
            assert n_seen >= seen[place]
            seen[place] = n_seen
    assert all(finish(writer) for writer in writers)
    assert [writer.returncode for writer in writers] == [0] * processes
    for store in stores:
        assert store.entries().height == processes * n
        check_whole(store, sample=max(n // 10, 1))


def n_entries(store: sy.Store) -> int:
    try:
        return store.entries().height
    except sy.InputError as error:
        if "there is no store" not in str(error):
            raise
        return 0


def test_killed_writers(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kill(tmp_path, request, n=2, seed=1)


@pytest.mark.slow
def test_fifty_killed_writers(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kill(tmp_path, request, n=50, seed=2)


def kill(tmp_path: Path, request: pytest.FixtureRequest, *, n: int, seed: int) -> None:
    """Kill processes at random moments of their writing: what they reported is there, and what is there is whole."""
    server: Server = request.getfixturevalue("server")
    rng, urls = random.Random(seed), [str(tmp_path / "history.db"), server.new_database()]
    said: set[str] = set()
    for first in range(0, n, 3):
        writers = [started(f"k{number}", 0, urls) for number in range(first, min(first + 3, n))]
        for writer in writers:
            go(writer)
        for writer in writers:
            time.sleep(rng.random() * 0.3)
            said |= set(finish(writer, kill=True))
    there = set[str]()
    for url in urls:
        store = sy.Store(url)
        store.add(scores_of("last", 0), note="last 0", tags=["last", "n0"])
        check_whole(store)
        there |= set(store.entries()["id"])
    assert said <= there
    # The last one of each may have been killed between what it wrote and what it said.
    assert len(there) - len(said) <= 2 * (n + 1)


def test_threads_and_copies_of_a_store(url: str) -> None:
    store = sy.Store(url)

    def add(number: int) -> str:
        own = pickle.loads(pickle.dumps(store)) if number % 3 == 0 else store
        return own.add(scores_of("t", number), note=f"t {number}", tags=["t", f"n{number}"]).id

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(add, range(12)))
    assert set(store.entries()["id"]) == ids
    check_whole(store)


def test_what_postgresql_cannot_hold(server: Server) -> None:
    store = sy.Store(server.new_database())
    entry = store.add(scores_of("a", 0), note="a\0b\ud800", command="evaluate \udcff.txt", tags=["v1"])
    assert (entry.note, entry.command) == ("a\ufffdb\ufffd", "evaluate \ufffd.txt")


def said_of(call: Any) -> str:
    with pytest.raises((sy.InputError, sy.SteelyardError)) as caught:
        call()
    message = str(caught.value)
    assert PASSWORD not in message
    assert "p%40ss" not in message
    assert "wrong-5b1f" not in message
    return message


def test_addresses_that_lead_to_no_store(server: Server) -> None:
    url, scores = server.new_database(), scores_of("a", 0)
    sy.Store(url).add(scores)
    name = url.partition("?")[0].rpartition("/")[2]
    guarded = server.url(name, f"guarded:{PASSWORD.replace('@', '%40').replace('/', '%2F')}")
    cases = {
        server.url("nowhere"): 'database "nowhere" does not exist.*; create it with createdb',
        server.url(name, "guarded:wrong-5b1f"): "password authentication failed.*; correct user and password",
        f"{server.url(name, 'guarded')}&password=wrong-5b1f": r"password=%2A%2A%2A: .*password authentication failed",
        guarded: "permission denied for table steelyard_store.*; ask the owner",
        f"{server.url(name)}1": "connection.*; start the server, or correct the address",
        "postgres://u:wrong-5b1f@localhost:1/x": "Connection refused.*; start the server",
    }
    for address, problem in cases.items():
        store = sy.Store(address)
        for call in (store.entries, lambda store=store: store.add(scores)):
            message = said_of(call)
            assert re.search(problem, message), message
        assert "wrong-5b1f" not in repr(store)


def test_a_database_of_something_else(server: Server) -> None:
    url = server.new_database()
    name = url.partition("?")[0].rpartition("/")[2]
    server.execute(name, "CREATE TABLE orders (x int)")
    store = sy.Store(url)
    store.add(scores_of("a", 0), note="a 0", tags=["a", "n0"])
    check_whole(store)
    other = server.new_database()
    server.execute(other.partition("?")[0].rpartition("/")[2], "CREATE TABLE entries (x int)")
    assert "is a database of something else" in said_of(lambda: sy.Store(other).add(scores_of("a", 0)))


def test_a_lost_connection(server: Server) -> None:
    store = sy.Store(server.new_database())
    store.add(scores_of("a", 0), note="a 0", tags=["a", "n0"])
    row = {"id": "x", "time": 0, "kind": "", "command": "", "note": "", "n_systems": 0, "versions": "{}"}

    def lose() -> None:
        with store._database.writing() as connection:
            connection.execute(schema.ENTRIES.insert().values(**row))
            server.stop()
            connection.execute(schema.ENTRIES.insert().values(**row | {"id": "y"}))

    try:
        assert "; the connection was lost; `steelyard history` shows whether the entry is there" in said_of(lose)
        assert "; start the server, or correct the address" in said_of(store.entries)
    finally:
        server.start()
    store.add(scores_of("a", 1), note="a 1", tags=["a", "n1"])
    check_whole(store)


def test_questions_to_a_held_out_part_at_once_are_counted_one_after_the_other(url: str) -> None:
    seen: list[int] = []

    def answer(n_spent: int) -> dict[str, Any]:
        seen.append(n_spent)
        return {"mean": n_spent / 8, "agrees": False, "charged": True}

    def ask(n: int) -> int:
        with sy.Store(url) as store:
            question = {"truth": "t", "entry": f"e{n}", "system": "s", "against": "", "measure": "mrr"}
            return store.ask_held_out(question, answer)[1]

    with ThreadPoolExecutor(8) as pool:
        spent = list(pool.map(ask, range(8)))
    assert sorted(spent) == list(range(1, 9))
    assert sorted(seen) == list(range(8))
    with sy.Store(url) as store:
        assert store.confirmations()["mean"].to_list() == [n / 8 for n in range(8)]


def test_configurations_and_their_newest_means(url: str) -> None:
    with sy.Store(url) as store:
        truth = {f"q{i}": {"d": 1} for i in range(4)}
        runs = [{q: ["x"] * n + ["d"] for q in truth} for n in (0, 1)]
        entries = [store.add(sy.evaluate(truth, {"s": runs[n]}, "mrr"), commit="c") for n in (0, 1, 0)]
        digest = str(entries[0].truth)
        assert store.configs(digest)["time"].to_list() == [entry.time for entry in entries[:2]]
        latest = store.latest_means(digest, "mrr")
        assert latest.select("entry", "system", "mean", "n").rows() == [
            (entries[1].id, "s", 0.5, 4), (entries[2].id, "s", 1.0, 4),
        ]  # fmt: skip
