"""Whether requests pile up: the slope of how many are under way, with a level that holds up to capacity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.samples import finite

_STRETCHES = 12
"""Of the window, whose changes show how much chance moves the requests under way."""
_STEPS = 16
"""Of the simulated queue in one stretch."""
_PATHS = 10_000
_SEED = 20
_LEAST_SPREAD = 1.0
"""Requests: what is counted in whole ones is not known better, however regularly they come."""


@dataclass(frozen=True)
class Backlog:
    """How many requests were under way in a stretch of time, and by how much they grew.

    mean    over the time;   slope   of the line through them, in requests a second
    p       how often a system that is just able to bear the load has such a slope, or a steeper one; NaN where
            nothing was under way
    """

    mean: float
    slope: float
    p: float


def backlog(starts: Floats, ends: Floats, *, begin: float, until: float) -> Backlog:
    """Mean and slope of the requests under way between two moments, and whether they grew for sure.

    starts, ends   (n,) seconds at which requests came and were done with, of all that were under way at some time of
                   the window, in any order
    begin, until   of the window, in seconds
    Returns        p is small where the system cannot bear the load; in simulations it is below .05 in at most 5% of
                   windows of stable systems, and of those loaded to their capacity, whether they start empty or not
    Raises         InputError for lengths that differ, values that are not finite, requests that end before they start,
                   and a window without length
    Method         Requests under way move like a random walk, so that the t test of their slope rejects most queues
                   that are stable.  Here the slope is divided by the spread of the changes from stretch to stretch, and
                   held against that of a queue at its capacity, empty at the start (reflected Brownian motion): of all
                   stable systems, that one drifts most.
    Source         Whitt, Stochastic-Process Limits, 2002, section 5.2: the limit of a queue in heavy traffic.

    >>> came = np.arange(0, 60, 0.05)
    >>> calm, swamped = (backlog(came, came + delay, begin=0, until=60) for delay in (0.2, 0.2 + came / 5))
    >>> round(calm.mean, 1), calm.p > 0.5, round(swamped.slope, 1), swamped.p < 0.01
    (4.0, True, 3.3, True)
    """
    starts, ends = finite(starts, n_axes=1, what="starts"), finite(ends, n_axes=1, what="ends")
    _check(starts, ends, begin, until)
    length = until - begin
    first, last = (np.clip(moments, begin, until) - begin for moments in (starts, ends))
    mean = float((last - first).sum()) / length
    # The integral of (t - length / 2) over the time that a request is under way, exactly.
    moment = float(((last - first) * ((last + first) - length)).sum()) / 2
    slope = 12 * moment / length**3
    if not mean:
        return Backlog(mean, slope, math.nan)
    moments = np.linspace(begin, until, _STRETCHES + 1)
    counts = np.searchsorted(np.sort(starts), moments, "right") - np.searchsorted(np.sort(ends), moments, "right")
    spread = math.sqrt(max(float(np.diff(counts).var(ddof=1)) * _STRETCHES, _LEAST_SPREAD))
    at_capacity = _slopes_at_capacity()
    n_steeper = len(at_capacity) - np.searchsorted(at_capacity, slope * length / spread)
    return Backlog(mean, slope, float((1 + n_steeper) / (1 + len(at_capacity))))


def _check(starts: Floats, ends: Floats, begin: float, until: float) -> None:
    if starts.shape != ends.shape:
        raise InputError(f"{len(starts)} starts and {len(ends)} ends; expected one each of the same requests")
    if not until > begin:
        raise InputError(f"the window is from {begin} to {until} s; expected an end after its begin")
    if len(early := np.flatnonzero(ends < starts)):
        raise InputError(f"{len(early)} requests end before they start, the first at {early[0]}; check the clock")


@cache
def _slopes_at_capacity() -> Floats:
    """(p,) ascending: slopes, in units of the spread, of simulated queues that are loaded to their capacity."""
    rng = np.random.default_rng(_SEED)
    walk = np.cumsum(rng.standard_normal((_PATHS, _STRETCHES * _STEPS)), axis=1)
    queue = walk - np.minimum(np.minimum.accumulate(walk, axis=1), 0)
    queue = np.concatenate([np.zeros((_PATHS, 1)), queue], axis=1)
    middles = (queue[:, 1:] + queue[:, :-1]) / 2
    times = (np.arange(middles.shape[1]) + 0.5) / middles.shape[1] - 0.5
    slopes = 12 * (middles * times).mean(axis=1)
    spreads = np.diff(queue[:, ::_STEPS], axis=1).std(axis=1, ddof=1) * math.sqrt(_STRETCHES)
    return np.sort(slopes / spreads)
