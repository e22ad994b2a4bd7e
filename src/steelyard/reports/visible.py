"""Texts from outside, fit to be shown: nothing in them can move a cursor, ring a bell or turn the line around."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from steelyard.text.scripts import WIDE

# One character for one character, so that offsets stay true: control characters become their pictures, carriage returns
# blanks, and what would turn the direction of a line becomes the replacement character.
REPLACEMENTS: Mapping[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys(range(0x7F, 0xA0), "\ufffd"),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    **dict.fromkeys((0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd"),
    ord("\r"): " ",
    # Line and paragraph separators end a string in some readers of expressions, those of charts among them.
    **dict.fromkeys((0x2028, 0x2029), "\n"),
    0x7F: "\u2421",
    0xFFFE: "\ufffd",
    0xFFFF: "\ufffd",
}
_ODD = re.compile("[" + "".join(re.escape(chr(code)) for code in sorted(REPLACEMENTS)) + "]")


def visible(text: str) -> str:
    """A text with every control character made visible; as many characters as before.

    Line feeds and tabs stay; halves of surrogate pairs, which no file can hold, are replaced.

    >>> visible("a\\x00b\\x1b[31m\\tc\\u202e")
    'a␀b␛[31m\\tc\ufffd'
    """
    # Most texts hold nothing odd, and to see that is many times as fast as to translate them.
    return text.translate(REPLACEMENTS) if _ODD.search(text) else text


def single_line(text: str) -> str:
    """The same for a cell, a name or an axis: line feeds and tabs are blanks.

    >>> single_line("my\\n\\tsystem\\x1b")
    'my  system␛'
    """
    return visible(text).replace("\n", " ").replace("\t", " ")


def cut_to(text: str, width: int) -> str:
    """A text in at most so many columns of a terminal, the last of them … where it is longer.

    >>> cut_to("The keys are here.", 9), cut_to("钥匙在这里。", 9)
    ('The keys…', '钥匙在这…')
    """
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def short_path(path: Path) -> str:
    """A path as it is typed here: relative where it is below the working directory."""
    here, whole = Path.cwd(), path.absolute()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


_SIGN = re.compile("(?<=[=≥≤<>]) | (?=[=<>] )")


def unbroken(text: str) -> str:
    """A text in which no line breaks between a sign and its number.

    >>> unbroken("p = 0.036; can show ≥ 0.082").replace("\\xa0", "~")
    'p~=~0.036; can show ≥~0.082'
    """
    return _SIGN.sub("\xa0", text)


# Characters that may not begin a line, and those that may not end one.
_NOT_FIRST, _NOT_LAST = "，。；：、！？）》】”’…", "（《【“‘"
_BREAK = re.compile(rf"(?<= )(?! )|(?:(?<=[{WIDE}])|(?=[{WIDE}]))(?<![{_NOT_LAST} ])(?![{_NOT_FIRST} ])")


def breakable(text: str) -> list[str]:
    """A text in pieces between which lines may break: behind blanks, and beside wide characters.

    A bracket that opens ends no line, and no stop begins one.

    >>> breakable("多重校正（Holm），over 6 pairs")
    ['多', '重', '校', '正', '（Holm），', 'over ', '6 ', 'pairs']
    """
    return list(filter(None, _BREAK.split(text)))


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
    for piece in breakable(text):
        if line and used + cell_len(piece.rstrip(" ")) > width:
            lines.append(line.rstrip(" "))
            line, used = "", 0
        *cut, last = chop_cells(piece, width) if cell_len(piece.rstrip(" ")) > width else [piece]
        lines += cut
        line, used = line + last, used + cell_len(last)
    return [*lines, line.rstrip(" ")]
