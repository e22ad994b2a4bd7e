"""Reviews as sections: rounds, calibrations, and what labels say of raters, judge and means."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from steelyard.base.result import Result
from steelyard.experiment.table.json import correction_json
from steelyard.judges.people.calibration import Calibration, Confusion, Estimate
from steelyard.reports.details.limits import one_line
from steelyard.reports.views.corrections import corrected_sheet
from steelyard.reports.views.numbers import ends, number, percent
from steelyard.reports.views.picture import Intervals, Mark, described
from steelyard.reports.views.scores import scores_picture
from steelyard.reports.views.view import Paragraph, Section, Sheet, View
from steelyard.reports.words import Words
from steelyard.reviewing.agreement import JudgeAgreement
from steelyard.reviewing.forms import INTO, Conflict, ImportedLabels, Kind, into_options
from steelyard.reviewing.pools import PooledReview
from steelyard.reviewing.reporting import ReviewReport, TableReview
from steelyard.reviewing.rounds import SampledReview

_SHOWN, _LONGEST = 20, 160
_RATES = ("kappa", "sensitivity", "specificity", "balanced_accuracy")


def sample_sections(sampled: SampledReview, words: Words) -> list[Section]:
    """Sections on what was drawn of each system, and how decisions come back."""
    drawn, form = sampled.round, sampled.form
    table = words(f"review.table.{drawn.table}")
    notes = [words("review.form_asks_conflicts", asked=len(drawn.asked))]
    sheets = []
    if not drawn.adjudicating:
        samples = [(own.name, sample) for own in drawn.systems if (sample := own.review.sample(drawn.table, own.name))]
        rows = [
            [name, f"{sample.n_members:,}", f"{len(sample.drawn):,}", percent(len(sample.drawn) / sample.n_members),
             f"{drawn.n_new[name]:,}"]
            for name, sample in samples
        ]  # fmt: skip
        counted = "answers" if samples[0][1].unit == "answer" else "population"
        names = ("system", counted, "drawn", "share", "new")
        notes = [words("review.form_asks", asked=len(drawn.asked), decided=drawn.n_decided)]
        notes += [words("review.kept", file=str(file)) for file in sampled.files]
        sheets = [Sheet([words(f"review.head.{name}") for name in names], rows, notes=notes)]
    title = words("review.adjudicate_title" if drawn.adjudicating else "review.sample_title", table=table)
    paragraphs = [] if sheets else [Paragraph(note) for note in notes]
    files = {own.name: own.file for own in drawn.systems if own.file is not None}
    return [Section("sample", title, paragraphs, sheets), _next(form, files, words)]


def pool_sections(pooled: PooledReview, words: Words) -> list[Section]:
    """Sections on how many pairs, or questions, there are, how many people decided, and how many the form asks."""
    counts = (("pool", pooled.n_pool), ("before", pooled.n_before), ("now", len(pooled.asked)))
    rows = [[words(f"review.pool.{name}"), f"{n:,}"] for name, n in counts]
    head = [words(f"review.pool.{pooled.kind}"), words("review.head.count")]
    sheet = Sheet(head, rows, notes=[words("review.into", file=str(pooled.into))])
    title = words(f"review.{pooled.kind}_title")
    return [Section("sample", title, [], [sheet]), _next(pooled.form, {INTO: pooled.into}, words)]


def _next(form: Path, files: Mapping[str, Path], words: Words) -> Section:
    """Lines on how decisions come back, and where they go: system -> file, or `INTO` -> file."""
    command = f"steelyard review import {shlex.quote(str(form.parent))}/*.json {into_options(files, form.parent)}"
    return Section(
        "next",
        words("judging.next"),
        [
            Paragraph(words("review.form", form=str(form), folder=str(form.parent))),
            Paragraph(command.rstrip(), is_command=True),
        ],
    )


def import_sections(result: ImportedLabels, words: Words) -> list[Section]:
    """Sections on what was imported from each person, what is left to decide, and conflicts."""
    further = ("n_changed", "n_older", "n_cannot_say")
    columns = ["n", "n_new", *(name for name in further if any(getattr(own, name) for own in result.raters))]
    rows = [[own.rater, *(f"{getattr(own, name):,}" for name in columns)] for own in result.raters]
    head = [words("review.head.rater"), *(words(f"review.head.{name}") for name in columns)]
    notes = [words("review.n_decided", decided=result.n_decided, total=result.n_asked)]
    notes += [words("review.kept", file=str(file)) for file in result.files]
    sections = [Section("import", words("review.import_title"), [], [Sheet(head, rows, notes=notes)])]
    if result.conflicts:
        sections.append(conflicts_section(result.conflicts, result.kind, words))
    return sections


def conflicts_section(conflicts: Sequence[Conflict], kind: Kind, words: Words) -> Section:
    """Items that raters are at odds about: who says what of a sentence, and what was asked."""
    paragraphs = [
        Paragraph(
            words(
                "review.conflict",
                query=one_line(own.item.query, _LONGEST),
                sentence=one_line(own.item.text, _LONGEST),
                labels=words.listed([f"{rater}: {label_text(value, words)}" for rater, value in own.opinions]),
            )
        )
        for own in conflicts[:_SHOWN]
    ]
    more = [words("review.more", n=len(conflicts) - _SHOWN)] if len(conflicts) > _SHOWN else []
    paragraphs += [Paragraph(text) for text in (*more, words(f"review.adjudicate.{kind}"))]
    return Section("conflicts", words("review.conflicts_title", n=len(conflicts)), paragraphs)


def label_text(label: str, words: Words) -> str:
    """A label of a judge or a person in words; a grade as it is."""
    if label == "cannot_say":
        return words("review.cannot_say")
    return words(f"judging.label.{label}") if f"judging.label.{label}" in words else label


def calibration_section(calibration: Calibration, words: Words) -> Section:
    """Numbers of the judge with their intervals, and how often it and people say the same."""
    rows = []
    if calibration.threshold is not None:
        rows.append([words("calibration.threshold"), *_cells(calibration.threshold)])
    rows += [[words(f"calibration.{name}"), *_cells(getattr(calibration, name))] for name in _RATES]
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
    labels = [label_text(label, words) for label in own.raters.pairs[0].labels]
    yield words("review.kappa_labels", n=len(labels), labels=words.listed(labels))
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


# How they are written ------------------------------------------------------------------------------------------------


def _sample_data(result: SampledReview) -> dict[str, Any]:
    drawn = result.round
    samples = {own.name: own.review.sample(drawn.table, own.name) for own in drawn.systems}
    return {
        "table": drawn.table,
        "adjudicating": drawn.adjudicating,
        "form": result.form,
        "items": result.items,
        "files": result.files,
        "n_asked": len(drawn.asked),
        "n_decided": drawn.n_decided,
        "samples": [
            {
                "system": name, "unit": sample.unit, "seed": sample.seed, "n": sample.n_members,
                "n_drawn": len(sample.drawn), "n_new": drawn.n_new[name],
                "strata": [
                    {"name": stratum.name, "n": len(stratum.members), "n_drawn": len(stratum.drawn)}
                    for stratum in sample.strata
                ],
            }
            for name, sample in samples.items() if sample is not None
        ],
    }  # fmt: skip


def _pool_data(result: PooledReview) -> dict[str, Any]:
    return {
        "kind": result.kind, "form": result.form, "items": result.items, "into": result.into,
        "n_asked": len(result.asked), "n_pool": result.n_pool, "n_decided": result.n_before,
    }  # fmt: skip


def _import_data(result: ImportedLabels) -> dict[str, Any]:
    return {
        "raters": [asdict(own) for own in result.raters],
        "n_asked": result.n_asked,
        "n_decided": result.n_decided,
        "conflicts": [
            {**asdict(own.item), "opinions": [{"rater": rater, "value": value} for rater, value in own.opinions]}
            for own in result.conflicts
        ],
        "files": result.files,
    }


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


def _view(
    name: str, sections: Callable[[Any, Words], list[Section]], data: Callable[[Any], Mapping[str, Any]],
    *, has_parts: bool = False, picture: Callable[[Any, Words], Intervals | None] | None = None,
) -> View[Any]:  # fmt: skip
    return View(
        name,
        blocks=lambda result, look: sections(result, look.words),
        data=lambda result, words: data(result),
        has_page=True,
        has_parts=has_parts,
        picture=picture,
    )


VIEWS: dict[type[Result], View[Any]] = {
    SampledReview: _view("a review", sample_sections, _sample_data),
    PooledReview: _view("a review", pool_sections, _pool_data, has_parts=True),
    ImportedLabels: _view("a review", import_sections, _import_data, has_parts=True),
    Calibration: _view(
        "a calibration",
        lambda own, words: [calibration_section(own, words)],
        lambda own: own.content,
        picture=calibration_picture,
    ),
    ReviewReport: _view(
        "a review", report_sections, _report_data, picture=lambda own, words: scores_picture(own.scores, words)
    ),
}
