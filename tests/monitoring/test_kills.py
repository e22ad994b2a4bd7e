"""A monitor that is killed at any moment loses nothing, and alarms once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.monitoring.simulated import write_days

pytest.importorskip("scipy", reason="charts need the extra stats")
pytest.importorskip("sqlalchemy", reason="a monitor remembers in the extra store")

SETTINGS = """
logs = "logs"
window = "1d"
measures = ["ctr", "latency_ms:p50"]
[[sink]]
type = "json"
path = "alerts.jsonl"
"""
KILLS = 25


@pytest.mark.slow
def test_a_look_that_is_killed_is_made_up_for_by_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "monitor.toml").write_text(SETTINGS, "utf-8")
    write_days(tmp_path / "logs", range(40))
    command = [sys.executable, "-m", "steelyard", "monitor", "monitor.toml", "--format", "json"]
    began = time.monotonic()
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    takes = time.monotonic() - began
    write_days(tmp_path / "logs", range(40, 46), ctr=0.2)
    rng = random.Random(0)
    for _ in range(KILLS):
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 1.2) * takes)
        process.kill()
        process.wait()
    last = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    assert last.returncode == 1, last.stderr.decode()
    look = json.loads(last.stdout)
    keys = [f"{alert['key']}-raised" for alert in look["alerts"] if alert["until"] is None]
    lines = (tmp_path / "alerts.jsonl").read_text("utf-8").splitlines()
    sent = [json.loads(line)["key"] for line in lines]
    assert set(sent) == set(keys)  # One killed between sending and noting is sent again, under the same key.
    assert len(sent) <= len(keys) + 2
