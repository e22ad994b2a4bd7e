"""What reasons of verdicts quote."""

from __future__ import annotations

_LONGEST = 80


def quotation(text: str) -> str:
    """The beginning of a text in one line, in quotation marks.

    >>> quotation("Opening hours:\\n9 to 17.")
    '“Opening hours: 9 to 17.”'
    """
    line = " ".join(text[: 4 * _LONGEST].split())
    return f"“{line}”" if len(line) <= _LONGEST else f"“{line[: _LONGEST - 1]}…”"
