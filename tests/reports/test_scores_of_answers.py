"""Reports whose measures are of answers: in every format, beside rankings and without any."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

import steelyard as sy
from steelyard.reports.page.leaderboard import leaderboard_table
from steelyard.reports.views.verdicts import headline_numbers
from steelyard.reports.words import read_words
from tests.experiment.judged import FOUR, outputs, questions, record, verdicts

pytest.importorskip("scipy.stats", reason="reports that compare need the extra stats")
pytest.importorskip("jinja2", reason="pages need the extra report")
pytest.importorskip("altair", reason="pages need the extra report")

RUNS = {"a": outputs(), "b": outputs(answer="Ten.")}
VERDICTS = {"a": verdicts(*FOUR), "b": verdicts(record("1", "NNN", gold="N"), *FOUR[1:])}


def report(gold: bool, measures: list[str]) -> sy.Report:
    truth = questions(gold_evidence=["c"]) if gold else questions()
    return sy.report(sy.weigh(truth, RUNS, verdicts=VERDICTS), measures=measures, date="2026-11-22")


@pytest.mark.parametrize("format", ["csv", "html", "json", "latex", "markdown", "table"])
def test_every_format_holds_them(format: str) -> None:
    text = report(True, ["faithfulness", "ndcg@5", "answer_recall"]).text(format, lang="en", explain=True)
    assert "faithfulness" in text
    if format in ("markdown", "table", "html"):
        assert "0.5833 and 0.8333" in text


@pytest.mark.parametrize("format", ["html", "markdown"])
def test_a_report_may_be_of_answers_alone(format: str) -> None:
    for measures in (["faithfulness"], []):
        assert "faithfulness" in report(False, measures).text(format, lang="zh")


def test_the_headline_is_by_the_primary_measure() -> None:
    text = report(True, ["faithfulness", "ndcg@5"]).text("markdown", lang="en")
    assert "faithfulness, on the 1 question that both have: b 0.0000, a (baseline) 0.6667, difference −0.6667." in text
    assert "The primary measure, faithfulness, decides the order of systems and charts." in text


def test_without_gold_nothing_is_said_of_what_was_retrieved() -> None:
    text = report(False, []).text("markdown", lang="en")
    for phrase in ("Where are questions lost", "chunk holds a span", "not all chunks of the corpus", "judged@"):
        assert phrase not in text


def test_parts_bring_the_report_back() -> None:
    made = report(True, ["faithfulness", "ndcg@5"])
    assert sy.Report.from_parts(made.parts()).text("json") == made.text("json")


@pytest.mark.parametrize("format", ["table", "markdown"])
def test_a_table_shows_what_each_measure_has(format: str) -> None:
    truth = {str(q): {"c": 1} for q in range(1, 5)}
    scores = sy.evaluate(truth, outputs(), ["ndcg@5", "faithfulness"], verdicts=verdicts(*FOUR), questions=questions())
    text = scores.text(format, lang="en", explain=True)
    cells = [line.replace("|", " ").split() for line in text.splitlines() if "faithfulness" in line or "ndcg@5" in line]
    assert cells[0] == ["ndcg@5", "1.0000", "0.164–1.000", "4", "0", "0", "0", "100%"]
    assert cells[1] == ["faithfulness", "0.6667", "–", "1", "0", "–", "1", "–"]
    several = sy.evaluate(truth, RUNS, ["faithfulness", "ndcg@5"], verdicts=VERDICTS, questions=questions())
    lines = several.text(format, lang="en", explain=True).splitlines()
    assert lines[0].replace("|", " ").split() == ["system", "faithfulness", "ndcg@5", "not", "judged"]


def of_counts(counts: dict[str, dict[str, int]]) -> sy.Report:
    """Systems that answer so many of six questions with the gold answer, and leave out the others, by measure."""
    rows = [
        {"system": system, "query_id": f"q{q}", "measure": measure, "value": (q % 3) / 2 if q < n else None}
        for system, of in counts.items()
        for measure, n in of.items()
        for q in range(6)
    ]
    scores = sy.Scores.of(pl.DataFrame(rows))
    blank = report(True, ["faithfulness"])
    comparison = sy.compare(scores) if len(counts) > 1 else None
    return dataclasses.replace(blank, scores=scores, comparison=comparison, latency_ms={})


@pytest.mark.parametrize(
    ("counts", "en", "zh", "small"),
    [
        ({"a": {"map": 6, "mrr": 6}, "b": {"map": 6, "mrr": 6}}, "Each mean is over 6 questions.",
         "每个均值取自 6 个问题。", ["", ""]),
        ({"a": {"map": 6, "mrr": 5}, "b": {"map": 6, "mrr": 5}}, "Questions in each mean: map 6, mrr 5.",
         "各均值所取的问题：map 6 个、mrr 5 个。", ["", ""]),
        ({"a": {"map": 6, "mrr": 4}}, "Questions in each mean: map 6, mrr 4.", "各均值所取的问题：map 6 个、mrr 4 个。",
         ["", ""]),
        ({"a": {"map": 6, "mrr": 5}, "b": {"map": 4, "mrr": 5}}, "", "", ["n = 6", "n = 5"]),
        ({"a": {"map": 6, "mrr": 5}, "b": {"map": 6, "mrr": 5}, "c": {"map": 6, "mrr": 6}}, "", "", ["n = 6", "n = 5"]),
    ],
)  # fmt: skip
def test_the_page_counts_questions_by_measure(
    counts: dict[str, dict[str, int]], en: str, zh: str, small: list[str]
) -> None:
    counted = of_counts(counts)
    for lang, note in (("en", en), ("zh", zh)):
        table = leaderboard_table(counted, read_words(lang))
        assert [
            text
            for text in table.notes
            if "取自" in text or "所取" in text or "mean is over" in text or "in each mean" in text
        ] == ([note] if note else [])
    cells = (
        [row[1] for row in leaderboard_table(counted, read_words("en")).rows]
        if len(counts) == 1
        else next(row[2:4] for row in leaderboard_table(counted, read_words("en")).rows if row[0].text == "a")
    )
    assert [cell.small.rpartition(", ")[2] if "n =" in cell.small else "" for cell in cells] == small


def test_numbers_beside_each_other_name_their_questions() -> None:
    counted = of_counts({"a": {"map": 6}, "b": {"map": 4}, "c": {"map": 5}})
    numbers = next(iter(headline_numbers(counted.comparison, read_words("en"))))
    assert numbers.startswith("map, on the 4 questions that all have: ")
    assert next(iter(headline_numbers(counted.comparison, read_words("zh")))).startswith(
        "map（各系统都有值的 4 个问题）："
    )
