"""A calibration applied: its threshold, what is said beside numbers, and what it is refused for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.experiment.judging import JudgeOptions, judge_run
from steelyard.judges.people.calibration import Calibration, Estimate
from steelyard.judges.people.review import Decision, Labels
from steelyard.judges.self_tests import SelfTest
from steelyard.judges.tables.items import items
from steelyard.reports.words import read_words
from steelyard.reviewing.calibrating import calibrate
from tests.cli.command import steelyard

QUESTIONS = [{"qid": f"q{n}", "query": f"When is hall {n} open?"} for n in range(12)]
ANSWERS = [
    "It is open from 9 to 17.",
    "It is open for visitors of all ages from 9 to 17 on Monday.",
    "It has a café.",
    "Opening hours are from 9 to 17.",
]
OUTPUTS = [
    {
        "qid": f"q{n}",
        "retrieved": [{"id": "a", "text": "It is open from 9 to 17 on Monday, for all."}],
        "answer": ANSWERS[n % 4],
    }
    for n in range(12)
]


def verdicts(**settings: object) -> sy.Verdicts:
    return sy.judge(QUESTIONS, OUTPUTS, **settings)  # type: ignore[arg-type]


def calibration() -> Calibration:
    """People say that all are supported but what is said of a café."""
    ids = {item.item_id: record for record in verdicts().records.values() for item in items(record, "grounded")}
    labels = Labels(
        Decision(id, "ann", "not_found" if "café" in record.answer else "supported") for id, record in ids.items()
    )
    return calibrate(verdicts(), labels, date="2026-11-22T09:00:00Z")


def test_the_threshold_of_the_calibration_counts_and_is_named() -> None:
    own = calibration()
    assert own.threshold is not None
    judged = verdicts(calibration=own)
    assert judged.recipe["judge"]["threshold"] == own.threshold.value < 0.6
    assert judged.units["verdict"].to_list() == verdicts(threshold=own.threshold.value).units["verdict"].to_list()
    assert judged.recipe["calibration"] == own.summary
    assert judged.method != verdicts(threshold=own.threshold.value).method


def test_a_file_says_the_same(tmp_path: Path) -> None:
    calibration().write(tmp_path / "c.json")
    assert verdicts(calibration=tmp_path / "c.json").recipe["calibration"] == calibration().summary


def test_the_same_threshold_may_be_named_too_and_another_not() -> None:
    own = calibration()
    assert own.threshold is not None
    assert verdicts(calibration=own, threshold=own.threshold.value).recipe["calibration"] == own.summary
    with pytest.raises(InputError, match=r"threshold 0\.9 contradicts the calibration"):
        verdicts(calibration=own, threshold=0.9)


def test_the_calibration_of_another_judge_is_refused() -> None:
    with pytest.raises(InputError, match=r"is of the judge lexical, and llm is to judge"):
        verdicts(calibration=calibration(), judge="llm", model="m")
    with pytest.raises(InputError, match=r"another judge: names is True there, and False here"):
        verdicts(calibration=calibration(), names=False)
    with pytest.raises(InputError, match=r"version is 7 there, and 2 here"):
        verdicts(calibration=replace(calibration(), judge={**calibration().judge, "version": 7}))


def test_without_a_threshold_the_judge_keeps_its_own() -> None:
    own = replace(calibration(), threshold=None, judge={**verdicts().recipe["judge"]})
    assert verdicts(calibration=own).recipe["judge"]["threshold"] == 0.6
    with pytest.raises(InputError, match=r"threshold is 0\.6 there, and 0\.7 here"):
        verdicts(calibration=own, threshold=0.7)


def texts(own: Calibration | None, lang: str) -> tuple[str, str]:
    """What `judge` and `evaluate` show."""
    words = read_words(lang)
    run = judge_run(QUESTIONS, OUTPUTS, options=JudgeOptions(calibration=own, save=False))
    scores = sy.evaluate(QUESTIONS, {"run": OUTPUTS}, ["faithfulness"], verdicts=run.verdicts)
    return run.text(lang=words.code, width=300, explain=True), scores.text(lang=words.code, width=300, explain=True)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_labels_stand_beside_the_numbers(lang: str) -> None:
    wanted = {"en": "calibrated on 12 labels of 2026-11-22", "zh": "用 12 条人工标注校准（2026-11-22）"}[lang]
    uncalibrated = {"en": "not calibrated on labels of yours", "zh": "未用你的标注校准"}[lang]
    failed = SelfTest("number", 100, 40, 0.3, 0.5, 0.1)
    for text in texts(replace(calibration(), self_tests=(failed,)), lang):
        assert wanted in text
        assert "κ" in text
        assert "number" in text
        assert uncalibrated not in text
    for text in texts(None, lang):
        assert wanted not in text
        assert uncalibrated in text


def test_few_labels_and_none_for_the_threshold_are_said() -> None:
    own = calibration()
    assert own.threshold is not None
    narrow = replace(own, threshold=Estimate(own.threshold.value))
    assert "too few for an interval" in texts(narrow, "en")[1]
    of_labels = replace(own, threshold=None, judge=dict(verdicts().recipe["judge"]))
    assert "compared with 12 labels" in texts(of_labels, "en")[1]


def test_the_command_takes_a_file_and_plans_with_it(tmp_path: Path) -> None:
    calibration().write(tmp_path / "c.json")
    for name, lines in (("q.jsonl", QUESTIONS), ("o.jsonl", OUTPUTS)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = ["judge", str(tmp_path / "q.jsonl"), str(tmp_path / "o.jsonl"), "--calibration", str(tmp_path / "c.json")]
    judged = steelyard(*command, "--into", str(tmp_path / "v.parquet"), "-v")
    assert "calibrated on 12 labels" in " ".join(judged.stdout.decode().split())
    assert sy.Verdicts.read(tmp_path / "v.parquet").recipe["calibration"] == calibration().summary
    assert steelyard(*command, "--dry-run", "--threshold", "0.9").returncode == 2
    assert steelyard(*command, "--dry-run").returncode == 0
    over = steelyard(*command, "--into", str(tmp_path / "c.json"))
    assert "is an input of this command" in over.stderr.decode()
