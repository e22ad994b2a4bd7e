"""What manifest.json says of a run: the system, the questions, the machine and the versions, and how long it took."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard._version import __version__
from steelyard.base.machine import loaded_versions, machine
from steelyard.rag.system import System

LIBRARIES = {
    "numpy": "numpy", "polars": "polars", "bm25s": "bm25s", "Stemmer": "PyStemmer", "rjieba": "rjieba",
    "opencc": "opencc", "sklearn": "scikit-learn", "threadpoolctl": "threadpoolctl", "scipy": "scipy",
    "faiss": "faiss-cpu", "torch": "torch", "transformers": "transformers",
    "sentence_transformers": "sentence-transformers", "openai": "openai", "httpx2": "httpx2",
    "pypdfium2": "pypdfium2", "semantic_text_splitter": "semantic-text-splitter",
}  # fmt: skip
"""Modules that stages and targets import, each with its distribution."""


def run_manifest(system: System, queries: Mapping[str, str], *, started: str) -> dict[str, Any]:
    """The manifest of a run that is not finished yet.

    queries   query_id to what is asked
    started   when the run was first started, by `timestamp`
    """
    corpus, documents = system.corpus, system.documents
    counts = {} if documents is None else {"documents": len(documents)}
    counts |= {} if corpus is None else {"chunks": len(corpus)}
    digest = hashlib.sha256(json.dumps(list(queries.items())).encode()).hexdigest()
    return {
        "name": system.name,
        "steelyard": __version__,
        "fingerprint": dict(system.fingerprint),
        "questions": f"sha256:{digest}",
        "counts": {**counts, "questions": len(queries)},
        "concurrency": system.concurrency,
        "notes": [note.as_json() for note in system.notes],
        "machine": dict(machine()),
        "python": platform.python_version(),
        "libraries": loaded_versions(LIBRARIES),
        "started": started,
        "finished": None,
    }


def latency_summary(latencies: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Median and 95th percentile of each stage, in milliseconds, by linear interpolation.

    latencies   of each question, stage to milliseconds; a stage counts over the questions that have it
    """
    stages = dict.fromkeys(stage for latency_ms in latencies for stage in latency_ms)
    summary = {}
    for stage in stages:
        p50, p95 = np.percentile([latency_ms[stage] for latency_ms in latencies if stage in latency_ms], [50, 95])
        summary[stage] = {"p50": round(float(p50), 4), "p95": round(float(p95), 4)}
    return summary
