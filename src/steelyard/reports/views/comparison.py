"""A comparison: its verdict, a sheet for each measure, those of drift, segments and settings; and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.json_text import plain
from steelyard.comparison.drift import Drift
from steelyard.comparison.plan import Family
from steelyard.comparison.result import COLUMNS, Comparison, ComparisonRow, Segmentation
from steelyard.comparison.sensitivity import Sensitivity
from steelyard.data.segments import LENGTHS, UNTAGGED
from steelyard.reports.views.cautions import careful, dangers, shared_documents
from steelyard.reports.views.changes import (
    changes_json,
    changes_sheets,
    changes_text,
    settings_json,
    settings_notes,
    settings_sheet,
)
from steelyard.reports.views.comparison_notes import (
    family_text,
    label_notes,
    left_out_notes,
    letter_notes,
    luck_notes,
    method_notes,
    missing_notes,
    needed_notes,
    secondary_notes,
    tie_notes,
    unlabelled_notes,
    unpaired_notes,
    unsure_orders,
    weighing_notes,
)
from steelyard.reports.views.corrections import label_correction_notes, labels_json
from steelyard.reports.views.notes import component_notes, notes_json, signature_note
from steelyard.reports.views.numbers import number, p_text, percent, signed
from steelyard.reports.views.picture import Intervals, Kind, Mark
from steelyard.reports.views.verdicts import (
    column_head,
    counts_text,
    difference_text,
    group_letters,
    headline,
    interval_text,
    no_test_text,
    signed_ends,
    verdict_ends,
    verdict_text,
)
from steelyard.reports.views.view import Block, Column, Look, Sheet, Text, View, sheet_of
from steelyard.reports.visible import single_line, visible
from steelyard.reports.words import Words, read_words

MARKS = {"better": "†", "worse": "‡"}
"""Signs of systems that differ from the reference, for papers."""

_WIDE = 120
"""Columns from which on a table has room for the relative change."""

_FEW_ROWS, _MOST_ROWS = 12, 10
"""So many systems a short table shows all of; of more, so many and the baseline."""

_OF_ROWS = [name for name in COLUMNS if name not in ("segment", "measure", "groups")]


def _blocks(comparison: Comparison, look: Look, **options: object) -> Iterator[Block]:
    """The verdict, tables, and the questions that moved."""
    yield Text(headline(comparison, look.words), "bold")
    has_room = look.format != "table" or look.width is None or look.width >= _WIDE
    yield from comparison_sheets(comparison, look.words, relative=has_room)
    for changes in comparison.changes:
        if look.format == "table":
            yield Text(changes_text(changes, look.words, width=look.width).removesuffix("\n"), "laid out")
        else:
            yield from changes_sheets(changes, look.words)


def _brief(comparison: Comparison, look: Look, *, movers: bool = False) -> Iterator[Block]:
    """The verdict, means and differences, segments where there are some, and what to be careful with.

    movers   whether the questions that moved were asked for
    """
    yield Text(headline(comparison, look.words), "bold")
    sheets = [brief_sheet(comparison, look.words)]
    sheets += [replace(sheet, notes=[]) for sheet in segment_sheets(comparison, look.words)]
    sheets[-1].notes += careful(comparison_cautions(comparison, look.words), look)
    yield from sheets
    for changes in comparison.changes if movers else ():
        yield Text(changes_text(changes, look.words, width=look.width).removesuffix("\n"), "laid out")


def brief_sheet(comparison: Comparison, words: Words) -> Sheet:
    """The primary measure in full, of all others the means, marked where systems differ from the reference."""
    primary = comparison.primary
    names = ("questions", "mean", "value", "difference", "interval", "p", "verdict")
    cells = {name: text for name, text in _cells(comparison, primary, words, brief=True).items() if name in names}
    columns = [Column(column_head(name, comparison, words), text) for name, text in cells.items()]
    others = [str(measure) for measure in comparison.measures[1:]]
    columns += [
        Column(measure, partial(_mean_and_mark, rows=_rows_by_system(comparison, measure))) for measure in others
    ]
    rows = comparison.rows[primary]
    shown = [row for place, row in enumerate(rows) if place < _MOST_ROWS or row.is_reference or len(rows) <= _FEW_ROWS]
    sheet = sheet_of(shown, [Column[ComparisonRow](primary, lambda row: row.system), *columns])
    sheet.spare = [1 + list(cells).index("p")]
    if any(cell.endswith((*MARKS.values(),)) for row in sheet.rows for cell in row):
        sheet.notes.append(words("brief.marks", reference=comparison.reference))
    if len(shown) < len(rows):
        sheet.notes.append(words("brief.more_systems", n=len(rows) - len(shown)))
    return sheet


def _rows_by_system(comparison: Comparison, measure: str) -> dict[str, ComparisonRow]:
    return {row.system: row for row in comparison.rows[measure]}


def _mean_and_mark(row: ComparisonRow, rows: Mapping[str, ComparisonRow]) -> str:
    """The mean of the system of a row by another measure, with the sign of its verdict."""
    other = rows[row.system]
    return number(other.mean) + MARKS.get(other.verdict, "")


def comparison_cautions(comparison: Comparison, words: Words) -> Iterator[str]:
    """Cautions about the verdict, the gravest first."""
    primary, rows = comparison.primary, comparison.rows[comparison.primary]
    yield from unpaired_notes(comparison, words)
    if comparison.luck is not None and comparison.luck.n_systems > len(rows):
        yield from luck_notes(comparison, words)
    if comparison.sensitivity is not None:
        yield from unlabelled_notes(comparison.sensitivity, 0, words)
        labelled = np.full(len(comparison.sensitivity.systems), comparison.sensitivity.labelled)
        yield from unsure_orders(comparison.sensitivity, labelled, words)
    yield from missing_notes(comparison, words)
    yield from left_out_notes(comparison, primary, words)
    yield from _untested_notes(comparison, words)
    yield from label_correction_notes(comparison, primary, words)
    yield from shared_documents(comparison.recipe, words, n=rows[0].n, n_clusters=rows[0].n_clusters)
    yield from dangers(comparison.notes, words, n_systems=len(rows))
    if comparison.settings is not None:
        yield from settings_notes(comparison.settings, words)
    yield from letter_notes(comparison, primary, words)
    yield from component_notes(comparison.components, words)


def comparison_picture(comparison: Comparison, words: Words) -> Intervals | None:
    """The differences to the baseline or leader by the first measure; None where there is none."""
    measure = str(comparison.measures[0])
    rows = [row for row in comparison.rows[measure] if not row.is_reference and np.isfinite(row.difference)]
    if not rows:
        return None
    kinds: dict[str, Kind] = {"better": "better", "worse": "worse"}
    marks = [
        Mark(row.system, row.difference, *verdict_ends(row), difference_text(row), kinds.get(row.verdict, "unclear"))
        for row in rows
    ]
    listed = [
        words("charts.differences.of", system=single_line(row.system), difference=difference_text(row),
              interval=interval_text(row, comparison, words), verdict=verdict_text(row, comparison, words))
        for row in rows
    ]  # fmt: skip
    values = {"measure": measure, "reference": single_line(comparison.reference)}
    margin = comparison.margin
    return Intervals(
        words("charts.differences.title", **values),
        words("charts.differences.description", listed=words.listed(listed), **values),
        marks, line=0.0, band=None if margin is None else (-margin, margin), scale="differences",
    )  # fmt: skip


def comparison_sheets(
    comparison: Comparison, words: Words | None = None, *, relative: bool = False, marks: bool = False
) -> Iterator[Sheet]:
    """One sheet a measure, the first one with what holds for all; then of judge drift, of segments and of settings.

    words       English by default
    relative   with a column for the difference as a share of the baseline's mean
    marks      † and ‡ at the means of better and worse systems, for a paper; explained in the notes
    """
    words = words or read_words("en")
    yield from measure_sheets(comparison, words, relative=relative, marks=marks)
    if (drift := drift_sheet(comparison, words)) is not None:
        yield drift
    yield from segment_sheets(comparison, words)
    if comparison.settings is not None and (differing := settings_sheet(comparison.settings, words)) is not None:
        yield differing


def measure_sheets(
    comparison: Comparison, words: Words, *, relative: bool = False, marks: bool = False
) -> Iterator[Sheet]:
    """The sheets of the measures alone, of `comparison_sheets`."""
    for position, measure in enumerate(map(str, comparison.measures)):
        sheet = _measure_sheet(comparison, measure, words, relative=relative, marks=marks)
        if comparison.sensitivity is not None:
            sheet.notes += label_notes(comparison.sensitivity, position, words)
            sheet.notes += tie_notes(comparison.sensitivity, position, words)
        if position == 0:
            sheet.notes += [*luck_notes(comparison, words), *missing_notes(comparison, words)]
            sheet.notes += weighing_notes(comparison, words)
            sheet.notes += [*method_notes(comparison, words)]
            sheet.notes += [words("compare.marks", reference=comparison.reference)] if marks else []
            sheet.notes += settings_notes(comparison.settings, words) if comparison.settings is not None else []
            sheet.notes += signature_note(comparison.signature, words)
        yield sheet


def _measure_sheet(comparison: Comparison, measure: str, words: Words, *, relative: bool, marks: bool) -> Sheet:
    rows = comparison.rows[measure]
    cells = _cells(comparison, measure, words, relative=relative, marks=marks)
    columns = [Column(column_head(name, comparison, words), text) for name, text in cells.items()]
    sheet = sheet_of(rows, [Column(measure, lambda row: row.system), *columns])
    apart = any(row.reason == "other judge" for row in rows)
    # The order of the rows is that of the means, so that the first row says which value is the best.
    sheet.best = {(r, 1) for r, row in enumerate(rows) if rows[0].mean == row.mean != rows[-1].mean and not apart}
    sheet.notes += label_correction_notes(comparison, measure, words)
    sheet.notes += left_out_notes(comparison, measure, words)
    sheet.notes += letter_notes(comparison, measure, words)
    sheet.notes += needed_notes(rows, words)
    return sheet


def _cells(
    comparison: Comparison, measure: str, words: Words, *, relative: bool = False, marks: bool = False,
    brief: bool = False,
) -> dict[str, Callable[[ComparisonRow], str]]:  # fmt: skip
    """Head -> the cell of a row by one measure; brief without what the headline says of the verdict."""
    letters = group_letters(comparison.groups.get(measure, []))
    is_percentile = any(str(spec) == measure and spec.share is not None for spec in comparison.measures)
    return {
        **({"questions": lambda row: f"{row.n:,}"} if comparison.common is not None else {}),
        "value" if is_percentile else "mean": lambda row: (
            number(row.mean) + (MARKS.get(row.verdict, "") if marks else "")
        ),
        "difference": difference_text,
        **({"relative": lambda row: percent(row.relative, 1, sign=True)} if relative else {}),
        "interval": lambda row: interval_text(row, comparison, words),
        "p": lambda row: p_text(row.adjusted),
        "effect": lambda row: "–" if row.is_reference else signed(row.effect, 2),
        "counts": counts_text,
        **({"group": lambda row: letters.get(row.system, "")} if letters else {}),
        "verdict": lambda row: (
            _brief_verdict(row, comparison, words) if brief else verdict_text(row, comparison, words, in_table=True)
        ),
    }


_FEW = ("few_anchors", "few_labels", "no_gold")
_OTHERWISE = {"few anchors", "few labels", "no gold", "other judge"}
"""Reasons that have a note of their own, or that of the whole comparison."""


_SegmentRow = tuple[str, ComparisonRow, Comparison]
"""Name of a segment, the row of a system in it, and the comparison of its questions."""


def segment_sheets(comparison: Comparison, words: Words) -> Iterator[Sheet]:
    """One sheet a measure, the first with what holds for all; none where questions are not parted."""
    segmentation = comparison.segmentation
    if segmentation is None:
        return
    several = len(comparison.rows[str(comparison.measures[0])]) > 2
    for position, measure in enumerate(map(str, comparison.measures)):
        rows = [
            (segment_text(name, segmentation.by, words) + (f" · {row.system}" if several else ""), row, part)
            for name, part in comparison.segments.items()
            for row in part.rows[measure]
            if not row.is_reference
        ]
        title = words("compare.segments.title", measure=measure, by=words(f"compare.by.{segmentation.by or 'mask'}"))
        cells: dict[str, Callable[[_SegmentRow], str]] = {
            "questions": lambda own: f"{own[1].n:,}",
            "difference": lambda own: difference_text(own[1]),
            "interval": lambda own: interval_text(own[1], own[2], words),
            "p": lambda own: p_text(own[1].adjusted),
            "counts": lambda own: counts_text(own[1]),
            "detectable": lambda own: f"{own[1].detectable:.3f}" if np.isfinite(own[1].detectable) else "–",
            "verdict": lambda own: _short_verdict(own[1], own[2], words),
        }
        columns = [Column(column_head(name, comparison, words), text) for name, text in cells.items()]
        notes = list(_notes(comparison, segmentation, words)) if position == 0 else []
        notes += untested_segments([row for _, row, _ in rows], words)
        yield sheet_of(rows, [Column[_SegmentRow](title, lambda own: own[0]), *columns], notes)


def untested_segments(rows: Sequence[ComparisonRow], words: Words) -> list[str]:
    """Why some segments have no test."""
    untested = {row.reason for row in rows if row.verdict == "no test"}
    notes = [words("compare.segments.no_test")] if untested - _OTHERWISE else []
    return notes + [words(f"compare.segments.{few}") for few in _FEW if few.replace("_", " ") in untested]


def _untested_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    """Why systems have no test by the first measure, and segments by any."""
    for row in comparison.rows[comparison.primary]:
        if row.verdict == "no test" and row.reason != "other judge":
            reason = no_test_text(row, words)
            yield words("scores.gold.of", systems=row.system, note=words("compare.verdict.no_test", reason=reason))
    yield from untested_segments(
        [row for part in comparison.segments.values() for rows in part.rows.values() for row in rows], words
    )


def segment_text(name: str, by: str | None, words: Words) -> str:
    """The name of a segment for a reader; a tag, and the name of a mask of one's own, is its own name."""
    if by is None or (by == "tag" and name != UNTAGGED):
        return name
    return words(f"compare.segment.{name.strip('()')}")


def _short_verdict(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """The verdict without figures that a headline or a column has."""
    key = {"no difference shown": "no_difference", "no test": "untested"}.get(row.verdict)
    return words(f"compare.verdict.{key}") if key else verdict_text(row, comparison, words)


def _brief_verdict(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """The verdict in two or three words, with the margin where it is by that."""
    by_margin = {"not worse": "equivalent" if row.equivalent else "not_worse"}.get(row.verdict)
    if by_margin is not None:
        return words(f"brief.{by_margin}", margin=f"{comparison.margin:g}")
    return (
        words(f"compare.verdict.{row.verdict}")
        if row.verdict in ("better", "worse")
        else _short_verdict(row, comparison, words)
    )


def _notes(comparison: Comparison, segmentation: Segmentation, words: Words) -> Iterator[str]:
    yield words(
        "compare.segments.how",
        test=words(f"compare.test.{segmentation.test}"),
        alpha=f"{comparison.alpha:g}",
        correction=words(f"compare.method.{segmentation.correction}"),
        family=family_text(comparison, segmentation.families[0], words, segments=len(segmentation.names)),
    )
    yield from secondary_notes(comparison, segmentation.families, words, segments=len(segmentation.names))
    if segmentation.by == "tag":
        yield words("compare.segments.tag")
    if segmentation.lengths:
        listed = words("compare.segments.between").join(_lengths(segmentation.lengths, words))
        yield words("compare.segments.bounds", listed=listed)


def _lengths(lengths: Mapping[str, Mapping[str, tuple[int, int]]], words: Words) -> Iterator[str]:
    """Which questions of each language are short, medium and long."""
    for code, bounds in lengths.items():
        listed = [
            words("compare.segments.of_length", name=words(f"compare.segment.{length}"), fewest=bounds[length][0],
                 most=bounds[length][1])
            for length in LENGTHS if length in bounds
        ]  # fmt: skip
        named = words(f"compare.segment.{code}")
        yield words("compare.segments.of_language", language=named, listed=words("list.comma").join(listed))


_HEADS = ("measure", "as_judged", "shift", "interval", "without", "share", "anchors", "bound", "verdict")
_UNLIKE = 0.05
"""Of the checks of anchors."""


def drift_sheet(comparison: Comparison, words: Words) -> Sheet | None:
    """A row for each system that another judge judged than the baseline, and measure; None where one judged all."""
    drift = comparison.drift
    if drift is None:
        return None
    rows = [
        [
            row["system"], row["measure"], signed(_number(row["as_judged"]), 4), signed(_number(row["shift"]), 4),
            signed_ends(_number(row["shift_low"]), _number(row["shift_high"]), words),
            signed(_number(row["difference"]), 4), percent(row["share"]), f"{row['n_anchors']:,}",
            signed_ends(_number(row["bound_low"]), _number(row["bound_high"]), words),
            words(f"compare.drift.verdict.{row['bound_verdict'].split()[0]}"),
        ]
        for row in drift.frame.iter_rows(named=True)
    ]  # fmt: skip
    level = f"{100 * (1 - comparison.alpha):g}"
    header = [words("compare.drift.title"), *(words(f"compare.drift.head.{head}", level=level) for head in _HEADS)]
    differing = [
        words("compare.drift.differs", system=system, baseline=comparison.reference, difference=difference)
        for system, difference in drift.differing.items()
    ]
    origin = words(f"compare.drift.{'frozen' if drift.frozen else 'own'}")
    notes = [*map(visible, differing), words("compare.drift.how", baseline=comparison.reference, anchors=origin)]
    if (drift.frame["elsewhere"] > 0).any():
        notes.append(words("compare.drift.bound"))
        notes += map(visible, _likeness(drift, words))
    notes += _by_people(drift, words)
    return Sheet(header, rows, set(), notes, n_labels=2)


def _by_people(drift: Drift, words: Words) -> Iterator[str]:
    """The differences that people would find, by the calibration of the baseline's judge."""
    for row in drift.frame.drop_nulls("people").iter_rows(named=True):
        ends = signed_ends(row["people_low"], row["people_high"], words)
        names = {"system": visible(row["system"]), "measure": row["measure"]}
        yield words("compare.drift.people", difference=signed(row["people"], 4), ends=ends, **names)


def _likeness(drift: Drift, words: Words) -> Iterator[str]:
    """Notes on what the checks of anchors say of each system and measure, or that there are none."""
    for row in drift.frame.filter(pl.col("elsewhere") > 0).iter_rows(named=True):
        names = {"system": row["system"], "measure": row["measure"]}
        if row["score"] is None and row["length"] is None:
            yield words("compare.drift.unchecked", **names)
            continue
        unlike, moving = (
            [name for name in ("score", "length") if (row[f"{of}{name}"] or 1.0) <= _UNLIKE] for of in ("", "moved_")
        )
        if unlike:
            how = words.listed([words(f"compare.drift.by.{name}") for name in unlike])
            yield words("compare.drift.unlike", **names, how=how)
        else:
            p = [p_text(_number(row[name]), sign=True) for name in ("score", "length")]
            yield words("compare.drift.alike", **names, score=p[0], length=p[1])
        if moving:
            how = words.listed([words(f"compare.drift.by.{name}") for name in moving])
            yield words("compare.drift.moves", **names, how=how)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _data(comparison: Comparison) -> dict[str, Any]:
    """Everything; rows have the columns of `Comparison.frame`."""
    sensitivity, settings = comparison.sensitivity, comparison.settings
    return {
        "signature": str(comparison.signature),
        "headline": headline(comparison, read_words("en")),
        "baseline": comparison.baseline,
        "reference": comparison.reference,
        "test": comparison.test,
        "correction": comparison.correction,
        "primary": comparison.primary,
        **_families(comparison.families),
        "alpha": comparison.alpha,
        "margin": comparison.margin,
        "seed": comparison.seed,
        "missing": comparison.missing,
        **({} if comparison.luck is None else {"luck": asdict(comparison.luck)}),
        **({} if comparison.common is None else {"common": dict(comparison.common)}),
        **({"notes": notes_json(comparison.notes)} if comparison.notes else {}),
        "measures": _measures(comparison),
        "agreement": [asdict(agreement) for agreement in comparison.agreement],
        "components": comparison.components.to_dicts(),
        **({} if comparison.labels is None else {"labels": labels_json(comparison.labels)}),
        **({} if (drift := comparison.drift) is None else {"drift": {
            "frozen": drift.frozen, "differing": dict(drift.differing), "systems": drift.frame.to_dicts(),
        }}),
        "segments": _segments(comparison),
        "sensitivity": None if sensitivity is None else _sensitivity(sensitivity),
        "changes": [changes_json(change) for change in comparison.changes],
        "settings": None if settings is None else settings_json(settings),
        "recipe": comparison.recipe,
    }  # fmt: skip


def _measures(comparison: Comparison) -> dict[str, Any]:
    return {
        measure: {
            "questions": comparison.n[measure],
            "left_out": comparison.left_out[measure],
            "lacking": comparison.lacking[measure],
            "systems": [_row(row, comparison) for row in rows],
            "groups": comparison.groups.get(measure),
        }
        for measure, rows in comparison.rows.items()
    }


def _families(families: Sequence[Family]) -> dict[str, Any]:
    """The families of the correction: that of the primary measure, and of the secondary ones; null without any."""
    return {"family": families[0].covers, "secondary": asdict(families[1]) if len(families) > 1 else None}


def _row(row: ComparisonRow, comparison: Comparison) -> dict[str, Any]:
    values = {name: plain(getattr(row, name)) for name in _OF_ROWS}
    return {**values, "in_words": verdict_text(row, comparison, read_words("en"))}


def _segments(comparison: Comparison) -> dict[str, Any] | None:
    segmentation = comparison.segmentation
    if segmentation is None:
        return None
    return {
        "by": segmentation.by,
        "test": segmentation.test,
        "correction": segmentation.correction,
        **_families(segmentation.families),
        "lengths": segmentation.lengths,
        "parts": {name: {"measures": _measures(part)} for name, part in comparison.segments.items()},
    }


def _sensitivity(sensitivity: Sensitivity) -> dict[str, Any]:
    left_out = {"measure", "system", "mean", *(() if sensitivity.labelled else ("low", "high", "judged"))}
    content: dict[str, Any] = {}
    for row in sensitivity.frame.iter_rows(named=True):
        figures = {name: value for name, value in row.items() if name not in left_out}
        content.setdefault(row["measure"], {})[row["system"]] = figures
    return content


def _csv_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """A row for each measure and system, then the same of each segment, with verdicts in English.

    `group` has the letters of the groups of systems that are not shown to differ.
    """
    rows = []
    for segment, part in [("", comparison), *comparison.segments.items()]:
        for measure, systems in part.rows.items():
            letters = group_letters(part.groups.get(measure, []))
            rows += [
                {"measure": measure, **_row(row, part), "group": letters.get(row.system), "segment": segment}
                for row in systems
            ]
    return rows


VIEWS = {
    Comparison: View[Comparison](
        "a comparison",
        blocks=_blocks,
        brief=_brief,
        data=lambda comparison, words, **options: _data(comparison),
        has_parts=True,
        rows=lambda comparison, **options: _csv_rows(comparison),
        options=("movers",),
        papers=lambda comparison, words, **options: comparison_sheets(comparison, words, marks=True),
        picture=comparison_picture,
    )
}
