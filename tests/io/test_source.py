"""Digests of files, taken when they are asked for or ahead of that; and how much is held of lines and archives."""

import errno
import gzip
import hashlib
import io
import os
import sys
import tempfile
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.io import source, tables
from steelyard.io.source import Source, hash_ahead
from steelyard.io.write import write_bytes


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 2)


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("content", [b"", b"q Q0 d 1 2.5 run\n", bytes(range(256)) * 70_000], ids=len)
def test_a_digest_is_that_of_the_bytes(content: bytes, ahead: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(content)
    for _ in range(2):
        if ahead:
            hash_ahead([str(path), str(tmp_path), "-", str(tmp_path / "none")])
        assert Source(path).digest() == sha256(content)


@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_changes_is_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    for content in (b"one", b"two, longer"):
        path.write_bytes(content)
        hash_ahead([str(path)])
        assert Source(path).digest() == sha256(content)
    assert source._DIGESTS[source._state(path)].result() == sha256(content)
    path.write_bytes(b"three, without a word")
    assert Source(path).digest() == sha256(b"three, without a word")


def test_small_files_are_left_to_whoever_asks(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"small")
    hash_ahead([str(path)])
    assert source._state(path) not in source._DIGESTS


@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_cannot_be_hashed_ahead_is_told_when_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"q Q0 d 1 2.5 run\n")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        hash_ahead([str(path)])
        with pytest.raises(sy.InputError, match=r"a\.run: cannot be read \(Permission denied\)"):
            Source(path).digest()
    assert Source(path).digest() == sha256(path.read_bytes())


CSV_HEAD = b"qid,docid,score\n"
LONG_LINES = {
    "a.run": b"q1 Q0 d1 1 2 ",
    "a.jsonl": b'{"qid": "q1", "retrieved": []}',
    "a.qrels": b"q1 0 d1 ",
    "a.run.gz": b"q1 Q0 d1 1 2 ",
    "a.jsonl.gz": b"{",
    "a.csv.gz": CSV_HEAD,
    "b.csv.gz": CSV_HEAD + b'q1,d1,"',
}


def test_five_gigabytes_of_blanks_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of an archive are unpacked one after the other, so that it is made at once."""
    sizes = []

    class Counted(gzip.GzipFile):
        def read(self, size: int | None = -1) -> bytes:
            content = super().read(size)
            sizes.append(len(content))
            return content

    monkeypatch.setattr(gzip, "open", Counted)
    (tmp_path / "a.run.gz").write_bytes(gzip.compress(b" " * (32 << 20), 1) * 160)
    with pytest.raises(sy.InputError, match=r"a\.run\.gz: has a line of more than 67,108,864 bytes"):
        sy.Run.read(tmp_path / "a.run.gz")
    assert sum(sizes) < 90 << 20


@pytest.mark.parametrize("name", LONG_LINES)
def test_a_long_line_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (source, tables):
        monkeypatch.setattr(module, "LINE_BYTES", 500)
    monkeypatch.setattr(source, "BLOCK_BYTES", 64)
    content = LONG_LINES[name] + (b"t\n" * 1_000 if name == "b.csv.gz" else b"t" * 2_000)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(sy.InputError, match="has a line of more than 500 bytes"):
        sy.Truth.read(tmp_path / name) if "qrels" in name else sy.Run.read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.json.gz", "a.parquet.gz", "a.arrow.gz"])
def test_a_large_document_in_an_archive_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "HELD_BYTES", 1 << 16)
    (tmp_path / name).write_bytes(gzip.compress(b" " * (1 << 17)))
    with pytest.raises(sy.InputError, match=r"holds more than 65,536 bytes, which are not held at once; unpack it"):
        sy.Run.read(tmp_path / name)


def test_standard_input_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "HELD_BYTES", 1 << 16)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q1 0 d1 1\n" * 10_000)))
    with pytest.raises(sy.InputError, match="standard input: holds more than 65,536 bytes"):
        sy.Truth.read("-")


@pytest.mark.parametrize("head", [CSV_HEAD, b'"qid","docid","score"\r\n', b'qid,"docid",score,"a\nb"\n'])
@pytest.mark.parametrize("block", [7, 33, 100, 1 << 20])
def test_a_table_in_an_archive_is_read_in_pieces(
    head: bytes, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = head + b"".join(b'q%d,"d ""%d"",\n%d",%d\n' % (i % 3, i, i, -i) for i in range(40))
    for name, data in (("a.csv", content), ("a.csv.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(data)
    want = sy.Run.read(tmp_path / "a.csv").frame
    monkeypatch.setattr(source, "BLOCK_BYTES", block)
    assert want.height == 40
    assert sy.Run.read(tmp_path / "a.csv.gz").frame.equals(want)


def test_a_folder_that_cannot_be_entered_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are hidden, and seemed not to be there."""

    def lstat(path: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "lstat", lstat)
    with pytest.raises(sy.InputError, match=r"a\.run: cannot be reached \(Permission denied\); check the permissions"):
        Source("a.run")


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mkstemp(**_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    with pytest.raises(sy.OutputError, match=r"cannot be written \(No such file or directory\)"):
        write_bytes(tmp_path / "none" / "a", b"")
    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    with pytest.raises(sy.OutputError, match=r"cannot be written \(its folder takes no new files\); choose another"):
        write_bytes(tmp_path / "a", b"")
