"""The content words of a text as the lexical judge compares them, with their places; numbers and units in one form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from steelyard.text.folding import fold, fold_with_offsets
from steelyard.text.scripts import CONTRACTED, ENGLISH_STOPWORDS, HANGUL, IDEOGRAPHS, KANA

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
}
"""Words that are numbers; "one" is too often none."""

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

UNITS = {
    name: names.split()[0]
    for names in (
        "% percent 百分点",
        "km kilometer kilometers kilometre kilometres 公里 千米",
        "metre meter meters metres 米",
        "cm centimeter centimeters centimetre centimetres 厘米",
        "mm millimeter millimeters millimetre millimetres 毫米",
        "mile miles 英里",
        "foot feet ft 英尺",
        "inch inches 英寸",
        "yard yards",
        "kg kilogram kilograms kilo kilos 公斤 千克",
        "gram grams 克",
        "mg milligram milligrams 毫克",
        "ton tons tonne tonnes 吨",
        "lb lbs",
        "ounce ounces oz",
        "litre liter liters litres 升",
        "ml milliliter milliliters millilitre millilitres 毫升",
        "second seconds sec secs 秒",
        "minute minutes min mins 分钟",
        "hour hours hr hrs 小时",
        "day days 天",
        "week weeks 星期 周",
        "month months 个月",
        "year years yr yrs 年",
        "dollar dollars usd $ 美元",
        "euro euros eur € 欧元",
        "pound pounds gbp £ 英镑",
        "yuan rmb cny ¥ 元 人民币",
        "yen jpy 日元",
        "°c celsius 摄氏度",
        "°f fahrenheit 华氏度",
        "kb kilobyte kilobytes",
        "mb megabyte megabytes",
        "gb gigabyte gigabytes",
        "tb terabyte terabytes",
        "watt watts 瓦",
        "volt volts 伏",
    )
    for name in names.split()
}
"""Every way to write a unit, and the one that stands for it."""

_ENGLISH_MAGNITUDES = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12,
}  # fmt: skip
_CHINESE_DIGITS = {**{digit: value for value, digit in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_CHINESE_MAGNITUDES = {"十": 10, "百": 100, "千": 1000}
_LONGEST_NUMBER = 15  # digits that a float holds


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
    return _plain(float(digits) * scale)


def chinese_number(numeral: str) -> str:
    """A number in Chinese numerals, with digits in the form of `number_form`.

    >>> chinese_number("三百二十一"), chinese_number("二〇二四"), chinese_number("十二万"), chinese_number("三点五")
    ('321', '2024', '120000', '3.5')
    """
    whole, _, decimals = numeral.partition("点")
    if all(c in _CHINESE_DIGITS for c in whole):
        digits = "".join(str(_CHINESE_DIGITS[c]) for c in whole)
        if len(digits) > _LONGEST_NUMBER:
            return digits
        value = float(digits or 0)
    else:
        value = float(_with_magnitudes(whole[:_LONGEST_NUMBER]))
    for place, c in enumerate(decimals[:_LONGEST_NUMBER], start=1):
        value += _CHINESE_DIGITS.get(c, 0) * 10.0**-place
    return _plain(round(value, _LONGEST_NUMBER))


def _with_magnitudes(numeral: str) -> int:
    total = section = digit = 0
    for c in numeral:
        if c in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[c]
        elif c in _CHINESE_MAGNITUDES:
            section += (digit or 1) * _CHINESE_MAGNITUDES[c]
            digit = 0
        else:
            total = (total + section + digit or 1) * (10**4 if c == "万" else 10**8)
            section = digit = 0
    return total + section + digit


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.10g}"


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
_ASCII_TOKEN = re.compile(rf"{_DATE}|{_NUMBER}{_OF_MAY}|{_MAY}|{_WORD}|[%$]", re.ASCII)
_TOKEN = re.compile(
    rf"[{IDEOGRAPHS}{KANA}]+|[{HANGUL}]+|{_DATE}"
    rf"|{_NUMBER}(?:{_OF_MAY}(?![{_CJK}])|[百千万亿]*(?:月份?|[年日号]|\s?(?:{_CHINESE_UNITS}))?)"
    rf"|{_MAY}|(?:(?![{_CJK}])[^\W\d_])(?:(?![{_CJK}])[^\W_]|')*(?:(?<=[0-9])\.[0-9]+)*|°[cf]|[%$€£¥]"
)
# Within Chinese: a percentage; a month; numerals with a magnitude or several; one that a unit follows.
_NUMERAL = re.compile(
    rf"百分之(?P<percent>[{_NUMERALS}十百点]+)|(?P<month>十[一二]?|(?<![{_NUMERALS}十])[一二三四五六七八九])月(?!亮|球|饼)份?"
    rf"|(?P<number>(?:[{_NUMERALS}]+[十百千万亿点]|十)[{_NUMERALS}十百千万亿点]*[{_NUMERALS}十百千万亿]|[{_NUMERALS}]{{2,}}"
    rf"|[{_NUMERALS}]+[十百千万亿]|(?:[{_NUMERALS}]|十)(?=[日号名位件种项届辆座所]|{_CHINESE_UNITS})|[二两三四五六七八九十](?=点))(?P<unit>[年日号]|{_CHINESE_UNITS})?"
)
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
    return (_ASCII_TOKEN if folded.isascii() else _TOKEN).findall(folded)


def words(text: str) -> Iterator[Word]:
    """Forms of a text's content words with their places, in code points."""
    if text.isascii():  # folding moves nothing
        for match in _ASCII_TOKEN.finditer(text.lower()):
            for form, start, end in _parts(match[0]):
                yield Word(form, match.start() + start, match.start() + end)
        return
    folded = fold_with_offsets(text, STEPS)
    pattern = _ASCII_TOKEN if folded.text.isascii() else _TOKEN
    for match in pattern.finditer(folded.text):
        for form, start, end in _parts(match[0]):
            yield Word(form, *folded.source(match.start() + start, match.start() + end))


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
    word = token.strip("'").removesuffix("'s")
    if token == "may " or (word in MONTHS and word != "may"):
        return MONTHS[word.strip()]
    if word in _STOPWORDS or len(word) == 0 or word.endswith("n't"):
        return ""
    return UNITS.get(word) or ENGLISH_NUMBERS.get(word) or stem(word)


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
        parts += _pairs(run, at, match.start())
        at = match.end()
        if match["month"]:
            parts.append((f"month{chinese_number(match['month'])}", match.start(), at))
        elif match["percent"]:
            percent = match.start("percent")
            parts += [("%", match.start(), percent), (chinese_number(match["percent"]), percent, at)]
        else:
            parts.append((chinese_number(match["number"]), *match.span("number")))
            if match["unit"] in UNITS and match["unit"] != "年":
                parts.append((UNITS[match["unit"]], *match.span("unit")))
    return parts + _pairs(run, at, len(run))


def _pairs(run: str, start: int, end: int) -> list[Part]:
    parts: list[Part] = []
    for piece in _PARTING.finditer(run, start, end):
        first, last = piece.span()
        if last - first == 1:
            parts.append((run[first], first, last))
        parts += [(run[i : i + 2], i, i + 2) for i in range(first, last - 1)]
    return parts
