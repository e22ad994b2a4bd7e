"""`steelyard review import`."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli.terminal import write_result
from steelyard.experiment.door.choices import named_labels
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format
from steelyard.reviewing.forms import ImportedLabels
from steelyard.reviewing.importing import import_review


def run(files: list[str], *, into: list[str], format: str | None, output: Path | None, lang: str | None) -> None:
    """Take decisions in, and write what they are."""
    words, format = read_words(lang), chosen_format(ImportedLabels, output, format)
    refuse_overwriting(output or "-", files)
    write_result(import_review(files, into=named_labels(into)), format, output, lang=words.code)
