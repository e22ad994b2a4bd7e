"""What labels of people say of a judge, as a section."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.judges.calibration import Calibration, Confusion, Estimate
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.sheet import Sheet, ends, number
from steelyard.report.words import Words


def calibration_section(calibration: Calibration, words: Words) -> Section:
    """Numbers of the judge with their intervals, and how often it and people say the same."""
    rows = []
    if calibration.threshold is not None:
        rows.append([words("calibration.threshold"), *_cells(calibration.threshold)])
    names = ("kappa", "sensitivity", "specificity", "balanced_accuracy")
    rows += [[words(f"calibration.{name}"), *_cells(getattr(calibration, name))] for name in names]
    human = calibration.human
    if human is not None:
        rows += [
            [words("calibration.human_kappa", n=human.n), *_cells(human.kappa)],
            [words("calibration.judge_kappa", n=human.n), *_cells(human.judge_kappa)],
        ]
    head = [words("calibration.head.what"), words("calibration.head.value"), words("calibration.head.interval")]
    title = words("calibration.title", judge=calibration.name, table=words(f"review.table.{calibration.table}"))
    sheets = [Sheet(head, rows), confusion_sheet(calibration.confusion, words)]
    return Section("calibration", title, [Paragraph(text) for text in calibration_texts(calibration, words)], sheets)


def confusion_sheet(counts: Confusion, words: Words) -> Sheet:
    """People against the judge, in items."""
    yes, no = words("calibration.supported"), words("calibration.unsupported")
    rows = [
        [words("calibration.people_say", label=yes), f"{counts.hits:,}", f"{counts.misses:,}"],
        [words("calibration.people_say", label=no), f"{counts.false_alarms:,}", f"{counts.rejections:,}"],
    ]
    head = ["", *(words("calibration.judge_says", label=label) for label in (yes, no))]
    return Sheet(head, rows)


def _cells(estimate: Estimate) -> list[str]:
    return [number(estimate.value, 3), ends(estimate.low, estimate.high)]


def calibration_texts(calibration: Calibration, words: Words, *, of_raters: bool = True) -> Iterator[str]:
    """What a calibration rests on, and what it cannot say;   of_raters   whether that is said of people too"""
    yield words("calibration.basis", n=calibration.n, questions=words("count.questions", n=calibration.n_questions))
    if calibration.threshold is not None:
        yield words("calibration.held_out")
    if calibration.rule is not None:
        yield words(f"calibration.rule.{calibration.rule}", target=f"{calibration.target or 0:g}")
    if calibration.human is None and of_raters:
        yield words("calibration.one_rater")
    for cause, n in calibration.left_out.items():
        yield words(f"calibration.left_out.{cause}", n=n)
    for code in calibration.notes:
        yield words(f"calibration.note.{code}")
    if calibration.failed_self_tests:
        yield words("calibration.failed", names=words.listed(list(calibration.failed_self_tests)))
