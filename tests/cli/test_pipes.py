"""Files that can be read but once: pipes, named pipes and standard input, in every command that reads files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from steelyard.demo import copy_data
from tests.cli.command import complaint, printed, steelyard

TREC = {"ok.qrels": "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n", "ok.run": "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\nq2 Q0 a 1 1.0 t\n"}
COMMANDS = [
    "evaluate *ok.qrels a=*ok.run -f csv",
    "evaluate *pilot.jsonl a=*hybrid.jsonl -f csv",
    "evaluate pilot.jsonl hybrid.jsonl -f csv --questions *pilot.jsonl",
    "evaluate ok.qrels ok.run -f csv --profile *faq.toml",
    "evaluate pilot.jsonl hybrid.jsonl -f csv --documents *chunks.jsonl",
    "compare *pilot.jsonl a=*hybrid.jsonl b=*keyword.jsonl -f csv",
    "diagnose *pilot.jsonl a=*hybrid.jsonl",
    "plan *pilot.jsonl a=*keyword.jsonl --difference 0.05",
    "report *pilot.jsonl a=*hybrid.jsonl -o out.csv",
    "trec-eval *ok.qrels *ok.run",
    "convert *ok.run x.json",
    "convert *pilot.jsonl x.json --kind truth",
    "gate *scores.json --profile *faq.toml --min-questions 2",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = copy_data(tmp_path / "demo")
    for name, text in TREC.items():
        (folder / name).write_text(text)
    (folder / "chunks.jsonl").write_text(
        '{"id": "c1", "doc": "faq", "start": 0, "end": 20, "text": "A text of 20 letters"}\n'
    )
    (folder / "faq.toml").write_text('levels = ["good"]\n[measures.map]\nlevels = { good = 0.5 }\n')
    printed("evaluate", "ok.qrels", "ok.run", "-m", "map", "-f", "json", "-o", "scores.json", cwd=folder)
    return folder


@contextmanager
def piped(content: bytes) -> Iterator[str]:
    """The path of a pipe that somebody writes into, as `<(cat FILE)` is."""
    receiver, sender = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(sender, "wb") as file:  # Its reader may be done before it is.
            file.write(content)

    Thread(target=write, daemon=True).start()
    try:
        yield f"/dev/fd/{receiver}"
    finally:
        os.close(receiver)


def with_pipes(command: str, folder: Path, stack: ExitStack) -> list[str]:
    words = []
    for word in command.split():
        before, star, file = word.partition("*")
        words.append(before + stack.enter_context(piped((folder / file).read_bytes())) if star else word)
    return words


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_is_read_as_the_file_is(command: str, folder: Path) -> None:
    want = steelyard(*command.replace("*", "").split(), cwd=folder)
    with ExitStack() as stack:
        got = steelyard(*with_pipes(command, folder, stack), cwd=folder)
    assert (got.returncode, got.stderr) == (want.returncode, want.stderr)
    assert got.returncode in (0, 3)
    if "csv" in command or "trec-eval" in command:
        assert got.stdout == want.stdout


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("evaluate ok.qrels - -f csv", "ok.run"),
        ("evaluate - ok.run -f csv", "ok.qrels"),
        ("evaluate ok.qrels ok.run --profile -", "faq.toml"),
        ("evaluate ok.qrels ok.run --questions -", "pilot.jsonl"),
        ("trec-eval ok.qrels -", "ok.run"),
        ("convert - x.json", "ok.run"),
        ("convert - -", "ok.qrels"),
        ("diagnose - hybrid.jsonl", "pilot.jsonl"),
        ("gate - --profile faq.toml --min-questions 2", "scores.json"),
    ],
)
def test_standard_input_is_read_as_the_file_is(command: str, file: str, folder: Path) -> None:
    done = steelyard(*command.split(), cwd=folder, stdin=(folder / file).read_bytes())
    assert done.returncode in (0, 3), done.stderr
    assert done.stdout


def test_a_named_pipe_is_opened_once(folder: Path) -> None:
    """Whoever opens it again waits for ever."""
    os.mkfifo(folder / "pipe")
    for words in (("convert", "pipe", "x.json"), ("evaluate", "ok.qrels", "pipe"), ("trec-eval", "ok.qrels", "pipe")):
        Thread(target=(folder / "pipe").write_text, args=(TREC["ok.run"],), daemon=True).start()
        printed(*words, cwd=folder)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("run -", "is no file; a configuration has a folder, from which its paths count"),
        ("run --documents documents --questions -", "questions: standard input (-) cannot be read a second time"),
        ("evaluate - -", "standard input (-) can be read once only"),
        ("evaluate pilot.jsonl hybrid.jsonl --documents -", "standard input: holds no chunks"),
    ],
)
def test_what_cannot_be_a_pipe_says_why(command: str, says: str, folder: Path) -> None:
    assert says in complaint(*command.split(), cwd=folder, stdin=b'{"qid": "q1"}\n')


def test_a_configuration_is_no_pipe(folder: Path) -> None:
    with piped((folder / "bm25.toml").read_bytes()) as path:
        assert "is no file; a configuration has a folder" in complaint("run", path, cwd=folder)
