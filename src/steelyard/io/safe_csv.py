"""CSV that a spreadsheet shows and does not compute."""

from __future__ import annotations

import re

_STARTS = "=+@\t\r\n\uff1d\uff0b\uff0d\uff20-"
"""How a cell begins that spreadsheets compute; some take the wide forms of East Asian keyboards too."""
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)%?", re.IGNORECASE)


def safe_csv(text: str, separator: str = ",") -> str:
    """CSV or TSV whose texts no spreadsheet takes for formulas: ' is put before those that begin with = + - or @.

    Numbers and all other cells are the same bytes as before.

    >>> safe_csv("doc,change\\n=1+1,-0.5\\n-x,1\\n")
    "doc,change\\n'=1+1,-0.5\\n'-x,1\\n"
    """
    return re.sub(rf'("(?:[^"]|"")*"|[^{separator}\n]*)({separator}|\n|\Z)', _safe, text)


def _safe(cell: re.Match[str]) -> str:
    content, end = cell.groups()
    quote = content[:1] if content[:1] == '"' else ""
    inner = content[len(quote) : len(content) - len(quote)]
    if inner[:1] and inner[0] in _STARTS and not _NUMBER.fullmatch(inner):
        return f"{quote}'{inner}{quote}{end}"
    return cell[0]
