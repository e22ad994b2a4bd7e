"""Differences corrected by labels of people: where both systems have some, and what is said where they have not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.judges.people.review import Review
from tests.experiment.judged import PEOPLE
from tests.experiment.labelled import Says, answers, as_the_judge, outputs, questions, record, review

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")

N = 120
OTHER = {"judge": {"name": "llm", "model": "m-1"}}


@cache
def lenient(seed: int = 1) -> sy.Verdicts:
    """Of answers of its own, by a judge who supports nearly everything."""
    rng = np.random.default_rng(seed)
    records = [record(str(q), 0.45 + 0.55 * rng.random(rng.integers(1, 6)), answer="B.") for q in range(N)]
    return sy.Verdicts(records, PEOPLE)


@cache
def strict() -> sy.Verdicts:
    return sy.Verdicts(answers(N), PEOPLE)


def half(item_id: str) -> bool:
    """A person to whom half of the items are supported, of either system."""
    return int(item_id[:4], 16) % 2 == 0


def weighing(labels: Mapping[str, Any] | None, verdicts: Mapping[str, sy.Verdicts] | None = None) -> sy.Weighing:
    verdicts = verdicts or {"a": strict(), "b": lenient()}
    asked = [{**question, "tags": ["few" if n < 10 else "many"]} for n, question in enumerate(questions(N))]
    return sy.weigh(asked, {name: outputs(N) for name in verdicts}, verdicts=verdicts, labels=labels)


@cache
def labels_of(n: int = 80, says: Says = half, *, names: str = "ab") -> dict[str, Review]:
    makers: Mapping[str, Callable[[], sy.Verdicts]] = {"a": strict, "b": lenient}
    return {name: review(makers[name](), ["grounded"], n, says, system=name) for name in names}


def test_a_judge_who_favours_one_system_does_not_decide() -> None:
    by_judge = sy.compare(weighing({}), measures="faithfulness")
    assert by_judge.rows["faithfulness"][0].verdict == "better"
    assert by_judge.labels is None
    comparison = sy.compare(weighing(labels_of()), measures="faithfulness")
    rows = {row.system: row for row in comparison.rows["faithfulness"]}
    scores = weighing(labels_of()).scores("faithfulness")
    values = {name: scores.corrections[name]["faithfulness"].mean.corrected.values for name in "ab"}
    assert rows["b"].verdict == "no difference shown"
    assert rows["b"].difference == pytest.approx((values["b"] - values["a"]).mean())
    assert [rows[name].mean for name in "ab"] == pytest.approx([values[name].mean() for name in "ab"])
    assert rows["b"].low < 0 < rows["b"].high
    assert rows["b"].n_wins is None
    assert comparison.labels is not None
    assert comparison.labels.frame["n_labels"].to_list() == [80, 80]
    difference = next(row.difference for row in by_judge.rows["faithfulness"] if row.system == "b")
    assert comparison.labels.frame["as_judged"].to_list() == [None, pytest.approx(difference)]


def test_people_who_side_with_the_judge_leave_the_difference() -> None:
    sides = {
        name: review(v, ["grounded"], 80, as_the_judge(v, ["grounded"]), system=name)
        for name, v in (("a", strict()), ("b", lenient()))
    }
    comparison = sy.compare(weighing(sides), measures="faithfulness", margin=0.1)
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "b")
    assert row.verdict == "better"
    assert row.not_worse
    assert -0.1 < row.low < row.limit_low < row.difference < row.limit_high < row.high
    assert comparison.labels is not None
    assert row.difference == pytest.approx(comparison.labels.frame["as_judged"][1], abs=0.03)


def test_both_languages_and_json_say_so() -> None:
    comparison = sy.compare(weighing(labels_of()), measures=["faithfulness", "citation_support"])
    text = comparison.text("markdown", lang="en")
    assert "corrected by labels of people (a: 80 labels, b: 80 labels). By the judge alone: b +0.3" in text
    chinese = comparison.text("markdown", lang="zh")
    assert "已用人工标注校正（a 80 条标注、b 80 条标注）" in chinese
    content = comparison.data()
    assert [row["system"] for row in content["labels"]["corrected"]] == ["a", "b"]
    assert comparison.labels is not None
    assert comparison.labels.measures == ["faithfulness"]


def test_labels_of_one_side_correct_nothing_and_that_is_said() -> None:
    comparison = sy.compare(weighing(labels_of(names="a")), measures="faithfulness")
    plain = sy.compare(weighing({}), measures="faithfulness")
    assert comparison.frame.equals(plain.frame)
    assert "no labels of people for b" in comparison.text(lang="en")
    assert "b 没有人工标注" in comparison.text(lang="zh")


@pytest.mark.parametrize("test", ["randomization", "tukey"])
def test_other_tests_are_by_the_judge_and_say_so(test: str) -> None:
    comparison = sy.compare(weighing(labels_of()), measures="faithfulness", test=test)
    assert comparison.frame.equals(sy.compare(weighing({}), measures="faithfulness", test=test).frame)
    assert "by t tests alone" in comparison.text(lang="en")


def test_labels_settle_what_two_judges_say() -> None:
    """Whoever judged: the labels are of people."""
    other = sy.Verdicts(list(lenient().records.values()), OTHER)
    both = {"a": strict(), "b": other}
    assert sy.compare(weighing({}, both), measures="faithfulness").drift is not None
    comparison = sy.compare(weighing(labels_of(), both), measures="faithfulness")
    assert comparison.drift is None
    assert not any(note.code == "judges_differ" for note in comparison.notes.get("a", ()))
    with pytest.raises(sy.InputError, match="labels of people correct all measures"):
        sy.compare(weighing(labels_of(), both), measures="faithfulness", anchors=(strict(), other))


def test_segments_with_few_labels_have_no_test() -> None:
    comparison = sy.compare(weighing(labels_of()), measures="faithfulness", segments="tag")
    rows = {(row["segment"], row["system"]): row for row in comparison.frame.iter_rows(named=True)}
    assert (rows["few", "b"]["reason"], rows["few", "b"]["verdict"]) == ("few labels", "no test")
    assert rows["many", "b"]["low"] < rows["many", "b"]["difference"] < rows["many", "b"]["high"]
    assert "fewer than 10 labels of people in a segment" in comparison.text(lang="en")


def test_few_labels_are_no_test() -> None:
    comparison = sy.compare(weighing(labels_of(6)), measures="faithfulness")
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "b")
    assert (row.verdict, row.reason) == ("no test", "few labels")
    assert "too few labels of people" in comparison.text(lang="en")


def test_clusters_of_questions_are_held_to() -> None:
    asked = [{**question, "talk": n // 6} for n, question in enumerate(questions(N))]
    both = sy.weigh(
        asked,
        {name: outputs(N) for name in "ab"},
        verdicts={"a": strict(), "b": lenient()},
        labels=labels_of(),
        cluster="talk",
    )
    comparison = sy.compare(both, measures="faithfulness")
    assert comparison.frame["n_clusters"].to_list() == [20, 20]
    assert comparison.frame.filter(system="b")["p"].is_not_null().all()
