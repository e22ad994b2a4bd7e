"""Rounds of review, and what they say of a judge, as text, Markdown or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from steelyard.base.errors import InputError
from steelyard.judges.calibration import Calibration
from steelyard.report.formats.sections import sections_markdown, sections_terminal
from steelyard.report.sheets.calibration import calibration_section
from steelyard.report.sheets.review import import_sections, sample_sections
from steelyard.report.sheets.section import Section
from steelyard.report.words import Words
from steelyard.review.importing import ImportedLabels
from steelyard.review.rounds import SampledReview

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""

Result = SampledReview | ImportedLabels | Calibration


def check_format(format: str) -> None:
    """Raise   InputError for a format that reviews are not written in."""
    if format not in ("table", "markdown", "json"):
        raise InputError(f"a review cannot be written as {format}; choose table, markdown or json")


def review_text(
    result: Result, format: str, words: Words, *, width: int | None = None, colour: bool = False
) -> str:  # fmt: skip
    """What a command of review did, in a format.

    Raises   InputError for another format.
    """
    check_format(format)
    if format == "json":
        return _json(result)
    sections = _sections(result, words)
    if format == "markdown":
        return sections_markdown(sections)
    return sections_terminal(sections, width=width, colour=colour)


def _sections(result: Result, words: Words) -> list[Section]:
    if isinstance(result, Calibration):
        return [calibration_section(result, words)]
    return sample_sections(result, words) if isinstance(result, SampledReview) else import_sections(result, words)


def _json(result: Result) -> str:
    if isinstance(result, Calibration):
        return result.text
    content = _sample(result) if isinstance(result, SampledReview) else _import(result)
    return json.dumps({"format": FORMAT, **content}, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _sample(result: SampledReview) -> dict[str, Any]:
    drawn = result.round
    samples = {own.name: own.review.sample(drawn.table, own.name) for own in drawn.systems}
    return {
        "table": drawn.table,
        "adjudicating": drawn.adjudicating,
        "form": str(result.form),
        "items": str(result.items),
        "files": [str(file) for file in result.files],
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


def _import(result: ImportedLabels) -> dict[str, Any]:
    return {
        "raters": [asdict(own) for own in result.raters],
        "n_asked": result.n_asked,
        "n_decided": result.n_decided,
        "conflicts": [
            {**asdict(own.item), "decisions": [asdict(decision) for decision in own.decisions]}
            for own in result.conflicts
        ],
        "files": [str(file) for file in result.files],
    }
