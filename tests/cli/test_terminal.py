"""Nothing from files or servers acts on a terminal; files and pipes get the exact bytes."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from steelyard.cli.progress import progress_bars
from steelyard.cli.terminal import Screen
from steelyard.reports.words import read_words
from tests.cli.command import steelyard
from tests.cli.test_progress import Terminal

ODD = "\x1b[1mbold\x1b[0m\x1b[31m\x1b]52;c;aGk=\x07\x9b2J\x85\u202etxt\u2066"
SHOWN = "␛[1mbold␛[0m␛[31m␛]52;c;aGk=␇\ufffd2J\ufffd\ufffdtxt\ufffd"
ACTING = re.compile("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\x1b(?!\\[[012]m)")
"""What acts on a terminal, but for bold and dim."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.json").write_text(json.dumps({f"q{ODD}": {f"d{ODD}": 1, "e": 0}, "q2": {"e": 1}}))
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({f"q{ODD}": {f"d{ODD}": 1.0}, "q2": {"d": 1.0}}))
    (tmp_path / "own.py").write_text(f"def search(query):\n    raise ValueError('no ' + {ODD!r})\n")
    (tmp_path / "q.jsonl").write_text(json.dumps({"qid": f"q{ODD}", "query": "what?", "rel_map": {"d": 1}}))
    return tmp_path


EXACT = [
    "evaluate t.json a.json -q -f csv",
    "evaluate t.json a.json -q -f trec",
    "evaluate t.json a.json -q -f json",
    "compare t.json a.json b.json -f json",
    "convert a.json -",
    "trec-eval -q t.qrels a.json",
]
VIEWS = [
    "evaluate t.json a.json -q",
    "evaluate t.json a.json -q -f markdown",
    "diagnose t.json a.json --stage not_retrieved",
    "compare t.json a.json b.json --movers 1",
    "run --target own:search --questions q.jsonl",
    "evaluate t.json a\x1b]52;c;aGk=\x07.json",
]


@pytest.mark.parametrize("command", [*EXACT, *VIEWS])
def test_nothing_acts_on_a_terminal(command: str, folder: Path) -> None:
    steelyard("convert", "t.json", "t.qrels", "--kind", "truth", cwd=folder)
    done = steelyard(*command.split(" "), cwd=folder, terminal=True)
    assert ACTING.findall(done.stdout.decode()) == []
    assert ACTING.findall(re.sub(r"\x1b\[(\?25[hl]|\d*[A-K]|[\d;]*m)|\r", "", done.stderr.decode())) == []
    assert done.stdout + done.stderr


def test_control_characters_are_shown_as_pictures(folder: Path) -> None:
    done = steelyard("evaluate", "t.json", "a.json", "-m", "map", "-q", "-f", "csv", cwd=folder, terminal=True)
    assert f"q{SHOWN}," in done.stdout.decode()
    failed = steelyard("run", "--target", "own:search", "--questions", "q.jsonl", cwd=folder, terminal=True)
    assert f"First\nq{SHOWN}" in failed.stdout.decode()


@pytest.mark.parametrize("command", ["evaluate t.json a.json -m map -q -f csv", "convert a.json -"])
def test_pipes_and_files_are_exact(command: str, folder: Path) -> None:
    pipe = steelyard(*command.split(), cwd=folder).stdout
    assert f"q{ODD}".encode() in pipe
    if command.startswith("evaluate"):
        assert steelyard(*command.split(), "-o", "out.csv", cwd=folder, terminal=True).stdout == b""
        assert (folder / "out.csv").read_bytes() == pipe


def test_tables_keep_their_bold_and_bars_their_colours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert b"\x1b[1mmean\x1b[0m" in steelyard("evaluate", "t.json", "a.json", cwd=folder, terminal=True).stdout
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", Screen(stream))
    monkeypatch.setenv("TERM", "xterm")
    with progress_bars(read_words("en")) as show:
        show("runs", 1, 3)
        show("[red]mine[/] \x1b]52;c;aGk=\x07", 1, 2)
    text = stream.getvalue()
    assert "[red]mine[/] ␛]52;c;aGk=␇" in text
    assert "\x1b[2K" in text
    assert "\x1b]" not in text


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_real_terminal(folder: Path) -> None:
    import pty

    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "steelyard", "convert", "a.json", "-"])
    text = b""
    try:
        while block := os.read(terminal, 1 << 16):
            text += block
    except OSError:  # How Linux says that the other end is closed.
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert f"q{SHOWN}" in text.decode()
