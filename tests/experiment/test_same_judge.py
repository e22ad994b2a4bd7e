"""Scores by different judges are not compared by accident: in comparisons, gates, plans and unions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.experiment.table.json import as_json
from steelyard.experiment.table.recipes import judges_differ
from steelyard.reports.page.leaderboard import leaderboard_table
from steelyard.reports.views.verdicts import headline
from steelyard.reports.words import read_words
from tests.experiment.judged import outputs, questions, record, verdicts

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")

N = 20
LLM = {"judge": {"name": "llm", "model": "m-2"}, "date": "2026-11-22"}


def judged(marks: str, **recipe: Any) -> Any:
    """Verdicts on N answers, of which every third has these marks, and the others are right."""
    return verdicts(*(record(str(q), marks if q % 3 == 0 else "YY", gold="Y") for q in range(1, N + 1)), **recipe)


def runs() -> dict[str, Any]:
    return {"a": outputs(N, answered=N), "b": outputs(N, answered=N, answer="Ten.")}


def weighing(first: Any, second: Any) -> sy.Weighing:
    return sy.weigh(questions(N, gold_evidence=["c"]), runs(), verdicts={"a": first, "b": second})


def test_systems_by_different_judges_are_refused() -> None:
    mixed = weighing(judged("YY"), judged("YN", **LLM))
    with pytest.raises(sy.InputError) as raised:
        sy.compare(mixed, measures="faithfulness")
    assert str(raised.value) == (
        "a and b were judged differently: judge.name is 'people' and 'llm'; by faithfulness both judged 0 sentences or "
        "answers with the same texts, and 30 at least say how far their judges are apart; judge both alike (steelyard "
        "judge, --judge NAME), give verdicts of both judges on the same answers (--anchors OLD NEW), or insist with "
        "--mixed-judges (mixed_judges=True)"
    )
    comparison = sy.compare(mixed, measures="faithfulness", mixed_judges=True)
    assert comparison.frame["mean"].to_list() == pytest.approx([1, 1 - 3 / N])
    for lang, caution in (("en", "Caution: a and b were judged differently"), ("zh", "注意：各系统的判定方式不同")):
        assert caution in comparison.text("markdown", lang=lang)


def test_models_thresholds_and_prompts_differ_and_dates_do_not() -> None:
    for key, value in (("model", "m-3"), ("threshold", 0.6), ("prompt", "sha256:1")):
        other = {**LLM, "judge": {**LLM["judge"], key: value}}
        assert f"judge.{key} is" in judges_differ(
            [weighing(judged("YY", **LLM), judged("YY", **other)).scores("faithfulness")]
        )
    later = {**LLM, "date": "2027-01-01", "outputs_": "x"}
    assert "outputs_ is not there and 'x'" in judges_differ(
        [weighing(judged("YY", **LLM), judged("YY", **later)).scores("faithfulness")]
    )
    same = weighing(judged("YY", **LLM), judged("YY", **{**LLM, "date": "2027-01-01"}))
    assert sy.compare(same, measures="faithfulness").notes["a"][0].code != "judges_differ"


def test_rankings_are_compared_whoever_judged_the_answers() -> None:
    mixed = weighing(judged("YY"), judged("YN", **LLM))
    assert sy.compare(mixed, measures="mrr").frame.height == 2
    both = mixed.scores(["mrr", "faithfulness"])
    assert sy.compare(both.filter(measures="mrr")).frame.height == 2
    with pytest.raises(sy.InputError, match="judged differently"):
        sy.compare(both)
    with pytest.raises(sy.InputError, match="judged differently"):
        sy.plan(mixed, measures="faithfulness", difference=0.05)


def test_unions_and_gates_hold_to_one_judge(tmp_path: Path) -> None:
    mixed = weighing(judged("YY"), judged("YN", **LLM)).scores("faithfulness")
    a, b = mixed.filter(systems="a"), mixed.filter(systems="b")
    assert list(a.recipe["verdicts"]) == ["a"]
    with pytest.raises(sy.InputError, match="a and b were judged differently"):
        sy.Scores.concat([a, b])
    together = sy.Scores.concat([a, b], mixed_judges=True)
    assert together.frame.equals(mixed.frame)
    assert together.recipe["verdicts"] == mixed.recipe["verdicts"]
    (path := tmp_path / "a.json").write_text(as_json(a))
    for baseline in (a, path):
        with pytest.raises(sy.InputError, match="b and a were judged differently"):
            sy.gate(b, baseline=baseline, margin=0.5)
        assert sy.gate(b, baseline=baseline, margin=0.5, mixed_judges=True).outcome == "pass"
    with pytest.raises(sy.InputError, match="judged differently"):
        sy.gate(mixed, baseline="a", margin=0.5)


def test_questions_without_a_value_are_left_out_of_the_comparison() -> None:
    """As many as either system has no value for: every third by one of them, and the rest in both."""
    comparison = sy.compare(weighing(judged("YY"), judged("Y?")), measures="faithfulness")
    row = comparison.rows["faithfulness"][0]
    assert (row.n, row.n_left_out) == (N - N // 3, N // 3)
    assert comparison.lacking["faithfulness"] == {"b": N // 3}
    text = comparison.text("markdown", lang="en")
    assert f"{N // 3} questions" in text
    assert comparison.sensitivity is not None
    assert comparison.sensitivity.frame.drop("measure", "system").null_count().sum_horizontal()[0] == 2 * 7


def test_a_measure_without_a_common_question_says_why() -> None:
    abstained = verdicts(*(record(str(q), state="abstained", gold="N") for q in range(1, N + 1)))
    with pytest.raises(sy.InputError) as raised:
        sy.compare(weighing(judged("YY"), abstained), measures="faithfulness")
    assert str(raised.value) == (
        f"faithfulness: no question has a value for every system (b: abstained {N}); leave the measure out"
    )


def test_what_is_not_judged_can_be_bounded() -> None:
    scores = weighing(judged("YY"), judged("Y?")).scores(["faithfulness", "mrr"])
    share = (N // 3) / N
    for system, bound, outcome in (("a", 0.0, "pass"), ("b", share, "pass"), ("b", share - 0.01, "fail")):
        verdict = sy.gate(scores, system=system, max_not_judged=bound)
        assert verdict.outcome == outcome
        assert [check.name for check in verdict.checks] == ["not_judged"]
    assert sy.gate(scores.filter(measures="mrr"), max_not_judged=0.5).outcome == "insufficient"


def test_clusters_segments_and_plans_take_answers() -> None:
    asked = [{**q, "tags": [("odd", "even")[int(q["qid"]) % 2]], "talk": int(q["qid"]) // 4} for q in questions(N)]
    both = sy.weigh(asked, runs(), verdicts={"a": judged("YY"), "b": judged("NN")}, cluster="talk")
    comparison = sy.compare(both, measures="faithfulness", segments="tag")
    assert comparison.frame.filter(system="b")["n_clusters"].to_list()[0] == 6
    assert comparison.frame["segment"].drop_nulls().unique().sort().to_list() == ["even", "odd"]
    design = sy.plan(both, measures="faithfulness", difference=0.05)
    assert design.pilot is not None
    assert design.pilot.n == N
    profile = "below = 'poor'\nlevels = ['good']\n[measures.faithfulness]\nbetter = 'higher'\nlevels = {good = 0.5}"
    scores = weighing(judged("YY"), judged("NN")).scores("faithfulness")
    assert [sy.gate(scores, profile=_profile(profile), system=system).outcome for system in "ab"] == [
        "pass",
        "insufficient",
    ]


def _profile(text: str) -> sy.Profile:
    from steelyard.gates.profile_files import parse_profile

    return sy.Profile(**parse_profile(text, file="own.toml", name="own"))


STRICT, LOOSE = ({"judge": {"name": "lexical", "threshold": t}, "date": "2026-11-22"} for t in (0.6, 0.5))


@pytest.mark.parametrize(
    ("one", "other", "en", "zh"),
    [
        (STRICT, LOOSE, "by different thresholds", "的判定阈值不同"),
        (LLM, {**LLM, "judge": {**LLM["judge"], "model": "m-3"}}, "by different models", "由不同的模型判定"),
        (LLM, STRICT, "by different judges", "由不同的裁判判定"),
        (LLM, {**LLM, "judge": {**LLM["judge"], "prompt": "sha256:1"}}, "in different ways", "的判定方式不同"),
    ],
)
def test_mixed_judges_are_not_comparable(one: Any, other: Any, en: str, zh: str) -> None:
    mixed = weighing(judged("YY", **one), judged("NN", **other))
    comparison = sy.compare(mixed, measures=["faithfulness", "mrr"], mixed_judges=True)
    assert headline(comparison, read_words("en")) == f"Not comparable: a and b were judged {en}."
    assert headline(comparison, read_words("zh")).replace(" ", "") == f"不可比较：a、b{zh}。"
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "b")
    assert (row.verdict, row.reason, row.n_wins) == ("no test", "other judge", None)
    assert np.isnan([row.p, row.adjusted, row.low, row.high, row.effect, row.detectable]).all()
    assert row.difference == pytest.approx(-7 / N, abs=0.06)
    assert comparison.rows["mrr"][0].reason != "other judge"
    assert comparison.changes == ()
    for name in ("table", "markdown", "json"):
        assert "beats" not in comparison.text(name, lang="en")


@pytest.mark.parametrize(
    "options",
    [
        {}, {"test": "tukey"}, {"test": "randomization"}, {"baseline": "a"}, {"baseline": "a", "margin": 0.3},
        {"baseline": "a", "test": "wilcoxon"}, {"baseline": "a", "test": "tukey"},
    ],
)  # fmt: skip
def test_of_three_systems_those_that_one_judge_judged_are_compared(options: dict[str, Any]) -> None:
    by_system = {"a": judged("YY", **STRICT), "b": judged("NN", **STRICT), "c": judged("YN", **LOOSE)}
    answered = {name: outputs(N, answered=N, answer=f"{name}.") for name in by_system}
    weighed = sy.weigh(questions(N, gold_evidence=["c"]), answered, verdicts=by_system)
    comparison = sy.compare(weighed, measures="faithfulness", mixed_judges=True, **options)
    verdicts_of = {row.system: row.verdict for row in comparison.rows["faithfulness"]}
    assert (verdicts_of["b"], verdicts_of["c"]) == ("worse", "no test")
    assert comparison.groups == {}
    assert headline(comparison, read_words("en")) == "Not comparable: a and c were judged by different thresholds."
    assert "a、c" in headline(comparison, read_words("zh"))


def test_a_percentile_by_two_judges_is_not_tested_either() -> None:
    mixed = weighing(judged("YY", **STRICT), judged("NN", **LOOSE))
    comparison = sy.compare(mixed, measures="faithfulness:p50", mixed_judges=True)
    assert [row.reason for row in comparison.rows["faithfulness:p50"] if not row.is_reference] == ["other judge"]


def test_a_report_by_two_judges_ranks_nothing_and_has_no_winner(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        'name = "p"\nbelow = "no"\nlevels = ["yes"]\n'
        '[measures.faithfulness]\nbetter = "higher"\nlevels = { yes = 0.5 }\n'
    )
    mixed = weighing(judged("YY", **STRICT), judged("NN", **LOOSE))
    options = {"margin": 0.5, "baseline": "a", "profile": str(tmp_path / "p.toml")}
    report = sy.report(mixed, measures=["faithfulness", "mrr"], mixed_judges=True, **options)
    assert report.gate is not None
    assert {check.kind for check in report.gate.checks} == {"level"}
    for lang, verdict, caution in (
        ("en", "Not comparable: a and b were judged by different thresholds.", "Caution: a and b were judged"),
        ("zh", "不可比较：a、b 的判定阈值不同。", "注意：各系统的判定方式不同"),
    ):
        for written in (report.text("html", lang=lang).split("<script")[0], report.text("markdown", lang=lang)):
            assert verdict in written
            assert caution in written
            assert "beats" not in written
            assert "优于" not in written.replace("† 优于", "")
            assert "**1.0000" not in written
    table = leaderboard_table(report, read_words("en"))
    assert [row[1].text for row in table.rows] == ["–", "–"]
    assert not any(cell.style == "best" for row in table.rows for cell in row)
