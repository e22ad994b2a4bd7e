"""Which arm a unit is in: by a hash of a salt and its id, the same in every process and every language."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import ceil
from typing import overload

import numpy as np
import polars as pl

from steelyard.base.errors import InputError

Weight = int | float | Decimal | Fraction
Weights = Mapping[str, Weight] | Sequence[str]
"""Arms with the weight of each: shares of traffic, percents or parts; or names of arms of equal weight.

Their order is a part of the rule."""
UnitId = str | int | np.integer
HASHES = 2**64
_BYTES = 8


@overload
def assign(salt: str, units: UnitId, arms: Weights) -> str: ...  # type: ignore[overload-overlap]
@overload
def assign(salt: str, units: pl.Series, arms: Weights) -> pl.Series: ...
@overload
def assign(salt: str, units: Iterable[UnitId], arms: Weights) -> list[str]: ...
def assign(salt: str, units: UnitId | pl.Series | Iterable[UnitId], arms: Weights) -> str | pl.Series | list[str]:
    """The arm of a unit, or of each of many: always the same for a salt, and independent of other salts.

    h is the number that the first 8 bytes of SHA-256 of salt and id make, big-endian; both are UTF-8, one behind the
    other.  The unit is in the first arm whose weight, added to those of the arms before it, is above h / 2**64 of all
    weights.  This is computed in whole numbers: no rounding decides, and a float is the decimal that it prints as.

    salt     of the experiment; another salt deals the units out independently
    units    id of a user, session or request, text or a whole number, which is the same as its digits; several of
             them, or a column of a frame
    arms     as `Weights`.  Of two arms, where the weight of the second grows, units move from the first into it alone
    Returns  the name of the arm; a list of names for several units, and a column "arm" for a column
    Raises   InputError for an empty salt, an id that is empty or missing or is neither of both, weights below
             0, and fewer than two arms

    >>> arms = {"control": 0.5, "treatment": 0.5}
    >>> assign("reranker-v2", "user-1", arms), assign("reranker-v2", ["user-1", "user-2"], arms)
    ('control', ['control', 'treatment'])
    """
    arm_of = _assigner(salt, arms)
    if isinstance(units, str | int | np.integer):
        return arm_of(units)
    if isinstance(units, pl.Series):
        return pl.Series("arm", [arm_of(unit) for unit in units.to_list()], dtype=pl.String)
    return [arm_of(unit) for unit in units]


def _assigner(salt: str, arms: Weights) -> Callable[[object], str]:
    """A function from an id to the name of its arm."""
    start = hashlib.sha256(_encoded(salt, "the salt"))
    names, ends = list(arms), _ends(arms)

    def arm_of(unit: object) -> str:
        sha = start.copy()
        sha.update(_encoded(unit, "the id of a unit"))
        return names[bisect_right(ends, int.from_bytes(sha.digest()[:_BYTES], "big"))]

    return arm_of


def _encoded(value: object, what: str) -> bytes:
    text = str(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text:
        raise InputError(f"{what} is {value!r}; expected a text that is not empty, or a whole number")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} is {value!r}, which is no text of Unicode") from None


def _ends(arms: Weights) -> list[int]:
    """The first hash behind each arm but the last one."""
    weights = [_weight(arms[name]) for name in arms] if isinstance(arms, Mapping) else [Fraction(1) for _ in arms]
    if isinstance(arms, str) or len(weights) < 2 or len(set(arms)) < len(weights):
        raise InputError(
            f"arms are {arms!r}; expected two at least with a name each, such as {{'control': 50, 'treatment': 50}}"
        )
    if not (min(weights) >= 0 and sum(weights) > 0):
        split = "/".join(f"{weight:g}" for weight in map(float, weights))
        raise InputError(f"the weights of the arms are {split}; expected weights of at least 0, not all 0")
    total = sum(weights)
    return [ceil(HASHES * end / total) for end in list(accumulate(weights))[:-1]]


def _weight(value: Weight) -> Fraction:
    try:
        return Fraction(str(value) if isinstance(value, float) else value)
    except (ValueError, OverflowError, TypeError):
        raise InputError(f"the weight of an arm is {value!r}; expected a number such as 50 or 0.5") from None


def parse_split(text: str) -> dict[str, Fraction]:
    """Arms with their weights, of a text such as 50/50, 90/10, 1/1/1, or control=90/new=10.

    Without names the first arm is control, the other one treatment, and several others treatment-1, treatment-2, ...

    Raises   InputError for anything else

    >>> {arm: int(weight) for arm, weight in parse_split("90/10").items()}
    {'control': 90, 'treatment': 10}
    >>> list(parse_split("1/1/1")), list(parse_split("old=1/new=2"))
    (['control', 'treatment-1', 'treatment-2'], ['old', 'new'])
    """
    parts = [part.rpartition("=") for part in text.split("/")]
    others = ["treatment"] if len(parts) == 2 else [f"treatment-{i}" for i in range(1, len(parts))]
    named = [name.strip() for name, equals, _ in parts if equals]
    names = named or ["control", *others]
    try:
        arms = dict(zip(names, [Fraction(weight.strip()) for *_, weight in parts], strict=True))
        if not all(names):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"the split is {text!r}; expected weights such as 50/50 or 90/10, or names with them: control=90/new=10"
        ) from None
    _ends(arms)
    return arms
