"""Judges held against labels: cases worked by hand, and labels that cannot calibrate anything."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.judges.people.calibration import UNDEFINED, Calibration, Confusion
from steelyard.judges.people.review import Decision, Labels, Review, StratifiedSample, Stratum
from steelyard.judges.tables.items import items
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Verdict
from steelyard.reviewing.calibrating import calibrate
from tests.judges.labelled import item_ids, labelled, scored

SCORES = [0.05, 0.1, 0.2, 0.3, 0.35, 0.45, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95]
PEOPLE = [False, False, False, False, True, False, True, True, True, True, True, True]


def test_the_threshold_parts_what_people_part_best():
    calibration = calibrate(scored(SCORES), labelled(scored(SCORES), PEOPLE), date="2026-11-22")
    # Between .3 and .35 people's yes .35 is right and .45 wrong: 7/7 + 4/5; above .45 it is 6/7 + 5/5, more.
    assert calibration.threshold.value == pytest.approx(0.5)
    assert calibration.confusion == Confusion(hits=6, misses=1, false_alarms=0, rejections=5)
    assert (calibration.n, calibration.n_questions, calibration.rule) == (12, 12, "youden")
    assert 0 <= calibration.threshold.low <= 0.5 <= calibration.threshold.high <= 1
    assert calibration.judge == {"name": "own"}
    assert calibration.notes == ()


def test_what_the_choice_flatters_is_taken_off():
    scores = np.random.default_rng(3).random(60)
    people = scores + np.random.default_rng(4).normal(0, 0.4, 60) > 0.5
    verdicts = scored(scores.tolist())
    calibration = calibrate(verdicts, labelled(verdicts, people.tolist()))
    counts = calibration.confusion
    apparent = counts.hits / (counts.hits + counts.misses) + counts.rejections / (
        counts.false_alarms + counts.rejections
    )
    corrected = calibration.sensitivity.value + calibration.specificity.value
    assert 0.005 < apparent - corrected < 0.2
    assert calibration.balanced_accuracy.value == pytest.approx(corrected / 2, abs=1e-9)


def test_by_a_target_precision_the_threshold_is_the_lowest_that_has_it():
    verdicts = scored(SCORES)
    labels = labelled(verdicts, PEOPLE)
    assert calibrate(verdicts, labels, min_precision=0.85).threshold.value == pytest.approx(0.325)
    assert calibrate(verdicts, labels, min_precision=1.0).threshold.value == pytest.approx(0.5)
    worst = calibrate(verdicts, labelled(verdicts, [*PEOPLE[:-1], False]), min_precision=1.0)
    assert worst.threshold is None
    assert worst.notes == ("out_of_reach",)
    assert worst.judge["threshold"] == 0.5


def test_a_target_is_a_share():
    with pytest.raises(InputError, match="target"):
        calibrate(scored(SCORES), labelled(scored(SCORES), PEOPLE), min_precision=1.2)


def test_labels_that_are_all_equal_give_no_threshold_and_no_kappa():
    calibration = calibrate(scored(SCORES), labelled(scored(SCORES), [True] * 12))
    assert calibration.threshold is None
    assert calibration.kappa == UNDEFINED
    assert calibration.specificity == UNDEFINED
    assert calibration.sensitivity.value == 0.5
    assert calibration.notes == ("equal_labels",)


def test_few_labels_are_named():
    verdicts = scored(SCORES)
    few = labelled(verdicts, [None] * 6 + PEOPLE[6:9] + [False, None, None])
    assert "few_labels" in calibrate(verdicts, few).notes


def test_a_judge_that_always_says_yes_has_no_kappa_and_no_specificity():
    yes = scored([None] * 12, labels=["supported"] * 12)
    calibration = calibrate(yes, labelled(yes, PEOPLE))
    assert (calibration.kappa.value, calibration.kappa.high) == (0, 0)
    assert (calibration.sensitivity.value, calibration.specificity.value) == (1, 0)
    assert calibration.specificity.high < 0.5
    assert calibration.threshold is None
    assert calibration.notes == ("no_threshold",)


def test_a_judge_whose_labels_are_its_own_gets_no_threshold_from_its_scores():
    labels = ["supported" if n % 2 else "not_found" for n in range(12)]
    own = scored(SCORES, labels=labels)
    assert calibrate(own, labelled(own, PEOPLE)).notes == ("no_threshold",)


def test_a_judge_that_is_never_wrong_has_an_interval_all_the_same():
    verdicts = scored([0.1, 0.2, 0.3, 0.8, 0.9] * 6)
    kappa = calibrate(verdicts, labelled(verdicts, [False, False, False, True, True] * 6)).kappa
    assert kappa.value == 1
    assert kappa.high == 1
    assert 0.6 < kappa.low < 0.9


def test_labels_that_do_not_count_are_counted_by_cause():
    said = [*("supported" if score >= 0.5 else "not_found" for score in SCORES), "not_judged"]
    example = {"statement": "Sentence 3 of this answer.", "verdict": "not_found"}
    verdicts = scored([*SCORES, None], labels=said, examples=[example])
    labels = labelled(verdicts, [*PEOPLE, True])
    strange = [Decision("elsewhere", "ann", "supported"), Decision(item_ids(verdicts)[0], "ann", "cannot_say")]
    calibration = calibrate(verdicts, Labels([*labels.decisions, *strange]))
    assert calibration.left_out == {"in_prompt": 1, "no_verdict": 1, "not_judged": 1}
    assert calibration.n == 10


def test_labels_of_other_verdicts_are_refused():
    with pytest.raises(InputError, match=r"no label is of an item that own judged \(no_verdict: 1\)"):
        calibrate(scored(SCORES), Labels([Decision("elsewhere", "ann", "supported")]))
    with pytest.raises(InputError, match="there are no labels"):
        calibrate(scored(SCORES), Labels([]))
    with pytest.raises(InputError, match="not of one judge"):
        calibrate([scored(SCORES), scored(SCORES, name="other")], labelled(scored(SCORES), PEOPLE))
    with pytest.raises(InputError, match="there are no verdicts"):
        calibrate([], Labels([]))


def test_one_item_of_two_systems_counts_once():
    one, two = scored(SCORES), scored(SCORES, system="t")
    labels = labelled(one, PEOPLE)
    assert calibrate([one, two], labels, date="d") == calibrate(one, labels, date="d")


def test_items_speak_for_those_of_their_stratum():
    verdicts = scored(SCORES)
    ids = item_ids(verdicts)
    # Of the lower half two of six were drawn, of the upper half all: one item of the lower half is wrong.
    strata = (Stratum("low", tuple(ids[:6]), (ids[3], ids[4])), Stratum("high", tuple(ids[6:]), tuple(ids[6:])))
    review = Review([StratifiedSample("grounded", "s", "0", 1, strata)], labelled(verdicts, PEOPLE))
    calibration = calibrate(verdicts, review, min_precision=0.99)
    assert calibration.left_out == {"not_drawn": 4}
    assert calibration.n == 8
    # By weights 3, 3, 1 * 6: yes .35 .55 ... .95 are 3 + 6, of which the threshold between .35 and .3 has all.
    assert calibration.threshold.value == pytest.approx(0.325)
    at_half = calibrate(scored([None] * 12, labels=["not_found"] * 6 + ["supported"] * 6), review)
    assert at_half.sensitivity.value == pytest.approx(6 / 9)


def test_whole_answers_speak_for_those_of_their_stratum():
    verdicts = scored(SCORES, per_question=2)
    strata = (Stratum("low", ("q0", "q1", "q2"), ("q2",)), Stratum("high", ("q3", "q4", "q5"), ("q3", "q4", "q5")))
    review = Review([StratifiedSample("grounded", "s", "0", 1, strata, unit="answer")], labelled(verdicts, PEOPLE))
    own = [Verdict("supported" if n > 5 else "not_found") for n in range(12)]
    records = [
        replace(record, support=tuple((own[2 * place + n],) for n in range(2)))
        for place, record in enumerate(verdicts.records.values())
    ]
    calibration = calibrate(Verdicts(records, verdicts.recipe), review)
    assert calibration.n == 8
    assert calibration.sensitivity.value == pytest.approx(6 / 9)


def test_items_of_one_question_are_worth_fewer():
    scores, people = [0.1, 0.9] * 20, [False, True] * 14 + [True, False] * 6
    apart, together = scored(scores), scored(scores, per_question=4)
    alone, clustered = (calibrate(v, labelled(v, people)) for v in (apart, together))
    assert alone.confusion == clustered.confusion
    width, clustered_width = (c.sensitivity.high - c.sensitivity.low for c in (alone, clustered))
    assert clustered_width > 1.2 * width
    assert clustered.kappa.high - clustered.kappa.low > alone.kappa.high - alone.kappa.low


def test_two_raters_say_how_well_people_agree():
    verdicts = scored(SCORES * 3)
    ann, bob = labelled(verdicts, PEOPLE * 3), labelled(verdicts, [*PEOPLE[:-2], False, True] * 3, "bob")
    settled = [
        Decision(item, "adjudication", "supported") for item in Labels([*ann.decisions, *bob.decisions]).conflicts
    ]
    calibration = calibrate(verdicts, Labels([*ann.decisions, *bob.decisions, *settled]))
    human = calibration.human
    assert human.n == 36
    assert human.kappa.value == pytest.approx(1 - 3 / (12 * 2 * 0.5) * 1 / 3, abs=0.1)
    assert human.difference.value == pytest.approx(human.judge_kappa.value - human.kappa.value)
    assert human.kappa.low < human.kappa.value < human.kappa.high
    assert calibrate(verdicts, ann).human is None


@pytest.mark.parametrize("n", [2, 5, 12])
def test_few_labels_without_an_error_can_be_written_and_read(n, tmp_path):
    verdicts = scored([0.1, 0.9] * n)
    calibration = calibrate(verdicts, labelled(verdicts, [False, True] * n))
    assert 0 <= calibration.balanced_accuracy.low < calibration.balanced_accuracy.value
    calibration.write(tmp_path / "c.json")
    assert Calibration.read(tmp_path / "c.json") == calibration


def test_conflicts_that_nobody_settled_count_against_people():
    verdicts = scored(SCORES * 3)
    ann, bob = labelled(verdicts, PEOPLE * 3), labelled(verdicts, [*PEOPLE[:-3], False, False, True] * 3, "bob")
    calibration = calibrate(verdicts, Labels([*ann.decisions, *bob.decisions]))
    # Of 12 items people are at odds about 2, 7 and 5 of which are supported: chance agrees on 70 of 144.
    assert (calibration.n, calibration.human.n) == (30, 36)
    assert calibration.human.kappa.value == pytest.approx((10 / 12 - 70 / 144) / (1 - 70 / 144))
    # By the threshold that the others give, .325, the judge supports 8: it differs from ann in 1, from bob in 3.
    beside_ann, beside_bob = (11 / 12 - 76 / 144) / (1 - 76 / 144), (9 / 12 - 68 / 144) / (1 - 68 / 144)
    assert calibration.human.judge_kappa.value == pytest.approx((beside_ann + beside_bob) / 2)


def test_numbers_that_are_missing_stay_so_at_any_threshold():
    texts = ["It opens at 9 on Monday.", "It opens at 10 on Monday.", "It opens at 11 on Monday."] * 4
    questions = [{"qid": f"q{n}", "query": f"When {n}?"} for n in range(12)]
    chunk = {"id": "a", "text": "It opens at 9 on Monday."}
    outputs = [{"qid": f"q{n}", "retrieved": [chunk], "answer": text} for n, text in enumerate(texts)]
    verdicts = sy.judge(questions, outputs)
    ids = [item.item_id for record in verdicts.records.values() for item in items(record, "grounded")]
    labels = Labels(
        Decision(id, "ann", "supported" if "at 9" in text else "not_found") for id, text in zip(ids, texts, strict=True)
    )
    calibration = calibrate(verdicts, labels)
    assert calibration.confusion == Confusion(4, 0, 0, 8)
    assert calibration.threshold.value == 1.0


def test_a_calibration_of_a_real_judge_is_read_back(tmp_path):
    verdicts = scored(SCORES)
    calibration = calibrate(verdicts, labelled(verdicts, PEOPLE))
    calibration.write(tmp_path / "c.json")
    assert Calibration.read(tmp_path / "c.json") == calibration
    assert not math.isnan(calibration.kappa.low)
