"""The slope of requests under way: exact where it can be counted, and a level that holds for queues near capacity."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.load import backlog
from tests.bench.queueing import Queue, schedule
from tests.hypothesis_profiles import examples


@examples(100)
@given(st.lists(st.tuples(st.floats(-5, 25), st.floats(0, 10)), min_size=1, max_size=20))
def test_mean_and_slope_are_those_of_a_fine_grid(spans: list[tuple[float, float]]) -> None:
    starts = np.array([start for start, _ in spans])
    ends = starts + [length for _, length in spans]
    trend = backlog(starts, ends, begin=2.0, until=18.0)
    times = 2 + 16 * (np.arange(40_000) + 0.5) / 40_000
    counts = ((starts[:, None] <= times) & (times < ends[:, None])).sum(axis=0)
    assert trend.mean == pytest.approx(counts.mean(), abs=0.01)
    assert trend.slope == pytest.approx(np.polyfit(times, counts, 1)[0], abs=0.01)


def test_what_comes_and_goes_evenly_does_not_pile_up() -> None:
    came = np.arange(0, 10, 0.1)
    assert backlog(came, came + 0.05, begin=0, until=10).p > 0.3
    assert backlog(came, came + 0.05 + 0.5 * came, begin=0, until=10).p < 0.01


def test_requests_that_fall_off_are_no_backlog() -> None:
    came = np.arange(0, 10, 0.1)
    trend = backlog(came, came + (10 - came) / 3, begin=2, until=10)
    assert trend.slope < 0
    assert trend.p > 0.8


def test_nothing_under_way_has_no_p() -> None:
    idle = backlog(np.array([0.0]), np.array([0.5]), begin=1, until=2)
    assert (idle.mean, idle.slope) == (0, 0)
    assert math.isnan(idle.p)
    assert math.isnan(backlog(np.empty(0), np.empty(0), begin=1, until=2).p)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="2 starts and 1 ends"):
        backlog(np.zeros(2), np.zeros(1), begin=0, until=1)
    with pytest.raises(InputError, match="end before they start, the first at 1; check the clock"):
        backlog(np.array([0.0, 1.0]), np.array([0.5, 0.9]), begin=0, until=1)
    with pytest.raises(InputError, match="from 1 to 1 s"):
        backlog(np.zeros(1), np.zeros(1), begin=1, until=1)


def _rejected(queue: Queue, load: float, duration: float, *, warm_up: float, arrivals: str, n: int) -> float:
    rng = np.random.default_rng(7)
    n_rejected = 0
    for _ in range(n):
        starts = schedule(load * queue.capacity, warm_up + duration, rng, arrivals=arrivals)
        ends = queue.ends(starts, queue.services(len(starts), rng))
        n_rejected += backlog(starts, ends, begin=warm_up, until=warm_up + duration).p < 0.05
    return n_rejected / n


def test_a_stable_queue_passes_and_an_overloaded_one_does_not() -> None:
    assert _rejected(Queue(), 0.8, 20, warm_up=2, arrivals="poisson", n=50) == 0
    assert _rejected(Queue(), 1.4, 20, warm_up=2, arrivals="poisson", n=50) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("duration", [10, 60])
@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
@pytest.mark.parametrize("queue", [
    Queue(), Queue(service="constant"), Queue(service="lognormal"), Queue(0.2, 4), Queue(0.2, 4, "lognormal"),
    Queue(0.5),
])  # fmt: skip
def test_the_level_holds_up_to_capacity(queue: Queue, arrivals: str, duration: float) -> None:
    """For all stable loads; at capacity itself, which no system sustains, it is near the level too."""
    for load, most in {0.5: 0.01, 0.8: 0.03, 0.95: 0.055, 1.0: 0.11}.items():
        for warm_up in (0.0, duration / 4):
            rejected = _rejected(queue, load, duration, warm_up=warm_up, arrivals=arrivals, n=400)
            assert rejected <= most + 0.02, (load, warm_up)


@pytest.mark.slow
def test_overload_shows() -> None:
    assert _rejected(Queue(), 1.1, 60, warm_up=5, arrivals="poisson", n=400) > 0.5
    assert _rejected(Queue(), 1.25, 60, warm_up=5, arrivals="poisson", n=400) > 0.97
    assert _rejected(Queue(), 1.1, 60, warm_up=5, arrivals="constant", n=400) > 0.75
