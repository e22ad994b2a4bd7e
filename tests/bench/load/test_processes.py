"""What a process does that puts load on a server: it ends when it is told to, whatever the server does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep

import pytest

from tests.bench.load.sleepy import SleepySettings, sleepy_server

SCRIPT = """
import sys
from steelyard.bench.run.load_tests import load_test

url, queries, folder, rate = sys.argv[1:]
print("begun", flush=True)
load_test(url, questions=queries, rate=float(rate), duration=30, warm_up=0, timeout=60, folder=folder)
"""


@pytest.mark.parametrize(
    ("n_answered", "error"), [pytest.param(0, "KeyboardInterrupt", marks=pytest.mark.slow), (1, "BenchInterrupted")]
)
def test_ctrl_c_ends_it_at_once_while_a_server_never_answers(tmp_path: Path, n_answered: int, error: str) -> None:
    """Whether the first request waits for a minute, before which nothing is measured, or those under load."""
    (tmp_path / "q.jsonl").write_text('{"qid": "q", "query": "why?"}\n')
    with sleepy_server(SleepySettings(silent_after=n_answered)) as server:
        arguments = [server.url, str(tmp_path / "q.jsonl"), str(tmp_path / "bench"), "50"]
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        while server.n_requests < 1 + 5 * n_answered and process.poll() is None:
            sleep(0.01)
        began = perf_counter()
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert perf_counter() - began < 10
    assert error in errors, errors
