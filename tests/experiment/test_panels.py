"""Panels of judges from what their members left: in the folder of a run, in files, or in hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.experiment.judging import judge_panel
from steelyard.reviewing.calibrating import calibrate
from tests.cli.command import steelyard
from tests.judges.labelled import labelled

QUESTIONS = [{"qid": f"q{n}", "query": f"When {n}?"} for n in range(12)]
TEXTS = ["It is open from 9 to 17.", "It is a fine old hall that is open from 9 to 17.", "It has a café."]
OUTPUTS = [
    {"qid": f"q{n}", "retrieved": [{"id": "a", "text": "It is open from 9 to 17."}], "answer": TEXTS[n % 3]}
    for n in range(12)
]


def says(name: str, label: str) -> sy.Verdicts:
    def judge(pairs: list[tuple[str, str]]) -> list[str]:
        return [label for _ in pairs]

    judge.__qualname__ = name
    return sy.judge(QUESTIONS, OUTPUTS, judge)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in (("q.jsonl", QUESTIONS), ("o.jsonl", OUTPUTS)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    says("always", "supported").write(tmp_path / "yes.parquet")
    says("never", "not_found").write(tmp_path / "no.parquet")
    return tmp_path


def test_members_are_judges_files_and_verdicts(folder: Path) -> None:
    members = ["lexical", str(folder / "yes.parquet"), says("never", "not_found")]
    run = judge_panel(QUESTIONS, OUTPUTS, members, save=False)
    assert run.file is None
    assert run.verdicts.units["verdict"].to_list() == sy.judge(QUESTIONS, OUTPUTS).units["verdict"].to_list()
    paths = [folder / "yes.parquet", folder / "no.parquet"]
    assert sy.panel([sy.judge(QUESTIONS, OUTPUTS), *paths]).records == run.verdicts.records


def test_weights_are_calibrations_of_all_members(folder: Path) -> None:
    judges = {
        "lexical": sy.judge(QUESTIONS, OUTPUTS),
        "always": says("always", "supported"),
        "never": says("never", "not_found"),
    }
    for name, verdicts in judges.items():
        calibrate(verdicts, labelled(verdicts, [n % 3 != 2 for n in range(12)])).write(folder / f"{name}.json")
    weights = [folder / f"{name}.json" for name in judges]
    lexical = sy.judge(QUESTIONS, OUTPUTS, calibration=weights[0])
    run = judge_panel(
        QUESTIONS, OUTPUTS, [lexical, folder / "yes.parquet", folder / "no.parquet"], calibrations=weights, save=False
    )
    # Whoever always says the same has no say.
    assert run.verdicts.units["verdict"].to_list() == lexical.units["verdict"].to_list()
    assert run.verdicts.recipe["judge"]["rule"] == "weights"
    with pytest.raises(InputError, match="no calibration of never among the weights"):
        judge_panel(
            QUESTIONS, OUTPUTS, [folder / "yes.parquet", folder / "no.parquet"], calibrations=weights[:2], save=False
        )


def test_weights_are_of_the_threshold_that_judged(folder: Path) -> None:
    verdicts = sy.judge(QUESTIONS, OUTPUTS)
    own = calibrate(verdicts, labelled(verdicts, [n % 3 != 2 for n in range(12)]))
    assert own.threshold is not None
    assert own.threshold.value != 0.6
    yes = says("always", "supported")
    weights = [own, calibrate(yes, labelled(yes, [n % 3 != 2 for n in range(12)]))]
    with pytest.raises(InputError, match=r"lexical judged with the threshold 0\.6, and its calibration is of"):
        sy.panel([verdicts, yes], calibrations=weights)


def test_a_member_without_verdicts_is_named(folder: Path) -> None:
    with pytest.raises(
        InputError, match=r"llm: there is no such file; judge by it first .steelyard judge QUESTIONS RUN --judge llm"
    ):
        judge_panel(QUESTIONS, OUTPUTS, ["lexical", "llm"], save=False)
    with pytest.raises(InputError, match="the panel names lexical twice"):
        judge_panel(QUESTIONS, OUTPUTS, ["lexical", "lexical"], save=False)
    others = [{**line, "answer": "Else."} for line in OUTPUTS]
    with pytest.raises(InputError, match="of another run"):
        judge_panel(QUESTIONS, others, ["lexical", folder / "yes.parquet"], save=False)


def test_the_command_lets_judges_vote(folder: Path) -> None:
    command = ["judge", "q.jsonl", "o=o.jsonl", "--panel", "lexical,yes.parquet,no.parquet", "--lang", "en"]
    done = steelyard(*command, "--into", "panel.parquet", cwd=folder)
    members = ["lexical", folder / "yes.parquet", folder / "no.parquet"]
    run = judge_panel(str(folder / "q.jsonl"), f"o={folder / 'o.jsonl'}", members, save=folder / "other.parquet")
    assert sy.Verdicts.read(folder / "panel.parquet").records == run.verdicts.records
    text = run.text(lang="en", width=80).splitlines()
    assert done.stdout.decode().splitlines()[:6] == text[:6]
    scores = steelyard(
        "evaluate", "q.jsonl", "o=o.jsonl", "-m", "faithfulness", "--verdicts", "panel.parquet", "-v", cwd=folder
    )
    assert "by panel" in scores.stdout.decode()


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--threshold", "0.5"], "threshold is of one judge"), (["--dry-run"], "--dry-run is of one judge"),
     (["--judge", "llm"], "--judge is of one judge"), (["--tables", "support"], "--tables is of one judge")],
)  # fmt: skip
def test_settings_of_one_judge_are_refused(folder: Path, options: list[str], message: str) -> None:
    done = steelyard("judge", "q.jsonl", "o.jsonl", "--panel", "lexical,yes.parquet", *options, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr.decode()


def test_weights_alone_are_no_panel(folder: Path) -> None:
    done = steelyard(
        "judge",
        "q.jsonl",
        "o.jsonl",
        "--calibration",
        "c.json",
        "--calibration",
        "c.json",
        "--into",
        "v.parquet",
        cwd=folder,
    )
    assert done.returncode == 2
    assert "two judges or more, and these are 0" in done.stderr.decode()
