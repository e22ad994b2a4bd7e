"""The documents that a system of the user's own searches: gold is placed by them, in the run and ever after."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.data.folders.run_folder import write_run_folder
from steelyard.rag.config import Config
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.weighed_run import WeighedRun, run_and_weigh
from tests.cli.command import steelyard

TEXTS = {
    "handbook/travel.md": "Trains first. Hotels up to 120 euros.\n",
    "差旅.md": "先坐火车。酒店不超过一百二十欧元。\n",
}
GOLD = [
    {"qid": "q1", "query": "hotels", "evidence": [{"doc": "travel", "quote": "Hotels up to 120 euros."}]},
    {"qid": "q2", "query": "酒店", "evidence": [{"doc": "差旅", "quote": "酒店不超过一百二十欧元"}]},
]
TARGET = '''
def search(query):
    """The first half of a document, and its second half, as places alone."""
    name, n = ("handbook/travel.md", 38) if query == "hotels" else ("差旅.md", 18)
    return [{"id": f"{name}:{i}", "doc": f"/srv/kb/{name}", "start": a, "end": b, "score": -i}
            for i, (a, b) in enumerate([(0, n // 2), (n // 2, n)])]
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in TEXTS.items():
        (file := tmp_path / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in GOLD)
    (tmp_path / "questions.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "halves.py").write_text(TARGET, encoding="utf-8")
    (tmp_path / "halves.toml").write_text(
        'questions = "questions.jsonl"\n[target]\ncallable = "halves:search"\ndocuments = "documents"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "halves", raising=False)
    return tmp_path


MEASURES = ["evidence_recall@1", "evidence_recall@2", "span_recall@2", "span_precision@1"]


def weighed(config: Config, **options: Any) -> WeighedRun:
    return run_and_weigh(config, measures=MEASURES, **options)


def test_the_run_is_weighed_by_its_documents_and_so_is_its_folder(folder: Path) -> None:
    config = Config.of_options("halves.toml")
    run = weighed(config)
    assert run.scores.values.shape == (1, 4, 2)
    assert run.scores.means[0].tolist() == pytest.approx([0, 1, 1, run.scores.means[0, 3]])
    assert run.scores.gold[0] is not None
    assert run.scores.gold[0].placed
    shutil.rmtree(folder / "documents")
    again = sy.evaluate("questions.jsonl", "runs/halves", MEASURES)
    assert again.values.tolist() == run.scores.values.tolist()
    assert [document.doc_id for document in run.folder.documents or ()] == ["handbook/travel", "差旅"]
    assert run.folder.chunks is None


def test_the_command_is_the_call(folder: Path) -> None:
    command = [
        "run",
        "--target",
        "halves:search",
        "--questions",
        "questions.jsonl",
        "--documents",
        "documents",
        "-o",
        "out",
    ]
    done = steelyard(*command, *(part for measure in MEASURES for part in ("-m", measure)), "--lang", "en")
    assert done.stderr == b""
    own = weighed(Config.of_options(target="halves:search", questions="questions.jsonl", documents="documents"))
    for mean in own.scores.means[0].tolist():
        assert f"{mean:.4f}" in done.stdout.decode()
    with pytest.raises(InputError, match=r"no retrieved item has `text`; .* name the corpus \(--documents\)"):
        weighed(Config.of_options(target="halves:search", questions="questions.jsonl", folder="without"))


def test_what_the_folder_says_of_them(folder: Path) -> None:
    run = weighed(Config.of_options("halves.toml"))
    assert run.folder.config["target"] == {"callable": "halves:search", "documents": str(folder / "documents")}
    assert run.folder.manifest["counts"] == {"documents": 2, "questions": 2, "failed": 0}
    assert set(run.folder.manifest["fingerprint"]) == {"target", "documents", "all"}
    copy = write_run_folder(
        folder / "copy",
        config=run.folder.config,
        manifest=run.folder.manifest,
        responses=run.folder.responses(),
        documents=run.folder.documents,
    )
    assert sy.evaluate("questions.jsonl", str(copy.path), MEASURES).values.tolist() == run.scores.values.tolist()


def test_the_fingerprint_is_of_what_they_hold_not_of_where_they_are(folder: Path) -> None:
    def fingerprint(**target: str) -> dict[str, str]:
        config = Config.of({"target": {"callable": "halves:search", **target}}, base=folder)
        return dict(TargetSystem.read(config).fingerprint)

    before, bare = fingerprint(documents="documents"), fingerprint()
    shutil.copytree(folder / "documents", folder / "elsewhere")
    assert fingerprint(documents="elsewhere") == before
    (folder / "elsewhere" / "差旅.md").write_text("新规定", encoding="utf-8")
    after = fingerprint(documents="elsewhere")
    assert (after["target"], after["documents"] == before["documents"]) == (before["target"], False)
    assert set(bare) == {"target", "all"}
    assert bare["target"] == before["target"]


def test_gold_that_the_documents_lack_is_refused_before_anything_is_asked(folder: Path) -> None:
    (folder / "documents" / "差旅.md").write_text("新规定", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2, question 'q2': document '差旅': the quote .* is not in the text"):
        weighed(Config.of_options("halves.toml"))
    assert not (folder / "runs" / "halves" / "manifest.json").exists()


def test_other_documents_are_another_run(folder: Path) -> None:
    weighed(Config.of_options("halves.toml"))
    (folder / "documents" / "more.md").write_text("More.", encoding="utf-8")
    with pytest.raises(InputError, match=r"another configuration: .* new \(more\)"):
        weighed(Config.of_options("halves.toml"))
    before = sy.Outputs.read("runs/halves").digest()
    run = weighed(Config.of_options("halves.toml"), overwrite=True)
    assert len(run.folder.documents or ()) == 3
    assert sy.Outputs.read("runs/halves").digest() != before


def test_documents_of_the_command_are_those_that_the_target_of_a_file_searches(folder: Path) -> None:
    (folder / "other").mkdir()
    config = Config.of_options("halves.toml", documents="other")
    assert config.target is not None
    assert (config.documents, config.target.documents) == (None, folder / "other")


def test_named_documents_come_before_those_of_the_run(folder: Path) -> None:
    weighed(Config.of_options("halves.toml"))
    other = [sy.Document("travel", "Hotels up to 120 euros."), sy.Document("差旅", TEXTS["差旅.md"])]
    scores = sy.evaluate("questions.jsonl", "runs/halves", MEASURES, documents=other)
    assert scores.values[0, 3, 0] == 1
    assert sy.evaluate("questions.jsonl", "runs/halves", MEASURES).values[0, 3, 0] == pytest.approx(5 / 19)


def test_the_documents_of_a_run_folder_will_do(folder: Path) -> None:
    weighed(Config.of_options("halves.toml"))
    config = Config.of_options(target="halves:search", questions="questions.jsonl", documents="runs/halves", folder="b")
    assert weighed(config).scores.gold == sy.evaluate("questions.jsonl", "runs/halves", MEASURES).gold
    scores = sy.evaluate("questions.jsonl", str(folder / "b"), MEASURES, documents="runs/halves")
    assert scores.values.tolist() == sy.evaluate("questions.jsonl", "runs/halves", MEASURES).values.tolist()
    bare = write_run_folder(folder / "bare", config={}, manifest={"name": "s", "finished": "now"}, responses=[])
    assert bare.documents is None
    with pytest.raises(InputError, match="is the run of a system whose documents are not known"):
        weighed(Config.of_options(target="halves:search", questions="questions.jsonl", documents="bare"))


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (
            ["--target", "halves:search", "--questions", "questions.jsonl", "--documents", "nowhere"],
            "documents: there is no",
        ),
        (["lost.toml"], "lost.toml, line 4: documents: there is no"),
        (
            ["--target", "halves:search", "--questions", "questions.jsonl", "--documents", "chunks.jsonl"],
            "holds chunks, as its",
        ),
    ],
)
def test_what_cannot_be_searched(folder: Path, command: list[str], error: str) -> None:
    toml = (folder / "halves.toml").read_text("utf-8")
    (folder / "lost.toml").write_text(toml.replace('"documents"', '"nowhere"'), encoding="utf-8")
    (folder / "pipeline.toml").write_text('documents = "documents"\nquestions = "questions.jsonl"\n', encoding="utf-8")
    (folder / "chunks.jsonl").write_text('{"id": "a#1", "doc": "a", "start": 0, "text": "A."}\n', encoding="utf-8")
    done = steelyard("run", *command)
    assert done.returncode == 2
    assert error in done.stderr.decode()
    assert done.stderr.decode().count("\n") == 1
