"""Plans in words, in both languages and every format."""

import csv
import io
import json

import pytest

import steelyard as sy
from steelyard.reports.words import read_words
from tests.comparison.test_design import drawn, of
from tests.reports.untranslated import untranslated

pytest.importorskip("scipy", reason="plans need the extra stats")

EN, ZH = read_words("en"), read_words("zh")


def every_design() -> list[sy.Design]:
    holes = drawn(2)
    holes[1, :3] = float("nan")
    truth = {f"q{i}": {"d": 1} for i in range(6)}
    runs = {"a": {q: ["x", "d"] for q in truth if q != "q1"}, "b": {q: ["d"] if q > "q2" else ["x"] for q in truth}}
    return [
        sy.plan(of(drawn(2)), difference=0.05),
        sy.plan(of(drawn(1)), difference=0.05),
        sy.plan(of(drawn(4)), difference=0.2),
        sy.plan(of(holes), difference=0.05),
        sy.plan(sy.weigh(truth, runs), measures="mrr", difference=0.5),
        sy.plan(of([[0.0, 1.0], [1.0, 0.0]]), difference=0.5),
        sy.plan(difference=0.05, sd=0.25),
        sy.plan(difference=1e-6, sd=0.25, n_systems=3),
    ]


def test_the_answer_comes_first_below_the_table_and_in_short_above_it() -> None:
    design = sy.plan(difference=0.05, sd=0.25)
    assert design.text(lang="en").startswith("199 questions show a true difference of 0.05 in 80 of 100 cases")
    text = design.text(lang="en", explain=True)
    lines = text.splitlines()
    assert lines[0].split() == ["difference", "effect", "questions"]
    assert lines[4].split() == ["0.05", "(wished)", "0.20", "199"]
    assert lines[7].startswith("199 questions show a true difference of 0.05 in 80 of 100 cases")


@pytest.mark.parametrize("design", every_design())
def test_every_format_in_both_languages(design: sy.Design) -> None:
    allowed = {"Bonferroni", "ndcg@10", "mrr", "--cluster doc"}
    chinese = design.text(lang="zh", explain=True)
    assert untranslated(chinese.partition("签名：")[0], allowed) == []
    assert "签名" in chinese or design.pilot is None
    assert "nan" not in design.text(lang="en")
    assert "inf" not in design.text(lang="en")
    latex = design.text("latex", lang="en")
    assert r"\begin{tabular}" in latex
    assert "bold" not in latex


def test_what_the_words_rest_on() -> None:
    two, one, four, holes, missing, few, sd, many = (design.text(lang="en", explain=True) for design in every_design())
    assert "The range is the pilot's uncertainty: differences between a, b have a standard deviation of" in two
    assert "An upper estimate: a alone cannot show how much two systems differ" in one
    assert "Level 0.05 is shared among 3 comparisons with the baseline (Bonferroni)." in four
    assert "F test: that some of 4 systems differ" in four
    assert "The pilot has enough (40)." in four
    assert "With fewer than 20 questions the test holds only" in four
    assert "3 questions are left out (b lacks 3); means are over the other 37." in holes
    assert "Missing questions count 0: 1 missing from a." in missing
    assert "The pilot's 2 questions are too few to show any difference." in few
    assert "more than the pilot has (40)." in two
    assert "taken as exact" in sd
    assert "More questions than anyone can ask show a true difference of 1e-06" in many


def test_json_and_csv_hold_every_number() -> None:
    for design in every_design():
        content = json.loads(design.text("json", lang="zh"))
        assert content["rows"] == design.frame.to_dicts()
        assert content["sd"] == design.sd
        assert content["format"] == 1
        assert content["in_words"][0].isascii()
        assert (content["pilot"] is None) == (design.pilot is None)
        rows = list(csv.DictReader(io.StringIO(design.text("csv"))))
        assert [float(row["difference"]) for row in rows] == design.frame["difference"].to_list()
        assert list(rows[0]) == design.frame.columns
