"""What a closed loop leaves out, and what can be guessed of it."""

from __future__ import annotations

from time import sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.bench.arrivals import Schedule
from steelyard.bench.frames import CENSORED_MS
from steelyard.bench.load.correction import with_omitted
from steelyard.bench.load.loops import occupy, offer
from steelyard.bench.load.served import Served
from steelyard.bench.load.sleepy import SleepySettings, sleepy_server
from steelyard.services.client import Patience, Service
from steelyard.services.direct import DirectService
from tests.hypothesis_profiles import examples

TIMES = st.lists(st.integers(0, 60), max_size=8)


def naive(latencies: list[int], expected: int) -> list[int]:
    """HdrHistogram's loop."""
    values = list(latencies)
    for latency in latencies:
        missing = latency - expected
        while missing >= expected:
            values.append(missing)
            missing -= expected
    return values


@given(latencies=TIMES, expected=st.integers(1, 10))
@examples(200)
def test_it_adds_what_hdrhistogram_adds(latencies: list[int], expected: int) -> None:
    assert with_omitted(np.array(latencies, float), expected).tolist() == naive(latencies, expected)


@pytest.mark.parametrize("latencies", [[float("nan")], [float("inf")], [-1.0], [[1.0]]])
def test_what_are_no_latencies_is_refused(latencies: list[float]) -> None:
    with pytest.raises(InputError, match="finite numbers"):
        with_omitted(latencies, 1.0)


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="above 0"):
        with_omitted([1.0], 0.0)


def test_of_one_stall_it_guesses_nearly_what_an_open_loop_measures() -> None:
    """Ten users, .1 s a request, one stall of 1.5 s in 30 s: 1.4 s in an open loop."""
    closed = np.concatenate([np.full(2840, 0.1), np.full(10, 1.6)])
    assert np.quantile(closed, 0.99) == pytest.approx(0.1)
    assert np.quantile(with_omitted(closed, 0.1), 0.99) == pytest.approx(1.3, abs=0.05)


@pytest.mark.slow
def test_an_open_loop_shows_a_stall_that_a_closed_one_hides() -> None:
    """A real server that stalls for 1.5 s once in 30 s, asked over HTTP."""
    p99 = dict[str, float]()
    for loop in ("open", "closed"):
        with sleepy_server(SleepySettings(service_s=0.1, stalls=[(10.0, 1.5)])) as server:
            service = DirectService(Service("target", server.url, Patience()), 10.0)

            def ask(query_id: str, query: str, service: DirectService = service) -> Served:
                service.request("POST", body={"query": query})
                return Served(answered_at=service.answered_at)

            if loop == "open":
                schedule = Schedule.at_rate(50, 30, "constant", np.random.default_rng(15))
                requests = offer(ask, {"q": "why?"}, schedule)
            else:
                requests = occupy(ask, {"q": "why?"}, users=10, duration_s=30)
            service.close()
            p99[loop] = requests.select(CENSORED_MS.alias("ms"))["ms"].quantile(0.99) or 0.0
            sleep(0.1)
    assert p99["open"] == pytest.approx(1400, abs=60)
    assert p99["closed"] == pytest.approx(100, abs=30)
