"""What the commands of `steelyard review` share."""

from __future__ import annotations

from pathlib import Path

from steelyard.io.source import source_of


def lines_of(file: Path | None) -> list[str]:
    """The lines of a text file that are not empty."""
    return [line.strip() for line in text_of(file).splitlines() if line.strip()]


def text_of(file: Path | None) -> str:
    """What a text file holds; nothing where none is named."""
    return "" if file is None else source_of(file).read().decode(errors="replace").strip()
