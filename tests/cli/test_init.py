"""`steelyard init`: the files of a first evaluation."""

import builtins
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import steelyard as sy
from steelyard.base.errors import InputError, OutputError
from steelyard.cli.app import app, command_of
from steelyard.cli.init import STARTS, WORKFLOWS
from steelyard.data.questions import Questions
from steelyard.gates.profiles import profile_of
from steelyard.rag.config import Config

ROOT = Path(__file__).parents[2]


def commands(text: str) -> Iterator[list[str]]:
    """The commands of `steelyard` in a text, as their words."""
    for line in text.splitlines():
        if (words := line.strip())[:10] == "steelyard ":
            yield words.split()[1:]


def settings(workflow: str) -> dict[str, str]:
    """Those of the gate in a workflow, by the names of the inputs of action.yml."""
    content = yaml.safe_load(workflow)
    if "jobs" in content:
        step = content["jobs"]["gate"]["steps"][-1]
        assert step["uses"] == f"OWNER/steelyard@v{sy.__version__}"
        assert step["with"].keys() <= yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"].keys()
        return step["with"]
    variables = content["steelyard"]["variables"].items()
    return {name.removeprefix("STEELYARD_").lower(): value for name, value in variables}


@pytest.mark.parametrize(("have", "language", "ci"), list(itertools.product(STARTS, ["en", "zh"], WORKFLOWS)))
def test_all_files_are_read_by_what_they_are_for(
    have: str, language: str, ci: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app(["init", str(tmp_path), "--have", have, "--language", language, "--ci", ci])
    shown = capsys.readouterr().out
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {line.removeprefix(f"{tmp_path}/") for line in shown.splitlines() if line.startswith(str(tmp_path))}
    listed = list(commands(shown.split("\n\n")[-1]))
    assert len(listed) == 2
    for words in listed:
        command_of(words)
    for workflow in tmp_path.rglob("*.yml"):
        gated = settings(workflow.read_text("utf-8"))
        named = {gated[name] for name in ("truth", "profile", "config") if name in gated}
        assert named - {"qrels.txt"} == {path.name for path in tmp_path.glob("[!.]*.*") if path.is_file()}
        assert gated["margin"] == "0.02"
    if STARTS[have].config:
        (tmp_path / "documents").mkdir()
        Config.read(tmp_path / "mine.toml")
    if STARTS[have].questions:
        assert [str(measure) for measure in profile_of(str(tmp_path / "gate.toml")).measures] == [
            "evidence_recall@5",
            "mrr@10",
        ]
        questions = Questions.read(tmp_path / "questions.jsonl")
        assert len(questions) == 3
        asked = [json.loads(line)["query"] for line in (tmp_path / "questions.jsonl").read_text("utf-8").splitlines()]
        assert any("？" in query for query in asked) == (language == "zh")


def test_what_is_typed_is_taken_by_number_or_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["5", "outputs", "2", ""])
    monkeypatch.setattr(builtins, "input", lambda _: next(typed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    app(["init", str(tmp_path), "--lang", "en"])
    shown = capsys.readouterr().out
    assert "Type a number from 1 to 4." in shown
    names = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert names == ["gate.toml", "questions.jsonl", "steelyard.yml"]
    assert "？" in (tmp_path / "questions.jsonl").read_text("utf-8")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text("mine")
    with pytest.raises(OutputError, match=r"questions.jsonl: exists already; name another folder"):
        app(["init", str(tmp_path), "--yes"])
    assert [path.name for path in tmp_path.iterdir()] == ["questions.jsonl"]
    assert (tmp_path / "questions.jsonl").read_text() == "mine"


def test_without_a_terminal_it_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    with pytest.raises(InputError, match="without a terminal name --have, --language and --ci"):
        app(["init", str(tmp_path), "--have", "runs"])
    assert list(tmp_path.iterdir()) == []
    app(["init", str(tmp_path), "--have", "runs", "--language", "en", "--ci", "none"])
    assert list(tmp_path.iterdir()) == []
