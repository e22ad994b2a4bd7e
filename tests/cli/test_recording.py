"""Commands record what they computed into the store that an option, the environment or a configuration names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.bench.config import BenchConfig
from tests.cli.command import complaint, printed, steelyard

pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")

INPUTS = ("truth.json", "old.json", "new.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    truth = {f"q{i}": {"a": 1} for i in range(30)}
    old = {query: {"a": 0.9, "b": 0.1} for query in truth}
    new = {query: {"b": 0.9, "a": 0.1} for query in truth}
    for name, data in zip(INPUTS, (truth, old, new), strict=True):
        (tmp_path / name).write_text(json.dumps(data), encoding="utf-8")
    return tmp_path


def entries(folder: Path) -> list[tuple[str, str, list[str], str]]:
    with sy.Store(folder / "history.db") as store:
        return store.entries().select("kind", "command", "tags", "note").rows()


def test_results_are_recorded_below_the_table(folder: Path) -> None:
    words = ("evaluate", *INPUTS, "--store", "history.db", "--tag", "v1", "--tag", "v2", "--note", "two words")
    text = printed(*words, cwd=folder)
    with sy.Store(folder / "history.db") as store:
        entry = store.entry("latest")
        assert f"\nStored as {entry.id} in history.db\nNext: " in text
        assert store.scores(entry.id).systems == ["old", "new"]
    line = "evaluate truth.json old.json new.json --store history.db --tag v1 --tag v2 --note 'two words'"
    assert entries(folder) == [("scores", line, ["v1", "v2"], "two words")]
    assert "已存入 history.db，编号 " in printed(*words, "--lang", "zh", cwd=folder)


def test_json_stays_json(folder: Path) -> None:
    done = steelyard("compare", *INPUTS, "-f", "json", "--store", "history.db", cwd=folder)
    assert json.loads(done.stdout)
    assert done.stderr.startswith(b"Stored as ")
    report = printed("report", *INPUTS, "-o", "report.md", cwd=folder, environment={"STEELYARD_STORE": "history.db"})
    assert report.startswith("report.md\nStored as ")
    assert [kind for kind, *_ in entries(folder)] == ["report", "comparison"]


def test_a_profile_names_a_store_beside_it(folder: Path) -> None:
    (folder / "ci").mkdir()
    profile = folder / "ci" / "gate.toml"
    profile.write_text('recommend = ["mrr"]\n[store]\nurl = "../history.db"\ntags = ["nightly"]\n', encoding="utf-8")
    done = steelyard("gate", *INPUTS, "--profile", profile, "--margin", "0.01", "--tag", "x", cwd=folder)
    assert done.returncode == 1
    assert [(kind, tags) for kind, _, tags, _ in entries(folder)] == [("gate", ["nightly", "x"])]
    profile.write_text('recommend = ["mrr"]\n[store]\nuri = "../history.db"\n', encoding="utf-8")
    assert "[store] has no setting 'uri'; did you mean url?" in complaint(
        "gate", *INPUTS, "--profile", profile, cwd=folder
    )


def test_a_store_that_fails_loses_no_result_and_no_verdict(folder: Path) -> None:
    (folder / "no.db").mkdir()
    done = steelyard("evaluate", *INPUTS, "--store", "no.db", cwd=folder)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"mrr" in done.stdout
    assert b"no.db: cannot be written" in done.stderr
    (folder / "same.json").write_bytes((folder / "old.json").read_bytes())
    gate = ("gate", "truth.json", "--margin", "0.01", "-m", "mrr", "--store", "no.db")
    passed, failed = (steelyard(*gate, "old.json", run, cwd=folder) for run in ("same.json", "new.json"))
    assert [passed.returncode, failed.returncode] == [2, 1]
    assert passed.stderr == failed.stderr == done.stderr


def test_what_cannot_be_recorded_is_said_before(folder: Path) -> None:
    assert "--tag: there is no store" in complaint("evaluate", *INPUTS, "--tag", "v1", cwd=folder)
    assert "expected a name without white" in complaint(
        "evaluate", *INPUTS, "--tag", "two words", "--store", "history.db", cwd=folder
    )
    assert "not mysql" in complaint("evaluate", *INPUTS, "--store", "mysql://u@host/x", cwd=folder)


def test_a_pipeline_names_a_store_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="the extra 'rag' is not installed")
    (tmp_path / "d.md").write_text("Whales sing. Snails do not.")
    (tmp_path / "questions.jsonl").write_text('{"query_id": "q", "query": "Who sings?", "evidence": ["Whales sing."]}')
    config = 'documents = "d.md"\nquestions = "questions.jsonl"\n[store]\nurl = "history.db"\n'
    (tmp_path / "words.toml").write_text(config)
    printed("run", tmp_path / "words.toml", "-m", "mrr", "--note", "first")
    assert entries(tmp_path) == [("run", f"run {tmp_path / 'words.toml'} -m mrr --note first", [], "first")]
    assert "store" not in json.loads((tmp_path / "runs" / "words" / "config.json").read_bytes())
    assert "store" not in BenchConfig.of({"systems": {"none": {}}, "store": {"url": "x.db"}}).resolved()
