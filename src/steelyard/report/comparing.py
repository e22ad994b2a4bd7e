"""A comparison as sheets: one for each measure, verdicts in words."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import numpy as np

from steelyard.comparison import Compared, Comparison
from steelyard.report.sheet import Sheet, number

_TESTS = {
    "t": "Paired t tests",
    "randomization": "Sign-flip randomisation tests",
    "wilcoxon": "Wilcoxon signed-rank tests",
    "sign": "Sign tests",
    "tukey": "Randomised Tukey HSD",
}
_CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini–Hochberg", "none": "none"}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def sheets(comparison: Comparison) -> Iterator[Sheet]:
    """One sheet a measure, the first one with what holds for all."""
    for position, measure in enumerate(map(str, comparison.measures)):
        made = _sheet(comparison, measure)
        if position == 0:
            made.notes += list(_how(comparison))
        yield made


def _sheet(comparison: Comparison, measure: str) -> Sheet:
    rows = comparison.rows[measure]
    letters = _group_letters(comparison.groups.get(measure, []))
    level = f"{100 * (1 - comparison.alpha):g}"
    header = [measure, "mean", "difference", f"{level}% interval", "p", "effect", "won/tied/lost"]
    if letters:
        header.append("group")
    cells = [
        [
            row.system, number(row.mean), *_against(row), *([letters.get(row.system, "")] if letters else []),
            verdict_text(row, comparison),
        ]
        for row in rows
    ]  # fmt: skip
    best = {(r, 1) for r, row in enumerate(rows) if row.mean == rows[0].mean}
    return Sheet([*header, "verdict"], cells, best, list(_counts(comparison, measure)))


def _against(row: Compared) -> list[str]:
    if row.verdict == "baseline":
        return ["–"] * 5
    interval = "–" if np.isnan(row.low) else f"{row.low:+.3f} to {row.high:+.3f}"
    counts = f"{row.counts.n_wins}/{row.counts.n_ties}/{row.counts.n_losses}"
    return [f"{row.difference:+.4f}", interval, _p(row.adjusted), _effect(row.effect), counts]


def _p(p: float) -> str:
    return "–" if np.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _effect(effect: float) -> str:
    return "–" if np.isnan(effect) else f"{effect:+.2f}"


def verdict_text(row: Compared, comparison: Comparison) -> str:
    """The verdict in words, with what the questions could have shown where they show nothing."""
    if row.verdict == "no test":
        return f"no test: {row.reason}"
    if row.verdict == "not worse":
        return f"not worse than the margin of {comparison.margin:g}"
    if row.verdict == "no difference shown":
        n = sum((row.counts.n_wins, row.counts.n_ties, row.counts.n_losses))
        if row.counts.n_ties == n:
            return f"no difference shown: equal on all {n} questions"
        return f"no difference shown: {n} questions can show ≥ {row.detectable:.3f}"
    if row.verdict == "worse" and row.not_worse:
        return f"worse, by less than the margin of {comparison.margin:g}"
    return row.verdict


def _group_letters(groups: list[list[str]]) -> dict[str, str]:
    """The letters of each system's groups; systems that share one cannot be told apart."""
    letters: dict[str, str] = {}
    for position, group in enumerate(groups):
        letter = _LETTERS[position % len(_LETTERS)] * (position // len(_LETTERS) + 1)
        for system in group:
            letters[system] = letters.get(system, "") + letter
    return letters


def _counts(comparison: Comparison, measure: str) -> Iterator[str]:
    if left_out := comparison.left_out[measure]:
        what = "question that some system lacks is" if left_out == 1 else "questions that some system lacks are"
        yield f"{left_out} {what} left out; {comparison.n[measure]} are compared."


def _how(comparison: Comparison) -> Iterator[str]:
    corrected = (
        "p are family-wise" if comparison.test == "tukey" else f"correction: {_CORRECTIONS[comparison.correction]}"
    )
    yield (
        f"Baseline: {comparison.baseline}. {_TESTS[comparison.test]}, two-sided, level "
        f"{comparison.alpha:g}; {corrected}, over {comparison.family}; seed {comparison.seed}."
    )
    yield "Effect: difference in standard deviations of the questions' differences (Hedges' g of pairs)."
    yield 'Intervals are of each difference by itself. Questions "can show" what they would show in 80 of 100 cases.'
    if comparison.groups:
        yield "Systems that share a letter cannot be told apart."
    if comparison.margin is not None:
        yield f"Not worse: the one-sided interval of the difference lies above -{comparison.margin:g}."


def as_csv(comparison: Comparison) -> str:
    """One row for each measure and system, numbers in full precision, nothing where there is none."""
    made = []
    for measure, rows in comparison.rows.items():
        letters = _group_letters(comparison.groups.get(measure, []))
        for row in rows:
            group = letters.get(row.system)
            made.append({"measure": measure, **_row(row, comparison), "group": group})
    out = StringIO()
    writer = csv.DictWriter(out, list(made[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(made)
    return out.getvalue()


def as_json(comparison: Comparison) -> str:
    """Everything, numbers in full precision, null where there is none."""
    made: dict[str, Any] = {
        "baseline": comparison.baseline,
        "test": comparison.test,
        "correction": comparison.correction,
        "family": comparison.family,
        "alpha": comparison.alpha,
        "margin": comparison.margin,
        "seed": comparison.seed,
        "measures": {
            measure: {
                "questions": comparison.n[measure],
                "left_out": comparison.left_out[measure],
                "systems": [_row(row, comparison) for row in rows],
                "groups": comparison.groups.get(measure),
            }
            for measure, rows in comparison.rows.items()
        },
        "recipe": comparison.recipe,
    }
    return json.dumps(made, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _row(row: Compared, comparison: Comparison) -> dict[str, Any]:
    numbers = {name: getattr(row, name) for name in ("mean", "difference", "low", "high", "p", "adjusted", "effect")}
    numbers |= {"detectable": row.detectable}
    return {
        "system": row.system,
        **{name: float(value) if np.isfinite(value) else None for name, value in numbers.items()},
        "won": row.counts.n_wins,
        "tied": row.counts.n_ties,
        "lost": row.counts.n_losses,
        "verdict": row.verdict,
        "in_words": verdict_text(row, comparison),
        "not_worse": row.not_worse,
    }
