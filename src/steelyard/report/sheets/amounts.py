"""Times, rates and money, as people read them."""

from __future__ import annotations

import math
from decimal import Decimal

_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "RMB": "¥", "JPY": "¥"}
_DIGITS = 3


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
        return f"{value:,.0f}".replace("-", "−")
    return f"{Decimal(f'{value:.{digits}g}'):f}".replace("-", "−")


def multiple(ratio: float | None) -> str:
    """A ratio that may be large, such as a return on what was paid, in per cent with its sign.

    >>> multiple(1.0833), multiple(4215.34), multiple(-0.5), multiple(float("inf")), multiple(None)
    ('+108%', '+421,534%', '−50%', '∞', '–')
    """
    if ratio is None or not math.isfinite(ratio):
        return amount(ratio)
    return f"{'+' if ratio > 0 else ''}{amount(100 * ratio)}%"


def money(value: float | None, currency: str, *, sign: bool = False) -> str:
    """An amount of money: cents from one on, and three digits below; the sign of its currency, or its code.

    sign   whether a gain has a plus

    >>> money(0.00125, "USD"), money(208.333, "USD"), money(2500, "CNY"), money(-3.5, "CHF")
    ('$0.00125', '$208.33', '¥2,500', '−CHF 3.50')
    """
    if value is None or not math.isfinite(value):
        return amount(value)
    before = _SIGNS.get(currency.upper(), f"{currency} ")
    text = f"{abs(value):.2f}".removesuffix(".00") if 1 <= abs(value) < 1000 else amount(abs(value))
    return f"{'−' if value < 0 else '+' if sign and value > 0 else ''}{before}{text}"


def bounds(low: float | None, high: float | None, *, unknown: str) -> str:
    """Both ends of an interval of times; ≥ or ≤ with one end where n is too small for the other.

    unknown   what is said where neither end is there

    >>> bounds(3.9, 4.42, unknown="n too small"), bounds(3.9, float("inf"), unknown="n too small")
    ('3.9–4.42', '≥ 3.9')
    >>> bounds(float("-inf"), float("inf"), unknown="n too small"), bounds(None, None, unknown="n too small")
    ('n too small', '–')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return "–"
    if low == -math.inf:
        return unknown if math.isinf(high) else f"≤ {amount(high)}"
    if math.isinf(high):
        return amount(low) if math.isinf(low) else f"≥ {amount(low)}"
    return f"{amount(low)}–{amount(high)}"
