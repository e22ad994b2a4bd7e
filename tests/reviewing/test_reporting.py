"""What a review says: of raters, of the judge and of means, by hand and in odd cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.judges.people.review import Decision, Review
from steelyard.reviewing.agreement import DecidedItem, corrected_share, judge_agreement, rater_agreement
from steelyard.reviewing.reporting import ReviewReport
from steelyard.reviewing.rounds import next_round
from steelyard.reviewing.systems import open_reviewed
from steelyard.stats.labels.raters import auc, cohen_kappa, krippendorff_alpha
from tests.reports.pages import check_nothing_acts
from tests.reviewing.small import QUESTIONS, outputs

pytest.importorskip("scipy", reason="intervals need the extra stats")

RUNS = {"zebra": outputs(), "okapi": outputs(wrong=range(0, 12, 3))}
Decide = Callable[[str, str], list[tuple[str, str]]]


def by_sense(unit: str, query_id: str) -> list[tuple[str, str]]:
    """Ann decides all, rightly; Bob the sentences about closing, and takes 19 for 20."""
    says = [("ann", "not_found" if "19" in unit else "supported")]
    return [*says, ("bob", "supported")] if "20" in unit or "19" in unit else says


def reported(decide: Decide, runs: Any = RUNS, n: int = 24, **options: Any) -> ReviewReport:
    _, systems = open_reviewed(QUESTIONS, runs)
    drawn = next_round(systems, options.pop("table", "grounded"), n=n, unit=options.pop("unit", "item"))
    samples = [sample for own in drawn.systems for sample in own.review.samples]
    decisions = [
        Decision(own.item.item_id, rater, label)  # type: ignore[arg-type]
        for own in drawn.asked
        for rater, label in decide(own.unit.text, own.item.query_id)
    ]
    return sy.review.report(QUESTIONS, runs, labels=Review(samples, decisions), **options)


@cache
def usual() -> ReviewReport:
    return reported(by_sense)


def test_a_review_of_two_systems_and_two_raters() -> None:
    report = usual()
    (own,) = report.tables
    assert (own.n_asked, own.n_labelled, own.n_open, own.n_conflicts) == (28, 24, 0, 4)
    (pair,) = own.raters.pairs
    assert (pair.first, pair.second, pair.n, pair.n_same) == ("ann", "bob", 16, 12)
    assert own.raters.alpha.value == pytest.approx(krippendorff_alpha([["s"] * 12 + ["n"] * 4, ["s"] * 16]), abs=1e-12)
    assert own.raters.n == 16
    assert own.threshold == 0.6
    assert own.judge == "lexical"
    assert [row.n_drawn for row in own.strata if row.system == "okapi"] == [4, 20]
    assert [row.n_decided for row in own.strata if row.system == "okapi"] == [0, 20]
    assert set(report.scores.corrections) == {"zebra", "okapi"}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("format", ["table", "markdown", "html", "json"])
def test_every_format_says_it(lang: str, format: str) -> None:
    text = usual().text(format, lang=lang, explain=True)
    assert "zebra" in text
    if format == "json":
        assert json.loads(text)["tables"][0]["raters"]["n"] == 16
    else:
        assert ("as judged" if lang == "en" else "按现判定") in text


@pytest.mark.parametrize(
    ("lang", "raters", "judge"),
    [
        ("en", ("kappa, 3 labels", "3 labels apart: supported, contradicted, not found."), "(supported or not"),
        ("zh", ("kappa（3 类标注）", "3 类标注：有依据、相矛盾、无依据。"), "（有依据与否"),
    ],
)
@pytest.mark.parametrize("format", ["table", "markdown", "html"])
def test_each_kappa_says_over_which_labels_it_is(lang: str, raters: tuple[str, str], judge: str, format: str) -> None:
    text = " ".join(usual().text(format, lang=lang, explain=True).split())
    assert all(part in text for part in raters)
    assert text.count(f"kappa with people {judge}" if lang == "en" else f"与人工的 kappa{judge}") == 1
    assert text.count(f"kappa of two people {judge}" if lang == "en" else f"两人之间的 kappa{judge}") == 1


def test_each_kappa_in_json_has_its_labels() -> None:
    (own,) = json.loads(usual().text("json", lang="en"))["tables"]
    assert own["raters"]["pairs"][0]["labels"] == ["supported", "contradicted", "not_found"]
    assert own["agreement"]["labels"] == own["calibration"]["labels"] == ["supported", "not_supported"]


def test_names_cannot_act_in_a_page() -> None:
    name = '<script>alert("x")</script>'
    text = reported(by_sense, {name: outputs(wrong=range(0, 12, 3))}).text("html", lang="en")
    check_nothing_acts(text)
    assert text.count("&lt;script&gt;alert(") == 4  # Two in each language.


def test_one_rater_is_said() -> None:
    report = reported(lambda unit, _: [("ann", "not_found" if "19" in unit else "supported")])
    assert report.tables[0].raters.pairs == []
    text = report.text(lang="en")
    assert "One person decided, so how far people agree with each other is not known" in text


def test_equal_labels_leave_kappa_undefined() -> None:
    report = reported(lambda unit, _: [("ann", "supported"), ("bob", "supported")])
    (own,) = report.tables
    assert np.isnan(own.raters.pairs[0].kappa.value)
    assert own.agreement is not None
    assert np.isnan(own.agreement.kappa.value)
    assert own.shares[0].corrected.undefined == "no_labels"
    brief = report.text(lang="en")
    assert "lexical and people: κ is undefined on " in brief
    assert "People gave all items the same label, so kappa is undefined" in brief
    text = report.text(lang="en", explain=True)
    assert "Kappa is undefined where two people gave all items one and the same label." in text
    assert "threshold that" not in text
    assert "so kappa is undefined and no threshold can be chosen" in text
    assert "zebra: people called none of the items supported, or all" in text


def test_labels_that_nobody_can_say_and_few_labels() -> None:
    report = reported(lambda _, query_id: [("ann", "supported" if query_id == "q1" else "cannot_say")])
    (own,) = report.tables
    assert (own.n_labelled, own.n_cannot_say) == (2, 26)
    assert "so few labels" in report.text(lang="en")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_judge_has_nothing_beside_it_where_nobody_can_say_anything(lang: str) -> None:
    report = reported(lambda *_: [("ann", "cannot_say")])
    text = report.text(lang=lang, explain=True)
    assert {"en": "No item that was drawn has a label yet.", "zh": "已抽取的条目尚无结论。"}[lang] in text
    first = report.text(lang=lang).splitlines()[0]
    assert first.startswith(
        {"en": "No item that was drawn has a label yet, which", "zh": "已抽取的条目尚无结论，"}[lang]
    )


def test_a_judge_that_always_says_yes_shows_it() -> None:
    yes = sy.judge(QUESTIONS, {"okapi": RUNS["okapi"]}, lambda pairs: [True for _ in pairs])
    report = reported(
        lambda unit, _: [("ann", "not_found" if "19" in unit else "supported")], {"okapi": RUNS["okapi"]}, verdicts=yes
    )
    (own,) = report.tables
    assert own.agreement is not None
    assert (own.agreement.kappa.value, own.agreement.specificity.value) == (0.0, 0.0)
    assert own.shares[0].judged == 1.0
    assert own.shares[0].corrected.undefined == "weak_judge"


def test_whole_answers_are_units_of_corrections() -> None:
    runs = {"okapi": RUNS["okapi"]}
    report = reported(by_sense, runs, n=12, unit="answer")
    assert report.scores.corrections["okapi"]["faithfulness"].unit == "answer"
    assert report.tables[0].strata[0].n == 12


def _sampled() -> Review:
    drawn = next_round(open_reviewed(QUESTIONS, {"zebra": outputs()})[1], "grounded", n=3)
    return drawn.systems[0].review


def test_labels_without_a_sample_are_refused() -> None:
    decisions = [Decision("i", "ann", "supported")]
    with pytest.raises(sy.InputError, match="no sample was drawn of these answers; labels that are"):
        sy.review.report(QUESTIONS, RUNS, labels=Review(labels=decisions))
    other = Review([replace(sample, system="hippo") for sample in _sampled().samples], decisions)
    with pytest.raises(sy.InputError, match=r"drawn of these answers .one was of hippo: name the run so, hippo=RUN"):
        sy.review.report(QUESTIONS, RUNS, labels=other)
    with pytest.raises(sy.InputError, match=r"nope.json: there is no such file"):
        sy.review.report(QUESTIONS, RUNS, labels="nope.json")
    with pytest.raises(sy.InputError, match="zebra, okapi: no one has decided about these answers yet"):
        sy.review.report(QUESTIONS, RUNS, labels=Review())


def item(n: int, label: str, says: bool, score: float | None = None, weight: float = 1.0) -> DecidedItem:
    return DecidedItem(f"i{n}", f"q{n // 2}", label, says, score, weight)


def test_the_judge_beside_people_by_hand() -> None:
    items = [
        item(0, "supported", True, 0.9), item(1, "supported", True, 0.8), item(2, "supported", False, 0.3),
        item(3, "not_found", True, 0.7), item(4, "contradicted", False, 0.2), item(5, "not_found", False, 0.1),
    ]  # fmt: skip
    own = judge_agreement(items)
    counts = own.confusion
    assert (counts.hits, counts.misses, counts.false_alarms, counts.rejections) == (2, 1, 1, 2)
    people, judge = [True] * 3 + [False] * 3, [True, True, False, True, False, False]
    assert own.kappa.value == pytest.approx(cohen_kappa(people, judge))
    assert own.sensitivity.value == own.specificity.value == own.balanced_accuracy.value == pytest.approx(2 / 3)
    assert own.auc.value == pytest.approx(auc([i.score for i in items], people))
    assert [(point.n, point.supported.value) for point in own.curve] == [(6, 0.5)]
    heavy = [replace(items[2], weight=4.0) if i is items[2] else i for i in items]
    assert judge_agreement(heavy).sensitivity.value == pytest.approx(2 / 6)


def test_the_curve_has_parts_of_the_same_size() -> None:
    items = [item(n, "supported" if n >= 24 else "not_found", n > 20, n / 40) for n in range(40)]
    curve = judge_agreement(items).curve
    assert [point.n for point in curve] == [8] * 5
    assert [point.supported.value for point in curve] == [0, 0, 0, 1, 1]
    assert all(a.score_high < b.score_low for a, b in pairwise(curve))
    tied = [replace(own, score=0.5) for own in items]
    assert [point.n for point in judge_agreement(tied).curve] == [40]
    assert judge_agreement([replace(own, score=None) for own in items]).curve == []


def test_shares_are_corrected_by_weights() -> None:
    # Of ten items each speaks for one, of ten others for three: the rates are those of all forty.
    light = [item(n, "supported", n < 8, None, 1.0) for n in range(10)]
    heavy = [item(n, "not_found", n < 1, None, 1.0) for n in range(10, 20)]
    rate = corrected_share([*light, *heavy], 60, 100)
    assert rate.value == pytest.approx((0.6 + 1 - 1) / (0.8 + 1 - 1))
    assert corrected_share([], 60, 100).undefined == "no_labels"


def test_raters_beside_each_other_by_hand() -> None:
    labels = {"ann": "ssnnc?", "bob": "snnns ", "eva": "  nsc "}
    words = {"s": "supported", "n": "not_found", "c": "contradicted", "?": "cannot_say"}
    decisions: dict[str, list[Decision]] = {}
    for rater, letters in labels.items():
        for n, letter in enumerate(letters):
            if letter != " ":
                decisions.setdefault(f"i{n}", []).append(Decision(f"i{n}", rater, words[letter]))  # type: ignore[arg-type]
    decisions["i0"].append(Decision("i0", "adjudication", "supported"))
    own = rater_agreement(decisions, {id: id for id in decisions})
    assert own.raters == ["ann", "bob", "eva"]
    assert [(pair.first, pair.second, pair.n, pair.n_same) for pair in own.pairs] == [
        ("ann", "bob", 5, 3),
        ("ann", "eva", 3, 2),
        ("bob", "eva", 3, 1),
    ]
    assert own.pairs[0].kappa.value == pytest.approx(cohen_kappa("ssnnc", "snnns"))
    table = [[None if letter in "? " else letter for letter in letters] for letters in labels.values()]
    assert own.alpha.value == pytest.approx(krippendorff_alpha(table))
    assert own.n == 5


def test_the_folder_of_a_run_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    sampled = sy.review.sample(QUESTIONS, RUNS, tmp_path / "review", n=10, labels=file)
    decisions = [Decision(own.item.item_id, "ann", "supported") for own in sampled.round.asked]
    Review.update(file, lambda review: review.with_decisions(decisions))
    assert sy.review.report(QUESTIONS, RUNS, labels=str(file)).tables[0].n_labelled == len(decisions)
