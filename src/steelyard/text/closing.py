"""Short numerals in round brackets or in circles that close what is before them, as (1) and ① do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

_ROUND = r"[(（]\s*[1-9１-９]\d?(?:\s*[,，、]\s*[1-9１-９]\d?)*\s*[)）]"
_CIRCLED = r"[①-⑳⑴-⒇㉑-㉟㊱-㊿❶-❿➀-➓]+"
NUMERAL = rf"(?:{_ROUND}|{_CIRCLED})"
"""Numerals of one or two digits, as a regular expression."""

_STYLES = (re.compile(_ROUND), re.compile(_CIRCLED))
_RUN_BEFORE = re.compile(rf"(?:\s*{NUMERAL})*[\s*_`]*\Z")
_RUN_BEHIND = re.compile(rf"(?:\s*{NUMERAL})*[\s*_`”\"'’」』]*")
_STOP = re.compile(r"[。．!！?？;；|]|\.(?![\w])")
_STOPPED = re.compile(r"[。．.!！?？;；][”\"'’」』]?\Z")
_CLAUSE = re.compile(
    r"[\u4e00-\u9fff](?:[^\u4e00-\u9fff,，;；。]*[\u4e00-\u9fff]){3}[^,，;；。]*\Z|(?:\w+[^\w,，;；.。]+){2}\w+\W*\Z"
)
"""Before a comma: four ideographs or three words at least, as in no list of things with their numbers."""
_REFERRING = re.compile(
    r"""(?:\b(?:(?:steps?|eqs?|equations?|formulas?|fig(?:ure)?s?|tables?|sections?|clauses?|articles?|items?|options?|choices?
    |answers?|rules?|parts?|questions?|levels?|types?|versions?|chapters?|appendi(?:x|ces)|points?)(?:\s*\d+)?|is|are|and|or|to|of|by|no)\.?
    |公式|方程式?|等式|步骤|选项|条款|附录|答案|问题|[见如附由][图表式注]|[图表式]\s*\d+|[\d一二三四五六七八九十][条款项步]|[是为选和与及或第])
    [\s:：]*\Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""Before a numeral that is a name or an amount, as in "step (1)"."""
_BEHIND = 120  # characters on both sides that are looked at


def closing_numerals(answer: str) -> frozenset[int]:
    """Where the numerals of an answer begin that close what is before them.

    They are before the end of a sentence or a long clause, behind it, or at the end of a line.  Those of a line all
    are, or none is; and none is in an answer that numbers items so.

    >>> closing_numerals("It opens at nine (1). It is closed on Monday (2).") == {17, 45}
    True
    >>> closing_numerals("It takes (1) cash, (2) cards."), closing_numerals("See step (2).")
    (frozenset(), frozenset())
    """
    starts = set[int]()
    for style in _STYLES:
        in_style = set[int]()
        for line in re.finditer(r"[^\n]+", answer):
            numerals = list(style.finditer(line[0]))
            if numerals and not re.search(r"\w", _before(line[0], numerals[0])):
                break
            if _all_close(line[0], numerals):
                in_style |= {line.start() + numeral.start() for numeral in numerals}
        else:
            starts |= in_style
    return frozenset(starts)


def numbers_of(numeral: str) -> Iterator[int]:
    """The numbers of a numeral.

    >>> list(numbers_of("（1、12）")), list(numbers_of("①❷"))
    ([1, 12], [1, 2])
    """
    yield from map(int, re.findall(r"\d+", numeral))
    yield from (int(unicodedata.numeric(character)) for character in re.findall(_CIRCLED[:-1], numeral))


def _all_close(line: str, numerals: Sequence[re.Match[str]]) -> bool:
    """True if all numerals of a line close something.

    Those behind a stop do where the last one ends a sentence, those before a comma where all are behind long clauses.
    """
    if not numerals or any(_is_reference(line, numeral) for numeral in numerals):
        return False
    before = [_before(line, numeral) for numeral in numerals]
    behind = [_behind(line, numeral) for numeral in numerals]
    ends = [not text or _STOP.match(text) is not None for text in behind]
    if any(text[:1] in ("，", ",") for text in behind):
        ends = [is_end or text[:1] in ("，", ",") for is_end, text in zip(ends, behind, strict=True)]
        return all(ends) and all(_CLAUSE.search(text) for text in before)
    return ends[-1] and all(is_end or _STOPPED.search(text) for is_end, text in zip(ends, before, strict=True))


def _before(line: str, numeral: re.Match[str]) -> str:
    before = line[max(0, numeral.start() - _BEHIND) : numeral.start()]
    return before[: _RUN_BEFORE.search(before).start()]  # type: ignore[union-attr]


def _behind(line: str, numeral: re.Match[str]) -> str:
    behind = line[numeral.end() : numeral.end() + _BEHIND]
    return behind[_RUN_BEHIND.match(behind).end() :]  # type: ignore[union-attr]


def _is_reference(line: str, numeral: re.Match[str]) -> bool:
    """True for a name, an amount or the argument of a function."""
    previous = line[numeral.start() - 1 : numeral.start()]
    is_call = numeral[0][0] == "(" and previous.isascii() and (previous.isalnum() or previous == "_")
    return is_call or _REFERRING.search(_before(line, numeral)) is not None
