"""What the commands of `steelyard review` share."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli.terminal import screen_view, write_result
from steelyard.io.source import source_of
from steelyard.report.formats.review import Result
from steelyard.report.reviewing import review_text
from steelyard.report.words import Words


def write_review(result: Result, format: str, output: Path | None, words: Words) -> None:
    """Write what a command did, on the screen or into a file."""
    write_result(review_text(result, format, words, **screen_view(output)), format, output)


def lines_of(file: Path | None) -> list[str]:
    """The lines of a text file that are not empty."""
    return [line.strip() for line in text_of(file).splitlines() if line.strip()]


def text_of(file: Path | None) -> str:
    """What a text file holds; nothing where none is named."""
    return "" if file is None else source_of(file).read().decode(errors="replace").strip()
