"""The plugin as a user has it: a pytest of its own, in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.experiment.table.json import as_json
from steelyard.reviewing.calibrating import calibrate
from tests.gates.stated import scores_of
from tests.judges.labelled import labelled, scored

TESTS = """
from pathlib import Path
import pytest
from steelyard.pytest_plugin import assert_gate

SCORES = Path(__file__).parent / "scores.json"

def test_fixture(sy_gate):
    found = sy_gate(SCORES, "ratings", level="good")
    assert (found.outcome, found.exit_code) == ("pass", 0)
    assert sy_gate(str(SCORES), baseline="b", margin=0.01).baselines == {"a": "b"}

def test_passes():
    assert_gate(SCORES, "ratings")

def test_fails():
    assert_gate(SCORES, "faq", system="b", lang="en")

def test_lacks_data():
    assert_gate(SCORES, "ratings", min_questions=99, lang="zh")

def test_skips():
    assert_gate(SCORES, "ratings", min_questions=99, insufficient="skip", lang="en")

def test_lacks_scores():
    assert_gate(SCORES.with_name("nothing.json"), "ratings")

def test_judge():
    assert_gate(calibration=SCORES.with_name("judge.json"), min_kappa=0.1, lang="en")

def test_judge_is_not_trusted():
    assert_gate(calibration=str(SCORES.with_name("judge.json")), min_specificity=0.99, lang="en")

def test_typo():
    with pytest.raises(ValueError, match="insufficient is 'skipp'"):
        assert_gate(SCORES, "ratings", insufficient="skipp")
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    named = [] if _is_installed() else ["-p", "steelyard.pytest_plugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *named, "-rA", *options, str(folder)],
        capture_output=True, text=True, encoding="utf-8", cwd=folder, check=False,
        env=os.environ | {"PYTHONUTF8": "1", "COLUMNS": "120"},
    )  # fmt: skip


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(each.value == "steelyard.pytest_plugin" for each in entry_points(group="pytest11"))


def test_gates_in_a_users_tests(tmp_path: Path) -> None:
    pytest.importorskip("scipy.stats", reason="gates against a baseline need the extra stats")
    scores = scores_of([[[0.9] * 30], [[0.8] * 30]], ["mrr"])
    (tmp_path / "scores.json").write_text(as_json(scores), encoding="utf-8")
    verdicts = scored([0.1, 0.4, 0.6, 0.9] * 20)
    calibrate(verdicts, labelled(verdicts, [False, True, True, True] * 20)).write(tmp_path / "judge.json")
    (tmp_path / "test_it.py").write_text(TESTS)
    done = run_pytest(tmp_path)
    out = done.stdout
    assert done.returncode == 1, out + done.stderr
    assert "4 passed" in out
    assert "4 failed" in out
    assert "Signature: mrr; n:30; " in out  # The message has all of it, as nothing can be asked of last night's run.
    assert "judge own: not enough labels" in out
    assert "1 skipped" in out
    assert "mrr: the whole interval misses 0.85." in out
    assert "hit_rate@3: not measured" in out
    assert "b: FAIL (1 failed, 2 lack data)" in out
    assert "a：数据不足（数据不足 1 项）" in out
    assert "steelyard: " in out
    assert "nothing.json: there is no such file" in out
    assert "assert_gate(SCORES" not in out  # no traceback into a user's tests


def test_importing_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import steelyard.pytest_plugin; "
        "print(sorted(name for name in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "polars" not in done.stdout, done.stdout
    assert "numpy" not in done.stdout, done.stdout
