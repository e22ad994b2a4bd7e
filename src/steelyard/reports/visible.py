"""Texts from outside, fit to be shown: nothing in them can move a cursor, ring a bell or turn the line around."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
