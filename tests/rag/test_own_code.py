"""Code that a configuration names: of its own folder or a package, such as fits, and never of the standard library."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.base.own_code import import_object
from steelyard.rag.config import Config
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.registry import ROLES, Role

_STAGES = """
import os
from functools import partial
from subprocess import Popen

class Shortest:
    def scores(self, query, texts):
        return [-len(text) for text in texts]

def shortest() -> Shortest:
    return Shortest()

def undeclared():
    raise AssertionError("was called")

def number() -> int:
    raise AssertionError("was called")

def search(query):
    return ["a#1"]

def two(query, password):
    raise AssertionError("was called")

ready = Shortest()
always = partial(search)
"""

REFUSED = [
    ("subprocess:Popen", "of Python's standard library"),
    ("os:system", "of Python's standard library"),
    ("os.path:join", "of Python's standard library"),
    ("sys:exit", "of Python's standard library"),
    ("builtins:int", "of Python's standard library"),
    ("antigravity:fly", "of Python's standard library"),
    ("placed_stages:Popen", "subprocess is of Python's standard library"),
    ("placed_stages:os.system", "is of Python's standard library"),
    ("placed_stages:os", "is a module"),
    ("placed_stages:__builtins__", "has no '__builtins__'"),
    ("placed_stages:Shortest.__init__.__globals__", "has no '__init__'"),
    ("nowhere_at_all:Shortest", "there is no module 'nowhere_at_all' in"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents and a module of stages, which is not the working folder."""
    (tmp_path / "placed_stages.py").write_text(_STAGES)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.txt").write_text("longer text")
    (tmp_path / "documents" / "b.txt").write_text("text")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "placed_stages", raising=False)
    return tmp_path


def _pipeline(folder: Path, role: Role, kind: str) -> sy.Pipeline:
    stages = {"index": "dense"} if role == "embed" else {}
    return sy.Pipeline.read(Config.of({"documents": "documents", **stages, role: {"kind": kind}}, base=folder))


@pytest.mark.parametrize(("path", "message"), REFUSED, ids=[path for path, _ in REFUSED])
def test_no_stage_is_what_a_configuration_has_no_business_with(folder: Path, path: str, message: str) -> None:
    for role in ROLES:
        with pytest.raises(sy.InputError) as refusal:
            _pipeline(folder, role, path)
        assert message in str(refusal.value)
    with pytest.raises(sy.InputError) as refusal:
        TargetSystem.read(Config.of({"target": {"callable": path}}, base=folder))
    assert message in str(refusal.value)


@pytest.mark.parametrize("path", ["placed_stages:Shortest", "placed_stages:shortest", "placed_stages:ready"])
def test_a_stage_beside_the_configuration_is_taken(folder: Path, path: str) -> None:
    assert [passage.chunk_id for passage in _pipeline(folder, "rerank", path).search("text")] == ["b#1", "a#1"]


@pytest.mark.parametrize("role", [role for role in ROLES if role != "rerank"])
def test_a_stage_of_another_role_is_refused_before_it_is_made(folder: Path, role: Role) -> None:
    with pytest.raises(sy.InputError, match=f"Shortest is no {role} stage"):
        _pipeline(folder, role, "placed_stages:Shortest")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("placed_stages:undeclared", "does not declare what it returns"),
        ("placed_stages:number", "int is no rerank stage, it has no scores"),
        ("numpy:load", "does not declare what it returns"),
        ("steelyard:evaluate", "Scores is no rerank stage"),
    ],
)
def test_a_function_is_not_called_to_see_whether_it_fits(folder: Path, path: str, message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        _pipeline(folder, "rerank", path)


def test_a_target_takes_a_query(folder: Path) -> None:
    def target(path: str) -> TargetSystem:
        return TargetSystem.read(Config.of({"target": {"callable": path}}, base=folder))

    for path in ("placed_stages:search", "placed_stages:always"):
        assert target(path).ask("q").passages[0].chunk_id == "a#1"
    with pytest.raises(sy.InputError, match=r"takes \(query, password\); expected a query"):
        target("placed_stages:two")
    with pytest.raises(sy.InputError, match="is a class"):
        target("placed_stages:Shortest")


def test_a_target_that_exits_does_not_end_the_run_as_if_all_were_done(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text("import sys\ndef search(query):\n    sys.exit(0)\n")
    (tmp_path / "questions.jsonl").write_text('{"qid": "q1", "query": "why?", "gold": [{"id": "a#1"}]}\n')
    command = [sys.executable, "-m", "steelyard", "run", "--target", "leaving:search", "--questions", "questions.jsonl"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "raised SystemExit: 0" in run.stdout + run.stderr


def test_one_process_has_one_module_of_a_name(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    import_object("placed_stages:search", "target", folder)
    other = tmp_path_factory.mktemp("other")
    import_object("placed_stages:search", "target", other)
    (other / "placed_stages.py").write_text(_STAGES)
    with pytest.raises(sy.InputError, match=r"cannot be imported beside .*placed_stages.py, which has its name"):
        import_object("placed_stages:search", "target", other)


def test_importing_that_exits_is_an_error(folder: Path) -> None:
    (folder / "exits_at_once.py").write_text("raise SystemExit(0)")
    with pytest.raises(sy.InputError, match="importing exits_at_once raised SystemExit: 0"):
        import_object("exits_at_once:search", "target", folder)


def test_all_of_the_standard_library_is_refused() -> None:
    standard = Path(sysconfig.get_path("stdlib"))
    modules = {path.stem for path in standard.glob("*.py")} | {
        path.parent.name for path in standard.glob("*/__init__.py")
    }
    for module in sorted(name for name in modules - {"site-packages", "test"} if name[0] != "_"):
        with pytest.raises(sy.InputError, match="standard library"):
            import_object(f"{module}:anything", "target")
