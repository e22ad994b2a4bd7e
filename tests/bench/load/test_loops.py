"""Open and closed loops against functions whose times are known."""

from __future__ import annotations

import threading
from time import sleep
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard.base.choices import Arrivals
from steelyard.base.errors import InputError, StageError
from steelyard.bench.arrivals import Schedule, arrival_times
from steelyard.bench.frames import DISPATCH_MS, LATENCY_MS, REQUESTS, SERVICE_MS
from steelyard.bench.load import loops
from steelyard.bench.load.loops import LoadTarget, allow_open_files
from steelyard.bench.load.served import Ask, Served
from steelyard.services.announcements import Usage
from steelyard.services.http.client import ServiceError

QUERIES = {"q1": "what weighs?", "q2": "what swims?"}


def rng() -> np.random.Generator:
    return np.random.default_rng(15)


def offer(
    ask: Ask, queries: dict[str, str], *, rate: float, duration_s: float, rng: np.random.Generator,
    arrivals: Arrivals = "poisson", warm_up_s: float = 0.0, **options: Any,
) -> pl.DataFrame:  # fmt: skip
    schedule = Schedule.at_rate(rate, duration_s, arrivals, rng, warm_up_s=warm_up_s)
    return loops.offer(LoadTarget(ask, queries, **options), schedule)


def occupy(ask: Ask, *, timeout_s: float = 60.0, workers: int | None = None, **options: Any) -> pl.DataFrame:
    return loops.occupy(LoadTarget(ask, QUERIES, timeout_s, workers), **options)


def test_poisson_gaps_are_exponential_and_the_schedule_is_that_of_the_seed() -> None:
    times = arrival_times(1000, 20, "poisson", rng())
    gaps = np.diff(times, prepend=0.0)
    assert (np.diff(times) > 0).all()
    assert times[-1] < 20
    assert len(times) == pytest.approx(20_000, abs=4 * 20_000**0.5)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
    assert np.array_equal(times, arrival_times(1000, 20, "poisson", rng()))


def test_a_poisson_schedule_of_few_requests_may_be_empty_and_reaches_to_the_end() -> None:
    lengths = [len(arrival_times(0.5, 2, "poisson", np.random.default_rng(seed))) for seed in range(2_000)]
    assert np.mean(lengths) == pytest.approx(1, abs=0.1)
    assert np.var(lengths) == pytest.approx(1, abs=0.15)


def test_constant_gaps_are_equal() -> None:
    assert np.allclose(arrival_times(3, 1, "constant", rng()), [0, 1 / 3, 2 / 3])


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
def test_a_ramp_sends_more_and_more(arrivals: Arrivals) -> None:
    times = Schedule.ramp(10, 110, 50, arrivals, rng(), warm_up_s=4).times
    counts = np.histogram(times, [-4, 0, 10, 20, 30, 40, 50])[0]
    assert counts == pytest.approx([40, 200, 400, 600, 800, 1000], abs=3 * 1000**0.5 if arrivals == "poisson" else 1)
    assert (np.diff(times) >= 0).all()
    assert times[-1] < 50


@pytest.mark.parametrize(
    ("rate", "duration_s"), [(0, 1), (-1, 1), (float("inf"), 1), (float("nan"), 1), (1, 0), (1e6, 1e6)]
)
def test_impossible_rates_and_durations_are_refused(rate: float, duration_s: float) -> None:
    with pytest.raises(InputError):
        arrival_times(rate, duration_s, "poisson", rng())


def test_the_open_loop_waits_for_no_answer() -> None:
    released, arrived = threading.Event(), list[str]()

    def ask(query_id: str, query: str) -> Served:
        arrived.append(query)
        if len(arrived) == 20:  # Nobody gets an answer before all have asked.
            released.set()
        assert released.wait(5)
        return Served()

    requests = offer(ask, QUERIES, rate=200, duration_s=0.1, arrivals="constant", rng=rng(), timeout_s=10)
    assert requests.schema == REQUESTS
    assert requests["outcome"].to_list() == ["ok"] * 20
    assert np.allclose(requests["intended_s"], np.arange(20) / 200)
    assert requests["query_id"].to_list() == ["q1", "q2"] * 10
    assert requests["sent_s"].max() < requests["end_s"].min()  # type: ignore[operator]
    assert (requests.select(DISPATCH_MS.alias("ms"))["ms"] >= 0).all()


def test_the_intended_times_are_those_of_the_seed() -> None:
    requests = offer(lambda *_: Served(), QUERIES, rate=300, duration_s=0.1, rng=rng())
    assert np.allclose(requests["intended_s"], arrival_times(300, 0.1, "poisson", rng()))
    assert requests["rate"].unique().to_list() == [300]
    assert requests["users"].null_count() == len(requests)


def test_what_a_system_accounts_for_is_in_the_frame() -> None:
    served = Served(n_pairs=50, n_truncated=2, usage=Usage(100, 7), search_units=1.0, stages_ms={"rerank": 2.5})
    row = offer(lambda *_: served, QUERIES, rate=20, duration_s=0.05, arrivals="constant", rng=rng()).row(0, named=True)
    assert (row["n_pairs"], row["n_truncated"], row["tokens_in"], row["tokens_out"]) == (50, 2, 100, 7)
    assert row["search_units"] == 1.0
    assert row["stages_ms"] == [{"stage": "rerank", "ms": 2.5}]


def test_failures_and_late_answers_are_rows_too() -> None:
    failures = iter(
        [StageError("rerank: no scores"), ServiceError("too slow", "timeout"), KeyError("x"), SystemExit(3)]
    )

    def ask(query_id: str, query: str) -> Served:
        if (failure := next(failures, None)) is not None:
            raise failure
        sleep(0.6)
        return Served()

    requests = offer(ask, QUERIES, rate=100, duration_s=0.05, arrivals="constant", rng=rng(), timeout_s=0.5, workers=1)
    assert requests["outcome"].to_list() == ["error", "timeout", "error", "error", "timeout"]
    errors = ["rerank: no scores", "too slow", "KeyError: 'x'", "SystemExit: 3", "no answer within 0.5 s"]
    assert requests["error"].to_list() == errors


@pytest.mark.parametrize("loop", ["open", "closed"])
def test_a_system_that_never_answers_costs_the_timeout_and_no_request_is_lost(loop: str) -> None:
    freed = threading.Event()

    def never(query_id: str, query: str) -> Served:
        freed.wait(60)
        return Served()

    if loop == "open":
        requests = offer(never, QUERIES, rate=100, duration_s=0.05, arrivals="constant", rng=rng(), timeout_s=0.1)
    else:
        requests = occupy(never, users=5, duration_s=0.05, timeout_s=0.1)
    freed.set()
    assert requests["outcome"].to_list() == ["timeout"] * 5
    assert np.allclose(requests["end_s"] - requests["sent_s"], 0.1)


def test_few_workers_make_a_queue_whose_time_is_the_systems() -> None:
    def ask(query_id: str, query: str) -> Served:
        sleep(0.01)
        return Served()

    requests = offer(ask, QUERIES, rate=1000, duration_s=0.01, arrivals="constant", rng=rng(), workers=1)
    service = requests.select(SERVICE_MS.alias("ms"))["ms"]
    assert service.max() >= 85  # type: ignore[operator]
    assert (service.diff().drop_nulls() > 0).all()


def test_what_this_computer_cannot_send_was_never_in_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.bench.load.loops.MOST_UNDER_WAY", 1)
    freed = threading.Event()

    def never(query_id: str, query: str) -> Served:
        freed.wait()
        return Served()

    requests = offer(never, QUERIES, rate=500, duration_s=0.01, arrivals="constant", rng=rng(), timeout_s=0.05)
    freed.set()
    assert requests["outcome"].to_list() == ["timeout"] * 5
    times = requests.select(service=SERVICE_MS, dispatch=DISPATCH_MS)
    assert times["service"].to_list() == pytest.approx([50, 0, 0, 0, 0])
    assert all(delay >= 50 for delay in times["dispatch"][1:])


def test_what_waits_longer_than_the_timeout_is_never_sent() -> None:
    asked = list[str]()

    def ask(query_id: str, query: str) -> Served:
        asked.append(query_id)
        sleep(0.05)
        return Served()

    requests = offer(ask, QUERIES, rate=500, duration_s=0.02, arrivals="constant", rng=rng(), timeout_s=0.06, workers=1)
    assert len(requests) == 10
    assert len(asked) <= 3
    assert requests["outcome"].to_list()[3:] == ["timeout"] * 7


def test_a_rate_beyond_this_computer_ends_in_time_and_loses_no_request() -> None:
    """A second of a million requests takes many to send, even where nobody has to answer them."""
    asked = list[str]()

    def ask(query_id: str, query: str) -> Served:
        asked.append(query_id)
        return Served()

    requests = offer(
        ask, QUERIES, rate=3e6, duration_s=0.01, rng=np.random.default_rng(1), arrivals="constant", timeout_s=0.005,
        workers=1,
    )  # fmt: skip
    assert requests.height == 30_000
    assert len(asked) < 30_000
    late = requests.filter(DISPATCH_MS > 5)
    assert late.height
    assert late["outcome"].unique().to_list() == ["timeout"]


def test_an_answer_that_is_read_after_it_came_ends_when_it_came() -> None:
    from time import perf_counter

    def ask(query_id: str, query: str) -> Served:
        answered_at = perf_counter()
        sleep(0.05)
        return Served(answered_at=answered_at)

    requests = offer(ask, QUERIES, rate=20, duration_s=0.05, arrivals="constant", rng=rng())
    assert requests.select(SERVICE_MS.alias("ms"))["ms"].max() < 50  # type: ignore[operator]


@pytest.mark.parametrize("loop", ["open", "closed"])
def test_requests_of_the_warm_up_are_left_out(loop: str) -> None:
    if loop == "open":
        requests = offer(
            lambda *_: Served(), QUERIES, rate=100, duration_s=0.1, warm_up_s=0.1, arrivals="constant", rng=rng()
        )
        assert requests["number"].to_list() == list(range(10))
    else:
        requests = occupy(lambda *_: sleep(0.01) or Served(), users=1, duration_s=0.1, warm_up_s=0.1)  # type: ignore[func-returns-value]
        assert 0 < requests["number"].min() <= 10  # type: ignore[operator]
    assert 0 <= requests["intended_s"].min() < 0.05  # type: ignore[operator]


def test_users_of_the_closed_loop_wait_for_their_answers_and_think() -> None:
    lock, under_way, most, together = threading.Lock(), 0, 0, threading.Barrier(3)

    def ask(query_id: str, query: str) -> Served:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait(5)  # Each user comes here as often as the others.
        sleep(0.01)
        with lock:
            under_way -= 1
        return Served()

    requests = occupy(ask, users=3, duration_s=0.15, think_time_s=0.02, timeout_s=0.5)
    assert most == 3
    assert 3 <= len(requests) <= 18
    assert requests["number"].to_list() == list(range(len(requests)))
    assert (requests["intended_s"] == requests["sent_s"]).all()
    assert requests.select(loop=pl.col("loop").unique())["loop"].to_list() == ["closed"]


def test_users_share_few_workers() -> None:
    lock = threading.Lock()

    def ask(query_id: str, query: str) -> Served:
        assert lock.acquire(blocking=False), "two at once"
        sleep(0.01)
        lock.release()
        return Served()

    requests = occupy(ask, users=4, duration_s=0.1, workers=1)
    assert set(requests["outcome"]) == {"ok"}
    assert requests.select(LATENCY_MS.alias("ms"))["ms"].median() > 30  # type: ignore[operator]


@pytest.mark.parametrize("numbers", [{"users": 0}, {"duration_s": 0.0}, {"think_time_s": -1.0}])
def test_impossible_users_are_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected one user at least"):
        occupy(lambda *_: Served(), **{"users": 1, "duration_s": 0.1, **numbers})  # type: ignore[arg-type]


def test_no_question_is_refused() -> None:
    with pytest.raises(InputError, match="no question"):
        offer(lambda *_: Served(), {}, rate=1, duration_s=1, rng=rng())


def test_a_wall_clock_that_goes_back_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(10_000, 0, -1))
    monkeypatch.setattr("time.time", lambda: float(next(times)))
    requests = offer(lambda *_: Served(), QUERIES, rate=100, duration_s=0.05, arrivals="constant", rng=rng())
    assert (requests["end_s"] >= requests["sent_s"]).all()
    assert (requests["sent_s"] >= requests["intended_s"]).all()


def test_ctrl_c_ends_the_loop_and_asks_nothing_more() -> None:
    import _thread

    asked = list[str]()

    def ask(query_id: str, query: str) -> Served:
        asked.append(query_id)
        if len(asked) == 5:
            _thread.interrupt_main()
        return Served()

    with pytest.raises(KeyboardInterrupt):
        offer(ask, QUERIES, rate=100, duration_s=30, arrivals="constant", rng=rng())
    n_asked = len(asked)
    sleep(0.05)
    assert len(asked) == n_asked < 50


def test_the_limit_of_open_files_is_raised_as_far_as_the_system_allows() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[0] == resource.RLIM_INFINITY or before[0] == before[1]:
        pytest.skip("the limit is at its highest")
    try:
        allow_open_files(before[0] + 1)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[0] + 1, before[1])
        allow_open_files(1)  # Never lower.
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[0] + 1, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
