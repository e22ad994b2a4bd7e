import json
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.comparison.changes import SettingsDiff, settings_diff
from steelyard.data.folders.run_folder import RunFolder


def folder(path: Path, config: object, **manifest: object) -> RunFolder:
    path.mkdir()
    (path / "config.json").write_text(config if isinstance(config, str) else json.dumps(config), "utf-8")
    told = {"fingerprint": {"corpus": "c1"}, "questions": "sha256:1", "steelyard": "1", "python": "3.11"}
    return RunFolder(path.name, path, told | manifest)


def diff(tmp_path: Path, one: object, two: object, **manifest: object) -> SettingsDiff:
    return settings_diff({"a": folder(tmp_path / "a", one), "b": folder(tmp_path / "b", two, **manifest)})


def test_settings_that_differ(tmp_path: Path) -> None:
    one = {"k": 5, "chunk": {"kind": "recursive", "size": 300}, "index": [{"kind": "bm25"}], "fuse": None, "stop": [1]}
    two = {"k": 5, "chunk": {"kind": "recursive", "size": 200}, "index": [{"kind": "bm25"}, {"kind": "dense"}],
           "fuse": {"kind": "rrf", "k": 60.5}, "stop": [1, "两"]}  # fmt: skip
    found = diff(tmp_path, one, two)
    assert found.settings == {
        "chunk.size": ("300", "200"),
        "stop": ("[1]", '[1, "两"]'),
        "index.2.kind": (None, "dense"),
        "fuse.kind": (None, "rrf"),
        "fuse.k": (None, "60.5"),
    }
    assert (found.systems, found.versions, found.inputs, found.same) == (("a", "b"), {}, (), False)


def test_names_and_places_are_no_settings(tmp_path: Path) -> None:
    one = {"name": "a", "folder": "/x", "cache": "/y", "documents": "/d", "questions": "/q", "weigh": {}, "k": 1}
    two = {"name": "b", "folder": "/z", "cache": None, "documents": "/e", "questions": "/r", "weigh": {"rule": "any"}}
    assert diff(tmp_path, one, {**two, "k": 1}).same


def test_absent_is_null(tmp_path: Path) -> None:
    assert diff(tmp_path, {"rerank": None}, {}).same


def test_versions_and_inputs(tmp_path: Path) -> None:
    found = diff(
        tmp_path, {}, {}, steelyard="2", questions="sha256:2", fingerprint={"corpus": "c2"}, libraries={"numpy": "2.0"}
    )
    assert found.versions == {"steelyard": ("1", "2")}  # a library that one run did not load is none that differs
    assert found.inputs == ("documents", "questions")


def test_several_systems(tmp_path: Path) -> None:
    made = {
        name: folder(tmp_path / name, {"k": k}, libraries={"numpy": v})
        for name, k, v in (("a", 1, "2.0"), ("b", 1, "2.0"), ("c", 2, "2.1"))
    }
    found = settings_diff(made)
    assert found.settings == {"k": ("1", "1", "2")}
    assert found.versions == {"numpy": ("2.0", "2.0", "2.1")}


def test_no_configuration_and_a_broken_one(tmp_path: Path) -> None:
    bare = RunFolder("bare", tmp_path, {})
    assert settings_diff({"a": bare, "b": bare}).same
    with pytest.raises(sy.InputError, match=r"config\.json, line 1: is not JSON .* delete it"):
        diff(tmp_path, {}, "{")
