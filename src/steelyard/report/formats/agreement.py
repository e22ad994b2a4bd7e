"""Agreement of raters in words, as tables; and as CSV and JSON, in full precision and in English."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from steelyard.comparison.agreement import Agreement
from steelyard.comparison.rater_pairs import Estimate
from steelyard.report.formats.sections import sections_markdown, sections_terminal
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.views.agreement import advice, agreement_sections, pairs_sheet
from steelyard.report.words import Words, read_words

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""


def agreement_terminal(agreement: Agreement, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """Sections of tables of so many columns, None for as many as they take."""
    return sections_terminal(agreement_sections(agreement, words), width=width, colour=colour)


def agreement_json(agreement: Agreement) -> str:
    """Everything; null where there is no number."""
    ratings = agreement.ratings
    content: dict[str, Any] = {
        "format": FORMAT,
        "scale": agreement.scale,
        "against": agreement.against,
        "raters": list(ratings.raters),
        "categories": list(ratings.categories),
        "n_items": len(ratings.items),
        "n_questions": ratings.n_questions,
        "off_scale": {
            rater: [{"label": label, "n": n} for label, n in counts.items()]
            for rater, counts in ratings.off_scale.items()
        },
        "n_repeated": ratings.n_repeated,
        "n_together": agreement.n_together,
        "together": {scale: _estimate(estimate) for scale, estimate in agreement.together.items()},
        "pairs": [
            {
                "rater": pair.rater, "against": pair.against, "n": pair.n, "n_questions": pair.n_questions,
                "undefined": pair.undefined or None, "no_interval": pair.no_interval or None,
                "estimates": {name: _estimate(estimate) for name, estimate in pair.estimates.items()},
                "labels": list(pair.labels), "labels_against": list(pair.row_labels),
                "confusion": pair.confusion.tolist(),
            }
            for pair in agreement.pairs
        ],
        "systems": [
            {
                "rater": row.rater, "kendall": _finite(row.kendall), "tau_ap": _finite(row.tau_ap),
                "n_questions": row.n_questions,
                "means": {name: [_finite(mean) for mean in means] for name, means in row.means.items()},
            }
            for row in agreement.systems
        ],
        "advice": list(advice(agreement, read_words("en"))),
        "recipe": dict(agreement.recipe),
    }  # fmt: skip
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in asdict(estimate).items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


AGREEMENT_FORMATS: dict[str, Callable[..., str]] = {
    "table": agreement_terminal,
    "markdown": lambda agreement, words: sections_markdown(agreement_sections(agreement, words)),
    "latex": lambda agreement, words: SHEET_FORMATS["latex"](pairs_sheet(agreement, words), words=words),
    "csv": lambda agreement, words: agreement.frame.write_csv(),
    "json": lambda agreement, words: agreement_json(agreement),
}
"""Every way to write an agreement: a function of it and the words; that of tables takes `width` and `colour` too."""
