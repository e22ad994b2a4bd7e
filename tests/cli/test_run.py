import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.data.folders.run_folder import read_run_folder
from steelyard.data.folders.run_lock import run_lock
from steelyard.rag.config import Config
from steelyard.rag.weighed_run import run_and_weigh
from steelyard.reports.words import read_words
from tests.cli.command import complaint, printed, steelyard
from tests.rag import small

pytest.importorskip("bm25s", reason="the default index needs the extra rag")
CONFIG = """
documents = "documents"
questions = "questions.jsonl"
chunk = {kind = "sentences", size = 40}
k = 2
[weigh]
measures = ["recall@2"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small.write(tmp_path)
    (tmp_path / "words.toml").write_text(CONFIG)
    return tmp_path


def test_a_configuration_is_run_and_weighed(folder: Path) -> None:
    text = printed("run", folder / "words.toml")
    assert "3 questions, " in text
    assert "chunks of 3 documents" in text
    assert "recall@2" in text
    assert (folder / "runs" / "words" / "outputs.jsonl").exists()
    again = printed("run", folder / "words.toml", "-m", "hit_rate@1")
    assert "The run was finished before; nothing is asked again" in again
    assert "hit_rate@1" in again


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_library_gives_what_the_command_prints(lang: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "documents" / "empty.txt").write_text("")
    config = Config.read(folder / "words.toml").with_changes({"rerank": "tests.rag.test_sweeping:tired"})
    first, again = (run_and_weigh(config, measures=["mrr@2"]) for _ in range(2))
    assert (first.n_before, again.n_before, first.folder.manifest["counts"]["failed"]) == (0, 2, 1)
    assert first.scores.values.shape == (1, 1, 3)
    (folder / "words.toml").write_text('rerank = "tests.rag.test_sweeping:tired"\n' + CONFIG)
    text = printed("run", "words.toml", "-m", "mrr@2", "--lang", lang, cwd=folder)
    shown = replace(again, folder=read_run_folder(again.folder.path)).text(lang=lang, width=80)
    assert text.startswith(shown)
    assert text.removeprefix(shown).endswith("steelyard diagnose questions.jsonl runs/words\n")
    assert read_words(lang)("runs.kept", n=2, total=3) in text


def test_a_run_without_a_configuration(folder: Path) -> None:
    options = ("--documents", "documents", "--questions", "questions.jsonl", "--k", "3", "--no-cache")
    text = printed("run", *options, "--output", "out", cwd=folder)
    assert "Note: k is 3" not in text
    line = json.loads((folder / "out" / "outputs.jsonl").read_text().splitlines()[0])
    assert set(line["retrieved"][0]) == {"id", "score", "text", "doc", "start", "end"}
    assert not (folder / "runs").exists()


def test_notes_and_failures_are_told(folder: Path) -> None:
    (folder / "documents" / "empty.txt").write_text("")
    (folder / "mine.py").write_text(
        "from tests.rag.small import Shortest\n\ndef tired() -> Shortest:\n    return Shortest(_fail_on='whale')\n"
    )
    (folder / "words.toml").write_text('rerank = "mine:tired"\n' + CONFIG)
    text = printed("run", "words.toml", cwd=folder)
    assert "1 document is empty: empty" in " ".join(text.split())
    assert "1 of 3 questions failed" in text


def test_a_target_is_run_and_weighed(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "def search(query):\n"
        "    return [{'id': 'x', 'text': 'Sailors fear the whale.', 'doc': 'sea', 'start': 26, 'end': 49}]\n"
    )
    text = printed("run", "--target", "mine:search", "--questions", "questions.jsonl", "-m", "recall@5", cwd=folder)
    assert "3 questions" in text
    assert (folder / "runs" / "search" / "outputs.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "what is to be run?"),
        (("none.toml",), "there is no such file"),
        (("--documents", "documents"), "which questions?"),
        (("--documents", "docs", "--questions", "questions.jsonl"), "there is no"),
        (("words.toml", "--k", "1000"), "raise depth"),
        (("words.toml", "--target", "a:b"), "belongs to a pipeline"),
        (("words.toml", "-o", "."), "holds other things"),
        (("words.toml", "-m", "recal@5"), "recall"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_line(arguments: tuple[str, ...], reason: str, folder: Path) -> None:
    assert reason in complaint("run", *arguments, cwd=folder)


def test_a_folder_that_another_process_writes_is_left_to_it(folder: Path) -> None:
    with run_lock(folder / "runs" / "words"):
        message = complaint("run", folder / "words.toml")
        assert f"runs/words: is being written by process {os.getpid()} on " in message
        assert "wait until it has ended, or choose another folder" in message
    printed("run", folder / "words.toml")
    with run_lock(folder / "runs" / "words"):
        assert "recall@2" in printed("evaluate", "questions.jsonl", "runs/words", "-m", "recall@2", cwd=folder)


def test_another_configuration_needs_overwrite(folder: Path) -> None:
    printed("run", folder / "words.toml")
    assert "--overwrite" in complaint("run", folder / "words.toml", "--k", "1")
    printed("run", folder / "words.toml", "--k", "1", "--overwrite")


SLOW = """
import time

def search(query):
    if query.startswith("3"):
        time.sleep(60)
    return [{"id": "a", "score": 1.0, "text": "x"}]
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as a terminal does")
def test_ctrl_c_says_how_to_go_on(folder: Path) -> None:
    (folder / "slow.py").write_text(SLOW)
    asked = [{"qid": f"q{i}", "query": f"{i}", "evidence": [{"text": "x"}]} for i in range(5)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in asked))
    command = [sys.executable, "-m", "steelyard", "run", "--target", "slow:search", "--questions", "questions.jsonl"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    partial = folder / "runs" / "search" / "outputs.partial.jsonl"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (partial.exists() and partial.read_bytes().count(b"\n") == 3):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert err.decode() == (
        "steelyard: interrupted; 3 questions are done and kept. The same command goes on from there\n"
    )


def test_ctrl_c_before_the_first_question(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("steelyard.rag.pipeline.pipeline.cut_documents", interrupt)
    done = steelyard("run", folder / "words.toml")
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr == b"steelyard: interrupted; what was answered is kept. The same command goes on from there\n"
    assert not (folder / "runs" / "words").exists()


@pytest.mark.skipif(os.name != "posix", reason="makes a terminal")
def test_bars_are_drawn_on_a_terminal_alone(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "steelyard", "run", str(folder / "words.toml")]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment)
    out, _ = process.communicate(timeout=60)
    os.close(theirs)
    drawn = b""
    # Linux ends a terminal whose other side is closed with an error, macOS with nothing.
    with open(ours, "rb", buffering=0) as terminal, suppress(OSError):
        while piece := terminal.read(1 << 12):
            drawn += piece
    assert process.returncode == 0, drawn
    assert b"questions" in drawn
    assert b"3/3" in drawn
    assert "\x1b" not in out.decode()
