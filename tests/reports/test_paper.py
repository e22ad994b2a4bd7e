"""One table of all measures: what a paper takes, and differences by all measures."""

from __future__ import annotations

import re

import steelyard as sy
from steelyard.reports.formats.blocks import sheet_latex
from steelyard.reports.report import Report
from steelyard.reports.views.report import differences_sheet, paper_sheet
from steelyard.reports.views.view import Sheet
from steelyard.reports.words import read_words
from tests.reports.reports import ids_report, ids_weighing

EN = read_words("en")


def test_a_report_is_one_table_in_latex() -> None:
    for n_systems in (1, 2, 13):
        text = ids_report(n_systems).text("latex", lang="en")
        assert text.count(r"\begin{table}") == text.count(r"\label{tab:report}") == 1
        assert "% needs \\usepackage{booktabs}\n" in text
        assert re.search(r"^% Signature: ndcg@3", text, re.M)
        assert not re.search(r"[−–†‡≥<>]", "".join(line for line in text.splitlines() if not line.startswith("%")))


def test_marks_are_verdicts_and_the_caption_explains_them() -> None:
    truth = [f"q{i}" for i in range(40)]
    sheet = paper_sheet(_graded(truth), EN)
    assert sheet.header == ["system", "mrr", "recall@2"]
    assert sheet.rows == [
        ["good", "1.0000†", "1.0000"],
        ["middle (baseline)", "0.5000", "1.0000"],
        ["bad", "0.0000‡", "0.0000‡"],
    ]
    assert sheet.best == {(0, 1), (0, 2), (1, 2)}
    assert "† better, ‡ worse than middle." in sheet.notes
    assert any("Baseline: middle." in note for note in sheet.notes)


def _graded(queries: list[str]) -> Report:
    """Three systems that are apart on every question."""
    from steelyard.experiment.door.evaluation import weigh

    good, middle, bad = ["a", "x"], ["x", "a"], ["x", "y"]
    runs = {
        "good": dict.fromkeys(queries, good),
        "middle": dict.fromkeys(queries, middle),
        "bad": dict.fromkeys(queries, bad),
    }
    return sy.report(
        weigh({q: {"a": 1} for q in queries}, runs),
        measures=("mrr", "recall@2"),
        baseline="middle",
        test="randomization",
    )


def test_differences_by_all_measures_leave_the_baseline_out() -> None:
    comparison = _graded([f"q{i}" for i in range(40)]).comparison
    assert comparison is not None
    sheet = differences_sheet(comparison, EN)
    assert sheet.rows == [
        ["good", "+0.5000† (p < 0.001)", "0.0000 (p = 1.000)"],
        ["bad", "−0.5000‡ (p < 0.001)", "−1.0000‡ (p < 0.001)"],
    ]


def test_marks_take_no_room_and_labels_hold_plain_letters() -> None:
    text = sheet_latex(Sheet(["ndcg@10", "mean"], [["a", "−0.5†"], ["b", "0.25"]], {(0, 1)}), words=EN)
    assert r"a & \textbf{$-$0.5\rlap{$^{\dagger}$}} \\" in text
    assert r"\label{tab:ndcg-10}" in text


def test_text_has_one_table_of_ratings_for_several_systems() -> None:
    report = sy.report(ids_weighing(4), measures=("ndcg@5", "recall@5"))
    markdown = report.text("markdown", lang="en")
    ratings = markdown[markdown.index("## Is it good enough?") :]
    assert ratings[: ratings.index("\n## ", 3)].count("| --- |") == 1
    assert re.search(r"\| system-3 \| 0\.\d{4} \w+", ratings)
