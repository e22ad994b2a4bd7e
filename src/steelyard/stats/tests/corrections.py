"""Corrections for a family of tests: whoever makes many of them finds differences that are not there.

`correct` raises the p-values, and the family's name travels with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError


@dataclass(frozen=True)
class Corrected:
    """p-values of a family of tests, corrected for their number.

    p, adjusted   (m,) before and after; NaN stays NaN
    method        "holm", "bonferroni", "bh" or "none"
    family        which tests it covers, in words;   n_tests   how many of them had a p
    """

    p: Floats
    adjusted: Floats
    method: str
    family: str
    n_tests: int


def correct(p: npt.ArrayLike, *, method: str, family: str) -> Corrected:
    """Raise p-values for the number of tests in their family.

    p        (m,) in [0, 1]; NaN where there was no test: those do not count as tests
    method   "holm" (any of m errors at most alpha; never weaker than "bonferroni"), "bonferroni",
             "bh" (Benjamini-Hochberg: at most a share alpha of the findings false; for exploring), or "none"
    family   which tests these are, in words
    Raises   InputError for an unknown method or p outside [0, 1]
    Source   Holm 1979; Benjamini & Hochberg 1995.

    >>> correct([0.01, 0.04, 0.03], method="holm", family="three measures").adjusted
    array([0.03, 0.06, 0.06])
    """
    if method not in CORRECTIONS:
        raise InputError(f"no correction is called {method!r}; expected one of {', '.join(CORRECTIONS)}")
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or ((values < 0) | (values > 1)).any():
        raise InputError("p-values are a list of numbers between 0 and 1, or NaN where there was no test")
    tested = np.flatnonzero(~np.isnan(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    adjusted = values.copy()
    adjusted[order] = np.minimum(1.0, CORRECTIONS[method](values[order]))
    return Corrected(values, adjusted, method, family, len(tested))


def _holm(ascending: Floats) -> Floats:
    m = len(ascending)
    return np.maximum.accumulate(np.arange(m, 0, -1) * ascending)


def _bonferroni(ascending: Floats) -> Floats:
    return len(ascending) * ascending


def _benjamini_hochberg(ascending: Floats) -> Floats:
    m = len(ascending)
    # The factor first: the last one is then exactly 1, and no p-value comes out above Holm's by rounding.
    raised: Floats = ascending * (m / np.arange(1, m + 1))
    return np.minimum.accumulate(raised[::-1])[::-1]


def _as_it_is(ascending: Floats) -> Floats:
    return ascending


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "holm": _holm,
    "bonferroni": _bonferroni,
    "bh": _benjamini_hochberg,
    "none": _as_it_is,
}
"""By name: ascending p-values to raised ones, which `correct` caps at 1."""
