"""`steelyard monitor`: statuses, what is printed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import steelyard
from tests.monitoring.simulated import write_days

pytest.importorskip("scipy", reason="charts need the extra stats")
pytest.importorskip("sqlalchemy", reason="a monitor remembers in the extra store")

SETTINGS = """
logs = "logs"
window = "1d"
measures = ["ctr", "latency_ms:p50"]
lang = "en"
[[sink]]
type = "json"
path = "alerts.jsonl"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("support.toml").write_text(SETTINGS, "utf-8")
    return tmp_path


@pytest.fixture
def logs(folder: Path) -> Path:
    write_days(folder / "logs", range(40))
    write_days(folder / "logs", range(40, 46), ctr=0.2)
    return folder


def test_statuses_follow_the_state(logs: Path) -> None:
    early = steelyard("monitor", "support.toml", "--as-of", "2026-09-17T12:00Z")
    assert early.returncode == 3
    assert early.stdout.decode().startswith("Too few data: support")
    well = steelyard("monitor", "support.toml", "--as-of", "2026-10-16T12:00Z")
    assert well.returncode == 0
    assert well.stdout.decode().startswith("Well since")
    alert = steelyard("monitor", "support.toml", "--as-of", "2026-10-23T12:00Z")
    assert alert.returncode == 1
    assert "1 open alert" in alert.stdout.decode()
    assert "Next: steelyard monitor support.toml -o support.html" in alert.stdout.decode()
    assert json.loads((logs / "alerts.jsonl").read_text("utf-8"))["cause"] == "regression"


def test_a_level_is_accepted_and_a_page_is_written(logs: Path) -> None:
    steelyard("monitor", "support.toml", "-o", "look.html")
    assert "<html" in Path("look.html").read_text("utf-8")
    look = json.loads(steelyard("monitor", "support.toml", "--format", "json").stdout.decode())
    key = look["alerts"][0]["key"]
    accepted = steelyard("monitor", "support.toml", "--accept", key, "--why", "a new ranking")
    assert accepted.returncode == 0
    assert f"since alert {key}" in accepted.stdout.decode()


@pytest.mark.slow
def test_a_budget_is_checked_on_what_is_remembered(logs: Path) -> None:
    refused = steelyard("monitor", "support.toml", "--check")
    assert refused.returncode == 2
    assert "no series has a chart yet" in refused.stderr.decode()
    steelyard("monitor", "support.toml", "--as-of", "2026-10-16T12:00Z")
    check = json.loads(steelyard("monitor", "support.toml", "--check", "--format", "json").stdout.decode())
    assert {"ctr", "latency_ms:p50"} <= {row["series"] for row in check["series"]}
    assert check["per_month"] < 1.5


def test_sinks_are_tried(folder: Path) -> None:
    tried = steelyard("monitor", "support.toml", "--test-sinks")
    assert tried.returncode == 0
    assert json.loads((folder / "alerts.jsonl").read_text("utf-8"))["data"] == {"test": True}


REFUSED = [
    (["missing.toml"], "missing.toml"),
    (["support.toml", "--every", "soon"], "'soon' is no time"),
    (["support.toml", "--every", "1h", "--test-sinks"], "--every and --test-sinks are two things to do"),
    (["support.toml", "--accept", "zz"], "0 alerts begin with 'zz'"),
    (["support.toml", "--as-of", "once"], "as-of 'once': expected a date or time"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_what_cannot_be_done_is_refused_in_a_line(folder: Path, words: list[str], message: str) -> None:
    refused = steelyard("monitor", *words)
    assert refused.returncode == 2
    assert message in refused.stderr.decode()
    assert "Traceback" not in refused.stderr.decode()
