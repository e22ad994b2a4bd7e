"""`steelyard plan`: its words, and one line for each mistake."""

import json
import shutil
from pathlib import Path

import pytest

from steelyard.demo import copy_data
from tests.cli.command import complaint, printed

pytest.importorskip("scipy", reason="plans need the extra stats")

PILOT = ("plan", "pilot.jsonl", "keyword.jsonl", "hybrid.jsonl")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_data(tmp_path_factory.mktemp("demo") / "data")
    shutil.copy(folder / "hybrid.jsonl", folder / "copy.jsonl")
    return folder


def test_it_is_written_into_files(demo: Path, tmp_path: Path) -> None:
    assert printed(*PILOT, "--difference", 0.05, "-o", tmp_path / "plan.json", cwd=demo) == ""
    content = json.loads((tmp_path / "plan.json").read_text("utf-8"))
    assert content["pilot"]["systems"] == ["keyword", "hybrid"]
    assert [row["wished"] for row in content["rows"]].count(True) == 1
    assert printed(*PILOT, "--difference", 0.05, "-f", "markdown", cwd=demo).startswith("| difference |")


def test_it_fits_the_terminal_and_speaks_chinese(demo: Path) -> None:
    text = printed(*PILOT, "--difference", 0.05, "--n-systems", 4, cwd=demo, columns=60)
    assert max(map(len, text.splitlines())) <= 60
    assert "个问题（配对 t 检验" in printed("plan", "--sd", 0.2, "--difference", 0.05, "--lang", "zh").replace("\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "a plan needs the smallest difference that matters (difference=0.05, --difference 0.05), or the width of"),
        (("--labels", "2"), "labels is 2.0, expected a number between 0 and 1"),
        (("--labels", "0.1", "--sensitivity", "0.9"), "name both (--sensitivity, --specificity)"),
        (("--labels", "0.1", "--sensitivity", "0.4", "--specificity", "0.5"), "is no better than a coin"),
        (("--labels", "0.1", "--difference", "0.1"), "a plan is of labels or of questions"),
        (("--labels", "0.1", "--supported", "0"), "supported is 0.0, expected a number between 0 and 1"),
        (("--difference", "0.1", "--sd", "0.2", "--supported", "0.5"), "supported: is for a plan of labels"),
        (("pilot.jsonl", "keyword.jsonl", "hybrid.jsonl", "--labels", "0.1"), "a plan of labels is for one run"),
        (("pilot.jsonl", "hybrid.jsonl", "-m", "mrr", "--labels", "0.1"), "mrr is no mean of what people label one by"),
        (("--difference", "0.05"), "a plan needs either a pilot, a truth and a run or several (better two), or the"),
        (("--difference", "-1", "--sd", "0.2"), "difference is -1.0, expected a number above 0"),
        (("--difference", "0.05", "--sd", "-1"), "sd is -1.0, expected a number above 0"),
        (("--difference", "0.05", "--sd", "0.2", "--power", "0.01"), "power is 0.01, expected a number between alpha"),
        (
            ("--difference", "0.05", "--sd", "0.2", "-f", "trec"),
            "invalid choice: 'trec' (choose from 'table', 'json', 'csv', 'markdown', 'latex')",
        ),
        (("--difference", "0.05", "--sd", "0.2", "-m", "ndgc"), "did you mean"),
        (("pilot.jsonl", "--difference", "0.05"), "pilot.jsonl: a truth without a run"),
        (("pilot.jsonl", "hybrid.jsonl", "--difference", "0.05", "--sd", "0.2"), "and not both"),
        (("pilot.jsonl", "hybrid.jsonl", "copy.jsonl", "--difference", "0.05"), "equal on all 40 questions"),
    ],
)
def test_a_mistake_is_one_line(words: tuple[str, ...], message: str, demo: Path) -> None:
    text = complaint("plan", *words, cwd=demo)
    assert message in text
    assert text.count("\n") == 1
