"""The summary: a verdict that names numbers, facts that lead on, and warnings of what befell questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.base.notes import Note
from steelyard.data.truth import Truth
from steelyard.experiment.door.evaluation import weigh
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.reports.report import Report
from steelyard.reports.views.diagnosis import worst_stage
from steelyard.reports.views.numbers import signed
from steelyard.reports.views.report import care, facts, provenance, subtitle_text, verdict
from steelyard.reports.views.verdicts import headline
from steelyard.reports.words import read_words
from tests.rag import small
from tests.reports.reports import ids_report, texts_report

pytest.importorskip("scipy", reason="comparisons need the extra stats")
EN, ZH = read_words("en"), read_words("zh")


def test_the_verdict_comes_first_then_its_numbers() -> None:
    report = texts_report(baseline="third")
    assert report.comparison is not None
    row, baseline = (
        next(r for r in report.comparison.rows["ndcg@3"] if r.system == name)
        for name in (report.comparison.rows["ndcg@3"][0].system, "third")
    )
    first, text = verdict(report, EN)
    assert first == headline(report.comparison, EN)
    numbers = f"ndcg@3: {row.system} {row.mean:.4f}, third (baseline) {baseline.mean:.4f}, difference +"
    assert numbers in text
    assert f"paired t test, p = {row.adjusted:.3f}" in text
    assert "third（基线）" in verdict(report, ZH)[1]


def test_a_baseline_that_leads_is_held_against_the_next() -> None:
    report = texts_report(baseline=texts_report().scores.systems[texts_report().by_mean()[0]])
    assert report.comparison is not None
    best, second = report.comparison.rows["ndcg@3"][:2]
    assert best.verdict == "baseline"
    assert (
        f"ndcg@3: {second.system} {second.mean:.4f}, {best.system} (baseline) {best.mean:.4f}" in verdict(report, EN)[1]
    )


def test_one_system_has_a_mean_and_an_interval() -> None:
    assert verdict(ids_report(1), EN)[0].startswith("system-0 reaches ndcg@3 ")
    assert "95% interval" in verdict(ids_report(1), EN)[0]
    single = sy.report(weigh({"q": {"a": 1}}, {"q": ["a"]}), measures="mrr")
    assert verdict(single, EN)[0] == "run reaches mrr 1.0000 on 1 question; an interval needs two questions at least."


def test_the_subtitle_names_gold_that_has_a_name() -> None:
    gold = {"q": {"a": 1}}
    for name, bracket in (("truth", ""), ("dl19", " (dl19)")):
        report = sy.report(weigh(Truth(gold, name=name), {"q": ["a"]}), measures="mrr")
        assert subtitle_text(report, EN) == f"1 system on 1 question{bracket}. The primary measure is mrr."


def test_facts_lead_to_their_sections() -> None:
    made = list(facts(texts_report(), EN))
    assert [fact.target for fact in made] == ["ratings", "funnel"]
    assert all(fact.title and fact.text and fact.link for fact in made)


def test_the_first_advice_is_on_the_best_system() -> None:
    truth = {f"q{i:02}": {"d": 1} for i in range(40)}
    lists = {"best": [[*"dabcefgh"]] * 40, "weak": [[*"dabcefgh"]] * 10 + [[*"xabcefghijklmno"]] * 30}
    report = sy.report(
        weigh(truth, {name: dict(zip(truth, of, strict=True)) for name, of in lists.items()}), measures="mrr@5"
    )
    assert {item.systems for item in report.diagnosis.advice} == {("weak",)}
    assert "advice" not in [fact.target for fact in facts(report, EN)]


def test_a_mistake_of_another_system_is_a_caution_and_not_the_first_advice() -> None:
    truth = {f"q{i:02}": {"d": 1} for i in range(40)}
    lists = {"best": [[*"dabcefgh"]] * 15 + [[*"abcefghxyz"]] * 25, "empty": [[*"abcdefgh"]] * 10 + [[]] * 30}
    runs = {name: dict(zip(truth, of, strict=True)) for name, of in lists.items()}
    report = sy.report(weigh(truth, runs), measures="mrr@5")
    assert report.diagnosis.advice[0].systems == ("best",)
    assert "empty_lists" in [item.code for item in report.diagnosis.advice]
    assert care(report, EN)[0] == "A mistake may decide the comparison: Questions without any result (empty)."


def test_what_could_mislead_is_said() -> None:
    told = " ".join(care(texts_report(), EN))
    assert "Systems failed on questions, which count 0: third (1)." in told
    assert "Questions are missing from runs: second (1)." in told
    assert "1 question has no relevant document" in told
    assert "Not all chunks of the corpus are known" in told
    unjudged = " ".join(care(ids_report(), EN))
    assert "have a label; documents without one count as irrelevant" in unjudged
    assert len(care(texts_report(), EN)) == len(care(texts_report(), ZH))


def test_where_verdicts_come_from_is_no_caution() -> None:
    notes = [Note("judged_by_handed_in", {"judge": "lexical"}), Note("judge_uncalibrated", {"threshold": "0.7"})]
    report = replace(texts_report(), notes={"first": notes})
    cautions, origins = (" ".join(of(report, EN)) for of in (care, provenance))
    assert "Verdicts on the answers: by lexical" in origins
    assert "Verdicts on" not in cautions
    assert "A sentence is supported from a score of 0.7 on; this threshold is not calibrated" in cautions


def test_notes_of_runs_are_shown_in_the_language_of_the_reader(tmp_path: Path) -> None:
    documents, stages = {**small.TEXTS, "leer": ""}, {"chunk": small.Stops(), "index": small.Common()}
    folders = [
        Pipeline(documents, **stages, k=k, name=name).run(small.QUESTIONS, tmp_path / name).path
        for name, k in (("a", 2), ("b", 20))
    ]
    report = sy.report(weigh(small.QUESTIONS, folders), measures="mrr")
    again = Report.from_parts(json.loads(json.dumps(report.parts())))
    for contents in (report, again):
        assert care(contents, EN)[-2:] == [
            "a, b: 1 document is empty: leer",
            "b: k is 20, but there are only 9 chunks: questions get fewer results",
        ]
        assert care(contents, ZH)[-2] == "a、b：1 篇文档为空：leer"
    for format in ("table", "markdown", "html"):
        if format == "html":
            pytest.importorskip("altair", reason="the page needs the extra report")
        assert "1 篇文档为空：leer" in report.text(format, lang="zh")


def test_ties_that_decide_are_said() -> None:
    report = sy.report(weigh({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}), measures="mrr@2")
    assert "mrr@2 moves by more than 0.01 with the order of tied documents for run." in " ".join(care(report, EN))


def test_the_worst_stage_has_most_questions() -> None:
    for one in texts_report().diagnosis.funnels:
        worst = worst_stage(one)
        lost = [n for stage, n in one.counts().items() if stage not in ("found", "no_gold")]
        assert (worst[1] if worst else 0) == max(lost)


def test_signs_are_minus_signs() -> None:
    assert (signed(-0.5, 1), signed(0.25, 2)) == ("−0.5", "+0.25")


def test_what_is_lost_is_told_of_any_gold() -> None:
    """It was "no question whose gold was lost" beside 367 of 4,102 relevant documents."""
    truth = {f"q{i}": {f"d{j}": 1 for j in range(400)} for i in range(3)}
    report = sy.report(weigh(truth, {"x": {q: ["d0", "d1", "u"] for q in truth}}), measures="ndcg@10")
    lost, lost_zh = (next(fact for fact in facts(report, words) if fact.target == "funnel") for words in (EN, ZH))
    assert lost.text == "x has some gold among the first 10 for every question: 6 of 1,200 relevant documents in all."
    assert lost_zh.text == "x 对每个问题都在前 10 条中至少找到了一篇相关文档：1,200 篇中共找到 6 篇。"
    some = sy.report(weigh(truth, {"x": {q: ["d0" if q == "q1" else "u"] for q in truth}}), measures="ndcg@10")
    text = next(fact.text for fact in facts(some, EN) if fact.target == "funnel")
    assert text == "x has some gold among the first 10 for 1 of 3 questions, and loses most here: not retrieved (2)."


@pytest.mark.parametrize("measure", ["mrr@3", "recall@2", "precision@1", "hit_rate@4"])
def test_one_measure_runs_through_headline_rating_advice_and_ceilings(measure: str) -> None:
    truth = {f"q{i}": {"a": 1, "b": 1} for i in range(12)}
    runs = {name: {q: [*(f"x{i}" for i in range(n)), "a", "b"] for q in truth} for name, n in (("x", 5), ("y", 6))}
    report = sy.report(weigh(truth, runs), measures=[measure, "ndcg@10", "recall@5"])
    assert verdict(report, EN)[1].startswith(f"{measure}: ")
    by_target = {fact.target: fact.text for fact in facts(report, EN)}
    assert f" {measure} " in by_target.get("ratings", f" {measure} ")  # No card where the profile has no levels.
    assert by_target["advice"].endswith(f" in {measure}.")
    assert report.diagnosis.ceilings.measures[0] == report.diagnosis.measure == measure
