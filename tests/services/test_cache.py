import multiprocessing
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from steelyard.base.errors import InputError, OutputError
from steelyard.services.cache import Cache, NoCache, text_key

KEYS = [text_key(text) for text in ("a", "", "茶", "\ud800")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.sqlite"


def test_what_is_kept_comes_back_in_another_process(path: Path) -> None:
    spans = {KEYS[0]: np.array([[0, 4], [3, 9]]), KEYS[1]: np.empty((0, 2), np.int64)}
    vectors = {KEYS[2]: (np.array([0.1, -1e-30], np.float32), 1.5)}
    cache = Cache(path)
    cache.keep_spans("c", spans)
    cache.keep_vectors("e", "query", vectors)
    cache.keep_state("e", b"\0state")
    cache.close()
    again = Cache(path)
    got = again.spans("c", [*KEYS, KEYS[0]])
    assert set(got) == set(spans)
    assert all(np.array_equal(got[key], spans[key]) and got[key].shape == spans[key].shape for key in spans)
    assert got[KEYS[0]].dtype == np.int64
    vector, ms = again.vectors("e", "query", KEYS)[KEYS[2]]
    assert vector.dtype == np.float32
    assert vector.tobytes() == vectors[KEYS[2]][0].tobytes()
    assert ms == 1.5
    assert again.state("e") == b"\0state"
    again.close()


def test_keys_are_kept_apart(path: Path) -> None:
    cache = Cache(path)
    cache.keep_vectors("e", "query", {KEYS[0]: (np.ones(2, np.float32), 1.0)})
    assert cache.vectors("e", "document", KEYS) == {}
    assert cache.vectors("f", "query", KEYS) == {}
    assert cache.spans("e", KEYS) == {}
    assert cache.state("e") is None
    cache.close()


def test_more_texts_than_one_look_up_takes(path: Path) -> None:
    keys = [text_key(str(i)) for i in range(2_345)]
    cache = Cache(path)
    cache.keep_vectors("e", "document", {key: (np.full(3, i, np.float32), 0.0) for i, key in enumerate(keys)})
    got = cache.vectors("e", "document", keys)
    assert [got[key][0][0] for key in keys] == list(range(2_345))
    cache.close()


def test_nothing_is_remembered_without_a_cache() -> None:
    none = NoCache()
    none.keep_spans("c", {KEYS[0]: np.array([[0, 1]])})
    none.keep_vectors("e", "query", {KEYS[0]: (np.ones(1, np.float32), 0.0)})
    none.keep_state("e", b"")
    assert (none.spans("c", KEYS), none.vectors("e", "query", KEYS), none.state("e")) == ({}, {}, None)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are my notes, and they are dear to me. " * 30)
    before = text.read_bytes()
    with pytest.raises(InputError, match=r"notes\.txt: is no cache or a damaged one .* delete it, or choose another"):
        Cache(text)
    assert text.read_bytes() == before
    foreign = tmp_path / "other.sqlite"
    with sqlite3.connect(foreign) as file:
        file.execute("CREATE TABLE mine (x)")
    file.close()
    with pytest.raises(InputError, match="no cache of Steelyard's"):
        Cache(foreign)


def test_a_cache_of_another_version_is_refused(path: Path) -> None:
    Cache(path).close()
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 9")
    file.close()
    with pytest.raises(InputError, match="of version 9"):
        Cache(path)


def test_damage_is_told(path: Path) -> None:
    cache = Cache(path)
    cache.keep_vectors("e", "query", {text_key(str(i)): (np.ones(500, np.float32), 0.0) for i in range(200)})
    cache.close()
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"cache\.sqlite: is no cache or a damaged one"):  # noqa: PT012
        damaged = Cache(path)
        try:
            damaged.vectors("e", "query", [text_key(str(i)) for i in range(200)])
        finally:
            damaged.close()


def test_a_vector_cut_short_is_told(path: Path) -> None:
    cache = Cache(path)
    cache.keep_vectors("e", "query", {KEYS[0]: (np.ones(2, np.float32), 0.0)})
    cache._file.execute("UPDATE vectors SET vector = x'0102'")
    with pytest.raises(InputError, match="is damaged"):
        cache.vectors("e", "query", KEYS)
    cache.close()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be made"):
        Cache(tmp_path / "file" / "cache.sqlite")
    with pytest.raises(OutputError, match="cannot be made"):
        Cache(tmp_path)


def _fill(path: Path, first: int) -> None:
    cache = Cache(path)
    for i in range(first, first + 40):
        cache.keep_vectors("e", "document", {text_key(str(i)): (np.full(8, i, np.float32), 0.0)})
    cache.close()


def test_processes_share_a_file(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(path, first)) for first in (0, 20, 1000)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    cache = Cache(path)
    keys = [text_key(str(i)) for i in [*range(60), *range(1000, 1040)]]
    assert len(cache.vectors("e", "document", keys)) == 100
    cache.close()
