"""`steelyard review import`."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli.reviewing import write_review
from steelyard.experiment.review_choice import named_labels
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.suffix import format_of
from steelyard.report.reviewing import check_format
from steelyard.report.words import read_words
from steelyard.review.importing import import_review


def run(
    files: list[str], *, into: list[str], format: str | None, output: Path | None, lang: str | None
) -> None:  # fmt: skip
    """Take decisions in, and write what they are."""
    words, format = read_words(lang), format_of(output, format)
    check_format(format)
    refuse_overwriting(output or "-", files)
    write_review(import_review(files, into=named_labels(into)), format, output, words)
