"""`steelyard review calibrate`."""

from __future__ import annotations

from pathlib import Path

from steelyard.base.choices import ItemTable
from steelyard.cli.reviewing import write_result
from steelyard.experiment.review_choice import named_labels
from steelyard.experiment.verdict_choice import named_verdicts
from steelyard.io.named import run_paths
from steelyard.io.source import source_of
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.review import check_format
from steelyard.report.words import read_words
from steelyard.review.calibrating import calibrate_review


def run(
    questions: str, runs: list[str], *, table: ItemTable, target_precision: float | None, output: Path | None,
    examples: Path | None, verdicts: list[str], judge: str | None, labels: list[str], format: str | None, seed: int,
    lang: str | None,
) -> None:  # fmt: skip
    """Calibrate, keep the calibration where a file is named, and write what it is."""
    words, format = read_words(lang), format or "table"
    check_format(format)
    refuse_overwriting(output or "-", [questions, *run_paths(runs), *([examples] if examples else [])])
    calibration = calibrate_review(
        questions, runs, table=table, target_precision=target_precision, judge=judge,
        verdicts=named_verdicts(verdicts), labels=named_labels(labels), examples=_lines(examples), seed=seed,
    )  # fmt: skip
    if output is not None:
        calibration.write(output)
    write_result(calibration, format, None, words)


def _lines(file: Path | None) -> list[str]:
    """The lines of a text file that are not empty."""
    text = "" if file is None else source_of(file).read().decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]
