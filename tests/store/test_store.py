"""Entries of a store: what comes back, how entries are named, and what is said of stores that are none."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.experiment.parts import parts_of

pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")

TRUTH = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}
RUNS = {"bm25": {"q1": {"a": 0.9, "b": 0.3}, "q2": {"c": 0.5}}, "dense": {"q1": {"b": 0.8}, "q2": {"b": 0.9, "c": 0.1}}}


def scores_of(runs: object = RUNS) -> sy.Scores:
    return sy.evaluate(TRUTH, runs, ["ndcg@10", "recall@5"])


@pytest.fixture
def store(tmp_path: Path) -> sy.Store:
    return sy.Store(tmp_path / "history.db")


def same(one: object, other: object) -> bool:
    return parts_of(one) == parts_of(other)


def test_results_come_back_to_the_last_bit(store: sy.Store) -> None:
    scores = scores_of()
    comparison, gate = sy.compare(scores), sy.gate(scores, profile="ratings", min_questions=1)
    report = sy.report(TRUTH, RUNS, ["ndcg@10"], date="2026-11-24")
    for result in (scores, comparison, gate, report):
        entry = store.add(result)
        assert type(store.result(entry.id)) is type(result)
        assert same(store.result(entry.id), result)
    assert same(store.scores("latest"), report.scores)
    assert store.entries()["kind"].to_list() == ["report", "gate", "comparison", "scores"]


def test_large_parts_are_there_once(store: sy.Store) -> None:
    rng = np.random.default_rng(0)
    rows = [("s", f"q{i}", "ndcg@10", float(value)) for i, value in enumerate(rng.random(2000))]
    frame = pl.DataFrame(rows, schema=["system", "query_id", "measure", "value"], orient="row")
    scores = sy.Scores.of(frame)
    first = store.add(scores)
    with sqlite3.connect(store.name) as connection:
        (before,) = connection.execute("SELECT count(*), sum(length(data)) FROM blobs").fetchall()
        store.add(sy.Scores.of(frame.reverse()))
        (n, size) = connection.execute("SELECT count(*), sum(length(data)) FROM blobs").fetchone()
    assert n > 1
    assert size - before[1] < 20_000
    store.remove([first.id])
    assert same(store.scores("latest"), sy.Scores.of(frame.reverse()))


def test_verdicts_come_back(store: sy.Store) -> None:
    questions = [{"qid": "q1", "query": "when?", "answer": "At nine."}]
    outputs = [{"qid": "q1", "retrieved": [{"id": "a", "text": "It opens at nine."}], "answer": "At nine."}]
    verdicts = sy.judge(questions, outputs, save=False)
    store.add(verdicts)
    assert store.result("latest") == verdicts
    with pytest.raises(sy.InputError, match="holds no scores, but verdicts"):
        store.accept("latest")


def test_references_name_entries(store: sy.Store) -> None:
    first = store.add(scores_of(), tags=["v1"], time=datetime(2026, 1, 1, tzinfo=UTC))
    second = store.add(scores_of(), tags=["v1", "v2"], time=datetime(2026, 2, 1, tzinfo=UTC))
    assert store.entry("latest").id == store.entry("tag=v1").id == store.entry("store:tag=v2").id == second.id
    assert store.entry(first.id[:9]).id == first.id
    store.accept(first.id, who="Ada", why="the release")
    assert store.entry("accepted").id == first.id
    assert store.entry("accepted").accepted[0][1:] == ("Ada", "the release")
    assert store.entries()["accepted"].to_list() == [False, True]
    assert store.acceptances().select("entry", "who").rows() == [(first.id, "Ada")]
    store.tag(first.id, "v3")
    assert store.entry("tag=v3").tags == ("v1", "v3")
    for ref, problem in (("zz", "no entry 'zz'"), ("tag=x", "no entry with the tag 'x'"), ("", "no entry ''")):
        with pytest.raises(sy.InputError, match=problem):
            store.entry(ref)
    with pytest.raises(sy.InputError, match="no accepted entry of the same gold"):
        store.entry("accepted", truth="another")


def test_means_are_a_row_for_each_system_and_measure(store: sy.Store) -> None:
    scores = scores_of()
    entry = store.add(scores, commit="c0ffee", dirty=False)
    means = store.means()
    own = scores.mean()
    assert (
        means.select("system", "measure", "mean", "low", "high", "n").rows()
        == own.select("system", "measure", "mean", "low", "high", "n").rows()
    )
    assert means["entry"].unique().to_list() == [entry.id]
    assert means["config"].n_unique() == 2
    assert store.means("recall@5", "dense").height == 1
    assert store.entry(entry.id).truth == scores.signature.truth


def test_removing_leaves_no_part_behind(store: sy.Store) -> None:
    entries = [store.add(scores_of()), store.add(sy.compare(scores_of()))]
    store.accept(entries[0].id)
    with pytest.raises(sy.InputError, match="no entry"):
        store.remove([entries[0].id, "ffffffffffff"])
    assert store.entries().height == 2
    store.remove([entry.id for entry in entries])
    with sqlite3.connect(store.name) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
    assert {name for name, n in counts.items() if n} <= {"steelyard_store", "sqlite_sequence"}


def test_stores_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match="there is no store; begin one with"):
        sy.Store(tmp_path / "nothing.db").entries()
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at " * 40)
    with pytest.raises(sy.InputError, match="is no store, or is damaged"):
        sy.Store(tmp_path / "text.db").entries()
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE notes (x)")
    with pytest.raises(sy.InputError, match="is a database of something else"):
        sy.Store(tmp_path / "other.db").add(scores_of())
    with pytest.raises(sy.InputError, match="SQLite or PostgreSQL, not mysql"):
        sy.Store("mysql://u:secret@host/x")
    with pytest.raises(sy.InputError, match="a store holds no dict"):
        sy.Store(tmp_path / "new.db").add({})


def test_a_later_store_is_refused(store: sy.Store) -> None:
    store.add(scores_of())
    with sqlite3.connect(store.name) as connection:
        connection.execute("UPDATE steelyard_store SET version = 99")
    with pytest.raises(sy.InputError, match="version 99, and this Steelyard reads up to"):
        sy.Store(store.name).entries()


def test_keys_and_passwords_are_not_stored(store: sy.Store) -> None:
    commands = {
        "evaluate a.jsonl b.jsonl --store postgresql://me:5b1f@host/x": "--store 'postgresql://***@host/x'",
        "run a.toml --store 'postgresql://me:5b1f/@x y@host/x?sslpassword=5b1f'": "postgresql://***@host/x?sslpassword=***",
        "judge a b --option api_key=5b1f --option model=m": "judge a b --option 'api_key=***' --option model=m",
        "judge a b --option=api-key='5b1f 5b1f' -q": "'--option=api-key=***' -q",
        "judge a b --password 5b1f c": "judge a b --password '***' c",
        "judge a b --option api_key_env=KEY": "judge a b --option api_key_env=KEY",
        "judge 'a b' --option password='5b1f": "'password=***'",
        "评测 'two words.jsonl' run=中文.jsonl": "评测 'two words.jsonl' run=中文.jsonl",
    }
    for typed, kept in commands.items():
        command = store.add(scores_of(), command=typed, commit="c0ffee").command
        assert kept in command
        assert "5b1f" not in command
    assert b"5b1f" not in Path(store.name).read_bytes()


def test_an_address_has_no_password_in_its_name() -> None:
    for url in (
        "postgresql://me:5b1f@host/x",
        "postgres://host/x?user=me&password=5b1f",
        "postgresql+psycopg://:5b1f@/x",
    ):
        store = sy.Store(url)
        assert "5b1f" not in store.name
        assert store.name.startswith("postgresql://")
        assert "5b1f" not in repr(store)
