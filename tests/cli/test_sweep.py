import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from steelyard.base.notes import Note
from steelyard.rag.config import Config
from steelyard.rag.sweeping import SweepNote, Swept, sweep
from steelyard.reports.views.runs import sweep_sheet
from steelyard.reports.words import read_words
from tests.cli.command import complaint, printed
from tests.rag import small

pytest.importorskip("bm25s", reason="the default index needs the extra rag")
pytest.importorskip("sklearn", reason="the default embedder needs the extra rag")
CONFIG = """
documents = "documents"
questions = "questions.jsonl"
chunk = {kind = "sentences", size = 40}
[sweep]
chunk.size = [40, 80]
index = ["bm25", "dense", ["bm25", "dense"]]
k = [1, 3]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = small.write(tmp_path_factory.mktemp("sweep"))
    (path / "grid.toml").write_text(CONFIG)
    return path


def test_one_table_with_the_evidence_first(folder: Path) -> None:
    text = printed("sweep", "grid.toml", "-v", cwd=folder)
    lines = text.splitlines()
    assert all(len(line) <= 80 for line in lines)
    heads = [line for line in lines if line.startswith("chunk.size")]
    assert heads[0].split()[:5] == ["chunk.size", "index", "k", "evidence_recall", "lead"]
    assert all(head.split()[:3] == ["chunk.size", "index", "k"] for head in heads)
    assert [w for head in heads for w in head.split()[3:]] == [
        "evidence_recall", "lead", "span_recall", "span_precision", "span_iou", "recall", "precision", "mrr", "ndcg"
    ]  # fmt: skip
    first = [float(line.split()[3]) for line in lines[2:14]]
    assert first == sorted(first, reverse=True)
    assert "of evidence and spans compare across chunkings" in text
    leads = [float(line.split()[4].replace("−", "-")) for line in lines[2:14]]
    assert leads[0] == max(leads) == pytest.approx(first[0] - first[1])
    assert leads[1:] == pytest.approx([row - first[0] for row in first[1:]], abs=1e-4)
    assert "The best leads the next one by" in text
    assert "the average of all 12" in text
    assert "by the rule share>=0.5" in text
    assert sorted(os.listdir(folder / "runs" / "grid-sweep")) == sorted(
        f"size={size}-index={index}" for size in (40, 80) for index in ("bm25", "dense", "bm25+dense")
    )


def test_forms_for_programs_and_papers(folder: Path) -> None:
    options = ("grid.toml", "-m", "ndcg,recall@1")
    found = json.loads(printed("sweep", *options, "--format", "json", cwd=folder))
    assert (found["format"], len(found["rows"])) == (1, 12)
    row = found["rows"][0]
    assert list(row) == ["chunk.size", "index", "k", "ndcg", "recall@1", "lead", "folder"]
    assert {type(row[key]) for key in ("chunk.size", "k")} == {int}
    assert type(row["ndcg"]) is float
    assert Path(row["folder"], "outputs.jsonl").exists()
    ndcg = [row["ndcg"] for row in found["rows"]]
    assert found["leads"]["next"]["lead"] == pytest.approx(row["lead"]) == pytest.approx(ndcg[0] - ndcg[1])
    assert found["leads"]["average"]["lead"] == pytest.approx(ndcg[0] - np.mean(ndcg))
    assert any("the best of 12 equally good pipelines" in note for note in found["notes"])
    printed("sweep", *options, "--output", "grid.csv", cwd=folder)
    with (folder / "grid.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(r["ndcg"]) for r in rows] == [r["ndcg"] for r in found["rows"]]
    assert [r["folder"] for r in rows] == [r["folder"] for r in found["rows"]]
    markdown = printed("sweep", *options, "--format", "markdown", "--holdout", "--seed", "1", cwd=folder)
    assert markdown.startswith("| chunk.size | index | k | ndcg | lead | recall@1 |\n| --- |")
    assert "held out (seed 1)" in markdown
    latex = printed("sweep", *options, "--format", "latex", cwd=folder)
    assert r"\begin{tabular}{lrrrrr}" in latex
    assert "invalid choice: 'trec'" in complaint("sweep", *options, "--format", "trec", cwd=folder)


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown", "latex"])
def test_the_library_gives_what_the_command_prints(format: str, folder: Path) -> None:
    swept = sweep(Config.read(folder / "grid.toml"), measures=["mrr", "recall"], holdout=True, seed=3)
    text = swept.text(format, lang="en", seed=3, width=80)
    options = ("-m", "mrr", "-m", "recall", "--holdout", "--seed", "3", "--format", format, "--lang", "en")
    assert printed("sweep", "grid.toml", *options, cwd=folder).partition("Next: ")[0] == text


def test_narrow_terminals_name_every_row(folder: Path) -> None:
    text = printed("sweep", "grid.toml", "-m", "span_recall,mrr,ndcg", "-v", cwd=folder, columns=40)
    assert all(len(line) <= 40 for line in text.splitlines() if not line.startswith("Next: "))
    assert sum("bm25+dense" in line for line in text.splitlines()) % 4 == 0


@pytest.mark.parametrize(
    ("table", "reason"),
    [("", "there is nothing to vary"), ("indx = ['bm25']", "line 6: sweep: there is no setting 'indx'")],
)
def test_a_bad_table_is_told_in_a_line(table: str, reason: str, folder: Path) -> None:
    (folder / "bad.toml").write_text(CONFIG.partition("chunk.size")[0] + table + "\n")
    assert reason in complaint("sweep", "bad.toml", cwd=folder)
    assert not (folder / "runs" / "bad-sweep").exists()


def test_values_that_are_not_there_are_a_dash() -> None:
    values = np.array([[[np.nan, np.nan]], [[0.5, 0.25]]])
    swept = Swept(
        [{"k": 1}, {"k": 2}], [Path(), Path()], ["span_iou"], values, ["a", "b"], np.zeros(2, bool),
        [SweepNote(Note.of_json("Written before."), ("rerank=none",))],
    )  # fmt: skip
    sheet = sweep_sheet(swept, words=read_words("en"))
    assert sheet.rows == [["2", "0.3750", "–"], ["1", "–", "–"]]
    assert sheet.best == {(0, 1)}
    assert sheet.notes[-1] == "rerank=none: Written before."


SLOW = """
import os
import time


class Slow:
    def scores(self, query, texts):
        with open("asked", "a") as file:
            file.write(query + "\\n")
        if query == "Who fears the whale?" and not os.path.exists("quick"):
            time.sleep(60)
        return [1.0] * len(texts)


def slow() -> Slow:
    return Slow()
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as a terminal does")
def test_ctrl_c_keeps_what_was_run(tmp_path: Path) -> None:
    small.write(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "grid.toml").write_text(
        'documents = "documents"\nquestions = "questions.jsonl"\n[sweep]\nrerank = ["none", "slow:slow"]\n'
    )
    command = [sys.executable, "-m", "steelyard", "sweep", "grid.toml", "-m", "mrr"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (
        (tmp_path / "asked").exists() and (tmp_path / "asked").read_text().count("\n") == 2
    ):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == "steelyard: interrupted; what was run is kept. The same command goes on from there\n"
    (tmp_path / "quick").touch()
    assert "slow:slow" in printed("sweep", "grid.toml", "-m", "mrr", cwd=tmp_path)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == 4  # The first was kept, the second is asked again.
