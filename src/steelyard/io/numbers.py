"""Whole numbers that are too large for floats, in which all scores and gains are held."""

from __future__ import annotations

import re

EXACT = 2.0**53
"""Whole numbers from here on, above and below 0, may be none that a float can hold."""

ROUNDED = "is a whole number beyond 2**53 that would be rounded, so that ranks could change; divide or shorten it"

_WHOLE = re.compile(r"\s*[+-]?\d+\s*")


def is_rounded(value: object, number: float) -> bool:
    """Whether a value of any library, or a text of digits, is a whole number other than the float that it became.

    >>> is_rounded(2**53 + 1, 2.0**53), is_rounded(str(2**53), 2.0**53), is_rounded("1e300", 1e300)
    (True, False, False)
    """
    if abs(number) < EXACT or isinstance(value, float):
        return False
    if isinstance(value, str):
        return _WHOLE.fullmatch(value) is not None and int(value) != int(number)
    try:
        return int(value) != int(number)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return False
