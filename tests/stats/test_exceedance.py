"""Shares beyond a limit: the exact binomial test, and what bursts take off."""

import numpy as np
import pytest
from scipy.stats import binom

from steelyard.base.errors import InputError
from steelyard.stats.exceedance import exceedance_p
from tests.bench.queueing import Queue


@pytest.mark.parametrize(
    ("k", "n", "most"), [(0, 72, 0.05), (0, 71, 0.05), (3, 200, 0.05), (0, 368, 0.01), (9, 20, 0.5)]
)
def test_each_by_itself_it_is_the_binomial_test(k: int, n: int, most: float) -> None:
    beyond = np.arange(n) < k
    p = exceedance_p(beyond, most)
    assert p == pytest.approx(binom.cdf(k, n, most), rel=1e-9)
    assert exceedance_p(beyond, most, times=np.arange(n)[::-1]) <= 1


def test_so_many_values_are_needed_at_least() -> None:
    """72 for the P95 and 368 for the P99, as of percentiles' intervals."""
    p = {n: exceedance_p(np.zeros(n, bool), most) for n, most in ((71, 0.05), (72, 0.05), (367, 0.01), (368, 0.01))}
    assert [n for n, value in p.items() if value <= 0.025] == [72, 368]


def test_bursts_count_as_fewer() -> None:
    n = 400
    times = np.arange(n) // 10
    burst, spread = np.arange(n) < 8, np.arange(n) % 50 == 0
    assert exceedance_p(spread, 0.05, times=times) == pytest.approx(exceedance_p(spread, 0.05))
    assert exceedance_p(burst, 0.05, times=times) > 10 * exceedance_p(burst, 0.05)
    assert exceedance_p(burst, 0.05, times=times + 7) == exceedance_p(burst, 0.05, times=times)


def test_a_burst_over_several_seconds_counts_as_one() -> None:
    times = np.arange(4000) // 10
    burst = (times >= 100) & (times < 116)
    assert exceedance_p(burst, 0.05, times=times) > 0.2
    assert exceedance_p(burst, 0.05) < 0.05
    scattered = (times % 25) == 0  # Whole seconds too, and none beside another.
    assert scattered.sum() == burst.sum()
    assert exceedance_p(burst, 0.05, times=times) > 2 * exceedance_p(scattered, 0.05, times=times)


def test_edges() -> None:
    assert exceedance_p(np.zeros(0, bool), 0.05) == 1
    assert exceedance_p(np.ones(5, bool), 0.05, times=np.zeros(5, np.int64)) == 1
    assert exceedance_p(np.array([False]), 0.05, times=np.array([3])) == pytest.approx(0.95)
    with pytest.raises(InputError, match="2 times of 3 values"):
        exceedance_p(np.zeros(3, bool), 0.05, times=np.zeros(2, np.int64))
    with pytest.raises(InputError, match="most is 1"):
        exceedance_p(np.zeros(3, bool), 1)


@pytest.mark.slow
def test_in_a_queue_the_level_is_nearer_than_that_of_independent_values() -> None:
    """M/M/1 whose P95 is at the limit: bursts that minutes do not hold are not reckoned with."""
    queue, rng, n = Queue(), np.random.default_rng(0), 400
    shown = {}
    for seconds in (80, 300):
        count = np.zeros(2)
        for _ in range(n):
            block = queue.offer(queue.sustained(0.95, 0.5), seconds, rng)
            beyond = (block["end_s"] - block["intended_s"]).to_numpy() > 0.5
            times = np.floor(block["intended_s"].to_numpy()).astype(np.int64)
            count += [exceedance_p(beyond, 0.05) <= 0.025, exceedance_p(beyond, 0.05, times=times) <= 0.025]
        shown[seconds] = count / n
    assert shown[80][1] < 0.2
    assert shown[300][1] < 0.12
    assert min(shown[80][0], shown[300][0]) > 0.35
