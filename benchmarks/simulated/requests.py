"""How often intervals of percentiles hold those of requests one after the other, of which neighbours are alike."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from benchmarks.simulated.tables import Table

from steelyard.base.arrays import Floats
from steelyard.stats.intervals.percentiles import percentile_interval

REQUESTS = (100, 225, 400, 1000)
ALIKE = (0.0, 0.5, 0.9, 0.98)
"""Correlation of the logarithms of neighbours."""
SHARES = (0.5, 0.95)
_SIGMA = 0.5


def series(rng: np.random.Generator, alike: float, n: int, draws: int) -> Floats:
    """(draws, n) latencies whose logarithms are an autoregressive series of order 1."""
    noise = rng.normal(size=(draws, n))
    z = noise.copy()
    for i in range(1, n):
        z[:, i] = alike * z[:, i - 1] + math.sqrt(1 - alike**2) * noise[:, i]
    return np.asarray(np.exp(_SIGMA * z))


def held(
    p: float, alike: float, n: int, *, draws: int, rng: np.random.Generator, in_order: bool
) -> tuple[float, float]:
    """The share of intervals that hold the percentile, and of those that lack an end."""
    truth = math.exp(_SIGMA * NormalDist().inv_cdf(p))
    intervals = [percentile_interval(values, p, in_order=in_order) for values in series(rng, alike, n, draws)]
    holds = [interval.low <= truth <= interval.high for interval in intervals]
    return float(np.mean(holds)), float(np.mean([math.isinf(interval.high) for interval in intervals]))


def request_table(draws: int, seed: int) -> Table:
    """Intervals that look at the order of requests, and those that do not."""
    rng = np.random.default_rng(seed)

    def text(p: float, alike: float, n: int) -> str:
        (ours, endless), (before, _) = (
            held(p, alike, n, draws=draws, rng=rng, in_order=in_order) for in_order in (True, False)
        )
        return f"{100 * ours:.0f} ({100 * before:.0f})" + (f"; {100 * endless:.0f} open" if endless >= 0.005 else "")

    return Table(
        "Intervals of 95% hold a percentile of requests one after the other, in % (in brackets were each by itself; "
        "open: without an upper end)",
        ["percentile, correlation of neighbours", *(f"{n} requests" for n in REQUESTS)],
        [[f"P{100 * p:g}, {alike:g}", *(text(p, alike, n) for n in REQUESTS)] for p in SHARES for alike in ALIKE],
    )
