"""What is true, what is not, and what nobody knows: Kleene's logic, with 1, 0 and NaN."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.measures.judged_answers import SUPPORTED, Codes


def said_by(codes: Codes, verdict: int = SUPPORTED) -> Floats:
    """(n,) whether each verdict is this one; NaN where there is none.

    >>> said_by(np.array([1, 0, 2, -1, -2], np.int8))
    array([ 1.,  0.,  0., nan, nan])
    """
    return np.where(codes < 0, np.nan, codes == verdict)


def negated(truth: Floats) -> Floats:
    """(n,) 1 for 0, 0 for 1."""
    return 1.0 - truth


def both(a: Floats, b: Floats) -> Floats:
    """(n,) whether both are true: false where one is false, whatever the other.

    >>> both(np.array([1.0, 0.0, 1.0]), np.array([1.0, np.nan, np.nan]))
    array([ 1.,  0., nan])
    """
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def either(a: Floats, b: Floats) -> Floats:
    """(n,) whether one of them is true: true where one is, whatever the other."""
    return negated(both(negated(a), negated(b)))


def any_of(truth: Floats, owner: Ints, size: npt.ArrayLike) -> Floats:
    """(n,) whether anything of each owner is true; NaN where nothing is, and not all that it has is known.

    truth   (m,) 1, 0 or NaN;   owner   (m,) from 0;   size   (n,) how many each owner has, absent ones included

    >>> any_of(np.array([1.0, np.nan, 0.0, np.nan]), np.array([0, 0, 1, 2]), [2, 1, 1, 0])
    array([ 1.,  0., nan,  0.])
    """
    size = np.asarray(size)
    is_true = np.bincount(owner, truth == 1, len(size)) > 0
    n_known = np.bincount(owner, ~np.isnan(truth), len(size))
    return np.where(is_true, 1.0, np.where(n_known < size, np.nan, 0.0))
