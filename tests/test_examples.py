"""The examples run from one command each, and print what their README promises."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.shared_data import shared

pytest.importorskip("bm25s", reason="BM25, of the extra rag")
pytest.importorskip("sklearn", reason="LSA, of the extra rag")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(example: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A finished example; its output is UTF-8, 79 columns wide, wherever it runs."""
    return subprocess.run(
        [sys.executable, EXAMPLES / example / "run.py", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"COLUMNS": "79", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )


def printed(example: str, *arguments: object) -> list[str]:
    done = run(example, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert all(len(line) < 80 for line in lines if str(arguments[-1]) not in line)
    assert lines == [line.rstrip() for line in lines]
    return lines


@pytest.mark.slow
def test_war_and_peace(tmp_path: Path) -> None:
    data = shared("war_and_peace")
    lines = printed("war_and_peace", "--data", data, "--model", "none", "--cache", tmp_path / "cache.sqlite")
    titles = [line for line, below in pairwise(lines) if below.startswith("──")]
    assert titles == [
        "Who is Anna Pávlovna?",
        "Chunks: exact overlap (4,185 chunks)",
        "Chunks: as LangChain (3,673 chunks)",
        "Chunks: as LangChain, LF (4,343 chunks)",
        "Against the published result",
        "An answer, and what supports it",
    ]
    rows = [line.split() for line in lines if line.startswith("BM25 + rerank ")]
    assert all(0 <= float(value) <= 1 for row in rows for value in row[-7:])
    assert rows[1][-7:-3] == ["0.00", "0.00", "0.00", "0.00"]
    for system in ("BM25", "LSA", "hybrid"):
        for name in (f"{system}  ", f"{system} + rerank"):
            assert sum(line.startswith(name) and line.count("0.") + line.count("1.") == 7 for line in lines) == 3
    text = " ".join(lines)
    assert "Passage 2 is cut apart: of its 960 characters chunk 672 holds 538 and chunk 673 holds 486." in text
    assert "all 3 gold passages are whole chunks" in text
    assert "'as LangChain' cuts every passage apart: recall by texts is 0 for everybody." in text
    assert "The tutorial's dense pipeline has Hit 1.00, Prec 0.20, Rec 0.67, F1 0.31 at k = 10, by texts." in text
    assert "The measures are the same ones" in text
    assert "to it the first 10 of BM25 + rerank, LSA + rerank and hybrid + rerank are all alike." in text
    assert "The rows of dense retrieval are left out" in text
    assert "faithfulness 1.00, citation_support 1.00, answer_recall 0.00" in text
    assert sum(line.startswith("[supported] ") for line in lines) == 8


@pytest.mark.slow
def test_zh_cmrc2018(tmp_path: Path) -> None:
    pytest.importorskip("rjieba", reason="Chinese words, of the extra rag")
    data = shared("zh_cmrc2018", "beir")
    lines = printed("zh_cmrc2018", "--data", data, "--output", tmp_path)
    assert lines[0] == "3,219 questions, 848 contexts, each one chunk"
    rows = [line for line in lines if line.startswith(("bm25-", "lsa ", "hybrid "))]
    means = {line.split()[0]: line for line in rows[:5]}
    assert list(means) == ["bm25-words", "bm25-bigrams", "bm25-both", "lsa", "hybrid"]
    assert all(line.count("(0.") == 3 for line in means.values())
    shown = {line.split()[0]: line.rsplit("  ", 1)[1] for line in rows[5:]}
    assert shown == {"bm25-bigrams": "no difference shown", "bm25-both": "better", "lsa": "worse", "hybrid": "worse"}
    answers = {line.split()[0]: line.split()[1:] for line in lines if line.startswith(("40-w", "80-w", "120-w"))}
    assert list(answers) == ["40-words", "80-words", "120-words"]
    assert all(float(value) > 0.99 for values in answers.values() for value in values)
    assert any(line.startswith("Bigrams put the gold context higher than words for ") for line in lines)
    again = printed("zh_cmrc2018", "--data", data, "--output", tmp_path)
    assert again == lines


def test_zh_course() -> None:
    done = run("zh_course")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    n_right, n = map(int, re.findall(r"^(\d+) of (\d+) sentences as people say$", done.stdout, re.MULTILINE)[0])
    assert (n, lines[-1]) == (28, "no answer: q20")
    assert n_right >= 25
    assert "  ✗     ✗    （以下物品可以带入实验室：）食品和饮料" in lines
    readme = (EXAMPLES / "zh_course" / "README.md").read_text("utf-8")
    assert f"{n} 句中有 {n_right} 句一致" in readme
    shown = readme.partition("```text\n")[2].partition("```")[0].splitlines()
    assert shown == lines[: len(shown)]


@pytest.mark.slow
def test_history() -> None:
    pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")
    done = run("history")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    changed = [int(line.split()[0]) for line in lines if re.match(r"  \d", line)]
    assert changed == [16, 22, 33, 45, 50]
    assert [line.split(",")[0] for line in lines if line.startswith("  commits")] == [
        "  commits 16 to 21", "  commits 45 to 49",
    ]  # fmt: skip
    readme = (EXAMPLES / "history" / "README.md").read_text("utf-8")
    shown = readme.partition("```text\n")[2].partition("```")[0].splitlines()
    assert [without_ids(line) for line in lines] == [without_ids(line) for line in shown]
    # Commits that hardly matter are drawn: none of them makes a level, whichever these are.
    others = run("history", "--seed", "9").stdout.splitlines()
    assert [int(line.split()[0]) for line in others if re.match(r"  \d", line)] == changed


def without_ids(line: str) -> str:
    """A line without the ids of entries, which are drawn."""
    return re.sub(r"\b[0-9a-f]{10}\b", "", line)


@pytest.mark.slow
def test_monitoring(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")
    lines = printed("monitoring", "--output", tmp_path / "bay")
    days, _, once = "\n".join(lines).partition("In one look over all of them:\n")
    raised = [re.findall(r"ALERT: (\w+ since .+)", text) for text in (days, once)]
    assert raised == [["regression since 2026-09-25", "segment since 2026-10-20"]] * 2
    assert re.findall(r"([\d-]+) changed: (\w+)", days) == [
        ("2026-09-25", "config"), ("2026-09-29", "config"), ("2026-10-11", "corpus"), ("2026-10-11", "corpus"),
        ("2026-10-15", "judge"),
    ]  # fmt: skip
    assert set(re.findall(r"notice: (.+)", days)) == {"corpus since 2026-10-11"}
    assert (tmp_path / "bay" / "look.html").read_text("utf-8").startswith("<!doctype html>")
    readme = (EXAMPLES / "monitoring" / "README.md").read_text("utf-8")
    shown = readme.partition("```text\n")[2].partition("```")[0].splitlines()
    assert lines == shown


@pytest.mark.slow
def test_ab(tmp_path: Path) -> None:
    done = run("ab", "--output", tmp_path / "bay")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^(Ship|Do not ship|No verdict on) (\w+)", done.stdout, re.M) == [
        ("Ship", "hybrid"), ("Do not ship", "spaces"), ("No verdict on", "page"),
    ]  # fmt: skip
    assert "comes from browser=firefox" in " ".join(done.stdout.split())
    assert "users within 28 days" in done.stdout
    assert "Users prefer hybrid-rerank to bm25." in done.stdout
    assert (tmp_path / "bay" / "hybrid.html").read_text("utf-8").startswith("<!doctype html>")
    readme = (EXAMPLES / "ab" / "README.md").read_text("utf-8")
    assert done.stdout.strip() == readme.partition("```text\n")[2].partition("```")[0].strip()


@pytest.mark.parametrize("example", ["war_and_peace", "zh_cmrc2018"])
def test_without_data(example: str, tmp_path: Path) -> None:
    done = run(example, "--data", tmp_path)
    assert done.returncode == 1
    assert str(tmp_path) in done.stderr
    assert "--data" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra models")
    data, nowhere = shared("war_and_peace"), tmp_path / "model"
    done = run("war_and_peace", "--data", data, "--model", nowhere, "--cache", tmp_path / "cache.sqlite")
    assert done.returncode == 1
    assert "the model folder is not there" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_review(tmp_path: Path) -> None:
    done = run("review", "--output", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"exit status \d", done.stdout) == [f"exit status {n}" for n in (3, 1, 3)]
    text = " ".join(done.stdout.split())
    readme = (EXAMPLES / "review" / "README.md").read_text("utf-8")
    assert "42 (64%) supported, 4 (6%) contradicted, 20 (30%) not found" in text
    assert "assistant 66 40 61% 40" in text
    assert "Raters disagree on 6 items" in text
    assert "Of 6 items that were asked, 6 have a decision." in text
    assert "faithfulness 0.6286 0.7194 0.561–0.865 0.7195 0.559–0.861" in text
    assert "95% interval .56 to .86" in readme
    assert "faithfulness lacks data 0.6286 0.494–0.760 ≥ 0.5" in text
    assert "faithfulness pass 0.7195 0.559–0.861 ≥ 0.5" in text
    assert "faithfulness FAIL 0.7195 0.559–0.861 ≥ 0.9" in text
    assert "calibrated threshold 0.508" in text
    assert "kappa with people (supported or not) 0.925" in text
    assert "kappa of two people (supported or not, 39 items) 0.767" in text
    assert "kappa, 3 labels 95% interval" in text
    assert "bob 39 85% 0.661" in text
    assert "71.3%" in text
    self_tests = text[text.index("$ steelyard selftest") : text.index("$ steelyard gate --calibration")]
    assert " failed " not in self_tests
    assert "self-test padded_sentence: 100 trials are too few to say" in text
    assert "judge lexical: not enough labels" in text
