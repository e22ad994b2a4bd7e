"""The sleepy server: its schedule against queueing theory, and what it answers; and coordinated omission."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from time import sleep

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.bench.arrivals import Schedule, arrival_times
from steelyard.bench.frames import CENSORED_MS
from steelyard.bench.load.loops import LoadTarget, occupy, offer
from steelyard.bench.load.served import Served
from steelyard.services.http.client import Patience, Service
from steelyard.services.http.direct import DirectService
from tests.bench.load.sleepy import SleepySchedule, SleepySettings, sleepy_server


def test_a_queue_of_one_has_the_waiting_time_of_theory() -> None:
    """M/M/1 at 70% load: the mean time in the system is 1 / (mu - lambda)."""
    rng = np.random.default_rng(15)
    schedule = SleepySchedule(SleepySettings(service_s=0.01, exponential=True, capacity=1))
    came = arrival_times(70, 1500, "poisson", rng)
    times = np.array([schedule.served_at(time) for time in came.tolist()]) - came
    assert times.mean() == pytest.approx(1 / (100 - 70), rel=0.08)


def test_capacity_serves_so_many_at_once() -> None:
    schedule = SleepySchedule(SleepySettings(service_s=1.0, capacity=2))
    assert [schedule.served_at(0.0) for _ in range(5)] == [1.0, 1.0, 2.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("came", "served_at"), [(0.0, 0.5), (0.75, 2.25), (1.5, 2.5), (2.0, 2.5), (4.0, 4.5), (4.75, 6.25)]
)
def test_nothing_goes_on_in_a_stall(came: float, served_at: float) -> None:
    schedule = SleepySchedule(SleepySettings(service_s=0.5, stalls=[(5.0, 1.0), (1.0, 1.0)]))
    assert schedule.served_at(came) == served_at


@pytest.mark.parametrize(
    "settings",
    [{"service_s": -1}, {"capacity": 0}, {"rate_limit": 0}, {"stalls": [(0.0, float("inf"))]}, {"fail_every": 0}],
)
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="sleepy server"):
        SleepySettings(**settings)  # type: ignore[arg-type]


def statuses(settings: SleepySettings, n: int) -> list[int]:
    with sleepy_server(settings) as server:
        answers = list[int]()
        for _ in range(n):
            try:
                with urllib.request.urlopen(server.url, timeout=5) as response:
                    body = json.load(response)
                    answers.append(response.status if "results" in body else 0)
            except urllib.error.HTTPError as error:
                answers.append(error.code)
        assert server.n_requests == n
        return answers


def test_errors_wrong_answers_and_limits_come_as_they_are_planned() -> None:
    assert statuses(SleepySettings(fail_every=3, wrong_every=2), 6) == [200, 0, 500, 0, 200, 500]
    assert statuses(SleepySettings(rate_limit=3), 5) == [200, 200, 200, 429, 429]


def open_and_closed(*, users: int) -> tuple[float, float]:
    """P99 of the same server with one stall of 1.5 s in 30 s, by requests that come when they like, and by users."""
    settings = SleepySettings(service_s=0.1, stalls=[(10.0, 1.5)])
    came = np.arange(0, 30, 0.01)
    open_loop = [SleepySchedule(settings).served_at(time) - time for time in came.tolist()]
    closed_loop, now = list[float](), 0.0
    while now < 30:
        end = SleepySchedule(settings).served_at(now)
        closed_loop += [end - now] * users
        now = end
    return float(np.quantile(open_loop, 0.99)), float(np.quantile(closed_loop, 0.99))


def test_users_who_wait_do_not_see_the_stall_that_others_see() -> None:
    open_p99, closed_p99 = open_and_closed(users=10)
    assert open_p99 == pytest.approx(1.4, abs=0.02)
    assert closed_p99 == pytest.approx(0.1, abs=0.01)


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
                requests = offer(LoadTarget(ask, {"q": "why?"}), schedule)
            else:
                requests = occupy(LoadTarget(ask, {"q": "why?"}), users=10, duration_s=30)
            service.close()
            p99[loop] = requests.select(CENSORED_MS.alias("ms"))["ms"].quantile(0.99) or 0.0
            sleep(0.1)
    assert p99["open"] == pytest.approx(1400, abs=60)
    assert p99["closed"] == pytest.approx(100, abs=30)
