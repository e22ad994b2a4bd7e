"""What a closed loop leaves out, put in by guess: for data that somebody else has measured."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError


def with_omitted(latencies: npt.ArrayLike, expected: float) -> Floats:
    """Latencies of a closed loop, with those of the requests that a user did not send while he waited.

    latencies  (n,) of any unit, finite
    expected   time between two requests of a user where nothing stalls, in the same unit
    Returns    (m,) the latencies, and behind them for each L above `expected` also L - expected, L - 2 * expected, ...,
               down to `expected`
    Raises     InputError for NaN, infinite and negative latencies, and where expected is not above 0.
    Source     Tene, HdrHistogram, recordValueWithExpectedInterval.

    It guesses that the omitted requests would have waited for the same stall and no longer.  Where the system has a
    queue that is not full, they would have made it longer; where later requests in the data have waited in one, their
    time counts twice.  Better measure in an open loop (`offer`), where nothing is omitted.

    >>> with_omitted([1.0, 3.5], 1.0)
    array([1. , 3.5, 2.5, 1.5])
    """
    values = np.asarray(latencies, np.float64)
    if not 0 < expected < math.inf:
        raise InputError(f"the expected time between requests is {expected:g}; expected a number above 0")
    if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
        raise InputError("latencies are to be one list of finite numbers from 0; leave out what had no answer")
    # As many as leave `expected` at least.
    counts = np.maximum(np.floor(values / expected) - 1, 0).astype(np.int64)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    return np.concatenate([values, np.repeat(values, counts) - steps * expected])
