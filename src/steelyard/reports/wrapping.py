"""Lines for a terminal: English breaks at blanks, Chinese between any two characters but not before its punctuation."""

from __future__ import annotations

import re

from steelyard.text.scripts import WIDE

# Characters that may not begin a line, and those that may not end one.
_NOT_FIRST, _NOT_LAST = "，。；：、！？）》】”’…", "（《【“‘"
_BREAK = re.compile(rf"(?<= )(?! )|(?:(?<=[{WIDE}])|(?=[{WIDE}]))(?<![{_NOT_LAST} ])(?![{_NOT_FIRST} ])")


def wrapped(text: str, width: int | None) -> list[str]:
    """One line of text as lines of `width` columns at most, wide characters counting two; whole for None.

    A word that is longer than a line is cut.

    >>> wrapped("多重校正：Holm，范围很大", 12)
    ['多重校正：', 'Holm，范围很', '大']
    """
    from rich.cells import cell_len, chop_cells

    if width is None or cell_len(text) <= width:
        return [text]
    lines, line, used = list[str](), "", 0
    for piece in filter(None, _BREAK.split(text)):
        if line and used + cell_len(piece.rstrip(" ")) > width:
            lines.append(line.rstrip(" "))
            line, used = "", 0
        *cut, last = chop_cells(piece, width) if cell_len(piece.rstrip(" ")) > width else [piece]
        lines += cut
        line, used = line + last, used + cell_len(last)
    return [*lines, line.rstrip(" ")]
