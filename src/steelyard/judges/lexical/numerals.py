"""Numbers, months and units of measure in one form, however they are written."""

from __future__ import annotations

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
"""Names of months; "may" is one only beside a number, which whoever cuts the text must see to."""

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
_LONGEST = 15  # digits that a float holds


def number_form(text: str) -> str:
    """A number with digits, with or without commas, decimals and a word for its magnitude, in one form.

    >>> number_form("2,000"), number_form("1.50"), number_form("3 million"), number_form("21st"), number_form("2.5亿")
    ('2000', '1.5', '3000000', '21', '250000000')
    """
    digits = text.replace(",", "")
    end = next((i for i, c in enumerate(digits) if c not in "0123456789."), len(digits))
    tail, digits = digits[end:].strip(), digits[:end]
    if len(digits) > _LONGEST:
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
        if len(digits) > _LONGEST:
            return digits
        value = float(digits or 0)
    else:
        value = float(_with_magnitudes(whole[:_LONGEST]))
    for place, c in enumerate(decimals[:_LONGEST], start=1):
        value += _CHINESE_DIGITS.get(c, 0) * 10.0**-place
    return _plain(round(value, _LONGEST))


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
