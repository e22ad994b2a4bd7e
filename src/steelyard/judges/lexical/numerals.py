"""Numbers in digits and in words of English and Chinese, each in one form; which Chinese numerals count something."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

ENGLISH_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty""".split(),
        start=2,
    )
} | {
    word: str(number)
    for number, word in zip(range(30, 100, 10), "thirty forty fifty sixty seventy eighty ninety".split(), strict=True)
} | {"twice": "2", "thrice": "3"}  # fmt: skip
"""Words that are numbers; "one" is too often none."""

ONE = "one"
"""Form of "one" and of 一 before a measure word: a number where another text has another number in its place."""

_ENGLISH_MAGNITUDES = {
    "dozen": 12, "hundred": 10**2, "thousand": 10**3, "k": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9,
    "trillion": 10**12,
}  # fmt: skip
_CHINESE_DIGITS = {**{digit: value for value, digit in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_CHINESE_MAGNITUDES = {"十": 10, "百": 100, "千": 1000}
_WRITTEN_OUT = {"廿": "二十", "卅": "三十", "俩": "两", "仨": "三"}
_LONGEST_NUMBER = 15  # digits that a float holds

_ONES = "one two three four five six seven eight nine".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
BELOW_HUNDRED = (
    f"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES)}))?|{'|'.join(('one', *ENGLISH_NUMBERS))})(?![^\\W_])"
)
"""An English number below a hundred, as a regular expression of small letters."""
_MAGNITUDE = "(?:hundred|thousand|million|billion|trillion|dozen)(?![^\\W_])"
SPELLED = (
    rf"(?:(?:half an?|an?|{BELOW_HUNDRED}) {_MAGNITUDE}(?:(?: and)? (?:{BELOW_HUNDRED}|{_MAGNITUDE}))*"
    rf"|(?:{'|'.join(_TENS)})-(?:{'|'.join(_ONES)})(?![^\W_])|{BELOW_HUNDRED} and a half(?![^\W_]))"
)
"""An English number of several words, as a regular expression of small letters."""
_HINTS = ("ty-", "hundred", "thousand", "illion", "dozen", "and a half")


def has_spelled(folded: str) -> bool:
    """True for a text in small letters that may have an English number of several words."""
    return any(hint in folded for hint in _HINTS)


def number_form(text: str) -> str:
    """A number with digits, with or without commas, decimals and a word for its magnitude, in one form.

    >>> number_form("2,000"), number_form("1.50"), number_form("3 million"), number_form("21st"), number_form("2.5亿")
    ('2000', '1.5', '3000000', '21', '250000000')
    """
    digits = text.replace(",", "")
    end = next((i for i, c in enumerate(digits) if c not in "0123456789."), len(digits))
    tail, digits = digits[end:].strip(), digits[:end]
    if len(digits) > _LONGEST_NUMBER:
        return digits
    scale = _ENGLISH_MAGNITUDES.get(tail, 1)
    for c in tail if scale == 1 else "":
        scale *= _CHINESE_MAGNITUDES.get(c) or {"万": 10**4, "亿": 10**8}.get(c, 1)
    return plain(float(digits) * scale)


def english_number(words: str) -> str:
    """An English number of several words, as `SPELLED` finds it, in the form of `number_form`.

    >>> english_number("two hundred and fifty"), english_number("half a dozen"), english_number("one and a half")
    ('250', '6', '1.5')
    """
    if words.endswith(" and a half"):
        return plain(float(english_number(words.removesuffix(" and a half"))) + 0.5)
    total = section = 0.0
    for word in re.split("[- ]", words):
        if word == "half":
            section = 0.5
        elif scale := _ENGLISH_MAGNITUDES.get(word):
            section = (section or 1) * scale
            if scale >= 10**3:
                total, section = total + section, 0.0
        else:
            section += 1 if word == "one" else float(ENGLISH_NUMBERS.get(word, 0))
    return plain(total + section)


def chinese_number(numeral: str) -> str:
    """A number in Chinese numerals, with digits in the form of `number_form`.

    >>> chinese_number("三百二十一"), chinese_number("二〇二四"), chinese_number("十二万"), chinese_number("三点五亿")
    ('321', '2024', '120000', '350000000')
    >>> chinese_number("一万二"), chinese_number("廿三"), chinese_number("半")
    ('12000', '23', '0.5')
    """
    if numeral == "半":
        return "0.5"
    whole, _, decimals = "".join(_WRITTEN_OUT.get(c, c) for c in numeral).partition("点")
    if all(c in _CHINESE_DIGITS for c in whole):
        digits = "".join(str(_CHINESE_DIGITS[c]) for c in whole)
        if len(digits) > _LONGEST_NUMBER:
            return digits
        value = float(digits or 0)
    else:
        value = float(_with_magnitudes(whole[:_LONGEST_NUMBER]))
    places = decimals.rstrip("十百千万亿")
    for place, c in enumerate(places[:_LONGEST_NUMBER], start=1):
        value += _CHINESE_DIGITS.get(c, 0) * 10.0**-place
    for c in decimals[len(places) :]:
        value *= _CHINESE_MAGNITUDES.get(c) or {"万": 10**4, "亿": 10**8}[c]
    return plain(round(value, _LONGEST_NUMBER))


def _with_magnitudes(numeral: str) -> int:
    total = section = digit = 0
    scale = 1  # of a last digit: 一万二 is 12,000, 一百零二 is not 120
    for c in numeral:
        if c in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[c]
            scale = 1 if digit == 0 else scale
        elif c in _CHINESE_MAGNITUDES:
            section += (digit or 1) * _CHINESE_MAGNITUDES[c]
            digit, scale = 0, _CHINESE_MAGNITUDES[c] // 10
        else:
            magnitude = 10**4 if c == "万" else 10**8
            if section + digit == 0:
                total = (total or 1) * magnitude
            elif c == "亿":
                total = (total + section + digit) * magnitude
            else:
                total += (section + digit) * magnitude
            section, digit, scale = 0, 0, magnitude // 10
    return total + section + digit * scale


def plain(value: float) -> str:
    """A value as text, without an empty fraction."""
    return str(int(value)) if value.is_integer() else f"{value:.10g}"


_DATA = tomllib.loads((files("steelyard.judges.lexical") / "numerals.zh.toml").read_text("utf-8"))
MEASURE_WORDS = "|".join(sorted(_DATA["measure_words"].split(), key=len, reverse=True))
"""What a single Chinese numeral counts, as alternatives of a regular expression."""


@cache
def _words() -> tuple[frozenset[str], int]:
    words = frozenset(_DATA["words"].split())
    return words, max(map(len, words))


def is_part_of_word(run: str, start: int, end: int) -> bool:
    """True where the numeral at the start of run[start:end] is no number, but part of a word.

    end   where what it counts ends: a word that begins with the numeral covers that too

    >>> is_part_of_word("三角形", 0, 2), is_part_of_word("统一张贴", 1, 3), is_part_of_word("三张", 0, 2)
    (True, True, False)
    """
    words, longest = _words()
    return any(
        run[first:last] in words
        for first in range(max(0, start - 2), start + 1)
        for last in range(end if first == start else start + 1, min(len(run), first + longest) + 1)
    )
