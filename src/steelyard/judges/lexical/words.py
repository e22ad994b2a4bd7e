"""The content words of a text as the lexical judge compares them, with their places; numbers and units in one form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from steelyard.judges.lexical.numerals import (
    ENGLISH_NUMBERS,
    MEASURE_WORDS,
    ONE,
    SPELLED,
    chinese_number,
    english_number,
    has_spelled,
    is_part_of_word,
    number_form,
)
from steelyard.text.folding import fold, fold_with_offsets
from steelyard.text.scripts import CONTRACTED, ENGLISH_STOPWORDS, HANGUL, IDEOGRAPHS, KANA

MONTHS = {
    name: f"month{number}"
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
"""Names of months; "may" is one only beside a number, to which the cutting of the text must see."""


class Unit(NamedTuple):
    """A unit of measure: the form that stands for it, its dimension, and its factor to the base unit of that."""

    form: str
    dimension: str
    factor: float


def _read_units() -> tuple[dict[str, list[Unit]], set[str]]:
    units: dict[str, list[Unit]] = {}
    anywhere = set()
    lines = (files("steelyard.judges.lexical") / "units.tsv").read_text("utf-8").splitlines()
    for line in lines[1:]:
        form, dimension, factor, names, behind_numbers = line.split("\t")
        for name in (names + " " + behind_numbers).split():
            units.setdefault(name.replace("_", " "), []).append(Unit(form, dimension, float(factor)))
        anywhere.update(names.split())
    return units, anywhere


ALL_UNITS, _ANYWHERE = _read_units()
"""Every way to write a unit behind a number, and the units that it may be."""
UNITS = {name: units[0].form for name, units in ALL_UNITS.items() if name in _ANYWHERE}
"""Every way to write a unit that is one anywhere in a text, and the form that stands for it."""


STEPS = ("lower", "nfkc", "quotes", "accents", "simplified", "dashes")
"""What texts are folded by before they are compared."""

_CJK = IDEOGRAPHS + KANA + HANGUL
_NUMERALS = "〇零一二两三四五六七八九"
_CHINESE_UNITS = "|".join(sorted((unit for unit in UNITS if unit >= "\u4e00"), key=len, reverse=True))
_DATE = r"(?<![0-9])[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?![0-9])"
_NUMBER = (
    r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
    r"(?::00(?![0-9:])|\s(?:hundred|thousand|million|billion|trillion)(?![^\W_])|(?:st|nd|rd|th|s|bn)(?![^\W_]))?"
)
_OF_MAY = r"(?:\s(?:of\s)?may(?![^\W_]))?"
_MAY = r"may\s(?=[0-9])"
_WORD = r"[^\W\d_](?:[^\W_]|'(?=[^\W\d_]))*(?:(?<=[0-9])\.[0-9]+)*"
_ASCII_TOKENS = rf"{_DATE}|{_NUMBER}{_OF_MAY}|{_MAY}|{_WORD}|[%$]"
_TOKENS = (
    rf"[{IDEOGRAPHS}{KANA}]+|[{HANGUL}]+|{_DATE}"
    rf"|{_NUMBER}(?:{_OF_MAY}(?![{_CJK}])|[百千万亿]*(?:月份?|[年日号]|点[钟整]?|\s?(?:{_CHINESE_UNITS}))?)"
    rf"|{_MAY}|(?:(?![{_CJK}])[^\W\d_])(?:(?![{_CJK}])[^\W_]|')*(?:(?<=[0-9])\.[0-9]+)*|°[cf]|[%$€£¥]"
)
_ASCII_TOKEN, _TOKEN = re.compile(_ASCII_TOKENS, re.ASCII), re.compile(_TOKENS)
_SPELLED = rf"(?<![^\W_]){SPELLED}"
_SPELLED_ASCII_TOKEN = re.compile(f"{_SPELLED}|{_ASCII_TOKENS}", re.ASCII)
_SPELLED_TOKEN = re.compile(f"{_SPELLED}|{_TOKENS}")
_COUNTED = f"{_CHINESE_UNITS}|[日号]|{MEASURE_WORDS}"
_ANY = f"{_NUMERALS}十百千万亿廿卅"
# Within Chinese.  A single numeral is a number before what it counts, and behind 第.
_NUMERAL = re.compile(
    rf"""
    (?P<vague>[几数上][十百千万亿]+|[{_NUMERALS}]?十几)
    |百分之(?P<percent>[{_NUMERALS}十百点廿卅]+)
    |(?P<below>[{_ANY}]+)分之(?P<above>[{_ANY}]+)
    |(?P<month>十[一二]?|(?<![{_NUMERALS}十])[一二三四五六七八九])月(?!亮|球|饼)份?
    |(?:(?<![{_ANY}周期拜第])(?P<about>一[二两]|[二两]三|三[四五]|四五|五六|六七|七八|八九)(?P<scale>[十百千万亿]*)(?={_COUNTED}|年)
    |(?P<number>
        [{_ANY}]+点[{_NUMERALS}]+(?![{_NUMERALS}十分刻])[百千万亿]*
        |[{_NUMERALS}十廿卅][{_ANY}]+
        |(?<=第)[{_NUMERALS}十]
        |(?<!星期)(?<!礼拜)(?<![{_ANY}周])[{_NUMERALS}十廿卅](?={_COUNTED})
        |(?<=[期拜周])[{_NUMERALS}](?=次|节|遍|回|顿|小时|个|课时|学时)
        |[二两三四五六七八九十](?=点)
        |(?<!伎)[俩仨](?!语)
        |(?<![大多过夜上下])半(?={_CHINESE_UNITS})
    ))(?P<unit>[年日号]|{_CHINESE_UNITS}|点[钟整]?)?
    """,
    re.VERBOSE,
)
_MEASURE = re.compile(MEASURE_WORDS)
_FIRST_CJK = "\u1100"
_IS_CHINESE = re.compile(f"[{IDEOGRAPHS}{KANA}]")
# Characters that are hardly ever part of another word: a run of Chinese is cut at them.
_PARTING = re.compile("[^的了着吗呢吧啊呀和与及或是在也都就还又很把被这那其]+")
_STOPWORDS = ENGLISH_STOPWORDS | CONTRACTED | {"may", "cannot", "never", "neither", "without"}
_IN_DIGITS = re.compile(r"[0-9][0-9.]*")

Part = tuple[str, int, int]
"""A form, and its place in its token."""


class Word(NamedTuple):
    """A content word: its form, and its place in the text."""

    form: str
    start: int
    end: int


def forms(text: str) -> list[str]:
    """The forms of a text's content words, in their order; adjacent pairs of characters, where it is Chinese.

    - Texts are folded: case, width, accents, traditional characters.
    - Stop words are left out; an English word loses the ending of its inflection (`stem`).
    - Numbers have one form, in digits or words: 2,000 and 两千 are 2000, 9:00 and 九点 are 9; so have months (month5)
      and units (km).
    - Each single character of Chinese that is parted from all others is a word.

    >>> forms("It opened on 21 May: 2,000 tickets, five km."), forms("五月二十一日开幕")
    (['open', '21', 'month5', '2000', 'ticket', '5', 'km'], ['month5', '21', '开幕'])
    """
    return list(chain.from_iterable(map(_forms, tokens(text))))


def written(text: str) -> list[str]:
    """The content words of a text as they are written, folded; of Chinese single characters, and numbers in one form.

    >>> written("It opened on 21 May."), written("五月二十一日开幕")
    (['opened', '21', 'month5'], ['month5', '21', '开', '幕'])
    """
    return list(chain.from_iterable(map(_written, tokens(text))))


@lru_cache(maxsize=64)
def tokens(text: str) -> list[str]:
    """The pieces that a text is cut into before their forms are looked at."""
    folded = text.lower() if text.isascii() else fold(text, STEPS)
    return _pattern(folded).findall(folded)


def _pattern(folded: str) -> re.Pattern[str]:
    if has_spelled(folded):
        return _SPELLED_ASCII_TOKEN if folded.isascii() else _SPELLED_TOKEN
    return _ASCII_TOKEN if folded.isascii() else _TOKEN


def words(text: str) -> Iterator[Word]:
    """Forms of a text's content words with their places, in code points."""
    if text.isascii():  # folding moves nothing
        yield from words_of_folded(text.lower())
        return
    folded = fold_with_offsets(text, STEPS)
    for word in words_of_folded(folded.text):
        yield Word(word.form, *folded.source(word.start, word.end))


def words_of_folded(folded: str) -> Iterator[Word]:
    """Forms of the content words of a text that is folded by `STEPS`, with their places in it."""
    for match in _pattern(folded).finditer(folded):
        for form, start, end in _parts(match[0]):
            yield Word(form, match.start() + start, match.start() + end)


def is_number(form: str) -> bool:
    """True for the form of a number."""
    return "0" <= form[0] <= "9" and _IN_DIGITS.fullmatch(form) is not None


@lru_cache(maxsize=1 << 16)
def _forms(token: str) -> tuple[str, ...]:
    return tuple(form for form, _, _ in _parts(token))


@lru_cache(maxsize=1 << 16)
def _written(token: str) -> tuple[str, ...]:
    if token[0] >= _FIRST_CJK:
        return tuple(chain.from_iterable(form if form >= _FIRST_CJK else [form] for form in _forms(token)))
    own = _forms(token)
    return (token,) if own == (stem(token),) else own


@lru_cache(maxsize=1 << 16)
def _parts(token: str) -> list[Part]:
    first = token[0]
    if "0" <= first <= "9":
        return _number_parts(token)
    if first >= _FIRST_CJK and _IS_CHINESE.match(first):
        return _chinese_parts(token)
    form = _word_form(token)
    return [(form, 0, len(token.rstrip()))] if form else []


def _word_form(token: str) -> str:
    if token in UNITS:
        return UNITS[token]
    if " " in token.rstrip() or "-" in token:
        return english_number(token)
    word = token.strip("'").removesuffix("'s")
    if token == "may " or (word in MONTHS and word != "may"):
        return MONTHS[word.strip()]
    if word in _STOPWORDS or len(word) == 0 or word.endswith("n't"):
        return ""
    return UNITS.get(word) or ENGLISH_NUMBERS.get(word) or stem(word)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """An English word without the ending of its inflection; any other word as it is.

    >>> [stem(word) for word in ("opened", "opens", "opening", "cities", "stopped", "makes", "making", "class", "red")]
    ['open', 'open', 'open', 'city', 'stop', 'mak', 'mak', 'class', 'red']
    """
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("es", ""), ("s", ""), ("ing", ""), ("ed", ""), ("ly", "")):
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= 3
            and not word.endswith(("ss", "us", "is")[: len(ending) < 2 and 3])
        ):
            word = word[: -len(ending)] + instead
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


def _number_parts(token: str) -> list[Part]:
    if token.endswith(":00"):
        return [(number_form(token[:-3]), 0, len(token))]
    if date := re.fullmatch(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})", token):
        year, month, day = date[1], date[3], date[4]
        if 1 <= int(month) <= 12:
            return [(year, *date.span(1)), (f"month{int(month)}", *date.span(3)), (number_form(day), *date.span(4))]
    match = re.match(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?", token)
    assert match is not None
    end = match.end()
    rest = token[end:]
    if rest.endswith("may"):
        return [(number_form(match[0]), 0, end), ("month5", len(token) - 3, len(token))]
    if rest in ("月", "月份"):
        return [(f"month{int(match[0])}" if match[0].isdigit() and len(match[0]) < 3 else match[0], 0, len(token))]
    scaled = re.match(r"\s[a-z]+|bn|[百千万亿]+", rest)
    stop = end + (scaled.end() if scaled else 0)
    parts = [(number_form(token[:stop]), 0, stop)]
    unit = token[stop:].strip()
    if unit in UNITS and unit != "年":
        parts.append((UNITS[unit], len(token) - len(unit), len(token)))
    return parts


def _chinese_parts(run: str) -> list[Part]:
    """Numbers with their units, and the pairs of characters between them."""
    parts: list[Part] = []
    at = 0
    for match in _NUMERAL.finditer(run):
        if match["vague"] or is_part_of_word(run, match.start(), _counted_end(match)):
            continue
        parts += _pairs(run, at, match.start())
        at = match.end()
        parts += _numeral_parts(match)
    return parts + _pairs(run, at, len(run))


def _counted_end(match: re.Match[str]) -> int:
    """End of a numeral with the unit or measure word behind it."""
    measure = None if match["unit"] else _MEASURE.match(match.string, match.end())
    return measure.end() if measure else match.end()


def _numeral_parts(match: re.Match[str]) -> list[Part]:
    start, end = match.span()
    if match["month"]:
        return [(f"month{chinese_number(match['month'])}", start, end)]
    if match["percent"]:
        number = match.start("percent")
        return [("%", start, number), (chinese_number(match["percent"]), number, end)]
    if match["below"]:
        return [(chinese_number(match[group]), *match.span(group)) for group in ("below", "above")]
    unit = (UNITS[match["unit"]], *match.span("unit")) if match["unit"] in UNITS and match["unit"] != "年" else None
    if match["about"]:
        ends = (chinese_number(digit + match["scale"]) for digit in match["about"])
        parts = [(form, start + i, start + i + 1) for i, form in enumerate(ends)]
    else:
        is_day = match["unit"] in ("日", "号")
        form = ONE if match["number"] == "一" and not is_day else chinese_number(match["number"])
        parts = [(form, *match.span("number"))]
    return [*parts, unit] if unit else parts


def _pairs(run: str, start: int, end: int) -> list[Part]:
    parts: list[Part] = []
    for piece in _PARTING.finditer(run, start, end):
        first, last = piece.span()
        if last - first == 1:
            parts.append((run[first], first, last))
        parts += [(run[i : i + 2], i, i + 2) for i in range(first, last - 1)]
    return parts
