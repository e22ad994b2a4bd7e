"""Manifests of folders: whose they are, which version they have, and what is damaged."""

from pathlib import Path

import pytest

from steelyard.base.errors import InputError
from steelyard.base.shapes import Object
from steelyard.data.folders.manifests import (
    MANIFEST,
    Manifests,
    read_bench_manifest,
    read_manifest,
    write_bench_manifest,
    write_manifest,
)

ATLASES = Manifests("atlas", "is_atlas", version=2, shape=Object({"name": str}, {}), beside=("maps",))


def test_what_is_written_is_read_by_its_own_kind_alone(tmp_path: Path) -> None:
    ATLASES.write(tmp_path, {"name": "world"})
    assert ATLASES.read(tmp_path) == {"is_atlas": 2, "name": "world"}
    assert read_manifest(tmp_path) is read_bench_manifest(tmp_path) is None
    write_manifest(tmp_path, {"name": "a run"})
    assert ATLASES.read(tmp_path) is read_bench_manifest(tmp_path) is None
    write_bench_manifest(tmp_path, {"name": "a bench", "kind": "rerank"})
    assert ATLASES.read(tmp_path) is read_manifest(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"is_atlas": 3, "name": "a"}', "is of version 3, newer than this Steelyard; upgrade it"),
        ('{"is_atlas": "x", "name": "a"}', "is of version 'x', newer"),
        ('{"is_atlas": 1}', "name.*; remove the folder, and start the atlas again"),
        ('{"is_atlas": 1, "name": 3}', "name.*; remove the folder, and start the atlas again"),
        ("{", "the atlas beside it cannot be read: remove the folder, and start the atlas again"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "maps").mkdir()
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=message):
        ATLASES.read(tmp_path)


@pytest.mark.parametrize("text", [None, "{", "[]", '{"name": "a"}'])
def test_other_folders_are_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / MANIFEST).write_text(text)
    assert ATLASES.read(tmp_path) is None
