"""Sheets and sections, the same for every format: tables of texts, notes below them, and paragraphs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Sheet:
    """A header, rows of texts, the cells that deserve emphasis, and notes below.

    n_labels   how many of the first columns say what a row is of; where a wide sheet is cut, each part has them
    """

    header: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    n_labels: int = 1


@dataclass(frozen=True)
class Paragraph:
    """A text, and a title of its own where it has one.

    is_command   whether it is to be copied into a shell, and is one line, however long
    """

    text: str
    title: str = ""
    is_command: bool = False


@dataclass(frozen=True)
class Section:
    """A title, and what belongs to it; name is what the section is called in code."""

    name: str
    title: str
    paragraphs: list[Paragraph] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)
