import multiprocessing
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.base.errors import InputError, OutputError
from steelyard.services.cache import Cache, NoCache, text_key

KEYS = [text_key(text) for text in ("a", "", "茶", "\ud800")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.sqlite"


def test_what_is_kept_comes_back_in_another_process(path: Path) -> None:
    cache = Cache(path)
    cache.put("answers", {KEYS[0]: (b"\0yes", 1.5), KEYS[2]: (b"", None)})
    cache.close()
    again = Cache(path)
    assert again.get("answers", [*KEYS, KEYS[0]], bytes) == {KEYS[0]: (b"\0yes", 1.5), KEYS[2]: (b"", 0.0)}
    assert again.get("answers", KEYS, bytes.decode)[KEYS[0]] == ("\0yes", 1.5)
    again.close()


def test_kinds_are_kept_apart_and_the_last_value_counts(path: Path) -> None:
    cache = Cache(path)
    cache.put("a", {KEYS[0]: (b"1", 1.0)})
    cache.put("a", {KEYS[0]: (b"2", 2.0)})
    assert cache.get("b", KEYS, bytes) == {}
    assert cache.get("a", KEYS, bytes) == {KEYS[0]: (b"2", 2.0)}
    cache.close()


def test_more_keys_than_one_look_up_takes(path: Path) -> None:
    keys = [text_key(str(i)) for i in range(2_345)]
    cache = Cache(path)
    cache.put("a", {key: (str(i).encode(), 0.0) for i, key in enumerate(keys)})
    values = cache.get("a", keys, int)
    assert [values[key][0] for key in keys] == list(range(2_345))
    cache.close()


def test_nothing_is_remembered_without_a_cache() -> None:
    none = NoCache()
    none.put("a", {KEYS[0]: (b"1", 1.0)})
    assert none.get("a", KEYS, bytes) == {}


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


def test_a_cache_of_a_later_version_is_refused(path: Path) -> None:
    Cache(path).close()
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 9")
    file.close()
    with pytest.raises(InputError, match="of version 9"):
        Cache(path)


def test_a_cache_of_an_earlier_version_is_begun_anew(path: Path) -> None:
    cache = Cache(path)
    cache.put("a", {KEYS[0]: (b"1", 1.0)})
    cache.close()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE spans (chunker TEXT)")
        file.execute("PRAGMA user_version = 1")
    file.close()
    again = Cache(path)
    assert again.get("a", KEYS, bytes) == {}
    again.put("a", {KEYS[0]: (b"2", 1.0)})
    assert again.get("a", KEYS, bytes) == {KEYS[0]: (b"2", 1.0)}
    again.close()


def test_damage_is_reported(path: Path) -> None:
    cache = Cache(path)
    cache.put("a", {text_key(str(i)): (b"1" * 2000, 0.0) for i in range(200)})
    cache.close()
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"cache\.sqlite: is no cache or a damaged one"):  # noqa: PT012
        damaged = Cache(path)
        try:
            damaged.get("a", [text_key(str(i)) for i in range(200)], bytes)
        finally:
            damaged.close()


def test_a_value_that_cannot_be_decoded_is_damage(path: Path) -> None:
    cache = Cache(path)
    cache.put("a", {KEYS[0]: (b"one", 0.0), KEYS[2]: (b"2", 0.0)})
    assert cache.get("a", KEYS, int) == {KEYS[2]: (2, 0.0)}
    assert cache.n_damaged == 1
    cache.close()


@pytest.mark.parametrize(
    "change",
    [
        "SET value = X'00' || substr(value, 2)", "SET value = 'text'", "SET value = 7", "SET value = NULL",
        "SET ms = 2.5", "SET ms = NULL", "SET checksum = NULL",
        "SET value = (SELECT value FROM entries WHERE key = X'BB')", "SET kind = 'a' WHERE kind = 'b'",
    ],
)  # fmt: skip
def test_an_entry_that_was_changed_on_the_disk_is_passed_over_and_replaced(path: Path, change: str) -> None:
    cache = Cache(path)
    cache.put("a", {b"\xaa": (b"first", 1.5)})
    cache.put("b", {b"\xbb": (b"second", None)})
    cache.close()
    with sqlite3.connect(path) as file:
        file.execute(f"UPDATE entries {change}" + (" WHERE key = X'AA'" if "WHERE kind" not in change else ""))
    file.close()
    cache = Cache(path)
    key = b"\xbb" if "WHERE kind" in change else b"\xaa"
    assert cache.get("a", [key], bytes) == {}
    assert cache.n_damaged == 1
    cache.put("a", {key: (b"anew", 1.0)})
    assert cache.get("a", [key], bytes) == {key: (b"anew", 1.0)}
    cache.close()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs limits of POSIX")
def test_a_full_disk_is_said_with_what_to_do(path: Path) -> None:
    code = f"""
import resource, signal
from steelyard.services.cache import Cache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
cache = Cache({str(path)!r})
cache.put("a", {{b"small": (b"1", 1.0)}})
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    cache.put("a", {{b"large": (b"1" * 200_000, 1.0)}})
finally:
    print(cache.get("a", [b"small", b"large"], bytes))
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "make room on the disk" in process.stderr.splitlines()[-1]
    assert process.stdout == "{b'small': (b'1', 1.0)}\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(path: Path) -> None:
    Cache(path).close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(OutputError, match="make file and folder writable"):
            Cache(path).put("a", {KEYS[0]: (b"1", 1.0)})
    finally:
        path.parent.chmod(0o755)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be made"):
        Cache(tmp_path / "file" / "cache.sqlite")
    with pytest.raises(OutputError, match="cannot be made"):
        Cache(tmp_path)


def _fill(path: Path, first: int) -> None:
    cache = Cache(path)
    for i in range(first, first + 40):
        cache.put("a", {text_key(str(i)): (b"1" * 32, 0.0)})
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
    assert len(cache.get("a", keys, bytes)) == 100
    cache.close()
