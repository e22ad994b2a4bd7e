import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from steelyard.base.errors import InputError, MeasureError
from steelyard.base.nearest import nearest
from steelyard.base.registry import Registry, _load_plugins


def test_a_name_belongs_to_one_item() -> None:
    shapes = Registry[object]("shape", error=MeasureError)
    shapes.add("round", Path)
    shapes.add("round", Path)
    with pytest.raises(MeasureError, match="a shape called 'round' exists; choose another name"):
        shapes.add("round", EntryPoint)
    assert list(shapes) == [Path]


def test_a_cell_that_runs_again_replaces_its_item() -> None:
    shapes = Registry[type]("shape")
    versions = [type("Round", (), {"__module__": "notebook"}) for _ in range(2)]
    for version in versions:
        shapes.add("round", version)
    assert shapes.get("round") is versions[1]


def test_unknown_names_are_refused_with_the_nearest() -> None:
    shapes = Registry[int]("shape", hint=" (or your own)")
    shapes.add("round", 1)
    assert shapes.find("square") is None
    with pytest.raises(InputError, match=r"no shape is called 'rond'; did you mean round\? \(or your own\)"):
        shapes.get("rond")


def test_entry_points_are_loaded_on_the_first_lookup_that_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plugin_of_a_test.py").write_text(
        "from tests.base.test_registry import SHAPES\nSHAPES.add('cone', 'of the plugin')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    point = EntryPoint("cone", "plugin_of_a_test", "steelyard.shapes_of_a_test")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints([point]).select(group=group))
    _load_plugins.cache_clear()
    try:
        assert SHAPES.find("round") == "ours"
        assert "plugin_of_a_test" not in sys.modules
        assert SHAPES.names() == ["cone", "round"]
    finally:
        sys.modules.pop("plugin_of_a_test", None)
        _load_plugins.cache_clear()


SHAPES = Registry[str]("shape", group="steelyard.shapes_of_a_test")
SHAPES.add("round", "ours")


def test_the_nearest_names() -> None:
    assert nearest("Bm52", ["bm25", "dense"]) == "did you mean bm25?"
    assert nearest("recal", ["recall", "r_precision", "rbp"], n=2) == "did you mean recall?"
    assert nearest("zzz", []) == "there are none"
    assert nearest("zzz", map(str, range(12))).endswith("8, 9, ... (12 in all)")
    assert (
        nearest("MEAN_AP", ["mean_ap", "mean_rr"], n=2, of=lambda spelling: spelling[-2:]) == "did you mean ap or rr?"
    )
