"""`steelyard gate`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.cli.terminal import screen_view, show
from steelyard.experiment.door.verdict_choice import named_verdicts
from steelyard.experiment.review_choice import named_labels
from steelyard.gates.gating import gate
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.report.formats.gating import gate_markdown, gate_text
from steelyard.report.formats.junit import junit as as_junit
from steelyard.report.words import read_words


def run(
    scores: str | None, *, profile: str | None, level: str | None, baseline: str | None, margin: float | None,
    system: str | None, min_questions: int, max_failed: float | None, max_unjudged: float | None,
    max_missing: float | None, max_unmapped: float | None, max_not_judged: float | None,
    values: list[str], junit: Path | None, summary: Path | None, truth: str | None, cluster: str | None,
    unit: Unit | None, lang: str | None, alpha: float,
    verdicts: list[str], judge: str | None, mixed_judges: bool, min_kappa: float | None,
    min_sensitivity: float | None, min_specificity: float | None, max_below_people: float | None,
    labels: list[str], no_labels: bool,
) -> None:  # fmt: skip
    """Judge scores, write the result, and exit with 0 (pass), 1 (fail) or 3 (too few data)."""
    words = read_words(lang)
    inputs = [path for path in (scores, baseline, truth, judge) if path is not None]
    for output in (junit, summary):
        if output is not None:
            refuse_overwriting(output, inputs)
    verdict = gate(
        scores, profile, level=level, baseline=baseline, margin=margin, system=system, min_questions=min_questions,
        max_failed=max_failed, max_missing=max_missing, max_unjudged=max_unjudged, max_unmapped=max_unmapped,
        max_not_judged=max_not_judged,
        numbers=parse_numbers(values), truth=truth, cluster=cluster, unit=unit, alpha=alpha,
        verdicts=named_verdicts(verdicts), judge=judge, labels=named_labels(labels, without=no_labels),
        mixed_judges=mixed_judges, min_kappa=min_kappa,
        min_sensitivity=min_sensitivity, min_specificity=min_specificity, max_below_people=max_below_people,
    )  # fmt: skip
    if junit is not None:
        write_text(junit, as_junit(verdict, words))
    if summary is not None:
        write_text(summary, gate_markdown(verdict, words))
    show(gate_text(verdict, words, **screen_view()))
    sys.exit(verdict.exit_code)


def parse_numbers(values: Iterable[str]) -> dict[str, float]:
    """NAME=NUMBER by name.

    >>> parse_numbers(["cost_usd_per_million_tokens=0.04"])
    {'cost_usd_per_million_tokens': 0.04}
    """
    numbers: dict[str, float] = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            numeric = float(number)
        except ValueError:
            raise InputError(f"--value {value}: expected NAME=NUMBER, such as latency_ms:p95=320") from None
        if name in numbers:
            raise InputError(f"--value {value}: {name} has a value already")
        numbers[name] = numeric
    return numbers
