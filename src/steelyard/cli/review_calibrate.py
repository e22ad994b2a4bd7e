"""`steelyard review calibrate`."""

from __future__ import annotations

from pathlib import Path

from steelyard.base.choices import ItemTable
from steelyard.cli.reviewing import lines_of
from steelyard.cli.terminal import write_result
from steelyard.experiment.door.choices import named_labels, named_verdicts
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.judges.people.calibration import Calibration
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format
from steelyard.reviewing.calibrating import calibrate_review


def run(
    questions: str, runs: list[str], *, table: ItemTable, target: float | None, output: Path | None,
    examples: Path | None, verdicts: list[str], judge: str | None, labels: list[str], format: str | None, seed: int,
    lang: str | None,
) -> None:  # fmt: skip
    """Calibrate, keep the calibration where a file is named, and write what it is."""
    words, format = read_words(lang), chosen_format(Calibration, None, format)
    refuse_overwriting(output or "-", [questions, *run_paths(runs), *([examples] if examples else [])])
    calibration = calibrate_review(
        questions, runs, table=table, target=target, judge=judge,
        verdicts=named_verdicts(verdicts), labels=named_labels(labels), examples=lines_of(examples), seed=seed,
    )  # fmt: skip
    if output is not None:
        calibration.write(output)
    write_result(calibration, format, None, lang=words.code)
