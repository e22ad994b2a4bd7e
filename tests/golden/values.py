"""Digests of the values of every measure on real and random runs: what must stay the same to the last bit.

    python -m tests.golden.values        compares with values.json
    python -m tests.golden.values write  writes it anew; say in the commit why values changed

A digest covers the values of all systems and queries of a collection, and the means.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.measures import registry
from tests.shared_data import SHARED

FILE = Path(__file__).parent / "values.json"
SPECS = (
    "ap(k=100)", "judged@10", "ndcg@10", "ndcg(k=10, gain=exp)", "ndcg@1000", "precision@1", "precision@5",
    "precision@100", "recall@5", "recall@1000", "mrr@10", "rbp(p=0.95)", "success@1", "f1@10", "hit_rate@5",
    "map@10", "recall(k=100, min_gain=2)", "ndcg(k=10, ties=average)", "mrr(ties=average)", "ap(ties=average)",
    "precision(k=10, ties=average)", "recall(k=100, ties=average)", "ap(min_gain=2)", "mrr(min_gain=2)",
    "precision(k=10, min_gain=3)", "iprec@0", "iprec@0.3", "iprec@1", "rbp(gain=linear)", "rbp(p=0.9, gain=exp)",
    "f(beta_squared=0.5)",
)  # fmt: skip


def specs() -> list[str]:
    """Every measure of rankings as it is by default, and some with parameters."""
    own = [
        d.name
        for d in registry.definitions()
        if d.inputs == ("rankings",) and not d.cutoff_required and d.kernel.__module__.startswith("steelyard.")
    ]
    return sorted({*own, *SPECS})


def collections() -> dict[str, tuple[Path, list[Path]]]:
    """The truth and the runs of each collection of the shared data."""
    dl = SHARED / "trec_dl2019_passage"
    return {
        "dl2019": (dl / "qrels.dl19-passage.txt.gz", sorted((dl / "runs_judged43_full_depth").glob("*.gz"))),
        "fuzz": (SHARED / "ir-fuzz" / "fuzz.qrels", [SHARED / "ir-fuzz" / "fuzz.run"]),
    }


def arithmetic() -> str:
    """Of what NumPy makes of functions that processors compute differently in the last bit."""
    numbers = np.arange(1, 2000, dtype=float)
    return _digest(np.log2(numbers), np.exp2(-numbers / 100), np.power(0.8, numbers))


def digests() -> Iterator[tuple[str, str]]:
    """collection, policy and measure; digest."""
    for name, (truth, runs) in collections().items():
        weighing = sy.weigh(truth, runs)
        for policy in ("zero", "skip"):
            scores = weighing.scores(specs(), missing=policy, no_relevant=policy)
            for j, measure in enumerate(scores.measures):
                yield f"{name} {policy} {measure}", _digest(scores.values[:, j], scores.means[:, j])


def _digest(*arrays: np.ndarray) -> str:
    # Every NaN counts as one, and so do the two zeros.
    return hashlib.sha256(b"".join((np.where(np.isnan(a), np.nan, a) + 0.0).tobytes() for a in arrays)).hexdigest()[:16]


def differences(golden: Mapping[str, str]) -> list[str]:
    """Series whose digests are others than those stored, or that only one side has."""
    current = dict(digests())
    return sorted(name for name in golden.keys() | current.keys() if golden.get(name) != current.get(name))


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        FILE.write_text(json.dumps({"arithmetic": arithmetic(), "series": dict(digests())}, indent=1) + "\n")
    else:
        print(*differences(json.loads(FILE.read_text())["series"]) or ["all the same"], sep="\n")
