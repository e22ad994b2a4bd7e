"""Corrected means beside those of the judge, in every format and both languages."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import steelyard as sy
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.reports.views.corrections import corrected_sheet
from steelyard.reports.words import Words, read_words
from tests.experiment.judged import PEOPLE
from tests.experiment.labelled import answers, as_the_judge, outputs, questions, review, stricter

N = 90
OWN = Verdicts(answers(N), PEOPLE)
EN, ZH = read_words("en"), read_words("zh")


def weighed(names: list[str], *, alike: bool = True, labels: object = None) -> sy.Scores:
    says = as_the_judge(OWN, ["grounded"]) if alike else stricter
    drawn = [review(OWN, ["grounded"], 50, says, system=name).samples[0] for name in names]
    own = sy.Review(drawn, review(OWN, ["grounded"], 50, says).labels)
    runs = {name: outputs(N) for name in names}
    return sy.evaluate(
        questions(N), runs, "faithfulness", verdicts=dict.fromkeys(names, OWN), labels=own if labels is None else labels
    )


def test_judge_people_and_both_are_side_by_side() -> None:
    scores = weighed(["run"])
    sheet = corrected_sheet(scores, EN)
    mean = scores.corrections["run"]["faithfulness"].mean
    assert sheet is not None
    assert sheet.header[:3] == ["measure", "judge", "people alone"]
    [row] = sheet.rows
    assert row[:3] == ["faithfulness", f"{scores.means[0, 0]:.4f}", f"{mean.people.mean:.4f}"]
    assert row[4:] == [
        f"{mean.corrected.mean:.4f}",
        f"{mean.corrected.low:.3f}–{mean.corrected.high:.3f}",
        "50",
        str(int(mean.worth)),
    ]
    worth = f"faithfulness: your 50 labels and this judge are worth {int(mean.worth)} labels"
    assert any(note.startswith(worth) for note in sheet.notes)


def test_a_judge_that_knows_nothing_adds_nothing() -> None:
    [_, how, note] = corrected_sheet(weighed(["run"], alike=False), EN).notes  # type: ignore[union-attr]
    assert "post-stratified by the judge" in how
    assert note == "faithfulness: the judge adds next to nothing to your 50 labels."


@pytest.mark.parametrize(("words", "said"), [(EN, "post-stratified by the judge"), (ZH, "事后分层")])
def test_a_mean_that_verdicts_do_not_enter_says_so(words: Words, said: str) -> None:
    scores = weighed(["run"])
    mean = scores.corrections["run"]["faithfulness"].mean
    content = json.loads(scores.text("json", lang=words.code))["systems"]["run"]["corrections"]["faithfulness"]
    assert (mean.method, content["method"]) == ("strata", "strata")
    assert said in scores.text("markdown", lang=words.code)
    assert (mean.people.low, mean.people.high) != (mean.corrected.low, mean.corrected.high)
    weighty = replace(scores.corrections["run"]["faithfulness"], mean=replace(mean, weight=0.5))
    entered = replace(scores, corrections={"run": {"faithfulness": weighty}})
    assert said not in entered.text("markdown", lang=words.code)


def test_several_systems_are_named() -> None:
    sheet = corrected_sheet(weighed(["a", "b"]), ZH)
    assert sheet is not None
    assert [row[:2] for row in sheet.rows] == [["a", "faithfulness"], ["b", "faithfulness"]]
    assert sheet.header[0] == "系统"
    assert any("a：" in note and "50 条人工标注" in note for note in sheet.notes)


@pytest.mark.parametrize("format", ["csv", "json", "latex", "markdown", "table", "trec"])
def test_every_format_has_them_where_there_are_any(format: str) -> None:
    with_labels, without = (
        weighed(["run"], labels=labels).text(format, lang="en", explain=True) for labels in (None, False)
    )
    if format in ("table", "markdown", "latex"):
        assert with_labels != without
        assert "are worth" in with_labels.replace("\n", " ")
    if format == "csv":
        assert (
            with_labels.splitlines()[0] == without.splitlines()[0] + ",corrected,corrected_low,corrected_high,"
            "people,people_low,people_high,n_labels,worth,n_undecided,lowest,lowest_low,highest,highest_high"
        )
    if format == "json":
        assert list(json.loads(with_labels)["systems"]["run"]["corrections"]) == ["faithfulness"]
        assert "corrections" not in without
