"""Bars on a terminal, and nowhere else."""

from __future__ import annotations

import io
import math
import sys
import threading
import time
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.bench.run.loads import LiveBlock
from steelyard.cli.benches import announced
from steelyard.cli.progress import progress_bars
from steelyard.reports.words import read_words
from steelyard.services.announcements import LIVE, SPENDING, WAITS, LiveRequests, Spending, Usage, Wait


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, code: str = "en", after: float = 0.0) -> str:
    """What bars draw of three runs, and of a stage of somebody else's system."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars(read_words(code), after=after) as show:
        for done in range(4):
            show("runs", done, 3)
        show("warm up", 0, 2)
    return stream.getvalue()


@pytest.mark.parametrize(("code", "name"), [("en", "runs"), ("zh", "结果")])
def test_a_terminal_sees_each_stage_by_name(code: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(Terminal(), monkeypatch, code=code)
    assert name in text
    assert "3/3" in text
    assert "warm up" in text


def test_bars_between_calls_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that draws would take the processor from what is timed."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    before = set(threading.enumerate())  # Threads of other tests may end meanwhile.
    with progress_bars(read_words("en"), between_calls=True) as show:
        show("runs", 1, 3)
        assert set(threading.enumerate()) <= before
        show("runs", 3, 3)
    assert "3/3" in stream.getvalue()


def test_a_pipe_and_a_quick_command_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(io.StringIO(), monkeypatch) == ""
    assert drawn(Terminal(), monkeypatch, after=60.0) == ""


@pytest.mark.parametrize(
    ("code", "sentence"),
    [("en", "waiting 12 s for api.example.com (429)"), ("zh", "等待 api.example.com，还有 12 秒（429）")],
)
def test_a_terminal_sees_what_is_waited_for(code: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars(read_words(code)) as show:
        show("questions", 0, 3)
        WAITS.announce(Wait("api.example.com", 0.2, 503))
        WAITS.announce(Wait("api.example.com", 12.0, 429))
        WAITS.announce(Wait("api.example.com", 2.0, "timeout"))
        time.sleep(0.3)  # Bars are drawn ten times a second.
    assert sentence in stream.getvalue()
    assert "503" not in stream.getvalue()


@pytest.mark.parametrize(
    ("code", "cost_usd", "sentence"),
    [
        ("en", None, "12,345 tokens"),
        ("en", 0.314, "12,345 tokens, $0.31"),
        ("zh", None, "词元 12,345 个"),
        ("zh", 2.0, "词元 12,345 个，费用 2.00 美元"),
    ],
)
def test_a_terminal_sees_rate_and_spending(
    code: str, cost_usd: float | None, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars(read_words(code)) as show:
        show("judge", 0, 300)
        time.sleep(0.02)
        show("judge", 20, 300)
        SPENDING.announce(Spending(Usage(), None))
        SPENDING.announce(Spending(Usage(12_000, 345), cost_usd))
        time.sleep(0.02)
        show("judge", 40, 300)
        time.sleep(0.3)
    assert sentence in stream.getvalue()
    assert "/s" in stream.getvalue()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("en", "words@50: 50/s, 1 of 101 failed, P95 20 ms"),
        ("zh", "words@50：每秒 50 次，101 次中 1 次失败，P95 20 ms"),
    ],
)
def test_a_terminal_sees_how_requests_do_while_a_block_is_measured(
    code: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    seconds = iter([0.0] * 101 + [2.0])
    with progress_bars(read_words(code), between_calls=True) as show:
        show("requests", 0, 200)
        block = LiveBlock("words@50", lambda: next(seconds))
        for _ in range(100):
            block.add(0.02, is_answered=True)
        block.add(60.0, is_answered=False)
        show("requests", 200, 200)
    assert sentence in stream.getvalue()


def test_a_block_is_announced_by_what_its_requests_did() -> None:
    announced: list[LiveRequests] = []
    with LIVE.listening(announced.append):
        block = LiveBlock("words@50", iter([0.0, 0.5, 0.6, 1.0]).__next__)
        for is_answered in (True, True, False):
            block.add(0.01, is_answered=is_answered)
    # The second one ended too soon after the first.
    assert announced == [LiveRequests("words@50", 1, 0, 2.0, 10.0), LiveRequests("words@50", 3, 1, 2.0, math.inf)]


def test_a_log_says_once_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bars(read_words("en")):
        for _ in range(3):
            WAITS.announce(Wait("api.example.com", 11.2, 429))
            WAITS.announce(Wait("api.example.com", 2.0, "timeout"))
            WAITS.announce(Wait("other.example.com", 0.5, "no answer"))
    WAITS.announce(Wait("api.example.com", 12.0, 500))
    assert stream.getvalue().splitlines() == [
        "steelyard: waiting 12 s for api.example.com (429)",
        "steelyard: waiting 2 s for api.example.com (no answer in time)",
    ]


def test_every_run_is_reported(tmp_path: Path) -> None:
    (tmp_path / "b.run").write_text("q Q0 d 1 1.0 b\n")
    (tmp_path / "c.run").write_text("q Q0 e 1 1.0 c\n")
    calls: list[tuple[str, int, int]] = []
    runs = {"a": {"q": ["d"]}, "b": tmp_path / "b.run", "c": tmp_path / "c.run"}
    sy.evaluate({"q": {"d": 1}}, runs, "map", progress=lambda *call: calls.append(call))
    assert calls == [("runs", done, 3) for done in range(4)]


def test_a_line_says_how_long_load_takes_where_there_are_no_bars(capsys: pytest.CaptureFixture[str]) -> None:
    for code, line in (("en", "steelyard: load takes 460 s at most\n"), ("zh", "steelyard: 负载至多需 460 秒\n")):
        say = announced(read_words(code))
        for stage, done, total in (("levels", 0, 900), ("seconds", 0, 59), ("seconds", 1, 461), ("seconds", 2, 461)):
            say(stage, done, total)
        assert capsys.readouterr() == ("", line)
