"""Reasons of verdicts that several judges give."""

from __future__ import annotations

from steelyard.judges.verdict import Verdict

_LONGEST = 80


def quotation(text: str) -> str:
    """The beginning of a text in one line, in quotation marks.

    >>> quotation("Opening hours:\\n9 to 17.")
    '“Opening hours: 9 to 17.”'
    """
    line = " ".join(text[: 4 * _LONGEST].split())
    return f"“{line}”" if len(line) <= _LONGEST else f"“{line[: _LONGEST - 1]}…”"


def empty_verdict(premise: str, unit: str) -> Verdict | None:
    """The verdict where one of them is blank: nothing is found in nothing; None where neither is."""
    if not premise.strip():
        return Verdict("not_found", 0.0, "the premise is empty")
    return None if unit.strip() else Verdict("not_found", 0.0, "the unit is empty")
