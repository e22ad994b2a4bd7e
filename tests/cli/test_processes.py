"""A handful of commands as processes of their own: what comes out is what the runner of the other tests gives."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from steelyard.demo import DATA, copy_data
from tests.cli.command import process, steelyard

RUN = gzip.compress((DATA / "hybrid.jsonl").read_bytes())
NARROW = {"PYTHONIOENCODING": "ascii"}


@pytest.mark.parametrize(
    ("arguments", "options", "status"),
    [
        ((), {}, 2),
        pytest.param(("--help",), {"columns": 60, "environment": NARROW}, 0, marks=pytest.mark.slow),
        pytest.param(("measures", "ndcg"), {"columns": 50}, 0, marks=pytest.mark.slow),
        (("evaluate", "pilot.jsonl", "-", "-m", "map"), {"stdin": RUN}, 0),
        (("evaluate", "pilot.jsonl", "hybrid.jsonl", "--lang", "zh"), {"environment": NARROW}, 0),
        (("evaluate", "pilot.jsonl", "none.run"), {}, 2),
        pytest.param(
            ("evaluate", "pilot.jsonl", "hybrid.jsonl", "--no-such-option"), {"columns": 100}, 2, marks=pytest.mark.slow
        ),
        (("chat", "bm25.toml"), {"stdin": b"\xff\xfe whale\nexit\n"}, 0),
        (("run", "--target", "own:search", "--questions", "pilot.jsonl", "-m", "mrr", "--overwrite"), {}, 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_process_and_the_runner_agree(arguments: tuple, options: dict, status: int, tmp_path: Path) -> None:
    folder = copy_data(tmp_path / "demo")
    (folder / "own.py").write_text("def search(query):\n    return [{'id': query, 'text': query}]\n")
    before = list(sys.path), sys.excepthook, Path.cwd(), dict(os.environ)
    here, there = (run(*arguments, cwd=folder, **options) for run in (steelyard, process))
    assert (list(sys.path), sys.excepthook, Path.cwd(), dict(os.environ)) == before
    assert "own" not in sys.modules
    assert here.returncode == there.returncode == status
    if "run" not in arguments:  # It prints how long the questions took.
        assert (here.stdout, here.stderr) == (there.stdout, there.stderr)


def test_the_entry_point() -> None:
    script = Path(sys.executable).with_name("steelyard")
    done = subprocess.run([script, "--version"], capture_output=True, check=True)
    assert (done.stdout.decode(), done.stderr) == (f"steelyard {sy.__version__}\n", b"")


def test_a_closed_pipe_is_no_error() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'steelyard', 'measures'])"
    pipe = subprocess.run(["bash", "-c", f'"{sys.executable}" -c "{code}" | head -1'], capture_output=True, check=False)
    assert pipe.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_told_in_a_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard", "measures"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "steelyard: standard output cannot be written (No space left on device); write into a file with --output\n"
    )


CLOSED = "standard output cannot be written (it is closed); write into a file with --output"


@pytest.mark.parametrize(
    ("words", "streams", "status", "says"),
    [
        ("measures ndcg", ">&-", 2, CLOSED),
        pytest.param("measures --help", ">&-", 2, CLOSED, marks=pytest.mark.slow),
        ("evaluate pilot.jsonl hybrid.jsonl", "<&- >&-", 2, CLOSED),
        ("convert hybrid.jsonl -", ">&-", 2, "standard output: cannot be written (it is closed); choose another place"),
        ("evaluate pilot.jsonl hybrid.jsonl -f json -o out.json", ">&-", 0, None),
        ("evaluate pilot.jsonl -", "<&-", 2, "standard input: is empty; expected lines of"),
        pytest.param("chat bm25.toml", "<&-", 0, None, marks=pytest.mark.slow),
        ("evaluate pilot.jsonl none.run", "<&- >&- 2>&-", 2, None),
        pytest.param(
            "measures --help",
            ">/dev/full",
            2,
            "standard output cannot be written (No space left on device)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_closed_and_full_streams(words: str, streams: str, status: int, says: str | None, tmp_path: Path) -> None:
    folder = copy_data(tmp_path / "demo")
    command = f'"{sys.executable}" -m steelyard {words} {streams}'
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False)
    assert done.returncode == status, done.stderr.decode()
    if says is None:
        assert done.stderr == b""
    else:
        assert done.stderr.decode().startswith(f"steelyard: {says}")
        assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("seconds", [0.02, 0.05])
def test_ctrl_c_while_modules_are_imported_ends_without_a_word(seconds: float) -> None:
    code = (
        "import os, signal, sys, threading\n"
        "sys.argv = ['steelyard', 'evaluate', 'a', 'b']\n"
        "from steelyard.cli import main\n"
        f"threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RuntimeError("odd\nindeed"), r"this is a mistake in Steelyard, please report it: RuntimeError: odd indeed \("),
        (MemoryError(), "there is not enough memory"),
        (FileNotFoundError(2, "No such file or directory", "a.x"), "a.x: No such file or directory; check paths"),
        (OSError(5, "Input/output error"), "the system refuses: Input/output error; check paths"),
        (pl.exceptions.PanicException("at last"), "this is a mistake in Steelyard, please report it: PanicException"),
    ],
)
def test_what_nobody_foresaw_is_one_line_too(error: BaseException, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("steelyard.reports.formats.measures.measures_text", fail)
    done = steelyard("measures", environment={"STEELYARD_TRACEBACK": ""})
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert re.match(f"steelyard: {says}", done.stderr.decode())
    with pytest.raises(type(error)):
        steelyard("measures")


def test_weighing_rankings_imports_nothing_that_judges(tmp_path: Path) -> None:
    copy_data(tmp_path)
    code = "import sys; from steelyard.cli import main\ntry: main()\nexcept SystemExit: print(*sys.modules, sep='\\n')"
    words = ["evaluate", "pilot.jsonl", "hybrid.jsonl", "-m", "mrr"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    modules = done.stdout.split("\n")
    assert "steelyard.experiment.door.weighing" in modules
    heavy = (
        "steelyard.judges",
        "steelyard.services.models",
        "steelyard.rag",
        "steelyard.services.prices",
        "pydantic",
        "httpx2",
    )
    assert [name for name in modules if name.startswith(heavy)] == []
