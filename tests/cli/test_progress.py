"""Bars on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli.progress import progress_bars
from steelyard.report.words import read_words


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


def test_a_pipe_and_a_quick_command_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(io.StringIO(), monkeypatch) == ""
    assert drawn(Terminal(), monkeypatch, after=60.0) == ""


def test_every_run_is_reported(tmp_path: Path) -> None:
    (tmp_path / "b.run").write_text("q Q0 d 1 1.0 b\n")
    (tmp_path / "c.run").write_text("q Q0 e 1 1.0 c\n")
    calls: list[tuple[str, int, int]] = []
    runs = {"a": {"q": ["d"]}, "b": tmp_path / "b.run", "c": tmp_path / "c.run"}
    sy.evaluate({"q": {"d": 1}}, runs, "map", progress=lambda *call: calls.append(call))
    assert calls == [("runs", done, 3) for done in range(4)]
