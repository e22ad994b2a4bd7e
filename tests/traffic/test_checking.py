"""A check of logs says what they hold, lack, and what is wrong; a conversion writes all of them, or nothing."""

import json
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from tests.traffic.made_logs import chance_rows, logs_of


def tables(logs: sy.Logs) -> list[pl.DataFrame]:
    frames = [frame.drop("row", strict=False).collect() for frame in (logs.impressions, logs.events, logs.answers)]
    return [frame.sort(pl.exclude(pl.List)) for frame in frames]


def written(folder: Path) -> Path:
    """A log of records with requests of their own, but for one broken line and one click twice."""
    lines = [
        {"time": "2026-11-02T08:00:00Z", "request": "r1", "user": "u1", "arm": "a", "query": "how?", "doc_ids": ["d"]},
        {"time": "2026-11-02T08:00:05Z", "request": "r1", "kind": "click", "position": 1},
        {"time": "2026-11-02T08:00:05Z", "request": "r1", "kind": "click", "position": 1},
        {"time": "2026-11-02T09:00:00Z", "request": "r2", "user": "u1", "query": "如何？", "doc_ids": [],
         "user_agent": "Examplebot/1.0"},
    ]  # fmt: skip
    file = folder / "log.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "{\n")
    return file


def test_a_check_has_counts_values_columns_and_troubles(tmp_path):
    check = sy.check_logs(written(tmp_path))
    assert check.n == {"impression": 2, "event": 1, "answer": 0}
    assert (check.users, check.sessions, check.bots) == (1, 2, 1)
    assert (check.arms, check.languages, check.kinds) == ({"a": 1}, {"en": 1, "zh": 1}, {"click": 1})
    assert (check.filled["impression"]["arm"], check.filled["impression"]["scores"]) == (0.5, 0.0)
    assert "impression:latency_ms" in check.unmeasured["latency_ms"]
    assert "ctr" not in check.unmeasured
    assert [(own.kind, own.is_fatal) for own in check.troubles] == [
        ("broken_line", True), ("duplicate", True), ("bot", False)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["logs", "logs.parquet"])
def test_logs_that_were_written_are_read_as_they_were(tmp_path, name):
    file = written(tmp_path)
    sy.convert_logs(file, tmp_path / name)
    back = sy.read_logs(tmp_path / name)
    for first, second in zip(tables(sy.read_logs(file)), tables(back), strict=True):
        assert first.equals(second)
    assert {trouble.kind for trouble in back.troubles} == {"bot"}


def test_a_folder_that_holds_something_stays_as_it_is(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("keep")
    with pytest.raises(sy.OutputError, match=r"cannot be written .*; name a folder that is new or empty"):
        sy.convert_logs(written(tmp_path), tmp_path / "mine")
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["log.jsonl", "mine", "note.txt"]
    with pytest.raises(sy.InputError, match=r"logs are written as FILE\.parquet, or as a folder"):
        sy.convert_logs(written(tmp_path), tmp_path / "logs.csv")


def test_pseudonyms_are_written_and_the_user_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_PSEUDONYM_KEY", "k" * 32)
    sy.convert_logs(written(tmp_path), tmp_path / "logs.parquet", pseudonymise=True)
    assert b"u1" not in (tmp_path / "logs.parquet").read_bytes()


def test_the_chinese_screen_has_no_english(tmp_path):
    file = written(tmp_path)
    text = sy.check_logs(file).text(lang="zh").replace(str(file), "")
    assert "无法解析为记录的行" in text
    assert "left out" not in text


def test_logs_by_chance_are_checked_in_every_format():
    check = sy.check_logs(logs_of(**chance_rows(3)))
    for format in ("table", "markdown", "json", "csv"):
        assert check.text(format, lang="en")
