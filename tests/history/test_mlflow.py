"""Entries as an MLflow tracking folder; tests/test_other_libraries.py reads one with MLflow itself."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import steelyard as sy
from steelyard.history.mlflow import tracking_folder
from steelyard.store.entries import Entry
from tests.cli.command import complaint, printed

pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")

TIME = datetime(2026, 5, 1, 12, tzinfo=UTC)


def entry_of(system: str = "hybrid", **fields: Any) -> Entry:
    entry = Entry(
        id="4f1c9a0b77", time=TIME, kind="scores", command="evaluate questions.jsonl runs/hybrid", commit="0a1b2c3d",
        dirty=False, tags=["v1.2"], note="Larger chunks", truth="sha256:81c2d05612345678", n_questions=40,
        settings={system: {"chunk.size": "300"}}, versions={"steelyard": "0.1.0"},
        fingerprints={system: {"corpus": "aa11"}},
    )  # fmt: skip
    return replace(entry, **fields)


def row(entry: str, system: str, measure: str, mean: float | None) -> dict[str, Any]:
    return {"entry": entry, "system": system, "measure": measure, "mean": mean, "low": 0.1, "high": 0.9, "n": 40}


MEANS = pl.DataFrame([
    row("4f1c9a0b77", "hybrid", "ndcg@10", 0.7911384),
    row("4f1c9a0b77", "hybrid", "../../x", 0.5),
    row("4f1c9a0b77", "hybrid", "mrr", math.nan),
    row("4f1c9a0b77", "中文", "ndcg@10", None),
])  # fmt: skip


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.*") if path.is_file()
    }


def test_an_entry_and_a_system_are_a_run(tmp_path: Path) -> None:
    root = tracking_folder(MEANS, [entry_of()], tmp_path)
    assert root == tmp_path / "mlruns"
    (experiment,) = root.iterdir()
    assert experiment.name.isdigit()  # Elsewhere `mlflow ui` does not see the folder by itself.
    described = yaml.safe_load((experiment / "meta.yaml").read_text("utf-8"))
    assert described["name"] == "steelyard, truth 81c2d056"
    assert described["experiment_id"] == experiment.name
    runs = {yaml.safe_load(meta.read_text("utf-8"))["run_name"]: meta.parent for meta in experiment.glob("*/meta.yaml")}
    assert set(runs) == {"hybrid 4f1c9a0b", "中文 4f1c9a0b"}
    hybrid = runs["hybrid 4f1c9a0b"]
    milliseconds = round(TIME.timestamp() * 1000)
    assert (hybrid / "metrics" / "ndcg_at_10").read_text() == f"{milliseconds} 0.7911384 0\n"
    assert (hybrid / "metrics" / "ndcg_at_10_n").read_text() == f"{milliseconds} 40.0 0\n"
    assert (hybrid / "params" / "chunk.size").read_text() == "300"
    tags = {path.name: path.read_text("utf-8") for path in (hybrid / "tags").iterdir()}
    assert tags["mlflow.source.git.commit"] == "0a1b2c3d"
    assert tags["mlflow.note.content"] == "Larger chunks"
    assert (tags["steelyard.dirty"], tags["steelyard.tags"]) == ("false", "v1.2")
    assert (tags["version.steelyard"], tags["fingerprint.corpus"]) == ("0.1.0", "aa11")
    facts = json.loads((hybrid / "artifacts" / "entry.json").read_text("utf-8"))
    assert (facts["id"], facts["means"][0]["measure"]) == ("4f1c9a0b77", "ndcg@10")


def test_undefined_means_are_no_metrics_and_names_stay_in_the_folder(tmp_path: Path) -> None:
    root = tracking_folder(MEANS, [entry_of()], tmp_path / "out")
    metrics = {path.name.partition("-")[0] for path in root.glob("*/*/metrics/*")}
    assert {"mrr_n", "ndcg_at_10", "_.._x"} <= metrics
    assert "mrr" not in metrics
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_another_export_adds_runs_and_changes_none(tmp_path: Path) -> None:
    tracking_folder(MEANS, [entry_of()], tmp_path)
    before = files(tmp_path)
    tracking_folder(MEANS, [entry_of(), entry_of(id="other", truth=None, settings={})], tmp_path)
    after = files(tmp_path)
    assert {name: after[name] for name in before} == before
    assert sum(name.endswith("entry.json") for name in after) == 3
    assert 'name: "steelyard"\n' in "".join(after.values())


def test_any_text_can_be_a_name(tmp_path: Path) -> None:
    system = 'a: "b"\n#\x07 😀' + "x" * 300
    root = tracking_folder(MEANS.clear(), [entry_of(settings={system: {"a/b\n" * 99: "v" * 9_000}})], tmp_path)
    (meta,) = root.glob("*/*/meta.yaml")
    assert yaml.safe_load(meta.read_text("utf-8"))["run_name"].startswith('a: "b" #  😀xxx')
    (setting,) = root.glob("*/*/params/*")
    assert len(setting.read_text("utf-8")) == 6_000


def test_a_command_exports_all_entries_or_some(tmp_path: Path) -> None:
    truth, runs = {"q1": {"a": 1}, "q2": {"b": 1}}, {"new": {"q1": ["a"], "q2": ["b"]}, "old": {"q1": ["a"]}}
    with sy.Store(tmp_path / "history.db") as store:
        first = store.add(sy.evaluate(truth, runs, "mrr"), tags=["v1"])
        store.add(sy.evaluate(truth, runs, ["mrr", "recall@1"]))
    for words, n in ((["tag=v1"], 2), ([], 4)):
        shown = printed("history", "export", *words, "--to", "mlflow", "-o", "two words", "--lang", "en", cwd=tmp_path)
        assert "  cd 'two words'\n  MLFLOW_ALLOW_FILE_STORE=true mlflow ui\n" in shown
        assert len(list(tmp_path.glob("two words/mlruns/*/*/meta.yaml"))) == n
    [means] = {path.read_text().split()[1] for path in tmp_path.glob("two words/mlruns/*/*/metrics/recall_at_1_n")}
    assert means == "2.0"
    assert f'"id": "{first.id}"' in "".join(path.read_text() for path in tmp_path.rglob("entry.json"))
    assert "has no entry" in complaint("history", "export", "ffff", "--to", "mlflow", "-o", "x", cwd=tmp_path)
