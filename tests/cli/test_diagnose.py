"""`steelyard diagnose`, from the function that the command calls."""

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard
import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.data.folders.manifests import write_json, write_manifest
from steelyard.demo import copy_data
from steelyard.rag.pipeline.pipeline import Pipeline
from tests.cli.command import called, printed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example, run with and without a reranker."""
    made = copy_data(tmp_path_factory.mktemp("diagnose") / "demo")
    Pipeline(made / "documents", index="bm25").run(made / "questions.jsonl", made / "runs" / "bm25")
    Pipeline(made / "documents", index="bm25", rerank="lexical").run(
        made / "questions.jsonl", made / "runs" / "reranked"
    )
    return made


def diagnosed(folder: Path, *names: str, **options: Any) -> None:
    given: dict[str, Any] = {"stages": [], "rule": "any", "format": None, "output": None, "lang": "en"}
    runs = [str(folder / "runs" / name) for name in names]
    called("diagnose", truth=str(folder / "questions.jsonl"), runs=runs, **given | options)


def test_one_system(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diagnosed(folder, "bm25", explain=True)
    text = capsys.readouterr().out
    assert text.startswith("Where the gold was lost\n")
    assert "retrieved below k" in text
    assert "What to try" in text
    assert "best of 50" in text


def test_chinese_and_several_systems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diagnosed(folder, "bm25", "reranked", lang="zh", explain=True)
    text = capsys.readouterr().out
    assert "标准证据丢失在哪一步" in text
    assert "两个系统取较优" in text


def test_lists_of_a_stage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diagnosed(folder, "bm25", stages=["below_k", "found"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["bm25, retrieved below k", "bm25, found"]


def test_json_goes_where_the_suffix_says(folder: Path, tmp_path: Path) -> None:
    diagnosed(folder, "reranked", output=tmp_path / "found.json", k=3)
    made = json.loads((tmp_path / "found.json").read_text("utf-8"))
    (system,) = made["systems"].values()
    assert made["k"] == 3
    assert system["depth"] > 10
    assert sum(system["questions"].values()) == 120
    assert {row["n"] for row in made["captured"]} >= {10, 20, 50}


def test_markdown(folder: Path, tmp_path: Path) -> None:
    diagnosed(folder, "bm25", output=tmp_path / "found.md")
    assert (tmp_path / "found.md").read_text("utf-8").startswith("## Where the gold was lost\n")


def test_run_folders_tell_whether_there_is_a_reranker(folder: Path) -> None:
    weighing = steelyard.weigh(folder / "questions.jsonl", [folder / "runs" / "bm25", folder / "runs" / "reranked"])
    assert weighing.reranks == {"bm25": False, "bm25-lexical": True}


def test_a_reranker_that_moves_nothing_is_one_in_python_too(tmp_path: Path) -> None:
    """The command line once read the configuration, and Python judged by the order of results alone."""
    (questions := tmp_path / "questions.jsonl").write_text('{"qid": "q", "relevant": {"d": 1}}\n')
    (folder := tmp_path / "idle").mkdir()
    line = {"qid": "q", "retrieved": ["x", "d"], "candidates": ["x", "d", *"abcefghijklmn"]}
    (folder / "outputs.jsonl").write_text(json.dumps(line) + "\n")
    write_json(folder / "config.json", {"index": "bm25", "rerank": "lexical"})
    write_manifest(folder, {"name": "idle", "finished": "yes"})
    weighing = steelyard.weigh(questions, folder)
    assert weighing.reranks == {"idle": True}
    assert steelyard.diagnose(weighing, k=1).captured
    assert sy.report(weighing, k=1).diagnosis.captured
    write_json(folder / "config.json", {"index": "bm25", "rerank": "none"})
    assert not steelyard.diagnose(steelyard.weigh(questions, folder), k=1).captured


def test_of_answers_alone_it_says_what_became_of_them(tmp_path: Path) -> None:
    queries = {"a": "What is tea?", "b": "What is ink?"}
    answers = {"a": "Tea is a drink.", "b": "Ink is a liquid."}
    asked = [{"qid": q, "query": query, "answer": answers[q]} for q, query in queries.items()]
    said = {"a": answers["a"], "b": "I do not know."}
    given = [{"qid": q, "answer": said[q], "contexts": [answers[q]]} for q in said]
    for name, rows in (("q.jsonl", asked), ("o.jsonl", given)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = printed("diagnose", "q.jsonl", "o.jsonl", cwd=tmp_path)
    assert text.startswith("o answers 1 of 2 questions well; of the others most: over-cautious (1).\n")
    assert text.endswith("Next: steelyard diagnose q.jsonl o.jsonl --stage over_cautious\n")
    listed = printed("diagnose", "q.jsonl", "o.jsonl", "--stage", "over_cautious", cwd=tmp_path)
    assert listed == "o, over-cautious: b\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"stages": ["lost"]}, "no stage or outcome is called 'lost'; "),
        ({"stages": ["below"]}, "no stage or outcome is called 'below'; did you mean below_k"),
        ({"format": "latex"}, "cannot be written as latex; choose table, markdown, json or parts"),
        ({"baseline": "lsa"}, "no system is called 'lsa'; there are bm25"),
        ({"baseline": "bm52"}, "no system is called 'bm52'; did you mean bm25"),
        ({"k": 0}, "whole number from 1"),
        ({"lang": "de"}, "no report is written in 'de'"),
    ],
)
def test_bad_input(folder: Path, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        diagnosed(folder, "bm25", **options)
