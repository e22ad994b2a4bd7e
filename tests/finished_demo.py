"""What `steelyard demo` leaves and prints, made once for all tests of a run, in whichever process they are."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from pathlib import Path

import pytest

from steelyard.base.file_locks import try_lock
from tests.cli.command import Finished, steelyard


def copy_finished_demo(to: Path, factory: pytest.TempPathFactory) -> Finished:
    """Copy what `steelyard demo` leaves in a working folder; returns what it printed there."""
    base = factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = common / "finished-demo", common / "finished-demo.pickle"
    with (common / "finished-demo.lock").open("wb", buffering=0) as lock:
        while try_lock(lock) is False:  # Another process is making it.
            time.sleep(0.05)
        if not done.exists():
            folder.mkdir()
            done.write_bytes(pickle.dumps(steelyard("demo", cwd=folder, environment={"NO_COLOR": "1"})))
    shutil.copytree(folder, to, dirs_exist_ok=True)
    finished: Finished = pickle.loads(done.read_bytes())
    return finished
