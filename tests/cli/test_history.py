"""The commands that read a store."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from steelyard.history.exporting import export
from steelyard.reports.words import read_words
from steelyard.store.kinds import KINDS
from tests.bench.benches import rerank_bench
from tests.cli.command import complaint, printed, steelyard
from tests.experiment.test_preferences import preferences

pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")

TRUTH = {f"q{i}": {"a": 1} for i in range(30)}
OLD, NEW = ({query: [first, "c"] for query in TRUTH} for first in "ab")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with scores of two systems, tagged v1, and a gate that failed."""
    with sy.Store(tmp_path / "history.db") as store:
        scores = sy.evaluate(TRUTH, {"old": OLD, "new": NEW}, ["mrr", "recall@5"])
        about = {"commit": "c0ffee1234", "dirty": True, "command": "evaluate t.json old.json"}
        store.add(scores, tags=["v1"], note="first", time=datetime(2026, 5, 1, tzinfo=UTC), **about)
        store.add(sy.gate(scores, baseline="old", margin=0.01), time=datetime(2026, 6, 1, tzinfo=UTC))
    return tmp_path


def ids(folder: Path) -> list[str]:
    with sy.Store(folder / "history.db") as store:
        return store.entries()["id"].to_list()


def test_entries_are_listed_newest_first(folder: Path) -> None:
    text = printed("history", cwd=folder)
    gate, scores = ids(folder)
    assert text.startswith("2 entries in history.db, the newest of 2026-06-01\n")
    rows = [line.split() for line in text.splitlines() if line.startswith((gate[:6], scores[:6]))]
    assert [row[0] for row in rows] == [gate[:6], scores[:6]]
    assert {"gate", "FAIL", "old", "+1"} <= {*rows[0]}
    assert {"scores", "c0ffee*", "v1"} <= {*rows[1]}
    assert text.endswith(f"Next: steelyard history show {gate}\n")


@pytest.mark.parametrize(
    ("words", "n"),
    [("--kind gate", 1), ("--tag v1", 1), ("--tag v2", 0), ("--since 2026-05-15", 1), ("-m recall@5", 2), ("-n 1", 1)],
)
def test_entries_are_filtered(folder: Path, words: str, n: int) -> None:
    listed = json.loads(printed("history", *words.split(), "-f", "json", cwd=folder))
    assert len(listed["entries"]) == n
    assert listed["total"] == 2
    if words == "-m recall@5":
        assert [(entry["measure"], entry["mean"]) for entry in listed["entries"]] == [("recall@5", 1.0)] * 2


def test_mistakes_in_filters_are_named(folder: Path) -> None:
    assert "did you mean gate?" in complaint("history", "--kind", "gates", cwd=folder)
    assert "expected a date or time" in complaint("history", "--since", "May", cwd=folder)
    assert "no command is called 'history shw'; did you mean history show?" in complaint("history", "shw", cwd=folder)


def test_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    text = printed("history", cwd=tmp_path)
    assert "steelyard evaluate TRUTH RUN --store history.db" in text
    assert "结果库" not in text
    assert "还没有内容" in printed("history", "--lang", "zh", cwd=tmp_path)
    assert "there is no store; begin one" in complaint("history", "--store", "typo.db", cwd=tmp_path)
    assert "there is no store; begin one" in complaint("history", "show", "latest", cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_entry_is_shown_with_its_result(folder: Path) -> None:
    text = printed("history", "show", "tag=v1", cwd=folder)
    for part in ("steelyard evaluate t.json old.json", "Commit c0ffee1234, with changes", "Tags: v1", "Note: first",
                 "30 questions", "mrr", "recall@5"):  # fmt: skip
        assert part in text, part
    data = json.loads(printed("history", "show", "latest", "-f", "json", cwd=folder))
    assert data["entry"]["kind"] == "gate"
    assert data["result"]["outcome"] == "fail"
    assert "history accept" not in printed("history", "show", "latest", cwd=folder)
    assert {row["measure"] for row in data["means"]} == {"mrr", "recall@5"}
    printed("history", "show", "latest", "-o", "entry.html", cwd=folder)
    assert "<table" in (folder / "entry.html").read_text(encoding="utf-8")
    assert "Versions" in printed("history", "show", "latest", "-v", cwd=folder)


def test_entries_are_accepted_and_tagged(folder: Path) -> None:
    gate, scores = ids(folder)
    assert f"Accepted {scores} in history.db, by Ada" in printed(
        "history", "accept", scores[:6], "--who", "Ada", "--why", "the release", cwd=folder
    )
    assert "has the tags v1, v2" in printed("history", "tag", "accepted", "v2", cwd=folder)
    assert "Accepted by Ada, " in printed("history", "show", "tag=v2", cwd=folder)
    assert "no accepted" not in printed("history", cwd=folder)
    assert "was accepted as a baseline" in complaint("history", "remove", scores, gate, "--yes", cwd=folder)
    assert ids(folder) == [gate, scores]
    assert "Removed 1 entry" in printed("history", "remove", scores, "--yes", "--force", cwd=folder)


def test_removing_asks_first(folder: Path) -> None:
    gate, scores = ids(folder)
    assert "add --yes" in complaint("history", "remove", gate, cwd=folder)
    assert "no entry 'ffff'" in complaint("history", "remove", gate, "ffff", "--yes", cwd=folder)
    assert ids(folder) == [gate, scores]
    printed("history", "remove", gate, gate[:8], "--yes", cwd=folder)
    assert ids(folder) == [scores]


def test_questions_before_removing_are_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["", "y"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    monkeypatch.setattr("steelyard.cli.history._is_terminal", lambda: True)
    first, second = (steelyard("history", "remove", "latest", cwd=folder) for _ in range(2))
    assert [first.returncode, second.returncode, len(ids(folder))] == [1, 0, 1]


def test_entries_are_read_where_files_are(folder: Path) -> None:
    gate, scores = ids(folder)
    text = printed("evaluate", "store:tag=v1", "-m", "mrr", cwd=folder, environment={"STEELYARD_STORE": "history.db"})
    assert text.startswith("30 questions")
    assert "Stored as" not in text
    compared = printed("compare", f"store:{scores}", "-f", "csv", "--store", "history.db", cwd=folder)
    assert all(f"{name}," in line for name, line in zip(("old", "new"), compared.splitlines()[1:3], strict=True))
    both = printed("evaluate", f"store:{scores}", f"store:{gate}", cwd=folder)
    assert f"old ({scores[:6]})" in both
    assert f"old ({gate[:6]})" in both
    assert "old" in printed("compare", f"store:{scores}", f"store:{gate}", "--unpaired", cwd=folder)
    judged = steelyard("gate", "store:tag=v1", "--baseline", "old", "--margin", "0.01", cwd=folder)
    assert (judged.returncode, judged.stderr) == (1, b"")
    assert ids(folder) == [gate, scores]


def test_entries_that_do_not_fit_are_refused(folder: Path) -> None:
    (folder / "run.json").write_text(json.dumps(OLD), encoding="utf-8")
    assert "'run.json' is no entry of a store" in complaint("evaluate", "store:latest", "run.json", cwd=folder)
    assert "no entry 'x'" in complaint("compare", "store:x", cwd=folder)
    assert "is no report" in complaint("report", "store:latest", cwd=folder)
    assert "leave out --title" in complaint("report", "store:latest", "--title", "T", cwd=folder)
    assert "holds scores already" in complaint("evaluate", "store:latest", "--rule", "any", cwd=folder)


def test_a_report_comes_back_from_its_entry(folder: Path) -> None:
    with sy.Store(folder / "history.db") as store:
        store.add(sy.report(TRUTH, {"old": OLD}, ["mrr"], date="2026-06-02"), tags=["report"])
    printed("report", "store:tag=report", "-o", "report.html", cwd=folder)
    assert "2026-06-02" in (folder / "report.html").read_text(encoding="utf-8")


def test_entries_are_exported_whole(folder: Path) -> None:
    gate, scores = ids(folder)
    assert printed("history", "export", gate, "-o", "out", cwd=folder) == "1 entry is in out\n"
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {"entry.html", "gate.json", "gate.md", "gate.xml", "manifest.json", "scores.csv", "scores.json"}
    again = steelyard("gate", "out/scores.json", "--baseline", "old", "--margin", "0.01", "-m", "mrr", cwd=folder)
    assert again.returncode == 1
    assert json.loads((folder / "out" / "manifest.json").read_bytes())["id"] == gate
    assert "<table" in (folder / "out" / "entry.html").read_text(encoding="utf-8")
    assert "exists already" in complaint("history", "export", scores, "-o", "out", cwd=folder)
    printed("history", "export", gate, scores, "-o", "both", cwd=folder)
    assert {path.name for path in (folder / "both").iterdir()} == {gate, scores}
    assert "mlflow ui" in printed("history", "export", "-o", "ml", "--to", "mlflow", cwd=folder)


def test_frames_are_exported_in_the_format_that_holds_them(tmp_path: Path) -> None:
    with sy.Store(tmp_path / "history.db") as store:
        entry = store.add(rerank_bench(tmp_path / "bench"))
        export(store, [entry.id], tmp_path / "out")
        for name, kind in entry.parts.items():
            frame = store.result(entry.id, name)
            if kind == "frame":
                [file] = (tmp_path / "out").glob(f"{name}.*")
                read = pl.read_csv(file) if file.suffix == ".csv" else pl.read_parquet(file)
                assert read.shape == frame.shape
    pages = {"manifest.json", "entry.html", "scores.json"}
    assert pages <= {path.name for path in (tmp_path / "out").iterdir()}


def test_preferences_are_kept_and_exported(tmp_path: Path) -> None:
    compared = preferences([(1, 1), (1, -1), (0, 1)])
    with sy.Store(tmp_path / "history.db") as store:
        entry = store.add(compared)
        assert store.result(entry.id).data() == compared.data()
        export(store, ["latest"], tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").glob("pref*")} == {"preferences.json", "preferences.md"}
    assert "preferences" in printed("history", cwd=tmp_path)


def test_every_kind_of_entry_has_a_word() -> None:
    for code in ("en", "zh"):
        words = read_words(code)
        assert [kind for kind in KINDS if f"stored.kind.{kind}" not in words] == []


def test_names_of_a_stranger_lead_nowhere(folder: Path) -> None:
    gate = ids(folder)[0]
    for table, column in (("parts", "name"), ("entries", "id")):
        (folder / "evil.db").write_bytes((folder / "history.db").read_bytes())
        with closing(sqlite3.connect(folder / "evil.db")) as database, database:
            database.execute(f"UPDATE {table} SET {column} = '../../evil' WHERE {column} IN ('gate', ?)", [gate])
        for words in (["show", "latest"], ["export", "latest", "v1", "-o", "out"], ["export", "latest", "-o", "out"]):
            said = complaint("history", *words, "--store", "evil.db", cwd=folder)
            assert "evil.db: is damaged (ValueError: an entry or a part of one is called '../../evil')" in said
    assert {path.name for path in folder.iterdir()} == {"evil.db", "history.db"}


def test_tags_of_a_stranger_are_visible(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "history.db")) as database, database:
        database.execute("UPDATE tags SET tag = 'a' || char(27) || '[31m'")
    assert "has the tags a␛[31m, v2" in printed("history", "tag", ids(folder)[1], "v2", cwd=folder)


def test_an_export_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.history.exporting.json.dumps", lambda *args, **more: 1 / 0)
    with sy.Store(folder / "history.db") as store, pytest.raises(ZeroDivisionError):
        export(store, ["latest"], folder / "out")
    assert {path.name for path in folder.iterdir()} == {"history.db"}
