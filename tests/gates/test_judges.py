"""Gates of judges: trusted, untrusted, or not enough labels, each with its reason."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.gates.checks import Check
from steelyard.judges.people.calibration import UNDEFINED, Calibration, Estimate, HumanAgreement
from steelyard.judges.people.review import Labels
from steelyard.judges.self_tests import SelfTest
from steelyard.reports.words import read_words
from steelyard.reviewing.calibrating import calibrate
from tests.cli.command import steelyard
from tests.judges.labelled import labelled, scored

RNG = np.random.default_rng(11)
PEOPLE = (RNG.random(400) < 0.6).tolist()
GOOD = [0.8 if label != (chance < 0.05) else 0.2 for label, chance in zip(PEOPLE, RNG.random(400), strict=True)]


@cache
def by_labels(n: int = 400) -> Calibration:
    verdicts = scored(GOOD[:n])
    return calibrate(verdicts, labelled(verdicts, PEOPLE[:n]), date="2026-11-22")


@cache
def that_says_yes() -> Calibration:
    yes = scored([None] * 400, labels=["supported"] * 400)
    return calibrate(yes, labelled(yes, PEOPLE), date="2026-11-22")


def check(gate: sy.Gate, name: str) -> Check:
    return next(check for check in gate.checks if check.name == name)


def test_a_judge_that_agrees_with_people_is_trusted() -> None:
    gate = sy.gate(calibration=by_labels())
    assert [check.name for check in gate.checks] == ["kappa", "sensitivity", "specificity"]
    assert (gate.outcome, gate.exit_code) == ("pass", 0)
    assert check(gate, "kappa").low >= 0.4
    assert check(gate, "sensitivity").n == sum(PEOPLE)


def test_a_judge_that_always_says_yes_is_not() -> None:
    gate = sy.gate(calibration=that_says_yes())
    assert (gate.outcome, gate.exit_code) == ("fail", 1)
    assert [check(gate, name).reason for name in ("kappa", "sensitivity", "specificity")] == [
        "missed",
        "reached",
        "missed",
    ]


def test_too_few_labels_decide_nothing_and_say_how_many_would() -> None:
    gate = sy.gate(calibration=by_labels(20), min_sensitivity=0.9, min_specificity=0.9, min_kappa=0.8)
    assert (gate.outcome, gate.exit_code) == ("insufficient", 3)
    assert {own.reason for own in gate.checks} <= {"spans", "reached"}
    assert any(own.needed is not None and own.needed > 20 for own in gate.checks)
    nine = sy.gate(calibration=by_labels(9))
    assert {own.reason for own in nine.checks} == {"few_labels"}
    assert nine.exit_code == 3


@pytest.mark.parametrize(("value", "limit"), [(0.85, 0.8), (0.75, 0.8), (0.95, 0.7)])
@pytest.mark.parametrize("name", ["kappa", "sensitivity"])
def test_so_many_labels_decide_and_fewer_do_not(name: str, value: float, limit: float) -> None:
    from steelyard.stats.labels.raters import wilson_ends

    def estimate(factor: float) -> Estimate:
        if name == "kappa":
            return Estimate(value, value - 0.3 / math.sqrt(factor), value + 0.3 / math.sqrt(factor))
        return Estimate(value, *wilson_ends(value, 12 * factor))

    def gated(factor: float) -> Check:
        own = replace(by_labels(20), **{name: estimate(factor)})  # type: ignore[arg-type]
        return check(sy.gate(calibration=own, **{f"min_{name}": limit}), name)  # type: ignore[arg-type]

    first = gated(1)
    assert first.reason == "spans"
    assert first.needed is not None
    assert gated(1.01 * first.needed / 20).reason in ("reached", "missed")
    assert gated(0.95 * first.needed / 20).reason == "spans"


def test_a_value_at_the_level_is_never_decided() -> None:
    own = replace(by_labels(20), kappa=Estimate(0.4, 0.1, 0.7))
    assert check(sy.gate(calibration=own), "kappa").needed is None


def test_labels_that_are_all_equal_are_not_enough() -> None:
    verdicts = scored(GOOD[:50])
    own = calibrate(verdicts, labelled(verdicts, [True] * 50))
    gate = sy.gate(calibration=own)
    assert check(gate, "kappa").reason == "undefined"
    assert check(gate, "specificity").reason == "undefined"
    assert gate.exit_code != 0


PASSED, FAILED = SelfTest("number", 100, 1, 0.002, 0.054, 0.1), SelfTest("injection", 40, 20, 0.35, 0.65, 0.1)
TOO_FEW = SelfTest("order", 10, 0, 0.0, 0.28, 0.1)


def test_self_tests_count() -> None:
    for tests, outcome in (((PASSED,), "pass"), ((PASSED, FAILED), "fail"), ((PASSED, TOO_FEW), "insufficient")):
        assert sy.gate(calibration=by_labels().with_self_tests(tests)).outcome == outcome


def human(difference: Estimate, n: int = 60) -> HumanAgreement:
    return HumanAgreement(n, Estimate(0.7, 0.6, 0.8), Estimate(0.65, 0.5, 0.8), difference)


@pytest.mark.parametrize(
    ("agreement", "reason"),
    [(human(Estimate(-0.02, -0.08, 0.05)), "not_worse"), (human(Estimate(-0.3, -0.5, -0.12)), "worse"),
     (human(Estimate(-0.05, -0.2, 0.1)), "undecided"), (human(UNDEFINED), "no_interval"),
     (human(Estimate(0.1, 0.0, 0.2), n=5), "few_labels"), (None, "no_second_rater")],
)  # fmt: skip
def test_people_are_the_ceiling(agreement: HumanAgreement | None, reason: str) -> None:
    own = replace(by_labels(), human=agreement)
    assert "people" not in {check.name for check in sy.gate(calibration=own).checks}
    assert check(sy.gate(calibration=own, max_below_people=0.1), "people").reason == reason


def test_two_raters_make_the_ceiling_from_labels() -> None:
    verdicts = scored(GOOD)
    ann, bob = (
        labelled(verdicts, PEOPLE),
        labelled(verdicts, [n % 9 != 0 and label for n, label in enumerate(PEOPLE)], "bob"),
    )
    settled = labelled(verdicts, PEOPLE, "adjudication")
    own = calibrate(verdicts, Labels([*ann.decisions, *bob.decisions, *settled.decisions]))
    below = check(sy.gate(calibration=own, max_below_people=0.1), "people")
    assert below.outcome == "pass"
    assert below.value == pytest.approx(own.human.judge_kappa.value - own.human.kappa.value)  # type: ignore[union-attr]


def test_a_profile_has_levels_of_judges(tmp_path: Path) -> None:
    profile = tmp_path / "judges.toml"
    profile.write_text("[judge]\nkappa = 0.99\nbelow_people = 0.1\n")
    gate = sy.gate(None, profile=str(profile), calibration=by_labels())
    assert check(gate, "kappa").limit == 0.99
    assert check(gate, "sensitivity").limit == 0.7
    assert check(gate, "people").limit == 0.1
    assert check(sy.gate(None, profile=str(profile), calibration=by_labels(), min_kappa=0.5), "kappa").limit == 0.5
    with pytest.raises(InputError, match="has no levels of judges"):
        sy.gate(None, profile="faq", calibration=by_labels())
    profile.write_text("[judge]\nkapa = 0.99\n")
    with pytest.raises(InputError, match=r"kapa.*line 2|line 2.*kapa"):
        sy.gate(None, profile=str(profile), calibration=by_labels())


def test_what_cannot_be_gated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing to gate"):
        sy.gate()
    with pytest.raises(InputError, match="there is nothing to gate"):
        sy.gate(judge="lexical")
    with pytest.raises(InputError, match="margin is of scores"):
        sy.gate(calibration=by_labels(), margin=0.1)
    with pytest.raises(InputError, match="level of kappa, and no judge"):
        sy.gate("scores.json", min_kappa=0.5)
    with pytest.raises(InputError, match=r"does not exist|no such file|not there"):
        sy.gate(calibration=tmp_path / "c.json")
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(InputError, match="expected a calibration of a judge"):
        sy.gate(calibration=str(tmp_path / "c.json"))
    with pytest.raises(InputError, match="min_kappa"):
        sy.gate(calibration=by_labels(), min_kappa=2)


QUESTIONS = [{"qid": f"q{n}", "query": f"When {n}?"} for n in range(30)]
TEXTS = ["It is open from 9 to 17.", "It has a café."]
OUTPUTS = [
    {"qid": f"q{n}", "retrieved": [{"id": "a", "text": "It is open from 9 to 17."}], "answer": TEXTS[n % 5 == 0]}
    for n in range(30)
]


def judged(**options: Any) -> sy.Verdicts:
    return sy.judge(QUESTIONS, OUTPUTS, **options)


def of_judged(verdicts: sy.Verdicts) -> Calibration:
    return calibrate(verdicts, labelled(verdicts, [n % 5 != 0 for n in range(30)]), date="2026-11-22")


def test_scores_and_their_judge_are_gated_together(tmp_path: Path) -> None:
    own = of_judged(judged())
    scores = sy.evaluate(QUESTIONS, {"run": OUTPUTS}, ["faithfulness"], verdicts=judged(calibration=own))
    together = sy.gate(scores, calibration=own, max_failed=0.1, min_kappa=0.1, min_sensitivity=0.5, min_specificity=0.4)
    assert together.systems == ["run", "judge lexical"]
    assert together.outcome == "pass"
    assert sy.gate(scores, calibration=own, max_failed=0.1, min_kappa=1.0).outcome == "insufficient"
    with pytest.raises(
        InputError, match=r"the scores: lexical judged with the threshold 0\.6, and its calibration is of"
    ):
        sy.gate(sy.evaluate(QUESTIONS, {"run": OUTPUTS}, ["faithfulness"]), calibration=own, max_failed=0.1)
    with pytest.raises(InputError, match="is of the judge own, and the scores are by lexical"):
        sy.gate(scores, calibration=by_labels(), max_failed=0.1)


@pytest.mark.parametrize(
    ("lang", "trusted", "not_enough"), [("en", "trusted", "not enough labels"), ("zh", "可信", "标注不足")]
)
def test_every_reason_reads_in_both_languages(lang: str, trusted: str, not_enough: str) -> None:
    words = read_words(lang)
    good = sy.gate(calibration=by_labels().with_self_tests((PASSED,)))
    assert (
        good.text(lang=words.code, explain=True)
        .splitlines()[-1]
        .startswith({"en": "judge own", "zh": "裁判 own"}[lang])
    )
    assert trusted in good.text(lang=words.code, explain=True).splitlines()[-1]
    differences = [Estimate(-0.05, -0.2, 0.1), Estimate(-0.1, -0.2, 0.1), UNDEFINED, Estimate(-0.3, -0.5, -0.12),
                   Estimate(-0.02, -0.08, 0.05)]  # fmt: skip
    agreements = [None, *map(human, differences), human(UNDEFINED, 5)]
    for agreement in agreements:
        own = replace(
            by_labels(20), human=agreement, left_out={"in_prompt": 1, "no_verdict": 2, "not_judged": 1, "not_drawn": 1}
        )
        gate = sy.gate(calibration=own.with_self_tests((PASSED, TOO_FEW)), min_kappa=0.9, max_below_people=0.1)
        for text in (
            gate.text(lang=words.code, width=100),
            gate.text("markdown", lang=words.code),
            gate.text("junit", lang=words.code),
        ):
            assert "gate." not in text
            assert "{" not in text
        assert not_enough in gate.text(lang=words.code) or agreement is not None
    kappas = (UNDEFINED, Estimate(0.4), Estimate(0.4, 0.1, 0.7), Estimate(0.39, 0.1, 0.7))
    texts = [
        sy.gate(calibration=replace(by_labels(20), kappa=kappa)).text("markdown", lang=words.code) for kappa in kappas
    ]
    assert len(set(texts)) == 4


def test_junit_has_a_case_a_check() -> None:
    root = ET.fromstring(sy.gate(calibration=by_labels().with_self_tests((FAILED,))).text("junit", lang="en"))
    assert root.attrib["failures"] == "1"
    assert [case.attrib["name"] for case in root.iter("testcase")] == [
        "κ with people (supported or not) ≥ 0.4",
        "sensitivity ≥ 0.7",
        "specificity ≥ 0.7",
        "self-test injection ≤ 10%",
    ]


def test_the_command_exits_with_the_outcome(tmp_path: Path) -> None:
    for name, own, code in (("good", by_labels(), 0), ("few", by_labels(12), 3), ("yes", that_says_yes(), 1)):
        own.write(tmp_path / f"{name}.json")
        done = steelyard("gate", "--calibration", f"{name}.json", "--junit", "j.xml", "--summary", "s.md", cwd=tmp_path)
        assert done.returncode == code, done.stderr.decode()
        text = sy.gate(calibration=str(tmp_path / f"{name}.json")).text(lang="en", width=80)
        assert done.stdout.decode() == text
        assert "κ with people" in (tmp_path / "s.md").read_text()
        assert "testcase" in (tmp_path / "j.xml").read_text()
    assert steelyard("gate", cwd=tmp_path).returncode == 2
    over = steelyard("gate", "--calibration", "good.json", "--junit", "good.json", cwd=tmp_path)
    assert "is an input" in over.stderr.decode()


@pytest.mark.parametrize(
    ("lang", "labels", "note"),
    [
        ("en", "(supported or not)", "their κ (supported or not) is 0.5"),
        ("zh", "（有依据与否）", "两人之间的 κ（有依据与否）为 0.5"),
    ],
)
def test_each_kappa_says_over_which_labels_it_is(lang: str, labels: str, note: str) -> None:
    people = HumanAgreement(40, Estimate(0.5, 0.4, 0.6), Estimate(0.45, 0.3, 0.6), Estimate(-0.05, -0.08, 0.02))
    gate = sy.gate(calibration=replace(by_labels(), human=people), max_below_people=0.1)
    words = read_words(lang)
    for text in (
        gate.text(lang=words.code, width=120),
        gate.text("markdown", lang=words.code),
        gate.text("junit", lang=words.code),
    ):
        lines = [line for line in text.splitlines() if "κ" in line]
        assert len(lines) >= 2
        assert all(labels in line for line in lines)
    assert note in gate.text(lang=words.code, explain=True, width=200)
    checks = {(check["kind"], check["name"]): check.get("labels") for check in gate.data()["checks"]}
    assert checks["judge", "kappa"] == checks["people", "people"] == ["supported", "not_supported"]
    assert checks["judge", "sensitivity"] is None
    (beside,) = [note for notes in gate.notes.values() for note in notes if note.code == "judge_beside_people"]
    assert beside.values["labels"] == ["supported", "not_supported"]
