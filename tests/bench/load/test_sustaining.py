"""The search for the sustained rate: how it goes on, when it ends, and whether it comes near to what queues bear."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from steelyard.base.errors import InputError
from steelyard.bench.load.levels import is_too_slow, likely_rate, probe_seconds, sustained_rate
from steelyard.bench.load.throughput import Objective, throughput
from tests.bench.queueing import Queue, requests

OBJECTIVE = Objective()


def even(rate: float, seconds: float, delay_s: float = 0.1) -> pl.DataFrame:
    """Requests that are all answered within the delay."""
    came = np.arange(0, seconds, 1 / rate)
    return requests(came, came + delay_s, rate=rate)


class Limited:
    """A system that holds up to a rate; remembers what was offered."""

    def __init__(self, limit: float) -> None:
        self.limit, self.rates = limit, list[float]()

    def __call__(self, rate: float, part: int) -> pl.DataFrame:
        self.rates.append(rate)
        return even(rate, 20 + 100 / rate, 0.1 if rate <= self.limit else 2.0)


@pytest.mark.parametrize("limit", [0.9, 7.3, 60.0])
def test_it_brackets_the_limit(limit: float) -> None:
    system = Limited(limit)
    search = sustained_rate(system, OBJECTIVE, first=5.0)
    assert search.rate is not None
    assert search.failing_rate is not None
    assert search.rate <= limit < search.failing_rate <= search.rate * 1.1
    assert (search.reason, search.n_probes, search.is_precise) == ("latency", len(system.rates), True)
    assert len(set(system.rates)) == len(system.rates) <= 12


def test_the_same_system_is_offered_the_same_rates() -> None:
    first, again = Limited(7.3), Limited(7.3)
    assert sustained_rate(first, OBJECTIVE, first=5.0) == sustained_rate(again, OBJECTIVE, first=5.0)
    assert first.rates == again.rates == [5.0, 10.0, 7.07, 8.41, 7.71]


def test_what_was_offered_before_is_not_offered_again() -> None:
    before = throughput(pl.concat([even(rate, 30, 0.1 if rate < 7.3 else 2) for rate in (4.0, 8.0)]), OBJECTIVE)
    system = Limited(7.3)
    search = sustained_rate(system, OBJECTIVE, first=1.0, levels=before)
    assert system.rates == [5.66, 6.73, 7.34]
    assert (search.rate, search.failing_rate) == (6.73, 7.34)
    few = throughput(even(1.0, 5), OBJECTIVE)
    sustained_rate(system := Limited(7.3), OBJECTIVE, first=3.0, levels=few)
    assert system.rates[0] == 3.0


def test_a_short_level_that_may_be_fast_enough_ends_nothing() -> None:
    """Of 100 requests 4 were late by chance, which neither shows P95 nor refutes it: 4 a second are offered again."""
    came = np.arange(100) / 4
    weak = requests(came, came + np.where(np.arange(100) % 25 == 7, 0.6, 0.1), rate=4.0)
    levels = throughput(weak, OBJECTIVE)
    assert levels["reason"].to_list() == ["open"]
    search = sustained_rate(system := Limited(7.3), OBJECTIVE, first=4.0, levels=levels)
    assert system.rates[0] == 4.0
    assert search.rate == 6.73
    swamped = throughput(even(4.0, 25, 0.6), OBJECTIVE)  # All are late: that is clear.
    sustained_rate(system := Limited(1.3), OBJECTIVE, first=4.0, levels=swamped)
    assert system.rates[0] == 2.0


def test_from_a_guess_the_steps_are_small() -> None:
    rates = {}
    for limit in (100.0, 95.0, 110.0, 300.0):
        system = Limited(limit)
        search = sustained_rate(system, OBJECTIVE, first=100.0, is_guess=True)
        assert search.rate is not None
        assert search.rate <= limit < (search.failing_rate or 0) <= 1.1 * search.rate
        rates[limit] = system.rates
    assert rates[100.0] == [100.0, 115.0, 107.0]
    assert rates[95.0] == [100.0, 87.0, 93.3]
    assert rates[300.0][:5] == [100.0, 115.0, 152.0, 266.0, 532.0]


def test_a_guess_is_offered_where_the_levels_leave_it_open() -> None:
    before = throughput(pl.concat([even(4.0, 30), even(64.0, 30, 2.0)]), OBJECTIVE)
    sustained_rate(system := Limited(7.3), OBJECTIVE, first=7.0, is_guess=True, levels=before)
    assert system.rates == [7.0, 21.2, 12.2, 9.24, 8.04, 7.5]
    sustained_rate(system := Limited(7.3), OBJECTIVE, first=3.0, is_guess=True, levels=before)
    assert system.rates[0] == 16.0  # The levels know better.


@pytest.mark.parametrize(
    ("objective", "rate"), [({"p95": 0.5}, 12.61), ({"p95": 0.5, "p50": 0.2}, 12.61), ({"p99": 0.2}, 10.0)]
)
def test_what_users_had_answered_says_about_what_it_bears(objective: dict[str, float], rate: float) -> None:
    """By M/M/1 of 20 a second: 20 - ln(20) / 0.5, less a tenth; and half of the peak at least."""
    levels = pl.DataFrame({"loop": ["closed", "closed", "open"], "achieved": [10.0, 20.0, 30.0]})
    assert likely_rate(levels, Objective(objective)) == pytest.approx(rate, abs=0.01)
    assert likely_rate(levels.filter(loop="open"), Objective(objective)) is None
    assert likely_rate(levels.with_columns(achieved=pl.lit(None, pl.Float64)), Objective(objective)) is None


def test_no_probe_where_enough_is_known() -> None:
    before = throughput(pl.concat([even(10.0, 30), even(10.5, 30, 2.0)]), OBJECTIVE)
    search = sustained_rate(lambda *_: pytest.fail("offered"), OBJECTIVE, first=1.0, levels=before)
    assert (search.rate, search.failing_rate, search.reason, search.n_probes) == (10.0, 10.5, "latency", 0)


def test_a_system_that_is_too_slow_alone_is_not_asked_ever_slower() -> None:
    offered = []

    def probe(rate: float, part: int) -> pl.DataFrame:
        offered.append(rate)
        return even(rate, 300 / rate, 0.6)

    search = sustained_rate(probe, OBJECTIVE, first=4.0)
    assert (search.rate, search.failing_rate, search.reason, search.is_precise) == (None, 0.25, "latency", False)
    assert offered == [4.0, 2.0, 1.0, 0.5, 0.25]


def test_too_few_requests_end_it() -> None:
    search = sustained_rate(lambda rate, part: even(rate, 4), OBJECTIVE, first=2.0)
    assert (search.rate, search.failing_rate, search.reason, search.n_probes) == (None, 2.0, "few", 8)


def test_a_rate_near_the_limit_is_offered_again_until_it_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request in 50 is late: 100 of them do not show that the P95 is within its limit."""
    monkeypatch.setattr("steelyard.bench.load.levels.PRECISION", 0.5)
    offered = list[tuple[float, int]]()

    def probe(rate: float, part: int) -> pl.DataFrame:
        offered.append((rate, part))
        came = np.arange(100) / rate
        return requests(came, came + np.where(np.arange(100) % (50 if rate < 7 else 10) == 7, 0.6, 0.1), rate=rate)

    search = sustained_rate(probe, OBJECTIVE, first=5.0)
    parts = [part for rate, part in offered if rate == 5.0]
    assert parts == list(range(len(parts)))
    assert 2 <= len(parts) < 8
    assert offered[len(parts) :] == [(10.0, 0), (7.07, 0)]
    assert (search.rate, search.failing_rate, search.n_probes) == (5.0, 7.07, len(offered))


def test_it_ends_after_so_many_probes() -> None:
    search = sustained_rate(Limited(1e9), OBJECTIVE, first=1.0, most_probes=4)
    assert (search.rate, search.failing_rate, search.reason, search.n_probes) == (8.0, None, None, 4)
    assert not search.is_precise


@pytest.mark.parametrize(("rate", "objective", "seconds"), [
    (10, Objective({"p95": 0.5}), 28.8), (1000, Objective({"p95": 0.2}), 10), (1000, Objective({"p95": 2.0}), 80),
    (0.1, Objective({"p95": 0.5}), 600), (100, Objective({"p50": 0.1, "p99": 0.3}), 14.72),
])  # fmt: skip
def test_probes_are_long_enough(rate: float, objective: Objective, seconds: float) -> None:
    assert probe_seconds(rate, objective, least_s=10) == pytest.approx(seconds)
    assert probe_seconds(rate, objective, least_s=900) == 900


def test_who_is_too_slow_alone() -> None:
    def alone(delay_s: float, n: int = 50, **changes: object) -> bool:
        block = even(10.0, n / 10, delay_s).with_columns(loop=pl.lit("sequential"), rate=pl.lit(None, pl.Float64))
        return is_too_slow(block.with_columns(pl.lit(value).alias(name) for name, value in changes.items()), OBJECTIVE)

    assert alone(0.6)
    assert alone(0.6, loop="closed", users=1)
    assert not alone(0.6, loop="closed", users=2)
    assert not alone(0.6, loop="open")
    assert not alone(0.4)
    assert not alone(0.6, n=0)
    assert alone(0.1, outcome="error")


def test_bad_input() -> None:
    for wrong in ({"first": 0.0}, {"first": np.inf}, {"most_probes": 0}):
        with pytest.raises(InputError, match="expected numbers above 0"):
            sustained_rate(Limited(1.0), OBJECTIVE, **{"first": 1.0, **wrong})  # type: ignore[arg-type]


def prober(queue: Queue, objective: Objective, rng: np.random.Generator) -> Callable[[float, int], pl.DataFrame]:
    return lambda rate, part: queue.offer(rate, probe_seconds(rate, objective, least_s=10), rng)


def test_near_to_what_a_queue_bears() -> None:
    """M/M/1 of 200 a second, P95 within 100 ms: 170 a second by theory."""
    queue, objective = Queue(0.005), Objective({"p95": 0.1})
    search = sustained_rate(prober(queue, objective, np.random.default_rng(0)), objective, first=20.0)
    assert search.rate is not None
    assert 0.7 <= search.rate / queue.sustained(0.95, 0.1) <= 1.1


@pytest.mark.slow
@pytest.mark.parametrize(("mean_s", "servers", "percentile", "limit_s"), [
    (0.05, 1, "p95", 0.5), (0.05, 1, "p99", 0.5), (0.05, 1, "p95", 2.0), (0.005, 1, "p95", 0.1),
    (0.05, 4, "p95", 0.25), (0.1, 8, "p95", 0.5), (0.02, 2, "p99", 0.2),
])  # fmt: skip
@pytest.mark.parametrize("is_guess", [False, True])
def test_in_the_middle_it_comes_near_to_theory(
    mean_s: float, servers: int, percentile: str, limit_s: float, *, is_guess: bool
) -> None:
    queue, objective = Queue(mean_s, servers), Objective({percentile: limit_s})
    probe = prober(queue, objective, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    users = throughput(pl.concat([queue.occupy(users, 10, rng) for users in (1, 4, 16)]), objective)
    first = {"first": queue.capacity / 2, "is_guess": False}
    if is_guess:
        first = {"first": likely_rate(users, objective) or 0.0, "is_guess": True}
    rates = [sustained_rate(probe, objective, **first).rate or 0.0 for _ in range(60)]  # type: ignore[arg-type]
    truth = queue.sustained(float(percentile[1:]) / 100, limit_s)
    assert 0.7 * truth <= np.median(rates) <= 1.02 * truth
    assert np.mean(np.array(rates) <= 1.1 * truth) >= 0.85
    assert max(rates) <= queue.capacity * 1.05


def test_theory_is_that_of_the_simulated_queue() -> None:
    rng = np.random.default_rng(0)
    for queue, rate in ((Queue(0.05), 14.0), (Queue(0.2, 4), 17.0)):
        block = queue.offer(rate, 4000, rng)
        for limit_s in (0.2, 0.6):
            late = ((block["end_s"] - block["intended_s"]) > limit_s).mean()
            assert late == pytest.approx(queue.late(rate, limit_s), abs=0.03)
    assert Queue().sustained(0.95, 0.5) == pytest.approx(20 - np.log(20) / 0.5)
