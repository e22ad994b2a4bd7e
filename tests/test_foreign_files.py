"""Files of somebody else: each row of SECURITY.md, attacked.

Whatever a form, a run folder, the folder of a bench or a stored file names, nothing outside of it is read or written.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.own_paths import check_links, inside, own_file
from steelyard.bench.bench import Bench
from steelyard.bench.candidates import open_candidates
from steelyard.bench.config import BenchConfig
from steelyard.cli.app import app
from steelyard.data.folders.manifests import read_manifest
from steelyard.data.folders.run_folder import write_run_folder
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.responses import Response
from steelyard.experiment.door.evaluation import open_scores
from steelyard.experiment.judging import model_files
from steelyard.judges.grading.graders import make_grader
from steelyard.judges.registry import make_judge
from steelyard.rag.config import Config
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.own.targets import callable_target
from steelyard.rag.registry import make
from steelyard.rag.runs.writer import RunWriter
from steelyard.rag.sweeping import overwriting
from steelyard.reports.benching import BenchReport
from tests.bench.test_bench import write_bench
from tests.reports.test_pooling import RUN, pool
from tests.reports.test_pooling import saved as graded
from tests.reviewing.small import QUESTIONS, outputs, saved

SECRET = "canary-5b1f"
"""In every file that must not be read: it never comes out in a message, a table or a file."""


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A folder of the user's own beside what came from somebody else; nothing in it changes."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "notes.jsonl").write_text(f"{SECRET} = 1\n", encoding="utf-8")
    before = _content(home)
    yield home
    assert _content(home) == before


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of somebody else, beside the user's own; the working folder is elsewhere."""
    folder, here = tmp_path / "foreign", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    return folder


def _content(folder: Path) -> dict[str, bytes | None]:
    paths = sorted(path for path in folder.rglob("*") if path.name != ".lock")
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def ways_out(folder: Path, canary: Path) -> dict[str, str]:
    """Names by which a file in a folder may mean one outside of it."""
    (folder / "here").symlink_to(canary)
    (folder / "linked.jsonl").symlink_to(canary / "notes.jsonl")
    (folder / "new.jsonl").symlink_to(canary / "new.jsonl")
    return {
        "absolute": str(canary / "notes.jsonl"), "new": str(canary / "new.jsonl"), "up": "../home/notes.jsonl",
        "up and down": "x/../../home/notes.jsonl", "linked folder": "here/notes.jsonl", "linked file": "linked.jsonl",
        "dangling link": "new.jsonl", "drive": "C:\\home\\notes.jsonl", "drive of its own": "C:notes.jsonl",
        "share": "\\\\server\\share\\notes.jsonl", "backslashes": "..\\home\\notes.jsonl", "NUL": "notes\0.jsonl",
        "half a character": "\ud800", "itself": ".", "nothing": "", "home": "~/notes.jsonl/../../../home/notes.jsonl",
    }  # fmt: skip


def edit(path: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def refused(call: Callable[[], object], message: str = "") -> str:
    """The one line in which a call is refused, without what is in files of others."""
    with pytest.raises(sy.SteelyardError, match=message or None) as caught:
        call()
    text = str(caught.value)
    assert SECRET not in text
    assert "\n" not in text
    return text


# What decides


def test_one_function_decides_what_is_inside(foreign: Path, canary: Path) -> None:
    assert {
        way: inside(foreign, name) for way, name in ways_out(foreign, canary).items() if inside(foreign, name)
    } == {}


def test_what_is_inside_is_inside(foreign: Path) -> None:
    (foreign / "sub").mkdir()
    (foreign / "back").symlink_to(foreign / "sub")
    for name in ("a.json", "sub/a.json", "back/a.json", "sub/../a.json", "文.json", "...", "a b"):
        assert inside(foreign, name) == foreign / name
        assert own_file(foreign, name) == foreign / name
    (foreign.parent / "other").symlink_to(foreign)
    assert inside(foreign.parent / "other", "a.json") is not None
    check_links(foreign)


def test_links_out_and_pipes_are_refused(foreign: Path, canary: Path) -> None:
    (foreign / "deep").mkdir()
    (foreign / "deep" / "x").symlink_to(canary)
    refused(lambda: check_links(foreign), "foreign: its 'deep/x' leads out of the folder")
    (foreign / "deep" / "x").unlink()
    os.mkfifo(foreign / "deep" / "pipe")
    assert stat.S_ISFIFO(os.stat(foreign / "deep" / "pipe").st_mode)
    refused(lambda: check_links(foreign), r"deep/pipe: is no file but a pipe or a device; remove it")


# A form


@pytest.mark.parametrize("kind", ["verdicts", "grades", "quotes"])
def test_a_form_does_not_choose_where_decisions_go(kind: str, foreign: Path, canary: Path) -> None:
    file, items = _form(kind, foreign), foreign / "form" / "items.json"
    content = json.loads(items.read_text(encoding="utf-8"))
    for name in ways_out(foreign / "form", canary).values():
        items.write_text(json.dumps({**content, "files": dict.fromkeys(content["files"], name)}), encoding="utf-8")
        before = _content(foreign)
        refused(
            lambda: sy.review.import_labels(file), "for decisions, which is outside of its folder, and a form does not"
        )
        assert _content(foreign) == before


def _form(kind: str, folder: Path) -> Path:
    """A form of a kind, and what a person saved from it."""
    if kind == "verdicts":
        sampled = sy.review.sample(QUESTIONS, {"a": outputs()}, folder / "form", n=3, labels=folder / "labels.json")
        from steelyard.reviewing.forms import ItemsFile

        return saved(folder / "form", ItemsFile.read(sampled.items), "ann", ["supported"])
    if kind == "grades":
        return graded(pool(folder, n=2, scale="0-3").form, "ann", [1])
    (folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
    pooled = pool(folder, task="quotes", questions=folder / "questions.jsonl", sources=[RUN], n=2)
    return graded(pooled.form, "ann", [[]], key="quotes")


def test_questions_that_an_old_form_names_are_not_read(foreign: Path, canary: Path) -> None:
    file = _form("quotes", foreign)
    questions = str(canary / "notes.jsonl")
    edit(foreign / "form" / "items.json", lambda form: form.update(files={"into": "x.jsonl", "questions": questions}))
    refused(lambda: sy.review.import_labels(file), r"x\.jsonl: is not there; copy the questions there")


def test_a_refusal_has_the_command_to_give(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(foreign)
    file = _form("verdicts", Path()).relative_to(Path())
    message = refused(lambda: app(["review", "import", str(file)]))
    command = message.rpartition("if that is right: steelyard ")[2]
    assert command == f"review import {file} --into labels.json"
    assert app(command.split()) in (0, None)
    edit(Path("form", "items.json"), lambda form: form.update(files={"a": "../$(touch x)\x1b]52;\n.json"}))
    assert refused(lambda: sy.review.import_labels(file)).endswith("say where: --into PLACE")


def test_a_file_in_the_folder_of_the_form_needs_no_word(foreign: Path) -> None:
    pooled = pool(foreign, into="form/grades.jsonl", n=2, scale="0-3")
    assert sy.review.import_labels(graded(pooled.form, "ann", [1])).files == [foreign / "form" / "grades.jsonl"]


def test_links_in_the_folder_of_a_form_are_not_followed(foreign: Path, canary: Path) -> None:
    file = _form("grades", foreign)
    (foreign / "form" / "items.json").unlink()
    (foreign / "form" / "items.json").symlink_to(canary / "notes.jsonl")
    refused(lambda: sy.review.import_labels(file), "form: its 'items.json' leads out of the folder")
    (foreign / "other").mkdir()
    (foreign / "other" / "form.html").symlink_to(canary / "form.html")
    refused(lambda: pool(foreign, "other", n=2, scale="0-3"), "other: its 'form.html' leads out of the folder")


# A run folder


def run_folder(path: Path, **config: Any) -> Path:
    """A finished run over the questions of the halls."""
    config = {"questions": "questions.jsonl", "weigh": {"measures": ["mrr"]}} | config
    responses = [(line["qid"], Response(line["qid"])) for line in QUESTIONS]
    manifest = {"name": "mine", "finished": "2026-11-22T00:00:00Z", "counts": {"questions": len(responses)}}
    write_run_folder(path, config=config, manifest=manifest, responses=responses)
    lines = (json.dumps({"qid": line["qid"], "query": line["query"], "relevant": {"a": 1}}) for line in QUESTIONS)
    (path / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("weigh", "says"),
    [
        ({"rule": {}}, "`rule` is {}"),
        ({"steps": [1]}, "`steps.0` is 1"),
        ({"min_gain": "x"}, "`min_gain` is 'x'"),
        ("x", "it is 'x'"),
    ],
)
def test_how_a_run_folder_is_weighed_is_held_against_its_types(weigh: object, says: str, foreign: Path) -> None:
    folder = run_folder(foreign / "mine", weigh=weigh)
    assert f"config.json: in `weigh`, {says}, expected " in refused(lambda: open_scores(folder))


def test_a_run_folder_does_not_choose_its_questions(foreign: Path, canary: Path) -> None:
    folder = run_folder(foreign / "run")
    assert open_scores(folder).scores.systems == ["mine"]
    for name in [*ways_out(foreign, canary).values(), "/etc/passwd", 3, None, ["x"]]:
        (folder / "config.json").write_text(json.dumps({"questions": name}), encoding="utf-8")
        refused(lambda: sy.gate(folder, max_failed=0.5), "name them")
        values = {"candidates": str(folder), "depths": [2], "systems": {"words": {"rerank": "lexical"}}}
        refused(lambda values=values: open_candidates(BenchConfig.of(values)), "name them")  # type: ignore[misc]
    (folder / "config.json").write_text(json.dumps({"questions": "../q's.jsonl"}), encoding="utf-8")
    message = refused(lambda: open_scores(folder))
    assert message.endswith("if they are right, name them: --truth '../q'\"'\"'s.jsonl' (truth=...)")


LINKS = (
    "manifest.json", "config.json", "outputs.jsonl", "outputs.partial.jsonl", "chunks.parquet", "documents.parquet",
    "verdicts", "verdicts/lexical.parquet", "verdicts/review.json", "verdicts/calls.jsonl", ".lock", ".new", "any/deep",
)  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_links_in_a_run_folder_are_not_followed(name: str, foreign: Path, canary: Path) -> None:
    folder = run_folder(foreign / "run")
    questions, place = folder / "questions.jsonl", folder / name
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    target = run_folder(foreign.parent / "victim") if name in (".new", "verdicts") else canary / "notes.jsonl"
    place.symlink_to(target)
    before = _content(target) if target.is_dir() else {}
    calls: list[Callable[[], object]] = [
        lambda: sy.evaluate(questions, folder),
        lambda: sy.judge(questions, folder),
        lambda: sy.review.sample(questions, folder, "form"),
        lambda: open_scores(folder),
        lambda: read_manifest(folder),
        lambda: RunWriter(folder, None, {}).resume(overwrite=True),  # type: ignore[arg-type]
    ]
    for call in calls:
        refused(call, "leads out of the folder, and is not followed")
    assert (_content(target) if target.is_dir() else {}) == before
    assert not list(Path().iterdir())


def test_a_lock_is_no_link(foreign: Path, canary: Path) -> None:
    (foreign / ".lock").symlink_to(canary / "notes.jsonl")
    with pytest.raises(sy.InputError, match=r"its '.lock' leads out of the folder"), run_lock(foreign):
        pass


def test_caches_and_logs_beside_a_file_are_no_links(foreign: Path, canary: Path) -> None:
    for name in (".steelyard-cache.sqlite", "v.calls.jsonl", ".overwriting.json"):
        (foreign / name).symlink_to(canary / name)
    refused(lambda: model_files(foreign / "v.parquet"), "leads out of the folder")
    (foreign / ".steelyard-cache.sqlite").unlink()
    refused(lambda: model_files(foreign / "v.parquet"), "leads out of the folder")
    with pytest.raises(sy.InputError, match="leads out of the folder"), overwriting([foreign / "run"]):
        pass
    (foreign / "runs").mkdir()
    (foreign / "runs" / ".steelyard-cache.sqlite").symlink_to(canary / "new.sqlite")
    refused(lambda: Config.of({"documents": str(foreign)}, base=foreign), "leads out of the folder")
    assert Config.of({"documents": str(foreign), "cache": str(foreign / "runs" / "c.sqlite")}).cache is not None


# The folder of a bench


def test_a_bench_does_not_choose_its_blocks(foreign: Path, canary: Path) -> None:
    folder = write_bench(foreign)
    for name in ways_out(foreign, canary).values():
        blocks = {name.removesuffix(".parquet"): "digest"}
        edit(folder / "manifest.json", lambda manifest, blocks=blocks: manifest.update(blocks=blocks))
        refused(lambda: Bench.read(folder))


def test_what_a_bench_was_configured_with_is_not_opened(foreign: Path, canary: Path) -> None:
    folder = write_bench(foreign)
    good = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for name in ways_out(foreign, canary).values():
        odd: dict[str, Any] = dict.fromkeys(("truth", "candidates", "documents", "queries", "exclude", "prices"), name)
        odd["load"] = {"arrivals": name or "log.csv"}
        (folder / "config.json").write_text(json.dumps({**good, **odd}), encoding="utf-8")
        with contextlib.suppress(sy.InputError):
            bench = Bench.read(folder)
            assert bench.config.truth is bench.config.candidates is bench.config.exclude is None
            assert bench.config.prices == {}
            assert SECRET not in BenchReport.read(folder).text("json")


@pytest.mark.parametrize("name", ["manifest.json", "config.json", "scores.json", "ceilings.json", "blocks", "blocks/x"])
def test_links_in_a_bench_are_not_followed(name: str, foreign: Path, canary: Path) -> None:
    folder = write_bench(foreign)
    if name == "blocks":
        shutil.rmtree(folder / name)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(canary if name == "blocks" else canary / "notes.jsonl")
    for call in (lambda: Bench.read(folder), lambda: sy.gate(folder, profile="reranker"), lambda: open_scores(folder)):
        refused(call, "leads out of the folder, and is not followed")


# Code that a configuration or an option names


OWN = """
import joblib
from joblib import load

def search(query):
    return ["a"]

class Retriever:
    def invoke(self, query):
        return ["b"]

retriever = Retriever()
invoke = retriever.invoke
"""
LOADERS = (
    "joblib:load", "polars:read_csv", "pip:main", "pytest:main", "numpy:load", "steelyard.cli:main",
    "named_here:load", "named_here:joblib.load",
)  # fmt: skip


def taken(path: str, folder: Path) -> None:
    """Every way in which code that is named may be called with a question."""
    for call in (
        lambda: TargetSystem.read(Config.of({"target": {"callable": path}}, base=folder)),
        lambda: callable_target(path),
        lambda: make_judge(path),
        lambda: make_grader(path, {}),
    ):
        refused(
            call, "is neither of a module of your own, in .*, nor declared by its package; write a function of your"
        )
    refused(lambda: make("rerank", path, {}, folder=folder))


@pytest.fixture
def named_here(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module of the user's own, which is the working folder."""
    pytest.importorskip("joblib", reason="an installed package that unpickles what it is given")
    (foreign / "named_here.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(foreign)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield foreign
    sys.modules.pop("named_here", None)


def test_a_question_that_is_a_file_name_unpickles_nothing(named_here: Path) -> None:
    for path in LOADERS:
        taken(path, named_here)
    for name in ("search", "retriever", "invoke"):
        target = TargetSystem.read(Config.of({"target": {"callable": f"named_here:{name}"}}, base=named_here))
        assert target.ask("why?").passages


def test_a_function_that_scores_texts_is_of_ones_own_too(
    named_here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = installed(tmp_path, "scores_texts", "def scored(query, texts):\n    return [1.0 for _ in texts]\n")
    monkeypatch.syspath_prepend(site)
    refused(lambda: make("rerank", "scores_texts:scored", {}), "nor declared by its package")
    declare(site, "scores_texts", "steelyard.stages", "scores_texts:scored")
    assert make("rerank", "scores_texts:scored", {}).scores("q", ["a"]) == [1.0]


def test_a_package_declares_what_may_be_called(
    named_here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = installed(
        tmp_path, "finds_things", "def search(query):\n    return ['d1']\ndef other(query):\n    return []\n"
    )
    monkeypatch.syspath_prepend(site)
    refused(lambda: callable_target("finds_things:search"), r"entry point of the group steelyard\.targets")
    declare(site, "finds_things", "steelyard.targets", "finds_things:search")
    assert callable_target("finds_things:search")("q", 1).passages[0].chunk_id == "d1"
    refused(lambda: callable_target("finds_things:other"), "nor declared by its package")
    # What lies beside a configuration declares nothing.
    declare(named_here, "evil", "steelyard.targets", "joblib:load")
    taken("joblib:load", named_here)


def installed(folder: Path, name: str, source: str) -> Path:
    """A folder into which a package is installed."""
    site = folder / "site-packages"
    site.mkdir(exist_ok=True)
    (site / f"{name}.py").write_text(source, encoding="utf-8")
    return site


def declare(site: Path, name: str, group: str, value: str) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{group}]\nit = {value}\n", encoding="utf-8")
    importlib.invalidate_caches()
