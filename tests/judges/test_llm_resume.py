"""A judge that is killed and begun again asks at most once more what was under way, and comes to the same verdicts."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.judges.verdict import Case
from tests.judges.llm_server import PATH, QUICK, block, edits, judging, numbered
from tests.rag.server import Fault, Seen, Server, stall

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

from steelyard.judges.llm.judge import LLMJudge

CONCURRENCY = 8
SCRIPT = """
import json, sys
from steelyard.judges.llm.judge import LLMJudge
from tests.judges.test_llm_resume import cases
url, cache, n, concurrency = sys.argv[1:]
judge = LLMJudge(model="m", base_url=url, cache=cache, concurrency=int(concurrency))
rows = judge.judge(cases(int(n)))
print(json.dumps([[(v.label, v.score, v.reason) for v in row] for row in rows]))
"""


def cases(n: int) -> list[Case]:
    return [Case(f"The number is {i}.", (f"The number is {i}.", f"It is {i}.")) for i in range(n)]


class Slow(Server):
    """Takes 10 ms a call, and leaves the second statement of each seventh case out of the first reply."""

    def take(self, request: Seen) -> Fault:
        fault = super().take(request)
        i = int(numbered(request.body)["c1"].split()[-1].rstrip("."))
        is_first = "[-]" not in block(request.body, "STATEMENTS")
        time.sleep(0.01)
        return edits(lambda rows: rows.pop()) if fault == Fault() and i % 7 == 0 and is_first else fault


def start(server: Server, cache: Path, n: int) -> subprocess.Popen[str]:
    arguments = [server.base_url, str(cache), str(n), str(CONCURRENCY)]
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE, text=True)


def n_kept(cache: Path) -> int:
    with sqlite3.connect(cache) as file:
        return int(file.execute("SELECT count(*) FROM entries").fetchone()[0])


def n_distinct(server: Server) -> int:
    prompts = {(numbered(seen.body)["c1"], block(seen.body, "STATEMENTS")) for seen in server.seen(PATH)}
    return len(prompts)


def kill_while_asking(server: Server, cache: Path, n: int, seconds: float) -> bool:
    """Kill a judge so long after some of its calls were answered; whether it was alive."""
    process, answered = start(server, cache, n), len(server.seen(PATH)) + 3 * CONCURRENCY
    while process.poll() is None and len(server.seen(PATH)) < answered:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def check_kills(n: int, waits_s: list[float], tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    with judging(Slow) as server:
        undisturbed = LLMJudge(model="m", base_url=server.base_url, concurrency=CONCURRENCY, **QUICK)
        due = [[[v.label, v.score, v.reason] for v in row] for row in undisturbed.judge(cases(n))]
        undisturbed.close()
        n_calls = len(server.seen(PATH))
    with judging(Slow) as server:
        for n_kills, wait_s in enumerate(waits_s, 1):
            assert kill_while_asking(server, cache, n, wait_s)
            lost = n_distinct(server) - n_kept(cache)
            assert 0 <= lost <= CONCURRENCY
            assert len(server.seen(PATH)) - n_distinct(server) <= n_kills * CONCURRENCY
        assert 0 < n_kept(cache) < n_calls
        process = start(server, cache, n)
        output, _ = process.communicate()
        assert json.loads(output) == due
        assert n_distinct(server) == n_kept(cache) == n_calls
        assert len(server.seen(PATH)) - n_calls <= len(waits_s) * CONCURRENCY


def test_a_kill_repeats_at_most_what_was_under_way(tmp_path: Path) -> None:
    check_kills(150, [0.05], tmp_path)


@pytest.mark.slow
def test_twenty_kills_at_random_repeat_at_most_what_was_under_way(tmp_path: Path) -> None:
    rng = random.Random(20)
    check_kills(3000, [rng.uniform(0, 0.15) for _ in range(20)], tmp_path)


def test_two_judges_at_once_share_a_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    with judging() as server:
        server.always(PATH, stall(0.005))
        outputs = [process.communicate()[0] for process in [start(server, cache, 60) for _ in range(2)]]
        assert outputs[0] == outputs[1] != ""
        assert n_kept(cache) == 60
