"""Digests of files, taken when they are asked for or ahead of that."""

import hashlib
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.io import source
from steelyard.io.source import Source, hash_ahead


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
