"""Numbers have the digits that their interval allows, and no more."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.reports.views.numbers import bounds, by_width, decimals_of, money, multiple

VALUES = st.floats(-1e9, 1e9, allow_subnormal=False)


def read(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("−", "-"))


@given(VALUES, VALUES, st.floats(0, 1))
def test_a_value_and_its_ends_are_rounded_alike_and_stay_in_order(low: float, high: float, share: float) -> None:
    low, high = sorted((low, high))
    decimals = decimals_of(low, high)
    assume(decimals is not None)
    value = min(max(low + share * (high - low), low), high)
    text, unit = by_width(low, high), Decimal(1).scaleb(-decimals)
    texts = [read(text(end)) for end in (low, value, high)]
    assert texts == sorted(texts)
    for shown, end in zip(texts, (low, value, high), strict=True):
        assert abs(shown - Decimal(repr(end))) <= unit / 2
        assert shown % unit == 0


@given(VALUES, st.floats(1e-6, 1e9))
def test_two_digits_of_the_half_width_are_left_or_three_of_the_ends(middle: float, half: float) -> None:
    low, high = middle - half, middle + half
    decimals = decimals_of(low, high)
    assume(decimals is not None)
    unit = 10.0**-decimals
    widest = max(abs(low), abs(high))
    by_half = 10 <= (high - low) / 2 / unit * (1 + 1e-9) < 100 * (1 + 1e-6)
    assert by_half or (decimals <= max(0, 2 - math.floor(math.log10(widest))) and unit >= (high - low) / 200)


@given(VALUES, VALUES)
def test_nothing_rounded_away_has_a_sign(low: float, high: float) -> None:
    low, high = sorted((low, high))
    decimals = decimals_of(low, high)
    for end in (low, high):
        for text in (money(end, "USD", sign=True, decimals=decimals), multiple(end, decimals)):
            assert any(digit in text for digit in "123456789") or text[0] not in "+−"


def test_what_readers_saw_with_too_many_digits() -> None:
    text = by_width(2.15, 5.62)
    assert f"{text(2.67)} ms ({bounds(2.15, 5.62, unknown='')})" == "2.7 ms (2.2–5.6)"
    decimals = decimals_of(-223.22, 568.44)
    assert [multiple(end, decimals) for end in (-223.22, 568.44)] == ["−22,000%", "+57,000%"]
    assert money(0.0000171, "USD") == "$0.000017"
    assert by_width(None, 3.0)(2.6789) == by_width(1.0, math.inf)(2.6789) == "2.68"
