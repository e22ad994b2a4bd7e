"""How numbers, times, rates and money are written for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from steelyard.base.arrays import Floats

_LARGE = 1e9
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "RMB": "¥", "JPY": "¥"}
_DIGITS = 3
_SMALL = 0.001


def number(value: float | None, decimals: int = 4) -> str:
    """So many decimals, with a true minus; a dash for what is not there.

    >>> number(0.25), number(-0.5, 2), number(-0.0, 1), number(None), number(float("inf"))
    ('0.2500', '−0.50', '0.0', '–', '∞')
    """
    if value is None or np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return (f"{value + 0.0:.{decimals}f}" if abs(value) < _LARGE else f"{value:.6g}").replace("-", "−")


def count(n: int | None) -> str:
    """A whole number with commas between thousands; a dash for what is not there.

    >>> count(3219), count(None)
    ('3,219', '–')
    """
    return "–" if n is None else f"{n:,}"


def signed(value: float | None, decimals: int) -> str:
    """A number with its sign, a true minus among them; 0 has none, and a dash is for what is not there.

    >>> signed(-0.25, 2), signed(0.0, 1), signed(float("nan"), 1)
    ('−0.25', '0.0', '–')
    """
    if value is None:
        return number(value)
    return f"+{number(value, decimals)}" if value > 0 else number(value, decimals)


def percent(share: float | None, decimals: int = 0, *, sign: bool = False) -> str:
    """A share in per cent, halves rounded up as in the labels of charts; a dash for what is not there.

    A part, however small, is not rounded to nothing, nor one that lacks little to all.  A change, with its sign, is.

    >>> percent(0.125), percent(None), percent(-0.0625, 1), percent(0.0625, 1, sign=True)
    ('13%', '–', '−6.3%', '+6.3%')
    >>> percent(8 / 3219), percent(3203 / 3219), percent(0.0), percent(1.0)
    ('<1%', '>99%', '0%', '100%')
    """
    if share is None or np.isnan(share):
        return "–"
    unit = Decimal(1).scaleb(-decimals)
    rounded = Decimal(100 * share).quantize(unit, ROUND_HALF_UP)
    if 0 < share < 1 and rounded in (0, 100) and not sign:
        return f">{100 - unit}%" if rounded else f"<{unit}%"
    return f"{'+' if sign and share > 0 else ''}{rounded}%".replace("-", "−")


def part_of(n: int, total: int) -> str:
    """A number of things, and which share of all they are.

    >>> part_of(8, 64), part_of(0, 64)
    ('8 (13%)', '0')
    """
    return f"{n:,} ({percent(n / total)})" if n else "0"


def best_places(goodness: Floats) -> list[int]:
    """Places of the best values; none where all are equal, so that no one is ahead.

    >>> best_places(np.array([0.5, 0.7, 0.7])), best_places(np.array([0.5, 0.5]))
    ([1, 2], [])
    """
    places = np.flatnonzero(goodness == np.nanmax(goodness, initial=-np.inf)).tolist()
    return places if len(places) < len(goodness) else []


def p_text(p: float | None, *, sign: bool = False) -> str:
    """p to three digits; with sign, as it is written behind a p in a sentence.  A dash where there is none.

    >>> p_text(0.0341), p_text(0.0341, sign=True), p_text(0.0002), p_text(0.0002, sign=True)
    ('0.034', '= 0.034', '<0.001', '< 0.001')
    """
    if p is None or np.isnan(p):
        return "–"
    equals, below = ("= ", "< ") if sign else ("", "<")
    return f"{below}0.001" if p < 0.001 else f"{equals}{p:.3f}"


def ends(low: float | None, high: float | None, decimals: int = 3) -> str:
    """Both ends of an interval of values; a dash where there is none.

    >>> ends(0.5, 0.75)
    '0.500–0.750'
    """
    return "–" if low is None or np.isnan(low) else f"{number(low, decimals)}–{number(high, decimals)}"


def milliseconds(ms: float | None) -> str:
    """Three digits, or all whole ones; a dash where there is none, and ∞ where most requests failed.

    >>> milliseconds(0.24749), milliseconds(1520.4), milliseconds(float("inf")), milliseconds(None)
    ('0.247', '1,520', '∞', '–')
    """
    return amount(ms)


def amount(value: float | None, digits: int = _DIGITS) -> str:
    """So many digits, or all whole ones, without an exponent; a dash where there is none.

    >>> amount(16.04), amount(12345.6), amount(0.0000123456), amount(-0.5), amount(0.0)
    ('16', '12,346', '0.0000123', '−0.5', '0')
    >>> amount(0.0003479021, 4), amount(500.26, 4)
    ('0.0003479', '500.3')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 10 ** (digits - 1) or value == 0:
        return f"{value + 0.0:,.0f}".replace("-", "−")
    return f"{Decimal(f'{value:.{digits}g}'):f}".replace("-", "−")


def significant(value: float | None) -> str:
    """Three digits and no more, of large values too.

    >>> significant(15_386_407.0), significant(96.04), significant(None)
    ('15,400,000', '96', '–')
    """
    if value is None or not math.isfinite(value) or value == 0:
        return amount(value)
    return amount(float(f"{value:.{_DIGITS}g}"))


def decimals_of(low: float | None, high: float | None) -> int | None:
    """Decimals at which the half-width of an interval has two digits, below 0 for tens; None without a finite width.

    An interval that is narrow beside its ends leaves these three digits, or all whole ones.

    >>> decimals_of(2.15, 5.62), decimals_of(-22_322, 56_844), decimals_of(1.0, float("inf")), decimals_of(20, 20.001)
    (1, -3, None, 1)
    """
    half = math.nan if low is None or high is None else (high - low) / 2
    if not (low is not None and high is not None and 0 < half < math.inf):
        return None
    most = max(0, _DIGITS - 1 - math.floor(math.log10(max(abs(low), abs(high)))))
    return min(1 - math.floor(math.log10(half)), most)


def by_width(low: float | None, high: float | None) -> Callable[[float | None], str]:
    """How a value and the ends of its interval are written: to two digits of the half-width, or as an amount.

    >>> text = by_width(2.15, 5.62)
    >>> text(2.67), text(2.15), text(5.62)
    ('2.7', '2.2', '5.6')
    """
    decimals = decimals_of(low, high)
    return amount if decimals is None else lambda value: rounded(value, decimals)


def rounded(value: float | None, decimals: int) -> str:
    """So many decimals, below 0 for tens and hundreds, halves away from 0; a dash for what is not there.

    >>> rounded(2.15, 1), rounded(-22_322, -3), rounded(-0.04, 1), rounded(None, 1)
    ('2.2', '−22,000', '0.0', '–')
    """
    if value is None or not math.isfinite(value):
        return amount(value)
    text = f"{Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) + 0:,f}"
    return text.replace("-", "−")


def multiple(ratio: float | None, decimals: int | None = None) -> str:
    """A ratio that may be large, such as a return on what was paid, in per cent with its sign.

    decimals   of the ratio, as of `decimals_of`; by default those of an amount

    >>> multiple(1.0833), multiple(4215.34), multiple(-0.5), multiple(float("inf")), multiple(None)
    ('+108%', '+421,534%', '−50%', '∞', '–')
    >>> multiple(-223.22, -1), multiple(0.5684, 1)
    ('−22,000%', '+60%')
    """
    if ratio is None or not math.isfinite(ratio):
        return amount(ratio)
    text = amount(100 * ratio) if decimals is None else rounded(100 * ratio, decimals - 2)
    return f"{'+' if ratio > 0 and text.strip('0.') else ''}{text}%"


def money(value: float | None, currency: str, *, sign: bool = False, decimals: int | None = None) -> str:
    """Money with the sign of its currency, or its code: cents from one on, then three digits, two below $0.001.

    sign   whether a gain has a plus;   decimals   that its interval allows, as of `decimals_of`

    >>> money(0.0000171, "USD"), money(208.333, "USD"), money(2500, "CNY"), money(-3.5, "CHF")
    ('$0.000017', '$208.33', '¥2,500', '−CHF 3.50')
    >>> money(208.333, "USD", decimals=-1), money(-1.234567, "USD", decimals=4)
    ('$210', '−$1.23')
    """
    if value is None or not math.isfinite(value):
        return amount(value)
    before = _SIGNS.get(currency.upper(), f"{currency} ")
    most = 2 if abs(value) >= 1 else decimals  # There are no parts of a cent where there are units.
    if decimals is not None and most is not None:
        text = rounded(abs(value), min(decimals, most))
    elif 1 <= abs(value) < 1000:
        text = f"{abs(value):.2f}".removesuffix(".00")
    else:
        text = amount(abs(value), 2 if abs(value) < _SMALL else _DIGITS)
    signs = "" if not text.strip("0.,") else "−" if value < 0 else "+" if sign else ""
    return f"{signs}{before}{text}"


def bounds(low: float | None, high: float | None, *, unknown: str) -> str:
    """Both ends of an interval of times; ≥ or ≤ with one end where n is too small for the other.

    unknown   what is said where neither end is there

    >>> bounds(3.9, 4.42, unknown="n too small"), bounds(3.9, float("inf"), unknown="n too small")
    ('3.90–4.42', '≥ 3.9')
    >>> bounds(float("-inf"), float("inf"), unknown="n too small"), bounds(None, None, unknown="n too small")
    ('n too small', '–')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return "–"
    if low == -math.inf:
        return unknown if math.isinf(high) else f"≤ {amount(high)}"
    if math.isinf(high):
        return amount(low) if math.isinf(low) else f"≥ {amount(low)}"
    text = by_width(low, high)
    return f"{text(low)}–{text(high)}"
