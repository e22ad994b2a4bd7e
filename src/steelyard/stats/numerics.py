"""Quantiles of Student's t without SciPy, which a table of means with intervals has to do without, and integrals."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats

_PRECISION = 1e-12
_MOST_STEPS = 50


@cache
def t_quantile(share: float, df: float) -> float:
    """The value below which this share, in (0, 1), of Student's t lies.

    Newton's steps on the logarithms of the tail and of t, which far out make a line.

    >>> round(t_quantile(0.975, 9), 6)
    2.262157
    """
    beyond = min(share, 1 - share)
    if beyond == 0.5:
        return 0.0
    t = -NormalDist().inv_cdf(beyond)
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(math.pi) / 2
    for _ in range(_MOST_STEPS):
        tail = _tail(t, df, log_scale)
        density = math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df)) / math.sqrt(df)
        step = math.log(tail / beyond) * tail / (t * density)
        t *= math.exp(step)
        if abs(step) < _PRECISION:
            break
    return t if share > 0.5 else -t


def _tail(t: float, df: float, log_scale: float) -> float:
    """P(T > t) for t > 0: half the incomplete beta function of df / (df + t**2), from whichever end is the nearer."""
    a, odds = df / 2, t * t / df
    x, y = 1 / (1 + odds), odds / (1 + odds)
    front = math.exp(log_scale - a * math.log1p(odds)) * math.sqrt(y)
    return front * _fraction(a, 0.5, x) / df if x < (a + 1) / (a + 2.5) else 0.5 - front * _fraction(0.5, a, y)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method.

    Source   Press, Teukolsky, Vetterling & Flannery, Numerical Recipes, section 6.4.
    """
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value, m, change = d, 0, 0.0
    while abs(change - 1) > _PRECISION:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for part in (even, odd):
            d, c = 1 / (1 + part * d), 1 + part / c
            value *= c * d
            change *= c * d
    return value


_PANELS, _NODES = 32, 16


def nodes(low: float, high: float, *, panels: int = _PANELS) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre's rule, panel by panel.

    >>> x, weights = nodes(0.0, 1.0)
    >>> round(float((x**3 * weights).sum()), 12)
    0.25
    """
    x, w = _gauss_legendre()
    half = (high - low) / panels / 2
    middles = low + half * (2 * np.arange(panels) + 1)
    return (middles[:, None] + half * x).ravel(), np.tile(half * w, panels)


@cache
def _gauss_legendre() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(_NODES)
