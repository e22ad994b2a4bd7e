"""Throughput of requests: worked by hand, of queues whose capacity is known, and of loads that fail in each way."""

import numpy as np
import polars as pl
import pytest

from steelyard.base.arrays import Floats
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import REQUESTS, SCALABILITY, SUSTAINED, THROUGHPUT
from steelyard.bench.load.latency import latency
from steelyard.bench.load.throughput import Objective, scalability, sustained, throughput
from tests.bench.queueing import Queue, requests

OBJECTIVE = Objective()
EVEN = np.arange(0, 20, 0.1)


def only(frame: pl.DataFrame) -> dict[str, object]:
    (row,) = frame.to_dicts()
    return row


def level(
    came: Floats, delay: Floats | float, objective: Objective = OBJECTIVE, **changes: object
) -> dict[str, object]:
    block = requests(came, came + delay, rate=10.0, **changes)
    return only(throughput(block, objective))


def test_worked_by_hand() -> None:
    """200 requests, ten a second, each of .2 s but every tenth, which takes .6 s."""
    delay = np.where(np.arange(200) % 10 == 9, 0.6, 0.2)
    row = level(EVEN, delay, Objective({"p50": 0.5}))
    assert row["n"] == 200
    assert row["duration_s"] == pytest.approx(19.9)
    assert (row["offered"], row["achieved"]) == pytest.approx((10, 10), rel=0.01)
    assert row["goodput"] == pytest.approx(9, rel=0.01)
    assert row["in_flight"] == pytest.approx(2.4, rel=0.02)
    assert row["little_gap"] is None
    assert (row["error_rate"], row["holds"], row["reason"]) == (0, True, None)


def test_each_condition_is_named() -> None:
    n = len(EVEN)
    assert level(EVEN, 0.2)["reason"] is None
    assert level(EVEN[:71], 0.2)["reason"] == "few"
    assert level(EVEN[:20], 0.6)["reason"] == "few"  # Two seconds say nothing of the third.
    assert level(EVEN, 0.2, failed=np.arange(n) % 50 == 0)["reason"] == "errors"
    assert level(EVEN, 0.2, failed=np.arange(n) == 7)["reason"] is None
    assert level(EVEN, 0.01 + 0.022 * EVEN)["reason"] == "achieved"
    assert level(EVEN, 0.6)["reason"] == "latency"
    assert level(EVEN, np.where(np.arange(n) % 25 == 0, 0.6, 0.2))["reason"] == "open"
    assert level(EVEN, np.where(np.arange(n) % 5 == 0, 0.6, 0.2))["reason"] == "latency"
    assert level(EVEN, 0.2, Objective({"p95": 0.5, "p99": 0.6}))["reason"] == "few"


def test_the_verdict_is_that_of_the_interval_which_tables_show() -> None:
    """A verdict by another test called levels good whose interval ended far above the limit."""
    rng, reasons = np.random.default_rng(1), set[object]()
    for rate, seconds in ((6.0, 20.0), (6.0, 300.0), (12.0, 60.0), (13.5, 300.0), (15.0, 300.0), (18.0, 300.0)):
        for _ in range(4):
            block = Queue().offer(rate, seconds, rng)
            row, times = only(throughput(block, OBJECTIVE)), only(latency(block))
            low, high = (float(str(times[f"p95_{end}"])) for end in ("low", "high"))
            reasons.add(row["reason"])
            if row["reason"] not in ("achieved", "backlog"):
                expected = None if high <= 500 else "latency" if low > 500 else "few" if np.isinf(high) else "open"
                assert row["reason"] == expected
    assert reasons >= {None, "latency", "few", "open"}


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "most"), [(30.0, 0.08), (300.0, 0.06)])
def test_a_queue_at_its_limit_hardly_ever_holds(seconds: float, most: float) -> None:
    """M/M/1 whose P95 is .5 s; of tests that take requests as independent 45% pass."""
    rng, queue = np.random.default_rng(1), Queue()
    rate = queue.sustained(0.95, 0.5)
    held = [only(throughput(queue.offer(rate, seconds, rng), OBJECTIVE))["holds"] for _ in range(200)]
    assert np.mean(np.array(held, float)) <= most


def test_a_constant_at_its_limit_is_within_it() -> None:
    """5.1 + .5 - 5.1 is not .5 to the last digit."""
    assert ((EVEN + 0.5) - EVEN > 0.5).any()
    assert level(EVEN, 0.5)["holds"]
    assert level(EVEN, 0.5)["goodput"] == pytest.approx(10, rel=0.01)
    assert level(EVEN, 0.5001)["reason"] == "latency"


def test_a_backlog_is_named_where_answers_keep_up_by_and_large() -> None:
    """Every tenth request is never finished with: 98% are answered, and those under way grow all the same."""
    came = np.arange(0, 400, 0.1)
    delay = np.where(np.arange(len(came)) % 100 == 0, 400.0 - came / 2, 0.2)
    row = level(came, delay)
    assert row["achieved"] > 0.98 * row["offered"]
    assert row["backlog_slope"] > 0
    assert row["backlog_p"] < 0.01
    assert row["reason"] == "backlog"


def test_an_overloaded_queue_answers_at_its_capacity() -> None:
    queue, rng = Queue(service="constant"), np.random.default_rng(0)
    row = only(throughput(queue.offer(25.0, 60, rng, arrivals="constant"), OBJECTIVE))
    assert row["offered"] == pytest.approx(25)
    assert row["achieved"] == pytest.approx(20, rel=0.01)
    assert row["goodput"] < 2
    assert row["reason"] == "achieved"


def test_answers_are_those_that_were_counted() -> None:
    """Of 30 a second, a server of 20 answers few in time, and the others when nobody waits any longer."""
    block = Queue(service="constant").offer(30.0, 60, np.random.default_rng(0), timeout_s=1.0)
    row, until = only(throughput(block, OBJECTIVE)), block["intended_s"].max()
    answered = block.filter(
        pl.col("outcome") == "ok", (pl.col("end_s") > 0.1 * until) & (pl.col("end_s") <= 0.9 * until)
    )
    assert row["achieved"] == pytest.approx(len(answered) / (0.8 * until))
    assert row["achieved"] < 1
    assert row["reason"] == "errors"


def test_what_this_machine_sends_late_is_no_fault_of_the_system() -> None:
    late = requests(EVEN, EVEN + 1.1, rate=10.0).with_columns(sent_s=pl.col("intended_s") + 1)
    assert only(throughput(late, OBJECTIVE))["reason"] == "generator"
    slow = late.with_columns(end_s=pl.col("end_s") + 1)
    assert only(throughput(slow, OBJECTIVE))["reason"] == "latency"


def test_a_timeout_is_an_error_and_infinitely_slow() -> None:
    delay = np.where(np.arange(200) % 10 == 0, 5.0, 0.1)
    row = level(EVEN, delay, Objective(max_error=0.5), timeout_s=0.3)
    assert row["error_rate"] == pytest.approx(0.1)
    assert (row["goodput"], row["reason"]) == (pytest.approx(9, rel=0.01), "achieved")


def test_closed_loops_obey_littles_law_and_hold_nothing() -> None:
    rng = np.random.default_rng(0)
    for users, think_s in ((1, 0.0), (4, 0.0), (4, 0.2), (16, 0.1)):
        block = Queue(0.05, 2).occupy(users, 60, rng, think_s)
        row = only(throughput(block, Objective(think_time_s=think_s)))
        assert row["little_gap"] == pytest.approx(0, abs=0.05)
        assert row["in_flight"] == pytest.approx(users - row["achieved"] * think_s, rel=0.08)
        assert row["offered"] is row["holds"] is row["reason"] is row["backlog_p"] is None
    forgotten = only(throughput(block, Objective(think_time_s=1.0)))
    assert forgotten["little_gap"] > 0.5


def test_answers_at_the_limit_are_within_it() -> None:
    came = np.arange(0, 40, 0.25)
    assert level(came, 0.5)["holds"]
    assert not level(came, 0.5625)["holds"]
    for delay_s, share in ((0.5, 1), (0.5625, 0)):
        closed = only(throughput(requests(came, came + delay_s, users=1), OBJECTIVE))
        assert closed["goodput"] == pytest.approx(share * closed["achieved"])


def test_users_who_are_not_let_in_show_in_littles_law() -> None:
    """Half of the time of each user passes outside of any request: the harness is the bottleneck."""
    block = Queue(0.05, 4).occupy(4, 60, np.random.default_rng(0), think_time_s=0.05)
    assert only(throughput(block, OBJECTIVE))["little_gap"] == pytest.approx(-0.5, abs=0.05)


def test_repetitions_are_put_together() -> None:
    queue, rng = Queue(), np.random.default_rng(0)
    first, second = queue.offer(8.0, 20, rng), queue.offer(8.0, 20, rng)
    both = pl.concat([first, second.with_columns(repetition=pl.lit(2, pl.Int64))])
    row = only(throughput(both, OBJECTIVE))
    assert row["n"] == len(first) + len(second)
    assert row["duration_s"] == pytest.approx(
        sum(float(np.ptp(block["intended_s"].to_numpy())) for block in (first, second))
    )
    assert row["holds"]


def test_levels_do_not_mix() -> None:
    rng = np.random.default_rng(0)
    queue = Queue()
    blocks = [queue.offer(rate, 20, rng) for rate in (8.0, 30.0)] + [queue.occupy(users, 20, rng) for users in (1, 2)]
    other = [block.with_columns(depth=pl.lit(50, pl.Int64)) for block in blocks]
    levels = throughput(pl.concat(blocks + other), OBJECTIVE)
    assert levels.schema == THROUGHPUT
    assert levels.select("depth", "loop", "rate", "users").rows() == [
        (depth, *rest)
        for depth in (None, 50)
        for rest in (("open", 8.0, None), ("open", 30.0, None), ("closed", None, 1), ("closed", None, 2))
    ]
    apart = throughput(blocks[1], OBJECTIVE).drop("depth").row(0)
    assert levels.filter(depth=50, rate=30.0).drop("depth").row(0) == apart


def test_nothing_but_sequential_requests_is_no_load() -> None:
    sequential = requests(EVEN, EVEN + 0.1, users=1).with_columns(loop=pl.lit("sequential"))
    for frame, schema in (
        (throughput(sequential, OBJECTIVE), THROUGHPUT),
        (sustained(throughput(sequential, OBJECTIVE)), SUSTAINED),
        (scalability(sequential), SCALABILITY),
        (scalability(REQUESTS.to_frame()), SCALABILITY),
    ):
        assert (len(frame), frame.schema) == (0, schema)


def test_one_request_and_requests_at_one_moment_are_too_few() -> None:
    for came in (np.zeros(1), np.ones(1), np.zeros(5)):
        row = level(came, 0.1)
        assert (row["offered"], row["reason"]) == (None, "few")


def levels_of(*rows: tuple[float, bool, str | None]) -> pl.DataFrame:
    columns = [
        {"system": "a", "loop": "open", "rate": rate, "holds": holds, "reason": reason} for rate, holds, reason in rows
    ]
    return pl.DataFrame([{name: row.get(name) for name in THROUGHPUT} for row in columns], schema=THROUGHPUT)


@pytest.mark.parametrize(
    ("rows", "rate", "failing", "reason"),
    [
        ([(1, True, None), (2, True, None), (4, False, "latency")], 2, 4, "latency"),
        ([(1, False, "few"), (2, True, None), (4, False, "few"), (8, False, "errors")], 2, 8, "errors"),
        ([(1, True, None), (2, False, "latency"), (4, True, None)], 4, None, None),
        ([(1, False, "few"), (2, False, "few")], None, 1, "few"),
        ([(4, False, "backlog"), (2, False, "latency")], None, 2, "latency"),
        ([(1, True, None), (2, False, "few")], 1, 2, "few"),
    ],
)
def test_the_sustained_rate(
    rows: list[tuple[float, bool, str | None]], rate: float | None, failing: float | None, reason: str | None
) -> None:
    assert only(sustained(levels_of(*rows))) == {
        "system": "a", "depth": None, "rate": rate, "failing_rate": failing, "reason": reason
    }  # fmt: skip


def test_users_of_a_system_that_scales_and_of_one_that_does_not() -> None:
    rng = np.random.default_rng(0)
    alone = pl.concat([Queue(0.02).occupy(users, 30, rng) for users in (1, 2, 4, 8)])
    row = only(scalability(alone))
    assert row["gamma"] == pytest.approx(50, rel=0.1)
    assert row["sigma"] > 0.85
    assert row["gamma_low"] <= row["gamma"] <= row["gamma_high"]
    wide = pl.concat([Queue(0.02, 64).occupy(users, 10, rng) for users in (1, 2, 4, 8)])
    row = only(scalability(wide))
    assert row["sigma"] < 0.02
    assert len(scalability(alone.filter(pl.col("users") > 2))) == 0


def test_a_level_that_stalls_for_a_while_is_fitted_too() -> None:
    rng = np.random.default_rng(0)
    blocks = [Queue().occupy(users, 20, rng) for users in (1, 2, 4)]
    stalled = blocks[0].filter(~pl.col("end_s").is_between(8, 14))
    assert only(scalability(pl.concat([stalled, *blocks[1:]])))["n"] == 3


def test_a_level_without_answers_is_left_out_of_the_law() -> None:
    rng = np.random.default_rng(0)
    blocks = [Queue().occupy(users, 20, rng) for users in (1, 2, 4)]
    dead = Queue().occupy(8, 20, rng).with_columns(outcome=pl.lit("error"))
    assert only(scalability(pl.concat([*blocks, dead])))["n"] == 3


def test_the_objective_of_a_configuration() -> None:
    systems = {"systems": {"a": {"rerank": "lexical"}}}
    assert Objective.of(BenchConfig.of(systems).load) == Objective()
    load = {"slo": {"p50": "100ms", "p99": 2}, "max_error": 0.05, "think_time": 1}
    objective = Objective.of(BenchConfig.of({**systems, "load": load}).load)
    assert objective == Objective({"p50": 0.1, "p99": 2.0}, 0.05, 1.0)
    assert (objective.limit_s, objective.least_requests, Objective().least_requests) == (2.0, 368, 72)


@pytest.mark.slow
def test_a_queue_below_its_limit_passes_and_one_above_does_not() -> None:
    """M/M/1 of 20 a second, P95 within .5 s: 14 a second by theory."""
    queue, rng, n = Queue(), np.random.default_rng(0), 100
    assert queue.sustained(0.95, 0.5) == pytest.approx(14.0085, abs=1e-3)
    held = {
        rate: sum(only(throughput(queue.offer(rate, 300, rng), OBJECTIVE))["holds"] is True for _ in range(n)) / n
        for rate in (6.0, 10.0, 16.0, 18.0, 22.0)
    }
    assert held[6.0] > 0.93
    assert held[10.0] > 0.8
    assert held[16.0] <= 0.02
    assert held[18.0] == held[22.0] == 0
