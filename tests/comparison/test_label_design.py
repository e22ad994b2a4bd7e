"""Plans of labels: how many make an interval so wide, by verdicts, labels that there are, or a judge as it is named."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulated import label_plans
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.comparison.label_design import LabelDesign
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.stats.labels.label_counts import LabelSetting, labels_for_rates, supported_share, unexplained_variance
from steelyard.stats.labels.raters import wilson_ends
from tests.cli.command import printed
from tests.experiment.judged import PEOPLE
from tests.experiment.labelled import answers, outputs, questions, review, stricter
from tests.hypothesis_profiles import examples

N = 120
FILE = Path(__file__).parents[1] / "cases" / "label_plans.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def planned(labels: object = None, verdicts: Verdicts | None = None, **options: Any) -> LabelDesign:
    judged = Verdicts(answers(N), PEOPLE) if verdicts is None else verdicts
    weighing = sy.weigh(questions(N), outputs(N), verdicts=judged, labels=labels)
    design = sy.plan(weighing, measures="faithfulness", labels=options.pop("width", 0.2), **options)
    assert isinstance(design, LabelDesign)
    return design


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_so_many_labels_are_planned(case: dict[str, Any]) -> None:
    rates = {name: case[name] for name in ("sensitivity", "specificity", "supported")}
    design = sy.plan(labels=case["width"], **rates)
    assert isinstance(design, LabelDesign)
    for name in ("labels", "people_alone"):
        if case[name] is None:
            assert design.wished[name] is None
        else:
            low, high = case[name]
            assert low <= design.wished[name] <= high
    assert design.basis == "named"


@examples(100)
@given(st.floats(0.02, 0.6), st.floats(0.55, 0.99), st.floats(0.55, 0.99), st.floats(0.05, 0.95))
def test_the_fewest_labels_are_the_first_that_are_enough(
    width: float, sensitivity: float, specificity: float, supported: float
) -> None:
    variance = unexplained_variance(sensitivity, specificity, supported)
    assert 0 <= variance <= supported * (1 - supported) + 1e-12
    setting = LabelSetting(variance)
    needed = setting.needed(width)
    assert needed is not None
    assert setting.width(needed) <= width
    assert needed == 3 or setting.width(needed - 1) > width
    for_rates = labels_for_rates(width, sensitivity=sensitivity, specificity=specificity, supported=supported)
    assert for_rates is not None
    kinds = (sensitivity, for_rates * supported), (specificity, for_rates * (1 - supported))
    for rate, n in kinds:
        low, high = wilson_ends(rate, math.floor(n + 1e-6))
        assert high - low <= width + 1e-9


def test_shares_are_corrected_both_ways() -> None:
    assert supported_share(0.9, 0.8, 0.9 * 0.7 + 0.2 * 0.3) == pytest.approx(0.7)
    assert supported_share(0.9, 0.8, 0.0) == 0


def test_verdicts_labels_and_named_rates_are_what_a_plan_rests_on() -> None:
    nothing, named = planned(), planned(sensitivity=0.95, specificity=0.95)
    assert (nothing.basis, named.basis) == ("none", "named")
    assert nothing.wished["labels"] == nothing.wished["people_alone"]
    assert named.wished["labels"] < named.wished["people_alone"]
    judged = Verdicts(answers(N), PEOPLE)
    by_labels = planned(review(judged, ["grounded"], 80, stricter))
    assert (by_labels.basis, by_labels.n_labels) == ("labels", 80)
    assert by_labels.wished["labels"] <= by_labels.wished["people_alone"]
    calibrated = {**PEOPLE, "calibration": {"sensitivity": 0.95, "specificity": 0.95}}
    of_calibration = planned(verdicts=Verdicts(answers(N), calibrated))
    assert (of_calibration.basis, of_calibration.wished["labels"]) == ("calibration", named.wished["labels"])
    assert nothing.n_units is not None
    assert nothing.wished["labels"] < nothing.n_units


def test_a_width_that_the_questions_do_not_allow_is_said() -> None:
    design = planned(width=0.02)
    assert design.wished["labels"] is None
    assert design.narrowest > 0.02
    assert f"with labels of all {design.n_units} sentences it is {design.narrowest:.3f}" in design.text(lang="en")


def test_the_screen_is_short_and_leads_to_the_sample(tmp_path: Path) -> None:
    for name, rows in (("q.jsonl", questions(N)), ("run.jsonl", outputs(N))):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ("plan", "q.jsonl", "run.jsonl", "--labels", 0.3, "--sensitivity", 0.9, "--specificity", 0.9)
    text = printed(*words, cwd=tmp_path, columns=120)
    assert len(text.splitlines()) <= 15
    assert "Next: steelyard review sample q.jsonl run.jsonl -n " in text
    assert "可使 faithfulness 的 95% 置信区间宽 0.3" in printed(*words, "--lang", "zh", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("setting", label_plans.SETTINGS, ids=str)
def test_so_many_labels_make_intervals_as_narrow_as_is_promised(setting: label_plans.PlannedLabels) -> None:
    result = label_plans.outcome(setting, 150)
    assert result.covers >= 0.93 - 3 * math.sqrt(0.95 * 0.05 / 150)
    assert 0.8 * setting.width <= result.width <= 1.16 * setting.width
    assert result.labels <= result.alone
