"""The report: its contents, and every way to write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
import polars as pl

from steelyard.base import defaults
from steelyard.base.errors import InputError
from steelyard.base.machine import named_time
from steelyard.base.options import (
    CompareOptions,
    DiagnoseOptions,
    ReportKeywords,
    ReportOptions,
    WeighOptions,
    check_names,
    with_options,
)
from steelyard.base.result import Result
from steelyard.comparison.comparison import compare_scores
from steelyard.comparison.result import Comparison
from steelyard.comparison.sensitivity import sensitivity
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose_weighing
from steelyard.experiment.door.evaluation import counting, weighed
from steelyard.experiment.parts import from_parts, parts_of
from steelyard.experiment.table.json import as_json
from steelyard.experiment.table.recipes import comparable
from steelyard.experiment.table.scores import Scores
from steelyard.gates.gating import Gate, gate
from steelyard.gates.profiles import Profile, profile_of
from steelyard.gates.ratings import rate
from steelyard.gates.values import Latencies
from steelyard.measures import Measure
from steelyard.measures.aggregates import percentile
from steelyard.reports.charts.drawing import draw_charts
from steelyard.reports.charts.plot import FORMATS, save_drawings
from steelyard.reports.contents import Contents
from steelyard.reports.details.details import Details, Judging
from steelyard.reports.details.limits import LINKED, widest_questions
from steelyard.reports.formats.blocks import sheet_latex
from steelyard.reports.page.page import render
from steelyard.reports.page.slide import write_slide
from steelyard.reports.views.comparison import comparison_picture
from steelyard.reports.views.gate import gate_data, gate_sheet, heading, out_of_reach
from steelyard.reports.views.notes import signature_note
from steelyard.reports.views.picture import Intervals
from steelyard.reports.views.report import brief_report, paper_sheet, report_sections, subtitle_text, title_text
from steelyard.reports.views.scores import scores_picture
from steelyard.reports.views.view import Block, Look, Paragraph, Section, Text, View
from steelyard.reports.visible import visible
from steelyard.reports.words import Words, read_words


class Report(Contents, Result):
    """What is known of one or several systems, and how it is written.

    `report(truth, runs)` makes one; its parts are those of Contents.
    """

    VIEW = "report"

    def __new__(cls, *parts: object, **named: object) -> Self:
        """Refuse what a report is computed from.

        Raises   InputError
        """
        if parts:
            raise InputError("a Report holds what was computed; call sy.report(truth, runs)")
        return super().__new__(cls)

    @property
    def frame(self) -> pl.DataFrame:
        """The scores behind it, one row for each system, question and measure."""
        return self.scores.frame

    def parts(self) -> dict[str, Any]:
        """The report as plain data that JSON holds: scores, comparison, ratings, diagnosis and so on, by name."""
        return parts_of(self)

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """The report that `parts` took apart, without weighing again: every format of it has the same bytes.

        Raises   InputError for parts of another version, or ones that are missing.
        """
        return from_parts(cls, parts)

    def write(
        self, path: str | Path, *, format: str | None = None, lang: str | None = None, one_page: bool = False,
        **options: Any,
    ) -> None:  # fmt: skip
        """Write the report into a file, whole or not at all.

        path       its suffix names the format: .html, .md, .tex, .csv, .json, .parts.json for `read`, or plain text
        one_page   one slide, with the finding, its plot, what to try first and the gravest caution, as .html, .pdf,
                   .png or .svg
        Raises     InputError for a format in which it is not written; MissingExtraError; OutputError.
        """
        if one_page:
            write_slide(self, path, read_words(lang))
        else:
            super().write(path, format=format, lang=lang, **options)

    def save_charts(
        self, folder: str | Path, *, lang: str | None = None, formats: Sequence[str] = FORMATS
    ) -> list[Path]:
        """Write every chart as FOLDER/NAME.FORMAT, on white paper; PNG at twice the size.

        Raises   InputError for an unknown format or a folder that cannot be written; MissingExtraError.
        """
        return save_drawings(lambda: draw_charts(self, words=read_words(lang)), folder, formats=formats)

    def __repr__(self) -> str:
        return f"Report(of {self.scores!r}, {self.date})"


@with_options("report")
def report(
    truth: object,
    runs: object = None,
    measures: Iterable[str | Measure] | str | Measure = (),
    **options: Unpack[ReportKeywords],
) -> Report:
    """Report on one or several systems: scores, comparison, ratings, diagnosis and what they rest on.

    truth, runs   as of `evaluate`; or a Weighing of `weigh`, or Scores of `evaluate`, without runs
    measures   the first is the primary one; by default those of the scores, or that the profile recommends, else
               REPORT_MEASURES
    profile    what to rate by, and to judge by; without one values are rated by PROFILE, and there is no gate
    date       by default the one that SOURCE_DATE_EPOCH names, or else today's
    reranked   as of `diagnose`;   all others as of `evaluate` and `compare`
    Raises     InputError, MeasureError; MissingExtraError without SciPy where systems are compared.
    """
    check_names("report", options, ReportOptions, WeighOptions)
    weighing = weighed("report", truth, runs, WeighOptions.among(options))
    declared, counted = ReportOptions.of(options), counting(options)
    profile = profile_of(declared.profile or defaults.PROFILE)
    measures = [measures] if isinstance(measures, str | Measure) else list(measures)
    measures = measures or (list(truth.measures) if isinstance(truth, Scores) else [])
    scores = weighing.scores(weighing.measures_or(measures or profile.measures, defaults.REPORT_MEASURES), **counted)
    comparison, latencies = None, weighing.latency_ms
    if len(scores.systems) > 1 and scores.primary not in scores.without_gold:
        comparison = compare_scores(scores, weighing, CompareOptions.of(vars(declared)))
    ratings = list(rate(scores, profile, latency_ms=latencies))
    by_baseline = comparison.baseline if comparison is not None else None
    diagnosing = DiagnoseOptions(k=declared.k, baseline=by_baseline, reranked=declared.reranked)
    diagnosis = diagnose_weighing(weighing, diagnosing, scores=scores, **counted)
    today = (named_time() or datetime.now().astimezone()).date().isoformat()
    return Report(
        scores=scores,
        comparison=comparison,
        sensitivity=sensitivity(
            scores.systems,
            weighing.run_alignments,
            scores.measures,
            counted=~np.isnan(scores.values),
            n_runs=weighing.n_runs,
        ),
        profile=profile,
        ratings=ratings,
        diagnosis=diagnosis,
        details=Details.of(weighing, named=_named(scores, diagnosis)),
        notes={system: list(folder.notes) for system, folder in weighing.folders.items() if folder.notes},
        latency_ms={system: (_percentile(runs, 0.5), _percentile(runs, 0.95)) for system, runs in latencies.items()},
        gate=_gate(scores, profile, comparison, latencies) if declared.profile and ratings else None,
        judging={name: Judging.of(run) for name, run in weighing.answers.first_runs.items()},
        title=declared.title,
        date=today if declared.date is None else declared.date,
    )


def _named(scores: Scores, diagnosis: Diagnosis) -> Iterator[int]:
    """Places of the questions that advice links to, and of those on which systems differ most."""
    linked = {query_id for advice in diagnosis.advice for query_id in advice.query_ids[:LINKED]}
    yield from (q for q, query_id in enumerate(scores.query_ids) if query_id in linked)
    yield from widest_questions(scores.values[:, 0]).tolist()


def _percentile(runs: Sequence[Sequence[float]], share: float) -> float:
    """A percentile of the values of all runs."""
    values = np.concatenate([np.asarray(run, np.float64) for run in runs])
    return percentile(share).of(values[~np.isnan(values)])


def _gate(scores: Scores, profile: Profile, comparison: Comparison | None, latency_ms: Latencies) -> Gate | None:
    """The profile's gate; against the baseline where a margin, or the profile, says what may be lost or must be won.

    Nothing is held against a baseline that was judged in another way.
    """
    level = next(iter(profile.levels), None)
    measured = (profile.standard_of(measure) for measure in scores.measures)
    if not any(standard is not None and level in standard.levels for standard in measured):
        return None
    has_baseline = comparison is not None and comparison.baseline is not None and all(comparable(scores))
    if comparison is None or not has_baseline or (comparison.margin is None and profile.relative is None):
        return gate(scores, profile=profile, latency_ms=latency_ms)
    return gate(
        scores, profile=profile, baseline=comparison.baseline, margin=comparison.margin, latency_ms=latency_ms,
        alpha=comparison.alpha,
    )  # fmt: skip


def _blocks(report: Report, look: Look) -> Iterator[Block]:
    """Title and date, the sections of every report, and the gate behind the ratings."""
    words = look.words
    if look.format == "table":
        yield Text(_head(report, words))
    else:
        yield Text(title_text(report, words), "heading")
        yield Text(f"{subtitle_text(report, words)}{words('diagnose.between')}{report.date}")
    for section in report_sections(report, words):
        yield section
        if section.name == "ratings" and report.gate is not None:
            lines = [*out_of_reach(report.gate, words), heading(report.gate, words)]
            sheets = [gate_sheet(report.gate, words)]
            yield Section("gate", words("page.gate.title"), list(map(Paragraph, lines)), sheets)


def _head(report: Report, words: Words) -> str:
    return f"{title_text(report, words)} · {report.date}"


def _latex(report: Report, look: Look) -> str:
    """One table for a paper: all measures, best in bold, marks explained in the caption; what it is of as comments."""
    head = [_head(report, look.words), *signature_note(report.scores.signature, look.words)]
    comments = "".join(f"% {line}\n" for line in visible("\n".join(head)).split("\n"))
    return comments + sheet_latex(paper_sheet(report, look.words), words=look.words, label="report")


def _data(report: Report, words: Words) -> dict[str, Any]:
    """The data of `evaluate`, `compare` and `diagnose`, under one roof."""
    names = ("system", "measure", "level", "could_be", "out_of_reach", "value", "low", "high", "reachable")
    return {
        "title": title_text(report, words),
        "date": report.date,
        "scores": json.loads(as_json(report.scores)),
        "comparison": None if report.comparison is None else report.comparison.data(),
        "profile": report.profile.name,
        "ratings": [{name: getattr(rating, name) for name in names} for rating in report.ratings],
        "gate": None if report.gate is None else gate_data(report.gate),
        "diagnosis": report.diagnosis.data(lang=words.code),
    }


def _picture(report: Report, words: Words) -> Intervals | None:
    """The comparison of all systems, where there is one, or else their means."""
    picture = None if report.comparison is None else comparison_picture(report.comparison, words)
    return picture or scores_picture(report.scores, words)


VIEWS = {
    Report: View[Report](
        "a report",
        blocks=_blocks,
        brief=brief_report,
        data=_data,
        has_parts=True,
        rows=lambda report: report.scores.per_query,
        texts={"html": lambda report, look: render(report, words=look.words), "latex": _latex},
        picture=_picture,
    )
}
