"""`steelyard selftest`: what it prints and refuses, and its exit status."""

import json
from pathlib import Path

import pytest

from steelyard.judges.judging import judge_recipe
from steelyard.judges.people.calibration import Calibration, Confusion, Estimate
from steelyard.judges.registry import make_judge
from tests.cli.command import steelyard

YES = "tests.judges.own_judges:yes"


def _tested(*options: str) -> tuple[int, str, str]:
    done = steelyard("selftest", *options, environment={"LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_row_a_test_and_what_went_wrong() -> None:
    status, text, errors = _tested()
    assert (status, errors) == (0, "")
    rows = {line.split()[0]: line.split()[-1] for line in text.splitlines() if line.endswith(("passed", "failed"))}
    assert rows["gold"] == "passed"
    assert rows["padded_sentence"] == "failed"
    assert text.startswith("lexical fails 1 of 9 self-tests: padded_sentence.\n")
    assert "padded_sentence: the verdict changes with an empty phrase before the sentence,\nsuch as “" in text
    explained = _tested("-v")[1]
    assert "Where it went wrong" in explained
    assert "injection: an instruction in the chunk makes a sentence supported" in explained
    assert "Too few trials where the limit lies within the interval" in _tested("-n", "30")[1]
    assert max(map(len, text.splitlines())) <= 80


def test_a_judge_that_always_says_yes_is_named_in_both_languages() -> None:
    status, text, _ = _tested("--judge", YES, "-n", "40", "--lang", "en")
    assert status == 0
    assert "It said “supported” each time" in text
    assert "Nothing to try it on: injection." in text
    assert "每次都说“有依据”" in _tested("--judge", YES, "-n", "40", "--lang", "zh")[1]


def test_strict_leaves_with_1_where_a_test_failed() -> None:
    assert _tested("--judge", YES, "--strict")[0] == 1
    assert _tested("-n", "2", "--strict")[0] == 0


def test_json_has_the_trials_that_went_wrong(tmp_path: Path) -> None:
    assert _tested("--judge", YES, "-n", "5", "-o", str(tmp_path / "tests.json"))[0] == 0
    content = json.loads((tmp_path / "tests.json").read_text("utf-8"))
    assert (content["format"], content["always"]) == (1, "supported")
    assert {trial["test"] for trial in content["failed_trials"]} == {"other_answer", "constant", "number"}
    assert content["recipe"]["data"] == "bundled"


def test_a_dry_run_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, text, _ = _tested("--judge", "tests.judges.own_judges:fails", "--dry-run")
    assert status == 0
    assert "Nothing was asked" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["questions.jsonl"], "questions and outputs, or neither"),
        (["-n", "0"], "at least one trial"),
        (["--judge", "lexcal"], "lexical"),
        (["--judge", "tests.judges.own_judges:fails"], "no model"),
        (["-f", "csv"], "choose from 'table', 'json', 'markdown'"),
        (["-o", "tests.csv"], "self-tests cannot be written as csv; choose table, markdown, json or parts"),
    ],
)
def test_refusals_are_one_line(options: list[str], message: str) -> None:
    status, _, errors = _tested(*options)
    assert status == 2
    assert message in errors
    assert errors.count("\n") == 1


def test_results_are_kept_with_the_calibration(tmp_path: Path) -> None:
    file, report = tmp_path / "calibration.json", tmp_path / "tests.json"
    Calibration(
        {key: value for key, value in judge_recipe(make_judge("lexical"))["judge"].items() if key != "threshold"},
        "grounded", 20, 20, "2026-11-22", "", Confusion(10, 0, 0, 10), *[Estimate(1.0)] * 4, threshold=Estimate(0.9),
        rule="youden",
    ).write(file)  # fmt: skip
    status, text, _ = _tested("--calibration", str(file), "-n", "50", "--lang", "en")
    assert status == 0
    assert f"Keptin{file}." in "".join(text.split())  # A path breaks where the line ends.
    calibration = Calibration.read(file)
    assert {test.name: test.n for test in calibration.self_tests}["gold"] == 50
    assert "padded_sentence" in calibration.failed_self_tests
    assert _tested("--calibration", str(file), "-o", str(report))[0] == 0
    recipe = json.loads(report.read_text("utf-8"))["recipe"]
    assert (recipe["judge"]["threshold"], recipe["calibration"]["n"]) == (0.9, 20)
    assert _tested("--calibration", str(file), "-o", str(file))[0] == 2
    before = file.read_bytes()
    assert _tested("--calibration", str(file), "--dry-run")[0] == 0
    assert "the calibration is of the judge lexical" in _tested("--calibration", str(file), "--judge", YES)[2]
    assert file.read_bytes() == before


def test_ctrl_c_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("steelyard.experiment.self_testing.SelfTestOptions.run", interrupt)
    status, _, errors = _tested()
    assert status == 130
    assert "interrupted; no results were written" in errors
