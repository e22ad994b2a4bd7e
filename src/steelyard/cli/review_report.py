"""`steelyard review report`."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli.reviewing import lines_of
from steelyard.cli.terminal import write_result
from steelyard.experiment.door.choices import named_labels, named_verdicts
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format
from steelyard.reviewing.reporting import ReviewReport, report_review


def run(
    questions: str, runs: list[str], *, measures: list[str], examples: Path | None, verdicts: list[str],
    judge: str | None, labels: list[str], format: str | None, output: Path | None, seed: int, lang: str | None,
) -> None:  # fmt: skip
    """Say what the review says."""
    words, format = read_words(lang), chosen_format(ReviewReport, output, format)
    refuse_overwriting(output or "-", [questions, *run_paths(runs)])
    report = report_review(
        questions, runs, measures or None, judge=judge, verdicts=named_verdicts(verdicts), labels=named_labels(labels),
        examples=lines_of(examples), seed=seed,
    )  # fmt: skip
    write_result(report, format, output, lang=words.code)
