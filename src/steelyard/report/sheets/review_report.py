"""What a review says of raters, judge and means, as sections."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.judges.calibration import Estimate
from steelyard.report.sheets.calibration import calibration_texts, confusion_sheet
from steelyard.report.sheets.corrections import corrected_sheet
from steelyard.report.sheets.review import label_text
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.sheet import Sheet, ends, number, percent
from steelyard.report.words import Words
from steelyard.review.judge_agreement import JudgeAgreement
from steelyard.review.reporting import ReviewReport, TableReview

_RATES = ("kappa", "sensitivity", "specificity", "balanced_accuracy")


def report_sections(report: ReviewReport, words: Words) -> list[Section]:
    """Corrected means first, then of each table raters, judge, shares and strata."""
    sections = []
    sheet = corrected_sheet(report.scores, words)
    if sheet is not None:
        sections.append(Section("corrected", words("review.corrected_title"), [], [sheet]))
    for own in report.tables:
        sections += [_raters(own, words), *_judge(own, words), _shares(own, words), _strata(own, words)]
    return sections


def _title(key: str, own: TableReview, words: Words) -> str:
    return words(f"review.{key}_title", judge=own.judge, table=words(f"review.table.{own.table}"))


def _raters(own: TableReview, words: Words) -> Section:
    """What was decided, and how far people agree."""
    counts = [
        (name, n) for name in ("n_asked", "n_labelled", "n_cannot_say", "n_conflicts", "n_open", "n_kinds")
        if (n := getattr(own, name)) or name in ("n_asked", "n_labelled")
    ]  # fmt: skip
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
    labels = [label_text(label, words) for label in own.raters.pairs[0].labels]
    yield words("review.kappa_labels", n=len(labels), labels=words.listed(labels))
    yield words(
        "review.alpha", alpha=number(alpha.value, 3), interval=ends(alpha.low, alpha.high), n=own.raters.n
    )  # fmt: skip
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
    rows = [[words(f"calibration.{name}"), *_cells(now[name]), *(_cells(then[name]) if calibrated else [])]
            for name in _RATES]  # fmt: skip
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
    """What share people call supported, by the judge's score."""
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
    """What was drawn of which part."""
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

    >>> from steelyard.report.words import read_words
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


def _cells(estimate: Estimate) -> list[str]:
    return [number(estimate.value, 3), ends(estimate.low, estimate.high)]
