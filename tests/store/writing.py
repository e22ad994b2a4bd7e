"""A process that adds entries to stores: python -m tests.store.writing NAME N URL...

It waits for a line on its standard input, adds N entries to each store, or entries until it is killed where N is 0, and
prints the id of each when it is there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl

import steelyard as sy

N_QUESTIONS = 600


def scores_of(name: str, number: int) -> sy.Scores:
    """Scores of which a part is kept by itself; others for every name and number."""
    rng = np.random.default_rng([number, *name.encode()])
    ids = [f"q{n}" for n in range(N_QUESTIONS)]
    return sy.Scores.of(pl.DataFrame({"query_id": ids, "measure": "clicks", "value": rng.random(N_QUESTIONS)}))


def started(name: str, n: int, urls: Sequence[str]) -> subprocess.Popen[str]:
    """A process that is ready to add entries."""
    words = [sys.executable, "-m", "tests.store.writing", name, str(n), *urls]
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )  # fmt: skip


def go(process: subprocess.Popen[str]) -> None:
    """Let a process begin."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


def finish(process: subprocess.Popen[str], *, kill: bool = False) -> list[str]:
    """Wait for a process, or kill it; what it has printed."""
    if kill:
        process.kill()
    said, _ = process.communicate()
    return said.split()


def main(name: str, n: str, *urls: str) -> None:
    stores = [sy.Store(url) for url in urls]
    first = scores_of(name, 0)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(n)) if int(n) else count():
        for store in stores:
            scores = scores_of(name, number) if number else first
            print(store.add(scores, note=f"{name} {number}", tags=[name, f"n{number}"], commit="c0ffee").id, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
