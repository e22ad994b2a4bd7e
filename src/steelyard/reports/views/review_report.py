"""What labels of people say of a judge: its calibration, and the report of a review."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from steelyard.base.result import Result
from steelyard.experiment.table.json import correction_json
from steelyard.judges.people.calibration import Calibration, Confusion, Estimate
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.corrections import corrected_sheet
from steelyard.reports.views.numbers import ends, number, percent
from steelyard.reports.views.picture import Intervals, Mark, described
from steelyard.reports.views.review import label_text, sections_view
from steelyard.reports.views.scores import scores_picture
from steelyard.reports.views.view import Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.words import Words
from steelyard.reviewing.agreement import JudgeAgreement
from steelyard.reviewing.reporting import ReviewReport, TableReview

_RATES = ("kappa", "sensitivity", "specificity", "balanced_accuracy")


def calibration_section(calibration: Calibration, words: Words) -> Section:
    """Numbers of the judge with their intervals, and how often it and people say the same."""
    title = words("calibration.title", judge=calibration.name, table=words(f"review.table.{calibration.table}"))
    sheets = [calibration_sheet(calibration, words), confusion_sheet(calibration.confusion, words)]
    return Section("calibration", title, [Paragraph(text) for text in calibration_texts(calibration, words)], sheets)


def calibration_sheet(calibration: Calibration, words: Words) -> Sheet:
    """The threshold of the judge, how well it agrees with people, and people with each other."""
    sheet, human = _rates_sheet(calibration, words), calibration.human
    if human is not None:
        sheet.rows += [
            [words("calibration.human_kappa", n=human.n), *_cells(human.kappa)],
            [words("calibration.judge_kappa", n=human.n), *_cells(human.judge_kappa)],
        ]
    return sheet


def _rates_sheet(calibration: Calibration, words: Words) -> Sheet:
    """The threshold of the judge, and how well it agrees with people."""
    names = [*(["threshold"] if calibration.threshold is not None else []), *_RATES]
    rows = [[words(f"calibration.{name}"), *_cells(getattr(calibration, name))] for name in names]
    return Sheet([words(f"calibration.head.{name}") for name in ("what", "value", "interval")], rows)


def _brief_calibration(calibration: Calibration, look: Look) -> Iterator[Block]:
    """How far judge and people agree, its numbers, and what to be careful with."""
    words = look.words
    table = words(f"review.table.{calibration.table}")
    texts = [_agreement_text(calibration.name, table, calibration.kappa, calibration, words)]
    if calibration.threshold is not None:
        texts.append(words("brief.calibration.threshold", threshold=number(calibration.threshold.value, 3)))
    yield Text(words("scores.between").join(texts), "bold")
    sheet, human = _rates_sheet(calibration, words), calibration.human
    if human is not None:
        kappa, judge_kappa = (number(of.value, 3) for of in (human.kappa, human.judge_kappa))
        sheet.notes.append(words("notes.judge_beside_people", n=human.n, kappa=kappa, judge_kappa=judge_kappa))
    sheet.notes += careful(calibration_cautions(calibration, words), look)
    yield sheet


def _agreement_text(judge: str, table: str, kappa: Estimate, basis: Calibration, words: Words) -> str:
    """A sentence on how far a judge and people agree on the items of a table."""
    questions = words("count.questions", n=basis.n_questions)
    value, interval = _cells(kappa)
    key = "undefined" if math.isnan(kappa.value) else "agrees"
    return words(f"brief.calibration.{key}", judge=judge, table=table, kappa=value, interval=interval, n=basis.n,
                 questions=questions)  # fmt: skip


def calibration_picture(calibration: Calibration, words: Words) -> Intervals | None:
    """How far judge and people agree, with intervals; None where nothing is defined."""
    estimates = {words(f"calibration.{name}"): getattr(calibration, name) for name in _RATES}
    marks = [
        Mark(name, of.value, of.low, of.high, number(of.value, 3))
        for name, of in estimates.items()
        if of.value == of.value
    ]
    title = words("charts.calibration.title", judge=calibration.name)
    return Intervals(title, described(title, marks, words), marks) if marks else None


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
    """The basis of a calibration, and what it cannot say;   of_raters   whether that is said of people too"""
    yield words("calibration.basis", n=calibration.n, questions=words("count.questions", n=calibration.n_questions))
    if calibration.threshold is not None:
        yield words("calibration.held_out")
    if calibration.rule is not None:
        yield words(f"calibration.rule.{calibration.rule}", target=f"{calibration.target or 0:g}")
    if calibration.human is None and of_raters:
        yield words("calibration.one_rater")
    yield from _label_notes(calibration, words)


def calibration_cautions(calibration: Calibration, words: Words, *, of_raters: bool = True) -> Iterator[str]:
    """Cautions about a calibration, the gravest first;   of_raters   as of `calibration_texts`"""
    yield from _label_notes(calibration, words)
    if calibration.human is None and of_raters:
        yield words("calibration.one_rater")


def _label_notes(calibration: Calibration, words: Words) -> Iterator[str]:
    """Notes on labels that did not count, on what they cannot say, and on self-tests that the judge failed."""
    for cause, n in calibration.left_out.items():
        yield words(f"calibration.left_out.{cause}", n=n)
    for code in calibration.notes:
        yield words(f"calibration.note.{code}")
    if calibration.failed_self_tests:
        yield words("calibration.failed", names=words.listed(list(calibration.failed_self_tests)))


def report_sections(report: ReviewReport, words: Words) -> list[Section]:
    """Corrected means first, then of each table raters, judge, shares and strata."""
    sections = []
    sheet = corrected_sheet(report.scores, words)
    if sheet is not None:
        sections.append(Section("corrected", words("review.corrected_title"), [], [sheet]))
    for own in report.tables:
        sections += [_raters(own, words), *_judge(own, words), _shares(own, words), _strata(own, words)]
    return sections


def _brief_report(report: ReviewReport, look: Look) -> Iterator[Block]:
    """How far judge and people agree, the means that labels correct, and what to be careful with."""
    words = look.words
    sentences = [text for own in report.tables for text in _judge_texts(own, words)]
    yield Text("\n".join(sentences), "bold")
    notes = careful((text for own in report.tables for text in _table_cautions(own, words)), look)
    sheet = corrected_sheet(report.scores, words)
    if sheet is None:
        yield from map(Text, notes)
    else:
        first = sheet.n_labels + 1  # Behind the labels and the judge's mean is that of people alone, with its interval.
        yield replace(sheet, notes=notes, spare=[len(sheet.header) - 1, first + 1, first])


def _judge_texts(own: TableReview, words: Words) -> Iterator[str]:
    """Sentences on how far the judge agrees with people about a table, as it judged and by the threshold of labels."""
    table = words(f"review.table.{own.table}")
    if own.agreement is None or own.calibration is None:
        yield words("brief.calibration.undecided", judge=own.judge, table=table)
        return
    texts = [_agreement_text(own.judge, table, own.agreement.kappa, own.calibration, words)]
    if own.calibration.threshold is not None:
        threshold, kappa = (number(of.value, 3) for of in (own.calibration.threshold, own.calibration.kappa))
        texts.append(words("brief.calibration.by_threshold", threshold=threshold, kappa=kappa))
    if own.raters.pairs:
        alpha = own.raters.alpha
        interval = ends(alpha.low, alpha.high)
        texts.append(words("review.alpha", alpha=number(alpha.value, 3), interval=interval, n=own.raters.n))
    yield words("scores.between").join(texts)


def _table_cautions(own: TableReview, words: Words) -> Iterator[str]:
    """Cautions about what is said of a table, the gravest first."""
    for name in ("n_conflicts", "n_open", "n_cannot_say"):
        if n := getattr(own, name):
            yield words("brief.review.count", n=n, what=words(f"review.count.{name}"), total=own.n_asked)
    if own.calibration is not None:
        yield from calibration_cautions(own.calibration, words, of_raters=False)
    if own.raters.pairs:
        yield _kappa_labels(own, words)
    else:
        yield words("review.one_rater", n=len(own.raters.raters))


def _kappa_labels(own: TableReview, words: Words) -> str:
    """Which labels the kappas of raters, and of judge and people, tell apart."""
    labels = [label_text(label, words) for label in own.raters.pairs[0].labels]
    return words("review.kappa_labels", n=len(labels), labels=words.listed(labels))


def _title(key: str, own: TableReview, words: Words) -> str:
    return words(f"review.{key}_title", judge=own.judge, table=words(f"review.table.{own.table}"))


def _raters(own: TableReview, words: Words) -> Section:
    """Counts of decisions, and how far people agree."""
    counts = [
        (name, n)
        for name in ("n_asked", "n_labelled", "n_cannot_say", "n_conflicts", "n_open", "n_kinds")
        if (n := getattr(own, name)) or name in ("n_asked", "n_labelled")
    ]
    rows = [[words(f"review.count.{name}"), f"{n:,}"] for name, n in counts]
    sheets = [Sheet([words("review.head.items"), words("review.head.count")], rows)]
    if own.raters.pairs:
        labels = own.raters.pairs[0].labels
        names = ("first", "second", "common", "same", "kappa", "interval")
        pairs = [
            [pair.first, pair.second, f"{pair.n:,}", percent(pair.n_same / pair.n), *_cells(pair.kappa)]
            for pair in own.raters.pairs
        ]
        notes = [*_rater_notes(own, words)]
        sheets.append(
            Sheet([words(f"review.head.{name}", n=len(labels)) for name in names], pairs, notes=notes, n_labels=2)
        )
    else:
        sheets[0].notes = [words("review.one_rater", n=len(own.raters.raters))]
    return Section("raters", _title("raters", own, words), [], sheets)


def _rater_notes(own: TableReview, words: Words) -> Iterator[str]:
    alpha = own.raters.alpha
    yield _kappa_labels(own, words)
    yield words("review.alpha", alpha=number(alpha.value, 3), interval=ends(alpha.low, alpha.high), n=own.raters.n)
    if any(pair.kappa.value != pair.kappa.value for pair in own.raters.pairs):
        yield words("review.kappa_undefined")


def _judge(own: TableReview, words: Words) -> list[Section]:
    """The judge as it judged, beside the threshold that labels give."""
    agreement, calibration = own.agreement, own.calibration
    if agreement is None or calibration is None:
        return [Section("judge", _title("judge", own, words), [Paragraph(words("review.no_labels"))])]
    calibrated = calibration.threshold is not None
    now = {name: getattr(agreement, name) for name in _RATES}
    then = {name: getattr(calibration, name) for name in _RATES}
    rows = [
        [words(f"calibration.{name}"), *_cells(now[name]), *(_cells(then[name]) if calibrated else [])]
        for name in _RATES
    ]
    if own.threshold is not None and calibration.threshold is not None:
        threshold = calibration.threshold
        rows.insert(0, [words("review.threshold"), f"{own.threshold:g}", "", *_cells(threshold)])
    rows.append([words("review.auc"), *_cells(agreement.auc), *(["", ""] if calibrated else [])])
    if calibration.human is not None:
        human = calibration.human
        cells = ["", "", *_cells(human.kappa)] if calibrated else _cells(human.kappa)
        rows.append([words("calibration.human_kappa", n=human.n), *cells])
    heads = ["what", "now", "interval", *(["calibrated", "interval"] if calibrated else [])]
    sheets = [
        Sheet([words(f"review.head.{name}") for name in heads], rows),
        confusion_sheet(agreement.confusion, words),
    ]
    if agreement.curve:
        sheets.append(_curve(agreement, words))
    notes = [Paragraph(text) for text in calibration_texts(calibration, words, of_raters=False)]
    return [Section("judge", _title("judge", own, words), notes, sheets)]


def _curve(agreement: JudgeAgreement, words: Words) -> Sheet:
    """The share that people call supported, by the judge's score."""
    rows = [
        [ends(point.score_low, point.score_high, 2), f"{point.n:,}", percent(point.supported.value),
         ends(point.supported.low, point.supported.high, 2)]
        for point in agreement.curve
    ]  # fmt: skip
    names = ("score", "count", "supported", "interval")
    return Sheet([words(f"review.head.{name}") for name in names], rows)


def _shares(own: TableReview, words: Words) -> Section:
    """The share of sentences that are supported, by judge and people."""
    rows, notes = [], []
    for share in own.shares:
        rate = share.corrected
        rows.append([share.system, f"{share.n:,}", percent(share.judged, 1), percent(rate.value, 1),
                     words("review.to", low=percent(rate.low, 1), high=percent(rate.high, 1))
                     if rate.undefined is None else "–"])  # fmt: skip
        if rate.undefined is not None:
            notes.append(words(f"review.undefined.{rate.undefined}", system=share.system))
    names = ("system", "population", "by_judge", "by_rates", "interval")
    sheet = Sheet([words(f"review.head.{name}") for name in names], rows, notes=[*notes, words("review.shares_note")])
    return Section("shares", _title("shares", own, words), [], [sheet])


def _strata(own: TableReview, words: Words) -> Section:
    """A table of what was drawn of which part."""
    several = len({row.system for row in own.strata}) > 1
    rows = [
        [*([row.system] if several else []), stratum_text(row.name, words), f"{row.n:,}", f"{row.n_drawn:,}",
         f"{row.n_decided:,}"]
        for row in own.strata
    ]  # fmt: skip
    names = (*(("system",) if several else ()), "stratum", "count", "drawn", "labelled")
    sheet = Sheet([words(f"review.head.{name}") for name in names], rows, n_labels=1 + several)
    return Section("strata", _title("strata", own, words), [], [sheet])


def stratum_text(name: str, words: Words) -> str:
    """The name of a stratum in words: labels and scores of the judge.

    >>> from steelyard.reports.words import read_words
    >>> stratum_text("contradicted/not_found 0-0.31", read_words("zh"))
    '相矛盾/无依据 0–0.31'
    """
    if name in ("disputed", "all"):
        return words(f"review.stratum.{name}")
    labels, space, scores = name.rpartition(" ")
    if not space and not name[:1].isdigit():
        labels, scores = scores, ""
    texts = "/".join(label_text(label, words) for label in labels.split("/") if label)
    return " ".join(filter(None, [texts, scores.replace("-", "–")]))


def _report_data(report: ReviewReport) -> dict[str, Any]:
    return {
        "systems": list(report.systems),
        "means": [
            {"system": system, "measure": name, **correction_json(correction)}
            for system, corrections in report.scores.corrections.items()
            for name, correction in corrections.items()
        ],
        "tables": [asdict(own) for own in report.tables],
    }


VIEWS: dict[type[Result], View[Any]] = {
    Calibration: sections_view(
        "a calibration",
        lambda own, words: [calibration_section(own, words)],
        lambda own: own.content,
        _brief_calibration,
        picture=calibration_picture,
    ),
    ReviewReport: sections_view(
        "a review",
        report_sections,
        _report_data,
        _brief_report,
        picture=lambda own, words: scores_picture(own.scores, words),
    ),
}
