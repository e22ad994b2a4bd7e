"""The segments of a comparison as sheets: a row a segment and system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from steelyard.comparison.result import Comparison, ComparisonRow, Segmentation
from steelyard.data.segments import LENGTHS, UNTAGGED
from steelyard.report.sheets.comparison_notes import family_text, secondary_notes
from steelyard.report.sheets.sheet import Sheet, p_text
from steelyard.report.sheets.verdicts import (
    column_head,
    counts_text,
    difference_text,
    interval_text,
    verdict_text,
)
from steelyard.report.words import Words

_COLUMNS = ("questions", "difference", "interval", "p", "counts", "detectable", "verdict")


_FEW = ("few_anchors", "few_labels", "no_gold")
_OTHERWISE = {"few anchors", "few labels", "no gold", "other judge"}
"""Reasons that have a note of their own, or that of the whole comparison."""


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
        header = [title, *(column_head(name, comparison, words) for name in _COLUMNS)]
        cells = [
            [name, f"{row.n:,}", difference_text(row), interval_text(row, part, words), p_text(row.adjusted),
             counts_text(row),
             f"{row.detectable:.3f}" if np.isfinite(row.detectable) else "–", _short_verdict(row, part, words)]
            for name, row, part in rows
        ]  # fmt: skip
        notes = list(_notes(comparison, segmentation, words)) if position == 0 else []
        untested = {row.reason for _, row, _ in rows if row.verdict == "no test"}
        notes += [words("compare.segments.no_test")] if untested - _OTHERWISE else []
        notes += [words(f"compare.segments.{few}") for few in _FEW if few.replace("_", " ") in untested]
        yield Sheet(header, cells, set(), notes)


def segment_text(name: str, by: str | None, words: Words) -> str:
    """The name of a segment for a reader; a tag, and the name of a mask of one's own, is its own name."""
    if by is None or (by == "tag" and name != UNTAGGED):
        return name
    return words(f"compare.segment.{name.strip('()')}")


def _short_verdict(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """The verdict without its figures, which have columns of their own."""
    key = {"no difference shown": "no_difference", "no test": "untested"}.get(row.verdict)
    return words(f"compare.verdict.{key}") if key else verdict_text(row, comparison, words)


def _notes(comparison: Comparison, segmentation: Segmentation, words: Words) -> Iterator[str]:
    yield words(
        "compare.segments.how", test=words(f"compare.test.{segmentation.test}"), alpha=f"{comparison.alpha:g}",
        correction=words(f"compare.method.{segmentation.correction}"),
        family=family_text(comparison, segmentation.families[0], words, segments=len(segmentation.names)),
    )  # fmt: skip
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
