"""What the commands of `steelyard review` share."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.cli.terminal import terminal_width
from steelyard.io.source import source_of
from steelyard.io.write import write_text
from steelyard.report.formats.review import Result
from steelyard.report.reviewing import review_text
from steelyard.report.words import Words


def write_result(result: Result, format: str, output: Path | None, words: Words) -> None:
    """Write what a command did, on the screen or into a file."""
    on_screen = output is None
    text = review_text(
        result, format, words, width=terminal_width() if on_screen else None,
        colour=on_screen and sys.stdout.isatty(),
    )  # fmt: skip
    write_text(output or "-", text)


def lines_of(file: Path | None) -> list[str]:
    """The lines of a text file that are not empty."""
    return [line.strip() for line in text_of(file).splitlines() if line.strip()]


def text_of(file: Path | None) -> str:
    """What a text file holds; nothing where none is named."""
    return "" if file is None else source_of(file).read().decode(errors="replace").strip()
