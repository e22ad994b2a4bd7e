"""Reports whose measures are of answers: in every format, beside rankings and without any."""

from __future__ import annotations

import pytest

import steelyard as sy
from steelyard.report.formats.report import report_markdown
from steelyard.report.formats.scores import scores_text
from steelyard.report.report import REPORT_FORMATS
from steelyard.report.words import read_words
from tests.experiment.judged import FOUR, outputs, questions, record, verdicts

pytest.importorskip("scipy.stats", reason="reports that compare need the extra stats")
pytest.importorskip("jinja2", reason="pages need the extra report")
pytest.importorskip("altair", reason="pages need the extra report")

RUNS = {"a": outputs(), "b": outputs(answer="Ten.")}
VERDICTS = {"a": verdicts(*FOUR), "b": verdicts(record("1", "NNN", gold="N"), *FOUR[1:])}


def report(gold: bool, measures: list[str]) -> sy.Report:
    truth = questions(gold_evidence=["c"]) if gold else questions()
    return sy.Report.of(sy.weigh(truth, RUNS, verdicts=VERDICTS), measures, date="2026-11-22")


@pytest.mark.parametrize("format", sorted(REPORT_FORMATS))
def test_every_format_holds_them(format: str) -> None:
    text = report(True, ["faithfulness", "ndcg@5", "answer_recall"]).text(format, lang="en")
    assert "faithfulness" in text
    if format in ("markdown", "table", "html"):
        assert "0.5833 and 0.8333" in text


@pytest.mark.parametrize("format", ["html", "markdown"])
def test_a_report_may_be_of_answers_alone(format: str) -> None:
    for measures in (["faithfulness"], []):
        assert "faithfulness" in report(False, measures).text(format, lang="zh")


def test_the_headline_is_by_the_primary_measure() -> None:
    text = report_markdown(report(True, ["faithfulness", "ndcg@5"]), read_words("en"))
    assert "faithfulness: b 0.0000, a (baseline) 0.6667, difference −0.6667." in text
    assert "The primary measure, faithfulness, decides the order of systems and charts." in text


def test_without_gold_nothing_is_said_of_what_was_retrieved() -> None:
    text = report_markdown(report(False, []), read_words("en"))
    for phrase in ("Where are questions lost", "chunk holds a span", "not all chunks of the corpus", "judged@"):
        assert phrase not in text


def test_parts_bring_the_report_back() -> None:
    made = report(True, ["faithfulness", "ndcg@5"])
    assert sy.Report.from_parts(made.parts()).text("json") == made.text("json")


@pytest.mark.parametrize("format", ["table", "markdown"])
def test_a_table_shows_what_each_measure_has(format: str) -> None:
    truth = {str(q): {"c": 1} for q in range(1, 5)}
    scores = sy.evaluate(truth, outputs(), ["ndcg@5", "faithfulness"], verdicts=verdicts(*FOUR), queries=questions())
    text = scores_text(scores, format, read_words("en"))
    cells = [line.replace("|", " ").split() for line in text.splitlines() if "faithfulness" in line or "ndcg@5" in line]
    assert cells[0] == ["ndcg@5", "1.0000", "0.164–1.000", "4", "0", "0", "0", "100%"]
    assert cells[1] == ["faithfulness", "0.6667", "–", "1", "0", "–", "1", "–"]
    several = sy.evaluate(truth, RUNS, ["faithfulness", "ndcg@5"], verdicts=VERDICTS, queries=questions())
    lines = scores_text(several, format, read_words("en")).splitlines()
    assert lines[0].replace("|", " ").split() == ["system", "faithfulness", "ndcg@5", "not", "judged"]
