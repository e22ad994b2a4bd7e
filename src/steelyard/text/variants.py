"""Variants of a character that are one to whoever searches: traditional and simplified, with and without accents."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

ACCENTS = "\u0300-\u036f"
"""Accents that follow their letter."""
LATIN_AND_GREEK = "A-Za-z\u00aa\u00ba\u00c0-\u02af\u0370-\u03ff\u1e00-\u1fff\u2c60-\u2c7f\ua722-\ua7ff"
"""Letters of which an accent makes no other one, as far as searching goes; й is no и, and か no が."""

_RANGES = ((0xC0, 0x250), (0x370, 0x400), (0x1E00, 0x2000))
_STROKES = str.maketrans("ĐđĦħıŁłØøŦŧ", "DdHhiLlOoTt")
"""Letters with a stroke, which Unicode does not take apart; a dotless i, as its dot is an accent."""
_ACCENTED = re.compile(r"[\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff]")
_ANY_ACCENT = re.compile(f"[{ACCENTS}]")
_COMBINING = re.compile(f"(?<=[{LATIN_AND_GREEK}])[{ACCENTS}]+")


def without_accents(text: str) -> str:
    """Latin and Greek letters without their accents and strokes; of all other scripts nothing is changed.

    >>> without_accents("Pávlovna, Łódź, Ελλάδα, Чайковский, ひらがな")
    'Pavlovna, Lodz, Ελλαδα, Чайковский, ひらがな'
    """
    if text.isascii():
        return text
    # Twice as fast as str.translate, as long as fewer than one letter in six has an accent.
    plain = _ACCENTED.sub(lambda letter: _unaccented().get(letter[0], letter[0]), text)
    return _COMBINING.sub("", plain) if _ANY_ACCENT.search(plain) else plain


def combining_accents(text: str) -> list[tuple[int, int]]:
    """Where a text has accents behind the Latin or Greek letter that they belong to."""
    return [match.span() for match in _COMBINING.finditer(text)] if _ANY_ACCENT.search(text) else []


def simplified(text: str) -> str:
    """Traditional Chinese characters in their simplified form, each by itself; what is simplified already stays.

    The table has the 2,400 commonest (simplified.tsv).  Each character becomes one, whatever is beside it, so a text
    has the same form in and out of its context; a few forms become one that simplified texts tell apart (著 and 着),
    which is no loss where both sides are folded.

    >>> simplified("電池後面的髮夾")
    '电池后面的发夹'
    """
    if text.isascii() or not _traditional().search(text):
        return text
    return text.translate(_simplified())


@cache
def _unaccented() -> dict[str, str]:
    table = dict[str, str]()
    for code in (c for first, end in _RANGES for c in range(first, end)):
        parts = unicodedata.normalize("NFD", chr(code))
        base, marks = parts[0], parts[1:]
        if marks and all("\u0300" <= mark <= "\u036f" for mark in marks) and base.isalpha():
            table[chr(code)] = base.translate(_STROKES)
    return table | {chr(old): chr(new) for old, new in _STROKES.items()}


@cache
def _simplified() -> dict[int, str]:
    lines = files("steelyard.text").joinpath("simplified.tsv").read_text(encoding="utf-8").split("\n")
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {ord(old): new for new, several in pairs for old in several}


def traditional_of(character: str) -> str:
    """The traditional characters that a simplified one stands for, or itself where it stands for none.

    >>> traditional_of("发"), traditional_of("的")
    ('發髮', '的')
    """
    return "".join(chr(old) for old, new in _simplified().items() if new == character) or character


@cache
def _traditional() -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(chr, _simplified()))}]")
