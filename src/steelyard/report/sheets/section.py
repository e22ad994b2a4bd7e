"""Parts of a report: a title with paragraphs and sheets below it."""

from __future__ import annotations

from dataclasses import dataclass, field

from steelyard.report.sheets.sheet import Sheet


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
