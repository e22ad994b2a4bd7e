"""Quantities of a text in base units: two that are written in other words, as 14:00 and 2 pm, are one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from itertools import chain
from typing import NamedTuple

from steelyard.judges.lexical.numerals import BELOW_HUNDRED, ONE, SPELLED, chinese_number, english_number, number_form
from steelyard.judges.lexical.words import ALL_UNITS, Unit, forms, is_number
from steelyard.text.scripts import IDEOGRAPHS


class Quantity(NamedTuple):
    """An amount of something at a place of a folded text.

    keys      value and dimension in base units, as "5400 time"; several where the text may mean either
    numbers   forms of the numbers in it; none in "half an hour"
    is_sure   False for what may be no quantity, as in "$5 an hour"
    """

    keys: frozenset[str]
    start: int
    end: int
    numbers: frozenset[str]
    is_sure: bool = True

    @property
    def dimensions(self) -> frozenset[str]:
        """What it measures."""
        return frozenset(key.partition(" ")[2] for key in self.keys)


_CHINESE_DIGITS = "〇零一二两三四五六七八九"
_CHINESE_NUMERALS = f"{_CHINESE_DIGITS}十百千万亿廿卅"
_DIGITS = r"(?<![0-9第])[0-9]{1,15}(?:,[0-9]{3}){0,4}(?:\.[0-9]{1,9})?"
_SCALED = rf"{_DIGITS}(?:\s?(?:hundred|thousand|million|billion|trillion|bn|k)(?![^\W_])|[百千万亿]{{1,2}})?"
_CHINESE = (
    f"(?:(?<![{_CHINESE_NUMERALS}第])[{_CHINESE_DIGITS}十廿卅][{_CHINESE_NUMERALS}]{{0,14}}"
    f"(?:点[{_CHINESE_DIGITS}]{{1,9}}[百千万亿]{{0,2}})?|半)"
)
_SMALL = "one two three four five six seven eight nine ten eleven twelve".split()
_IN_WORDS = rf"(?:{SPELLED}|three quarters of an?|a quarter of an?|half an?|half|an?|{BELOW_HUNDRED})"
_AMOUNT = rf"(?:{_SCALED}|{_CHINESE}|(?<![^\W_]){_IN_WORDS}(?=[\s-]))"
_PARTS = {"half": 0.5, "quarter": 0.25, "three quarters": 0.75}


def _alternatives(names: Iterator[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


_LATIN_UNITS = _alternatives(name for name in ALL_UNITS if name < "\u1100" and name not in "$€£¥" and name[-1] != "$")
_CHINESE_UNITS = _alternatives(name for name in ALL_UNITS if name >= "\u1100" and name not in "里块角")
_UNITS = rf"(?:(?:{_LATIN_UNITS})(?![^\W_{IDEOGRAPHS}])|(?:{_CHINESE_UNITS})|[里块角](?![{IDEOGRAPHS}]))"
_CODES = frozenset("usd eur gbp cny rmb jpy 人民币".split())
_SIGNS = _alternatives(name for name in ALL_UNITS if name[-1] in "$€£¥" or name in _CODES)
_MEASURED = re.compile(
    rf"(?:(?P<low>{_SCALED}|{_CHINESE})\s?(?:-|~|to|or|至|到|或)\s?)?"
    rf"(?P<amount>{_AMOUNT})(?P<half>个半)?[\s-]?(?P<unit>{_UNITS})(?P<more>半|\sand\sa\shalf)?"
)
_PRICED = re.compile(rf"(?<![a-z])(?P<unit>{_SIGNS})\s?(?P<amount>{_SCALED})")
_SIMPLE = f"(?P<amount>{_DIGITS}|{_CHINESE})"
_COINS = re.compile(rf"{_SIMPLE}块(?P<tenths>[1-9一二三四五六七八九])(?![0-9{_CHINESE_NUMERALS}])")
_OF_TEN = re.compile(rf"{_SIMPLE}(?P<kind>成(?![立为了功就员本交绩果年长品语分都])|折(?![叠磨线断旧返]))")
_OF_HUNDRED = re.compile(rf"百分之(?P<amount>[{_CHINESE_DIGITS}十百点廿卅]{{1,15}}|{_DIGITS})")
_CHINESE_FRACTION = re.compile(rf"(?P<below>{_CHINESE}|{_DIGITS})分之(?P<above>{_CHINESE}|{_DIGITS})")
_FRACTION = re.compile(r"(?<![0-9/.-])(?P<above>[1-9])/(?P<below>[1-9][0-9]?|100)(?![0-9/-])")
_PARTS_OF = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "tenth": 10}
_ENGLISH_FRACTION = re.compile(
    r"(?<![^\W_])(?:(?P<above>an?|one|two|three|four)[\s-](?P<below>half|third|quarter|fourth|fifth|tenth)s?|half)"
    r"(?![^\W_])(?P<of>(?=\sof\s(?!an?\s)))?"
)
_HALF = re.compile("一半|半数")
_HALF_PRICE = re.compile(r"半价|half[\s-]price")
_REPEATED = re.compile(
    r"(?<![^\W_])(?:(?<!at )once(?=\W*$|[.,;)]|\s(?:a|per|every|each|for)\s)|twice|thrice)(?![^\W_])"
)
_TIMES_OF = {"once": 1, "twice": 2, "thrice": 3}
_PERIODS = {
    **dict.fromkeys("凌晨 清晨 早上 早晨 上午 早".split(), "am"),
    **dict.fromkeys("下午 傍晚 晚上 晚间 夜间 夜里 晚 中午 午后".split(), "pm"),
}
_HOUR = "(?:[0-9]{1,2}|二?十[一二三四五六七八九]?|[一二两三四五六七八九零])"
_MINUTES = "(?:[0-5]?[0-9]|[二三四五]?十[一二三四五六七八九]?|零[一二三四五六七八九])"
_O_CLOCK = "[点时](?![间候代期常刻针速区装段长限效事节])[钟整]?"
_CHINESE_CLOCK = re.compile(
    rf"(?P<period>{'|'.join(_PERIODS)})?\s?(?P<hour>{_HOUR})"
    rf"(?::(?P<digits>[0-5][0-9])(?::[0-5][0-9])?(?![0-9:])"
    rf"|{_O_CLOCK}(?:(?P<minutes>{_MINUTES})分?|(?P<half>半)|(?P<quarters>[一三])刻)?)(?!\s?[ap]\.?m)"
)
_ENGLISH_CLOCK = re.compile(
    r"(?<![0-9:.])(?:(?P<low>[0-9]{1,2})(?::(?P<low_minutes>[0-5][0-9]))?\s?(?:-|to|until|till|and)\s?)?"
    r"(?P<hour>[0-9]{1,2})(?::(?P<minutes>[0-5][0-9]))?\s?(?P<period>[ap])\.?m(?:\.|(?![^\W_]))"
)
_CLOCK_IN_WORDS = re.compile(
    rf"(?<![^\W_])(?:(?P<part>half|(?:a\s)?quarter)\s(?P<side>past|to)\s(?P<hour>[0-9]{{1,2}}|{'|'.join(_SMALL)})"
    rf"|noon|midday|正午)(?![^\W_])"
)
_UNIT_FORMS = frozenset(chain.from_iterable(map(forms, ALL_UNITS)))
# No alternative begins with a look behind it, which would be tried at every character: a hint may be wrong.
_HINT = re.compile(
    rf"half|quarter|third|fourth|fifth|tenth|once|twice|thrice|noon|midday|[半午]|[0-9](?:[:/]|\s?[ap]\.?m)"
    rf"|(?:an?|one)\s(?:{_LATIN_UNITS})(?![^\W_])"
)


def may_state(text: str, words: Set[str]) -> bool:
    """True for a text that may have quantities, at a glance.

    words   forms of its content words

    >>> may_state("It has 20 rooms.", {"20", "room"}), may_state("It takes 20 days.", {"tak", "20", "day"})
    (False, True)
    """
    if not words.isdisjoint(_UNIT_FORMS) or _HINT.search(text.lower()) is not None:
        return True
    return not text.isascii() and (ONE in words or any(map(is_number, words)))


def quantities(folded: str) -> tuple[Quantity, ...]:
    """Quantities of a text that is folded as words are, in order of their beginning.

    Times of day, durations, lengths, weights and other measures, money, shares and numbers of times.  An hour without
    a period of the day may be of either half of it.

    >>> [sorted(quantity.keys) for quantity in quantities("2 pm for 1.5 hours")]
    [['14:00 clock', '2:00 clock or later'], ['5400 time']]
    """
    stated = chain(_measured(folded), _money(folded), _shares(folded), _repeated(folded), _clocks(folded))
    return tuple(sorted(_joined(folded, list(stated)), key=lambda quantity: quantity.start))


def _value(amount: str) -> float | None:
    if amount[0] in _CHINESE_NUMERALS or amount[0] == "半":
        return float(chinese_number(amount))
    if "0" <= amount[0] <= "9":
        return float(number_form(amount))
    if amount in ("a", "an", "one"):
        return 1.0
    part = amount.removeprefix("a ").removesuffix(" a").removesuffix(" an").removesuffix(" of")
    if part in _PARTS:
        return _PARTS[part]
    if " " in amount or "-" in amount:
        return float(english_number(amount))
    number = next(iter(forms(amount)), "")
    return float(number) if number and is_number(number) else None


def _quantity(folded: str, span: tuple[int, int], keys: Iterator[str] | list[str], *, is_sure: bool = True) -> Quantity:
    numbers = frozenset(filter(is_number, forms(folded[slice(*span)])))
    return Quantity(frozenset(keys), *span, numbers, is_sure)


def _keys(value: float, units: list[Unit]) -> list[str]:
    return [f"{value * unit.factor:.8g} {unit.dimension}" for unit in units]


_OF_RATE = re.compile("[最可能收要只共限付交缴给]")  # what follows 一天 where it is "a day"


def _measured(folded: str) -> Iterator[Quantity]:
    for match in _MEASURED.finditer(folded):
        value = _value(match["amount"])
        if value is None or _is_date(match, value):
            continue
        value += 0.5 * (match["half"] is not None or match["more"] is not None)
        keys = _keys(value, ALL_UNITS[match["unit"]])
        end = match.end()
        if match["unit"] in ("%", "percent") and folded.startswith((" off", " discount"), end):
            keys.append(f"{1 - value / 100:.8g} price")
        is_rate = match["amount"] in ("a", "an") or (match["amount"] == "一" and bool(_OF_RATE.match(folded, end)))
        yield _quantity(folded, (match.start("amount"), end), keys, is_sure=not is_rate)
        if match["low"] and (low := _value(match["low"])) is not None:
            yield _quantity(folded, match.span("low"), _keys(low, ALL_UNITS[match["unit"]]))


def _is_date(match: re.Match[str], value: float) -> bool:
    """True for a year, or a day behind a month."""
    before, behind = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    if match["unit"] == "年":
        return value >= 1000 or behind in ("代", "级", "制")
    return match["unit"] == "日" and before in ("月", "节")


def _money(folded: str) -> Iterator[Quantity]:
    for match in _PRICED.finditer(folded):
        value = _value(match["amount"])
        if value is not None:
            yield _quantity(folded, match.span(), _keys(value, ALL_UNITS[match["unit"]]))
    for match in _COINS.finditer(folded):
        tenths = float(chinese_number(match["tenths"]) if match["tenths"] > "9" else match["tenths"])
        yield _quantity(folded, match.span(), [f"{(_value(match['amount']) or 0) + tenths / 10:.8g} yuan"])


def _shares(folded: str) -> Iterator[Quantity]:
    for match in _OF_TEN.finditer(folded):
        value = _value(match["amount"]) or 0.0
        value /= 10 if value <= 10 else 100
        kinds = ("ratio",) if match["kind"] == "成" else ("price", "ratio")
        yield _quantity(folded, match.span(), [f"{value:.8g} {kind}" for kind in kinds])
    for match in _OF_HUNDRED.finditer(folded):
        yield _quantity(folded, match.span(), [f"{(_value(match['amount']) or 0) / 100:.8g} ratio"])
    for match in chain(_CHINESE_FRACTION.finditer(folded), _FRACTION.finditer(folded)):
        above, below = _value(match["above"]) or 0.0, _value(match["below"])
        if below and above < below and match["below"] != "百":
            yield _quantity(folded, match.span(), [f"{above / below:.8g} ratio"])
    for match in _ENGLISH_FRACTION.finditer(folded):
        above = _value(match["above"] or "one") or 1.0
        below = _PARTS_OF[match["below"] or "half"]
        is_sure = match["of"] is not None or match["above"] in ("one", "two", "three", "four")
        yield _quantity(folded, match.span(), [f"{above / below:.8g} ratio"], is_sure=is_sure)
    for match in _HALF.finditer(folded):
        yield _quantity(folded, match.span(), ["0.5 ratio"])
    for match in _HALF_PRICE.finditer(folded):
        yield _quantity(folded, match.span(), ["0.5 price", "0.5 ratio"])


def _repeated(folded: str) -> Iterator[Quantity]:
    for match in _REPEATED.finditer(folded):
        yield _quantity(folded, match.span(), [f"{_TIMES_OF[match[0]]} times"])


def _clocks(folded: str) -> Iterator[Quantity]:
    for match in _CHINESE_CLOCK.finditer(folded):
        unsaid = "" if match["digits"] else "either"
        keys = _clock_keys(_hour(match["hour"]), _minute(match), _PERIODS.get(match["period"], unsaid))
        if keys:
            yield _quantity(folded, match.span(), keys)
    for match in _ENGLISH_CLOCK.finditer(folded):
        keys = _clock_keys(int(match["hour"]), int(match["minutes"] or 0), match["period"] + "m")
        yield _quantity(folded, (match.start("hour"), match.end()), keys)
        if match["low"]:
            keys = _clock_keys(int(match["low"]), int(match["low_minutes"] or 0), "either")
            yield _quantity(folded, (match.start("low"), match.end("low")), keys)
    for match in _CLOCK_IN_WORDS.finditer(folded):
        yield _quantity(folded, match.span(), _keys_in_words(match))


def _minute(match: re.Match[str]) -> int:
    if match["digits"]:
        return int(match["digits"])
    if match["minutes"]:
        return int(_value(match["minutes"]) or 0)
    return 30 if match["half"] else 15 * int(chinese_number(match["quarters"] or "零"))


def _keys_in_words(match: re.Match[str]) -> list[str]:
    if not match["hour"]:
        return _clock_keys(12, 0, "pm")
    hour, part = _hour(match["hour"]), 30 if match["part"] == "half" else 15
    return _clock_keys(hour, part, "either") if match["side"] == "past" else _clock_keys(hour - 1, 60 - part, "either")


def _hour(text: str) -> int:
    return int(_value(text) or 0)


def _clock_keys(hour: int, minute: int, period: str) -> list[str]:
    """Keys of a time of day.

    period   "am", "pm", "either" half of the day, or "" for a time like 9:30, which is of a day of 24 hours, and may
             be that of a "9:30 pm", but not of a 21:30
    """
    if hour > 24 or minute > 59:
        return []
    if period == "am" or (period and hour > 12):
        return [f"{hour % 12 if hour <= 12 else hour}:{minute:02} clock"]
    early, late = f"{hour % 12}:{minute:02} clock", f"{hour % 12 + 12}:{minute:02} clock"
    if period == "pm":
        return [late, f"{hour % 12}:{minute:02} clock or later"]
    if period == "either":
        return [early, late]
    return [f"{hour % 24}:{minute:02} clock", *([f"{hour % 12}:{minute:02} clock or later"] if hour <= 12 else [])]


_BETWEEN = re.compile(r"[\s,]*(?:and|又|零)?\s*")
_SUMS = frozenset(("time", "months", "yuan", "length"))


def _joined(folded: str, stated: list[Quantity]) -> Iterator[Quantity]:
    """The quantities, and the sums of those that follow each other, as 1 hour 30 minutes."""
    yield from stated
    starts = {quantity.start: quantity for quantity in stated if not quantity.dimensions.isdisjoint(_SUMS)}
    for first in starts.values():
        gap = _BETWEEN.match(folded, first.end)
        second = starts.get(gap.end()) if gap else None
        if second and len(first.keys) == len(second.keys) == 1 and first.dimensions == second.dimensions:
            [one], [other] = first.keys, second.keys
            value, dimension = one.split(" ")
            if float(other.split(" ")[0]) < float(value):
                key = f"{float(value) + float(other.split(' ')[0]):.8g} {dimension}"
                yield Quantity(frozenset((key,)), first.start, second.end, first.numbers | second.numbers)
