"""Several judges of the same answers: votes worked by hand, in every table."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.judges.panel import Weight, disagreements, panel, vote, weight_of
from steelyard.judges.people.calibration import UNDEFINED, Calibration, Confusion
from steelyard.judges.tables.items import items
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Nugget, Verdict
from tests.judges.small import MISSING, RECORD

LETTERS = {"s": "supported", "c": "contradicted", "n": "not_found", "?": "not_judged"}


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("ss", True), ("sn", None), ("nc", False), ("ssn", True), ("snn", False), ("ss?", True), ("sn?", None),
        ("s??", None), ("s?", None), ("n?", None), ("nn?", False), ("??", None), ("ssnn", None), ("sss??", True),
        ("ss??", None),
    ],
)  # fmt: skip
def test_more_than_half_of_all_judges_decide(said, verdict):
    assert vote([LETTERS[letter] for letter in said], [Weight()] * len(said))[0] is verdict


def test_weights_decide_over_numbers():
    weights = [Weight(3.0, 3.0), Weight(1.0, 1.0), Weight(1.0, 1.0)]
    assert vote(["supported", "not_found", "not_found"], weights) == (True, 1 / (1 + math.exp(-1.0)))
    # What the weak ones did not judge cannot change what the strong one says.
    assert vote(["not_found", "not_judged", "not_judged"], weights)[0] is False
    assert vote(["not_judged", "supported", "supported"], weights)[0] is None


def calibrated(name, hits, misses, false_alarms, rejections, table="grounded"):
    counts = Confusion(hits, misses, false_alarms, rejections)
    return Calibration(
        {"name": name}, table, counts.n, counts.n, "2026-11-22", "0", counts, kappa=UNDEFINED, sensitivity=UNDEFINED,
        specificity=UNDEFINED, balanced_accuracy=UNDEFINED,
    )  # fmt: skip


def test_a_word_counts_by_its_log_odds():
    weight = weight_of(calibrated("a", 80, 19, 9, 90))
    assert weight.supported == pytest.approx(math.log((80.5 / 100) / (9.5 / 100)))
    assert weight.unsupported == pytest.approx(math.log((90.5 / 100) / (19.5 / 100)))


def test_a_judge_that_always_says_yes_or_is_wrong_has_no_say():
    assert weight_of(calibrated("yes", 20, 0, 20, 0)).supported == 0
    assert weight_of(calibrated("liar", 2, 18, 18, 2)) == Weight(0.0, 0.0)


def verdicts(name, record=RECORD, **recipe):
    return Verdicts([record, MISSING], {"judge": {"name": name}, "outputs": "o", "units": "sentences", **recipe})


def every(label, record=RECORD):
    """The record with this label wherever somebody was asked."""
    said = Verdict(label, 1.0)

    def column(values):
        return tuple(None if value is None else said for value in values)

    def cells(rows):
        return tuple(tuple(said for _ in row) for row in rows)

    credit = {"supported": 1.0, "not_found": 0.0}[label]
    return replace(
        record, support=cells(record.support), grounded=column(record.grounded), joint=column(record.joint),
        without=column(record.without), correctness=cells(record.correctness), said=column(record.said),
        reach=cells(record.reach), nuggets=tuple(replace(n, credit=credit) for n in record.nuggets), grade=said,
    )  # fmt: skip


def test_two_alike_and_one_against_make_the_majority_in_every_table():
    yes, no = verdicts("a", every("supported")), verdicts("b", every("not_found"))
    together = panel([yes, no, verdicts("c", every("supported"))])
    for frame, of_yes in ((together.units, yes.units), (together.nuggets, yes.nuggets)):
        assert frame.drop("reason", strict=False).equals(of_yes.drop("reason", strict=False))
    for table in ("support", "joint", "correctness", "said", "reach", "citations"):
        name = "without" if table == "citations" else "verdict"
        assert getattr(together, table)[name].equals(getattr(yes, table)[name]), table
    assert together.records["q2"] == MISSING


def test_judges_that_see_support_in_different_chunks_agree_that_there_is_some():
    yes, no = Verdict("supported", 1.0), Verdict("not_found", 0.0)
    record = replace(RECORD, grounded=(), joint=(None, no, None))
    first = replace(record, support=((), (yes, no), (no, no)))
    second = replace(record, support=((), (no, yes), (no, no)))
    none = replace(record, support=((), (no, no), (no, no)))
    assert panel([verdicts("a", first), verdicts("b", second), verdicts("c", none)]).units["verdict"].to_list() == [
        None,
        "supported",
        "not_found",
    ]
    # Two of four: nobody knows, whatever is said of each chunk.
    four = panel([verdicts("a", first), verdicts("b", second), verdicts("c", none), verdicts("d", none)])
    assert four.units["verdict"].to_list() == [None, "not_judged", "not_found"]


def test_contradiction_needs_most_of_those_against():
    def of(label):
        return JudgedAnswer("q", "answered", context=("c",), units=RECORD.units[1:2], joint=(None,),
                            support=((Verdict(label),),), correctness=((),))  # fmt: skip

    by = [Verdicts([of(label)], {"judge": {"name": label}}) for label in ("contradicted", "contradicted", "not_found")]
    assert panel(by).units["verdict"].to_list() == ["contradicted"]
    assert panel(by[1:]).units["verdict"].to_list() == ["not_found"]


def test_the_recipe_names_all_members_and_their_reasons_what_they_said():
    together = panel([verdicts("a"), verdicts("a", model="m"), verdicts("c")])
    assert together.judge == "panel"
    assert [member["name"] for member in together.recipe["judge"]["members"]] == ["a", "a", "c"]
    assert together.records["q1"].grounded[1].reason == "a 1: supported, a 2: supported, c: supported"


def test_weights_go_by_judge_and_table():
    no, yes = every("not_found"), every("supported")
    weights = [calibrated("a", 99, 1, 1, 99), calibrated("b", 60, 40, 40, 60), calibrated("b", 99, 1, 1, 99, "said")]
    by_weight = panel(
        [verdicts("a", no), verdicts("b", yes), verdicts("c", yes)],
        calibrations=[*weights, calibrated("c", 60, 40, 40, 60)],
    )
    assert by_weight.units["verdict"].to_list() == [None, "not_found", "not_found"]
    assert by_weight.said["verdict"].to_list() == ["supported"] * 2
    assert [weight["judge"] for weight in by_weight.recipe["judge"]["weights"]] == ["a", "b", "b", "c"]


def test_a_panel_is_refused_where_its_members_do_not_fit():
    with pytest.raises(InputError, match="two judges or more"):
        panel([verdicts("a")])
    with pytest.raises(InputError, match="other outputs"):
        panel([verdicts("a"), verdicts("b", outputs="p")])
    with pytest.raises(InputError, match="other units"):
        panel([verdicts("a"), verdicts("b", units="claims")])
    with pytest.raises(InputError, match="other questions"):
        panel([verdicts("a"), Verdicts([RECORD], {"judge": {"name": "b"}})])
    with pytest.raises(InputError, match="differ in what of question 'q1'"):
        panel([verdicts("a"), verdicts("b", replace(RECORD, answer="Else."))])
    with pytest.raises(InputError, match="no calibration of b"):
        panel([verdicts("a"), verdicts("b")], calibrations=[calibrated("a", 5, 1, 1, 5)])
    with pytest.raises(InputError, match=r"is of another judge: model is 'x' there, and not there here"):
        panel([verdicts("a"), verdicts("b")], calibrations=[
            calibrated("a", 5, 1, 1, 5), replace(calibrated("b", 5, 1, 1, 5), judge={"name": "b", "model": "x"})
        ])  # fmt: skip


QUESTIONS = [{"qid": "q1", "query": "When is it open?"}]
OUTPUTS = [{"qid": "q1", "retrieved": [{"id": "a", "text": "Opening hours: 9 to 17."}],
            "answer": "It is open from 9 to 17. Visitors come from all over. It has a café."}]  # fmt: skip


def test_disagreements_are_items_that_some_support():
    strict = sy.judge(QUESTIONS, OUTPUTS, threshold=1.0)
    lenient = sy.judge(QUESTIONS, OUTPUTS, threshold=0.0)
    ids = [item.item_id for item in items(strict.records["q1"], "grounded")]
    differ = disagreements([strict, lenient], "grounded")
    assert set(differ) <= set(ids)
    assert len(differ) == sum(a != b for a, b in zip(strict.units["verdict"], lenient.units["verdict"], strict=True))
    assert differ
    assert disagreements([strict, strict], "grounded") == []


def test_what_was_not_judged_is_no_disagreement():
    first = sy.judge(QUESTIONS, OUTPUTS, lambda pairs: ["supported", *([None] * (len(pairs) - 1))])
    assert set(first.units["verdict"]) >= {"not_judged"}
    assert disagreements([sy.judge(QUESTIONS, OUTPUTS, threshold=0.0), first], "grounded") == []


def test_nuggets_are_credited_in_part_where_most_say_at_least_that():
    def of(credit):
        return verdicts("a", replace(RECORD, nuggets=(Nugget("n", True, credit),)))

    for credits, wanted in (((1, 0.5, 0), 0.5), ((1, 1, 0), 1), ((0.5, 0, 0), 0), ((1, None, 0), None), ((1, 0), None)):
        together = panel([of(credit) for credit in credits])
        assert together.records["q1"].nuggets[0].credit == wanted, credits
