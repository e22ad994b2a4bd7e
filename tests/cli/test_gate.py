import json
import math
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base import defaults
from steelyard.base.errors import InputError, OutputError
from steelyard.cli.calls import parse_numbers
from steelyard.data.folders.manifests import write_json, write_manifest
from steelyard.experiment.door.evaluation import open_scores
from steelyard.experiment.table.json import as_json, read_scores
from tests.cli.command import called, complaint, printed, steelyard

pytest.importorskip("scipy.stats", reason="gates against a baseline need the extra stats")

DEFAULTS: dict[str, Any] = {"runs": [], "junit": None, "summary": None, "lang": "en"}
MEASURES = ["recall@5", "precision@5", "mrr"]


def exits(scores: object, **options: Any) -> int:
    return called("gate", scores=str(scores), **(DEFAULTS | options))


def weighed(good: int, n: int = 40) -> sy.Scores:
    """Of n questions with five relevant documents each, `good` are answered perfectly and the others not at all."""
    truth = {f"q{i}": {f"d{i}-{j}": 1 for j in range(5)} for i in range(n)}
    made = {
        name: {f"q{i}": {f"{'d' if i < right else 'x'}{i}-{j}": 5.0 - j for j in range(5)} for i in range(n)}
        for name, right in (("new", good), ("old", n))
    }
    return sy.evaluate(truth, made, MEASURES)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    (path := tmp_path / "scores.json").write_text(as_json(weighed(30)), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run over 80 questions, one of which failed."""
    path = tmp_path / "runs" / "mine"
    path.mkdir(parents=True)
    (path / "questions.jsonl").write_text(
        "".join(json.dumps({"qid": f"q{i}", "query": "?", "relevant": {f"d{i}": 1}}) + "\n" for i in range(80))
    )
    lines: list[dict[str, Any]] = [
        {"qid": f"q{i}", "retrieved": [{"id": f"d{i}"}, {"id": "x"}], "latency_ms": {"total": 100.0 + i}}
        for i in range(79)
    ]
    lines.append({"qid": "q79", "error": "timeout"})
    (path / "outputs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_json(path / "config.json", {"questions": "questions.jsonl", "weigh": {}})
    write_manifest(path, {"name": "mine", "finished": "yes", "notes": [], "counts": {}})
    return path


def test_passing_failing_and_too_few_data(scores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits(scores, profile="production", system="old") == 0
    assert "old: pass (3 checks passed)" in capsys.readouterr().out
    assert exits(scores, profile="production", system="new", level="excellent") == 3
    assert exits(scores, baseline="old", margin=0.01) == 1
    assert "new: FAIL (3 failed)" in capsys.readouterr().out
    assert exits(scores, profile="production", system="old", min_questions=41) == 3
    assert "40 questions, and 41 are asked for" in capsys.readouterr().out


def test_files_are_written_beside_the_screen(scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit, summary = tmp_path / "gate.xml", tmp_path / "gate.md"
    assert exits(scores, profile="production", baseline="old", margin=0.5, junit=junit, summary=summary, lang="zh") == 3
    (suite,) = ET.parse(junit).getroot()
    assert (suite.get("name"), suite.get("tests")) == ("new", "6")
    assert summary.read_text(encoding="utf-8").startswith("## Steelyard 门禁：")
    assert "数据不足" in capsys.readouterr().out


def test_a_run_folder_is_weighed_by_the_profile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits(folder, profile="faq") == 3  # one relevant document a question: precision@3 reaches no .8
    out = capsys.readouterr().out
    assert "OUT OF REACH: precision@3 ≥ 0.8" in out
    assert all(name in out for name in ("mrr", "hit_rate@3", "precision@3"))
    assert exits(folder, profile="monitoring", max_failed=0.0) == 1
    assert exits(folder, profile="monitoring", max_failed=0.02, max_missing=0.02) == 0


def test_latencies_of_a_run_folder_count(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The failed question counts as slower than any limit: of 80, one leaves P95 without an upper end.
    assert open_scores(folder).latency_ms == {"mine": [[*(100.0 + i for i in range(79)), math.inf]]}
    profile = tmp_path / "fast.toml"
    profile.write_text(
        'levels = ["ok"]\nrecommend = ["mrr"]\n[measures.latency_ms_p95]\ngiven = true\n'
        'better = "lower"\nlevels.ok = 200\n'
    )
    assert exits(folder, profile=str(profile)) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert " 175.1 " in out
    assert "latency_ms:p95: 1 of 80 questions failed; they count as slower than any limit." in out
    outputs = (folder / "outputs.jsonl").read_text()
    (folder / "outputs.jsonl").write_text(outputs.replace('"error": "timeout"', '"retrieved": []'))
    assert exits(folder, profile=str(profile)) == 0
    assert "174.1" in capsys.readouterr().out
    assert exits(folder, profile=str(profile), numbers=["latency_ms_p95=201"]) == 1


def test_a_baseline_is_a_system_a_file_or_a_folder(scores: Path, folder: Path, tmp_path: Path) -> None:
    (other := tmp_path / "other.json").write_text(as_json(weighed(30)), encoding="utf-8")
    assert exits(scores, system="new", baseline=str(other), margin=0.01) == 0  # held against "new" of that file
    shutil.copytree(folder, second := tmp_path / "runs" / "old")
    assert exits(folder, profile="monitoring", baseline=str(second), margin=0.01) == 0
    (mine := tmp_path / "mine.json").write_text(as_json(open_scores(folder, measures=["mrr"]).scores), encoding="utf-8")
    assert exits(mine, baseline=str(folder), margin=0.01) == 0


def test_what_a_run_folder_is_weighed_by(folder: Path, tmp_path: Path) -> None:
    assert [str(m) for m in open_scores(folder).scores.measures] == [str(sy.parse(m)) for m in defaults.MEASURES.by_id]
    config = {"questions": "questions.jsonl", "weigh": {"measures": ["map"], "min_gain": 2.0}}
    write_json(folder / "config.json", config)
    scores = open_scores(folder).scores
    assert [str(m) for m in scores.measures] == [str(m) for m in scores.without_gold] == ["map(min_gain=2)"]


def test_questions_outside_of_the_folder_are_asked_for(folder: Path, tmp_path: Path) -> None:
    (folder / "questions.jsonl").rename(tmp_path / "moved.jsonl")
    with pytest.raises(InputError, match=r"was run on questions outside of the folder.*: --truth questions.jsonl"):
        called("gate", scores=str(folder), **(DEFAULTS | {"profile": "monitoring", "max_failed": 0.5}))
    truth = str(tmp_path / "moved.jsonl")
    assert exits(folder, profile="monitoring", max_failed=0.5, truth=truth) == 0
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match="names no questions"):
        open_scores(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json, line 1: is not JSON .* delete it"):
        open_scores(folder)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "nothing to judge by"),
        ({"profile": "prod"}, "did you mean production"),
        ({"profile": "none.toml"}, "none.toml: there is no such file"),
        ({"baseline": "oldd", "margin": 0.1}, r"neither a system of the scores \(did you mean old\?\) nor a file"),
        ({"baseline": "old"}, "needs a margin"),
        ({"profile": "ratings", "lang": "fr"}, "no report is written in 'fr'"),
        ({"profile": "reranker", "numbers": ["x"]}, "expected NAME=NUMBER"),
        ({"profile": "reranker", "numbers": ["latency=3"]}, "no levels for a number 'latency'"),
        ({"profile": "reranker", "numbers": ["a=1", "a=2"]}, "a has a value already"),
    ],
)
def test_bad_input_is_told(scores: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        called("gate", scores=str(scores), **(DEFAULTS | options))


def test_scores_that_are_none_are_told(tmp_path: Path, scores: Path) -> None:
    with pytest.raises(InputError, match="folder but neither of a run nor of a bench"):
        called("gate", scores=str(tmp_path), **(DEFAULTS | {"profile": "ratings"}))
    with pytest.raises(InputError, match="no such file"):
        called("gate", scores=str(tmp_path / "none.json"), **(DEFAULTS | {"profile": "ratings"}))
    with pytest.raises(OutputError, match="is an input"):
        called("gate", scores=str(scores), **(DEFAULTS | {"profile": "ratings", "junit": scores}))
    with pytest.raises(OutputError, match="cannot be written"):
        called("gate", scores=str(scores), **(DEFAULTS | {"profile": "ratings", "summary": tmp_path / "no" / "x.md"}))


def test_what_is_written_by_evaluate_is_what_the_gate_reads(scores: Path) -> None:
    assert read_scores(scores).mean().equals(weighed(30).mean())
    assert parse_numbers(["a=1e3", "b = .5"]) == {"a": 1000.0, "b ": 0.5}


def test_the_baseline_is_an_accepted_entry_of_the_store_that_records(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="stores need the extra store")
    for name, found in (("truth", "a"), ("old", "a"), ("new", "b")):
        lists = {f"q{i}": {found: 1} for i in range(30)}
        (tmp_path / f"{name}.json").write_text(json.dumps(lists), encoding="utf-8")
    words = ("--store", "history.db", "--alarms", "1 in 200", "--margin", "0.02", "-m", "mrr")
    gate = ("gate", "truth.json", "old.json", *words, "--baseline", "store:accepted")
    assert "history.db: there is no store" in complaint(*gate, cwd=tmp_path)
    printed("evaluate", "truth.json", "old.json", "-m", "mrr", "--store", "history.db", "--tag", "v1.2", cwd=tmp_path)
    assert "history accept ID" in complaint(*gate, cwd=tmp_path)
    with sy.Store(tmp_path / "history.db") as store:
        store.accept("latest", who="ann")
    assert steelyard(*gate, cwd=tmp_path).returncode == 0  # The same lists never alarm.
    done = steelyard("gate", "truth.json", "old=new.json", *words, "--baseline", "store:accepted", cwd=tmp_path)
    assert done.returncode == 1
    assert b"Since v1.2: mrr spent 1.000 of 0.02" in done.stdout
    with sy.Store(tmp_path / "history.db") as store:
        assert store.outcomes().select("outcome", "baseline").rows() == [
            ("pass", store.entry("tag=v1.2").id), ("fail", store.entry("tag=v1.2").id),
        ]  # fmt: skip
