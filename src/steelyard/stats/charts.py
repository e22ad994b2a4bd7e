"""Control charts of standardised values: how long they run until a false alarm, and limits for a wanted rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.numerics import nodes

K = 0.5
"""Allowance of a CUSUM, which finds shifts of about twice as many standard deviations first."""
_SHARES = {"jump": 0.3, "run": 0.2, "cusum": 0.5}
_PANELS, _MOST, _PRECISION = 6, 40.0, 1e-6
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Limits:
    """Limits of three rules on one side of a series of standard normal values.

    jump    one value beyond it;   run   two of three successive values beyond it
    cusum   the sum of what values exceed `k` by, never below 0, beyond it
    """

    jump: float
    run: float
    cusum: float
    k: float = K


@cache
def limits(rate: float, *, two_sided: bool = False, k: float = K) -> Limits:
    """Limits at which all rules together raise so many false alarms a window.

    Half of the alarms are those of the CUSUM, which finds small shifts; of ten, three are jumps and two are runs.

    rate     in (0, .1): the inverse of windows from one false alarm to the next
    Raises   InputError for another rate

    >>> usual = limits(1 / 1200)
    >>> round(usual.jump, 2), round(usual.run, 2), round(usual.cusum, 2)
    (3.48, 2.36, 5.94)
    """
    if not 0 < rate < 0.1:
        raise InputError(f"a rate of false alarms is above 0 and below .1 a window, not {rate:g}")
    wanted = {rule: (2 if two_sided else 1) / (share * rate) for rule, share in _SHARES.items()}
    return Limits(
        jump=-_NORMAL.inv_cdf(1 / wanted["jump"]),
        run=_limit(run_length_of_runs, wanted["run"]),
        cusum=_limit(lambda h: run_length_of_cusum(h, k=k), wanted["cusum"]),
        k=k,
    )


def run_length_of_jumps(limit: float, *, shift: float = 0.0) -> float:
    """Values, on average, until one is beyond a limit.

    >>> round(run_length_of_jumps(3.0))
    741
    """
    return 1 / _NORMAL.cdf(shift - limit)


def run_length_of_runs(limit: float, *, shift: float = 0.0) -> float:
    """Values, on average, until two of three successive ones are beyond a limit, by the chain of what came last.

    >>> round(run_length_of_runs(2.0))
    1021
    """
    p = _NORMAL.cdf(shift - limit)
    return (1 / p + 2 - p) / (1 - (1 - p) ** 2)


def run_length_of_cusum(limit: float, *, k: float = K, shift: float = 0.0) -> float:
    """Values, on average, until a one-sided CUSUM that starts at 0 is beyond a limit; of both sides, half as many.

    limit, k, shift   in standard deviations;   shift   of the mean, towards the side that is summed
    Source   Page, Continuous Inspection Schemes, 1954: the integral equation, at the nodes of Gauss and Legendre's rule
             (Brook & Evans 1972 have the same chain with steps).

    >>> round(run_length_of_cusum(5.0)), round(run_length_of_cusum(5.0, shift=1.0), 1)
    (931, 10.4)
    """
    places, weights = nodes(0.0, limit, panels=_PANELS)
    starts = np.append(places, 0.0)
    steps = np.exp(-((places[None, :] + k - shift - starts[:, None]) ** 2) / 2) / math.sqrt(2 * math.pi) * weights
    to_zero = np.array([_NORMAL.cdf(k - shift - start) for start in starts])
    lengths = np.linalg.solve(np.eye(len(starts)) - np.column_stack([steps, to_zero]), np.ones(len(starts)))
    return float(lengths[-1])


def _limit(run_length: Callable[[float], float], wanted: float) -> float:
    """The limit at which a rule runs so long, by halving."""
    low, high = 0.0, 1.0
    while run_length(high) < wanted and high < _MOST:
        low, high = high, 2 * high
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if run_length(middle) < wanted else (low, middle)
    return high


def normal_scores(t: Floats, df: Floats) -> Floats:
    """Standard normal values that are as far out as values of Student's t; NaN stays.

    t, df     of one shape, df above 1
    Source    Wallace, Bounds on Normal Approximations to Student's and the Chi-Square Distributions, 1959: within .01
              of a standard deviation from df = 5 on, out to 6.

    >>> normal_scores(np.array([2.262157, -4.0]), np.array([9.0, 9.0])).round(2)
    array([ 1.96, -2.95])
    """
    return np.copysign((8 * df + 1) / (8 * df + 3) * np.sqrt(df * np.log1p(t**2 / df)), t)


def student_scores(z: Floats, df: Floats) -> Floats:
    """Values of Student's t that are as far out as standard normal ones: the inverse of `normal_scores`.

    >>> student_scores(np.array([1.96]), np.array([9.0])).round(2)
    array([2.26])
    """
    return np.copysign(np.sqrt(df * np.expm1(((8 * df + 3) / (8 * df + 1) * z) ** 2 / df)), z)
