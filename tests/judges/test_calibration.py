"""Files of calibrations: read as they were written, and refused where they are damaged."""

import json
import math

import pytest

from steelyard.base.errors import InputError
from steelyard.judges.people.calibration import (
    UNDEFINED,
    Calibration,
    Confusion,
    Estimate,
    HumanAgreement,
    labels_digest,
)
from steelyard.judges.self_tests import SelfTest


def calibration(**changes):
    facts = {
        "judge": {"name": "lexical", "version": 1}, "table": "grounded", "n": 20, "n_questions": 12,
        "date": "2026-11-22T10:00:00Z", "digest": labels_digest({"a": "supported"}),
        "confusion": Confusion(9, 1, 2, 8), "kappa": Estimate(0.7, 0.4, 0.9), "sensitivity": Estimate(0.9, 0.6, 0.98),
        "specificity": Estimate(0.8, 0.49, 0.94), "balanced_accuracy": Estimate(0.85, 0.7, 0.95),
        "threshold": Estimate(0.62, 0.55, 0.7), "rule": "youden",
        "human": HumanAgreement(10, Estimate(0.8, 0.5, 1.0), Estimate(0.6, 0.2, 0.9), Estimate(-0.2, -0.5, 0.1)),
        "left_out": {"no_verdict": 2},
        "self_tests": (SelfTest("gold", 100, 1, 0.002, 0.054, 0.1),
                       SelfTest("order", 10, 1, 0.018, 0.404, 0.1), SelfTest("injection", 10, 5, 0.2, 0.8, 0.05, 1)),
    }  # fmt: skip
    return Calibration(**facts | changes)


@pytest.mark.parametrize(
    "changes", [{}, {"threshold": None, "rule": None, "human": None, "kappa": UNDEFINED, "notes": ("equal_labels",)}]
)
def test_what_is_written_is_read(tmp_path, changes):
    path = tmp_path / "calibration.json"
    calibration(**changes).write(path)
    assert Calibration.read(path) == calibration(**changes)


@pytest.mark.parametrize(
    ("earlier", "kept", "notes"),
    [
        ({}, True, ()),
        ({"threshold": Estimate(0.5, 0.4, 0.6)}, True, ("self_tests_by_another_threshold",)),
        ({"judge": {"name": "lexical", "version": 2}}, False, ()),
        ({"self_tests": ()}, False, ()),
        (None, False, ()),
    ],
)
def test_self_tests_of_the_same_judge_are_kept_where_a_calibration_is_written_again(tmp_path, earlier, kept, notes):
    path = tmp_path / "calibration.json"
    if earlier is None:
        path.write_text("{}")
    else:
        calibration(**earlier).write(path)
    calibration(self_tests=()).write(path)
    again = Calibration.read(path)
    assert again == calibration(self_tests=calibration().self_tests if kept else (), notes=notes)
    own = calibration(self_tests=calibration().self_tests[:1])
    own.write(path)
    assert Calibration.read(path) == own


def test_undefined_numbers_are_null_in_the_file_and_nan_in_python(tmp_path):
    path = tmp_path / "calibration.json"
    calibration(kappa=UNDEFINED).write(path)
    assert json.loads(path.read_text())["kappa"] == {"value": None, "low": None, "high": None}
    assert math.isnan(Calibration.read(path).kappa.value)


def test_the_summary_names_failed_self_tests():
    assert calibration().summary["failed_self_tests"] == ["injection"]
    assert calibration().summary["threshold"] == {"value": 0.62, "low": 0.55, "high": 0.7}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 1}, "is no file of format 'steelyard-calibration'; expected a calibration"),
        ({"version": 2}, "newer than this Steelyard"),
        ({"version": "one"}, "version 'one', not 1"),
        ({"n": "20"}, "`n` is '20', expected a whole number"),
        ({"n": 21}, "`confusion` holds 20 items, and `n` is 21"),
        ({"table": "support"}, "`table` is 'support', expected grounded or"),
        ({"rule": "best"}, "`rule` is 'best'"),
        ({"threshold": {"value": 7, "low": 0, "high": 1}}, "`threshold.value` is 7"),
        ({"threshold": {"value": None, "low": 0, "high": 1}}, "`threshold.value` is None"),
        ({"threshold": {"value": 0.5}}, "is missing"),
        ({"kappa": {"value": 0.5, "low": -7, "high": 1}}, "`kappa.low` is -7, expected a number from -1 to 1"),
        (
            {"self_tests": [{"name": "x", "n": 1, "n_failed": 2, "n_not_judged": 0, "low": 0, "high": 1, "limit": 1}]},
            "'x' went wrong 2 times of 1",
        ),
        ({"human": {"n": 3}}, "is missing"),
        ({"judge": {}}, "`judge.name` is missing"),
        ({"self_tests": [{"name": "gold"}]}, "is missing"),
    ],
)
def test_a_damaged_file_is_refused_by_its_place(tmp_path, changes, message):
    path = tmp_path / "calibration.json"
    calibration().write(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(InputError, match=message) as refusal:
        Calibration.read(path)
    assert str(path) in str(refusal.value)


def test_no_file_can_be_written_into_a_missing_folder(tmp_path):
    with pytest.raises(OSError, match="missing"):
        calibration().write(tmp_path / "missing" / "calibration.json")
