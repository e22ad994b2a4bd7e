"""When requests of an open loop are to be sent: laid down before the first of them, whatever the answers take."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.choices import Arrivals
from steelyard.base.errors import InputError
from steelyard.bench.config_table import MOST_REQUESTS


@dataclass(frozen=True, eq=False)
class Schedule:
    """When requests of an open loop are to be sent.

    times   (n,) seconds, ascending; requests at times below 0 warm the system up, and are not counted
    rate    requests a second on average, from 0 on
    """

    times: Floats
    rate: float

    @classmethod
    def at_rate(
        cls, rate: float, duration_s: float, arrivals: Arrivals, rng: np.random.Generator, *, warm_up_s: float = 0.0
    ) -> Schedule:  # fmt: skip
        """One rate throughout, as `arrival_times` lays it down; the warm-up comes before `duration_s`."""
        return cls(arrival_times(rate, warm_up_s + duration_s, arrivals, rng) - warm_up_s, rate)

    @classmethod
    def ramp(
        cls, first: float, last: float, duration_s: float, arrivals: Arrivals, rng: np.random.Generator, *,
        warm_up_s: float = 0.0,
    ) -> Schedule:  # fmt: skip
        """A rate that rises evenly from `first` to `last`; the warm-up before is at `first`.

        Requests of rate 1 are laid over the number that is expected by each time, which a line of rates makes a
        parabola of: that is an inhomogeneous Poisson process, or for "constant" one request for each whole number.

        >>> schedule = Schedule.ramp(1, 3, 4, "constant", np.random.default_rng(0))
        >>> schedule.times.round(2).tolist(), schedule.rate
        ([0.0, 0.83, 1.46, 2.0, 2.47, 2.9, 3.29, 3.66], 2.0)
        """
        mean, slope = (first + last) / 2, (last - first) / duration_s
        expected = arrival_times(1.0, mean * duration_s, arrivals, rng)
        times = 2 * expected / (first + np.sqrt(first**2 + 2 * slope * expected))
        before = arrival_times(first, warm_up_s, arrivals, rng) - warm_up_s if warm_up_s else np.empty(0)
        return cls(np.concatenate([before, times]), mean)


def arrival_times(rate: float, duration_s: float, arrivals: Arrivals, rng: np.random.Generator) -> Floats:
    """(n,) seconds from the start, ascending, all below duration_s.

    rate      requests a second
    arrivals  "poisson": gaps are independent and exponential, as from many users who know nothing of each other;
              "constant": equal gaps, the first request at 0
    Raises    InputError for a rate or duration that is not above 0, and for more than 10 million requests.

    >>> arrival_times(4, 1, "constant", np.random.default_rng(0))
    array([0.  , 0.25, 0.5 , 0.75])
    """
    for name, value in {"rate": rate, "duration": duration_s}.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name} is {value:g}; expected a number above 0")
    n_expected = rate * duration_s
    if n_expected > MOST_REQUESTS:
        raise InputError(
            f"{rate:g} requests a second for {duration_s:g} s are {n_expected:,.0f}, more than {MOST_REQUESTS:,}; "
            "lower rate or duration"
        )
    if arrivals == "constant":
        times = np.arange(math.ceil(n_expected) + 1) / rate
        return times[times < duration_s]
    times = np.empty(0)
    last = 0.0
    while last < duration_s:
        gaps = rng.exponential(1 / rate, math.ceil(n_expected + 4 * math.sqrt(n_expected)) + 1)
        times = np.concatenate([times, last + np.cumsum(gaps)])
        last = float(times[-1])
    return times[times < duration_s]
