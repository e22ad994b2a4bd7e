"""Rounds of review, and what they say of a judge, in words and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from steelyard.experiment.corrections_json import correction_json
from steelyard.judges.people.calibration import Calibration
from steelyard.report.views.review import (
    calibration_section,
    import_sections,
    pool_sections,
    report_sections,
    sample_sections,
)
from steelyard.report.views.sheet import Section
from steelyard.report.words import Words
from steelyard.review.forms import ImportedLabels
from steelyard.review.pools import PooledReview
from steelyard.review.reporting import ReviewReport
from steelyard.review.rounds import SampledReview

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""

Result = SampledReview | PooledReview | ImportedLabels | Calibration | ReviewReport
"""What a command of review does."""


def review_sections(result: Result, words: Words) -> list[Section]:
    """What was done, in words."""
    if isinstance(result, Calibration):
        return [calibration_section(result, words)]
    if isinstance(result, SampledReview):
        return sample_sections(result, words)
    if isinstance(result, PooledReview):
        return pool_sections(result, words)
    return import_sections(result, words) if isinstance(result, ImportedLabels) else report_sections(result, words)


def review_json(result: Result) -> str:
    """What was done, as JSON: of a calibration what its file holds."""
    if isinstance(result, Calibration):
        return result.text
    if isinstance(result, SampledReview):
        content = _sample(result)
    elif isinstance(result, PooledReview):
        content = _pool(result)
    else:
        content = _import(result) if isinstance(result, ImportedLabels) else _report(result)
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


def _pool(result: PooledReview) -> dict[str, Any]:
    return {
        "kind": result.kind, "form": str(result.form), "items": str(result.items), "into": str(result.into),
        "n_asked": len(result.asked), "n_pool": result.n_pool, "n_decided": result.n_before,
    }  # fmt: skip


def _import(result: ImportedLabels) -> dict[str, Any]:
    return {
        "raters": [asdict(own) for own in result.raters],
        "n_asked": result.n_asked,
        "n_decided": result.n_decided,
        "conflicts": [
            {**asdict(own.item), "opinions": [{"rater": rater, "value": value} for rater, value in own.opinions]}
            for own in result.conflicts
        ],
        "files": [str(file) for file in result.files],
    }


def _report(report: ReviewReport) -> dict[str, Any]:
    return {
        "systems": list(report.systems),
        "means": [
            {"system": system, "measure": name, **correction_json(correction)}
            for system, corrections in report.scores.corrections.items() for name, correction in corrections.items()
        ],
        "tables": [_finite(asdict(own)) for own in report.tables],
    }  # fmt: skip


def _finite(value: Any) -> Any:
    """The same as JSON can hold it: null for numbers that are not."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
