"""Messages on their way: in order, once, and none lost, whatever sinks, clocks, disks and processes do."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import PrivateAttr

from steelyard.base.errors import OutputError
from steelyard.monitoring.memory import Memory
from steelyard.monitoring.outbox import Delivery, Outbox, rows_of
from steelyard.monitoring.sinks.declared import parse_sink
from steelyard.monitoring.sinks.message import DeliveryError, Message
from steelyard.monitoring.sinks.sink import Sink
from steelyard.traffic.series import POINTS
from tests.monitoring.delivering import deliver, run_all, started
from tests.monitoring.messages import TIME, message
from tests.monitoring.sinks.test_files import room_for
from tests.services.raw_server import answering, http

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Fake(Sink):
    """A sink that takes what comes, or does what a test says.

    came   keys, in the order in which they came;   act   called before each
    """

    type: str = "fake"
    _came: list[str] = PrivateAttr(default_factory=list)
    _act: list[Callable[[Message], None]] = PrivateAttr(default_factory=list)

    def send(self, message: Message, seconds: float) -> None:
        for act in self._act:
            act(message)
        self._came.append(message.key)


def fake(name: str = "fake", act: Callable[[Message], None] | None = None) -> Fake:
    sink = Fake(name=name)
    sink._act.extend([act] if act else [])
    return sink


def down(message: Message) -> None:
    raise DeliveryError("it is down")


class Clock:
    def __init__(self) -> None:
        self.now = TIME

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "history.db", "search")


def enqueue(memory: Memory, sinks: list[Any], *keys: str, now: datetime = TIME) -> None:
    rows = rows_of([message(key) for key in keys], sinks, now)
    memory.record(memory.load(), points=POINTS.to_frame(), documents={}, alerts=[], deliveries=rows)


def outbox(memory: Memory, clock: Callable[[], datetime]) -> Outbox:
    return Outbox(memory.database, memory.monitor, clock)


def errors(deliveries: list[Delivery]) -> list[tuple[str, str]]:
    return [(delivery.key, delivery.error) for delivery in deliveries]


def test_messages_are_sent_in_order_and_once(memory: Memory, clock: Clock) -> None:
    sinks = [fake("a"), fake("b"), parse_sink({"type": "markdown", "path": "x"})]
    enqueue(memory, sinks, "k2")
    enqueue(memory, sinks, "k1", "k2", now=TIME + MINUTE)
    clock.now += MINUTE
    deliveries = outbox(memory, clock).deliver(sinks)
    assert [(delivery.sink, delivery.key, delivery.title) for delivery in deliveries] == [
        (sink, key, message().title) for sink in "ab" for key in ("k2", "k1")
    ]
    assert (sinks[0]._came, sinks[1]._came) == (["k2", "k1"], ["k2", "k1"])
    assert outbox(memory, clock).deliver(sinks) == outbox(memory, clock).waiting(sinks) == []
    enqueue(memory, sinks, "k1")  # Raised again by a look that began earlier.
    assert outbox(memory, clock).deliver(sinks) == []
    assert Outbox(memory.database, "another").deliver(sinks) == []


def test_a_sink_that_is_down_for_an_hour_loses_nothing(memory: Memory, clock: Clock) -> None:
    broken, well = fake("broken", down), fake("well")
    sinks, tried = [broken, well], Counter[str]()
    for n in range(30):  # A look every two minutes.
        enqueue(memory, sinks, *([f"k{n // 10}"] if n % 10 == 0 else []), now=clock.now)
        tried.update(delivery.key for delivery in outbox(memory, clock).deliver(sinks) if delivery.error)
        clock.now += 2 * MINUTE
    assert well._came == ["k0", "k1", "k2"]
    assert 6 <= tried["k0"] < 10  # Ever less often.
    waiting = outbox(memory, clock).waiting(sinks)
    assert errors(waiting) == [(key, "it is down") for key in ("k0", "k1", "k2")]
    broken._act.clear()
    for _ in range(10):
        outbox(memory, clock).deliver(sinks)
        clock.now += 2 * MINUTE
    assert sorted(broken._came) == ["k0", "k1", "k2"]
    assert outbox(memory, clock).waiting(sinks) == []


def test_one_failure_ends_the_attempts_of_a_look_and_keeps_the_order(memory: Memory, clock: Clock) -> None:
    sink = fake(act=down)
    enqueue(memory, [sink], "k1", "k2")
    assert errors(outbox(memory, clock).deliver([sink])) == [("k1", "it is down")]
    sink._act.clear()
    assert outbox(memory, clock).deliver([sink]) == []  # The second one waits for the first.
    clock.now += MINUTE
    outbox(memory, clock).deliver([sink])
    assert sink._came == ["k1", "k2"]


def test_what_is_refused_for_ever_holds_nothing_back_for_long(memory: Memory, clock: Clock) -> None:
    def refuse_first(message: Message) -> None:
        if message.key == "k1":
            raise DeliveryError("too odd")

    sink = fake(act=refuse_first)
    enqueue(memory, [sink], "k1", "k2")
    for _ in range(3):
        assert sink._came == []
        outbox(memory, clock).deliver([sink])
        clock.now += MINUTE
    outbox(memory, clock).deliver([sink])
    assert sink._came == ["k2"]


def test_a_receiver_may_ask_for_a_longer_wait(memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx2")
    with answering(http(b"", "429 Slow", "Retry-After: 1800"), http(b"")) as (url, came):
        monkeypatch.setenv("HOOK", url)
        sink = parse_sink({"type": "webhook", "url_env": "HOOK"})
        enqueue(memory, [sink], "k1")
        (delivery,) = outbox(memory, clock).deliver([sink])
        assert "answered 429" in delivery.error
        for minutes, n in ((29, 1), (2, 2)):
            clock.now += minutes * MINUTE
            outbox(memory, clock).deliver([sink])
            assert len(came) == n
    keys = [request.lower().split(b"idempotency-key: ")[1].split(b"\r\n")[0] for request in came]
    assert keys == [b"k1", b"k1"]


def test_a_sink_that_hangs_keeps_neither_the_look_nor_others_waiting(
    memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.monitoring.outbox._GRACE_S", 0.1)
    released = threading.Event()
    hanging, well = fake("hanging", lambda _: released.wait(20) and None), fake("well")
    enqueue(memory, [hanging, well], "k1", "k2")
    began = time.monotonic()
    deliveries = outbox(memory, clock).deliver([hanging, well], 0.3)
    assert time.monotonic() - began < 5
    assert errors(deliveries) == [("k1", "hanging: did not end within 0.3 s"), ("k1", ""), ("k2", "")]
    assert outbox(memory, clock).deliver([hanging, well], 0.3) == []  # It is still being sent.
    released.set()
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "sink-hanging")
    thread.join()
    assert hanging._came == ["k1"]  # Noted when it came after all; no time was left for the second.
    outbox(memory, clock).deliver([hanging, well])
    assert (hanging._came, well._came) == (["k1", "k2"], ["k1", "k2"])


@pytest.mark.parametrize("back", [DAY, 400 * DAY])
def test_a_clock_that_goes_back_loses_nothing(back: timedelta, memory: Memory, clock: Clock) -> None:
    sink = fake(act=down)
    enqueue(memory, [sink], "k1")
    outbox(memory, clock).deliver([sink])
    outbox(memory, clock)._claim([sink.label])
    clock.now -= back
    sink._act.clear()
    outbox(memory, clock).deliver([sink])
    assert sink._came == ["k1"]
    assert outbox(memory, clock).waiting([sink]) == []


def test_a_message_is_given_up_after_days_and_many_attempts(memory: Memory, clock: Clock) -> None:
    sink = fake(act=down)
    enqueue(memory, [sink], "k1")
    clock.now += 400 * DAY  # A clock that is wrong for a moment.
    assert len(outbox(memory, clock).deliver([sink])) == 1
    clock.now -= 400 * DAY
    for n in range(8):
        assert [delivery.is_lost for delivery in outbox(memory, clock).waiting([sink])] == [False], n
        clock.now += HOUR
        outbox(memory, clock).deliver([sink])
    clock.now += 2 * DAY
    assert len(outbox(memory, clock).deliver([sink])) == 1  # It is kept for three days.
    clock.now += 2 * DAY
    assert outbox(memory, clock).deliver([sink]) == []
    assert [delivery.is_lost for delivery in outbox(memory, clock).waiting([sink])] == [True]


def test_a_full_disk_sends_nothing_that_it_cannot_note(memory: Memory, clock: Clock) -> None:
    sink = fake()
    enqueue(memory, [sink], "k1")
    with room_for(0), pytest.raises(OutputError, match=r"history\.db: cannot be written"):
        outbox(memory, clock).deliver([sink])
    assert sink._came == []
    outbox(memory, clock).deliver([sink])
    assert sink._came == ["k1"]


def test_what_cannot_be_noted_is_said_and_sent_again_under_its_key(memory: Memory, clock: Clock) -> None:
    sink, full = fake(), room_for(0)
    enqueue(memory, [sink], "k1")
    sink._act.append(lambda _: full.__enter__())
    try:
        (delivery,) = outbox(memory, clock).deliver([sink])
    finally:
        full.__exit__(None, None, None)
    assert "cannot be written" in delivery.error
    sink._act.clear()
    clock.now += 3 * MINUTE
    outbox(memory, clock).deliver([sink])
    assert sink._came == ["k1", "k1"]


# Processes ------------------------------------------------------------------------------------------------------------


def arrived(lines: Path) -> Counter[str]:
    return Counter(json.loads(line)["key"] for line in lines.read_text().splitlines()) if lines.exists() else Counter()


@pytest.mark.parametrize(("moment", "n_before"), [("claimed", 0), ("sent", 1), ("noted", 1)])
def test_a_killed_process_loses_nothing(moment: str, n_before: int, memory: Memory, tmp_path: Path) -> None:
    lines, url = tmp_path / "alerts.jsonl", memory.database.address
    sink = parse_sink({"type": "json", "path": str(lines)})
    enqueue(memory, [sink], "k1", "k2", "k3")
    for at, now in ((moment, TIME), ("", TIME + MINUTE), ("", TIME + 3 * MINUTE)):
        (code,) = run_all([started(deliver, url, lines, at, now)])
        assert code == (-signal.SIGKILL if at else 0)
        if now < TIME + 2 * MINUTE:
            assert sum(arrived(lines).values()) == n_before  # Until its lease ends, its messages are left alone.
    assert arrived(lines) == {"k1": 1 + (moment == "sent"), "k2": 1, "k3": 1}


def test_processes_at_once_send_each_message_once(memory: Memory, tmp_path: Path) -> None:
    lines, url = tmp_path / "alerts.jsonl", memory.database.address
    sink = parse_sink({"type": "json", "path": str(lines)})
    enqueue(memory, [sink], *(f"k{i}" for i in range(10)))
    assert run_all([started(deliver, url, lines, "", TIME) for _ in range(4)]) == [0] * 4
    assert arrived(lines) == {f"k{i}": 1 for i in range(10)}


@pytest.mark.slow
def test_processes_that_are_killed_at_any_moment_lose_nothing(memory: Memory, tmp_path: Path) -> None:
    lines, url = tmp_path / "alerts.jsonl", memory.database.address
    sink = parse_sink({"type": "json", "path": str(lines)})
    clock, keys = Clock(), list[str]()
    for n in range(100):
        keys.append(f"k{n}")
        enqueue(memory, [sink], keys[-1], now=clock.now)
        workers = [started(deliver, url, lines, "", clock.now) for _ in range(2)]
        time.sleep(0.0007 * (n % 40))
        for worker in workers:
            worker.kill()
        run_all(workers)
        clock.now += 3 * MINUTE
    for _ in range(10):
        outbox(memory, clock).deliver([sink])
        clock.now += 3 * MINUTE
    counts = arrived(lines)
    assert set(counts) == set(keys)
    assert sum(counts.values()) < 2 * len(keys)
