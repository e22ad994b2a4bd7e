"""A library of small documents, and systems that rank their chunks as a test wants it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.weighing import Weighing

N_FILLERS = 150
Rank = int | str | None
"""Where the gold stands: a rank from 1, None where it is nowhere, "failed" or "missing"."""


def corpus(n: int, *, cut: Iterable[int] = ()) -> Chunks:
    """Documents g0, g1, … of 100 characters, each one chunk, or two halves where it is cut; and fillers f0, f1, …"""
    documents = [*(Document(f"g{i}", "x" * 100) for i in range(n)), *(Document(f"f{i}", "y") for i in range(N_FILLERS))]
    halves = {f"g{i}" for i in cut}
    rows = [
        (d, start, end)
        for d, document in enumerate(documents)
        for start, end in ([(0, 50), (50, 100)] if document.doc_id in halves else [(0, len(document.text))])
    ]
    owner, start, end = np.array(rows, np.int64).T
    return Chunks(documents, owner, start, end)


def ranking(i: int, rank: Rank, depth: int) -> list[str]:
    """Ids of a list for question i: the gold at its rank, or nowhere, among fillers."""
    listed = [f"f{j}#1" for j in range(depth)]
    if isinstance(rank, int):
        listed = [*listed[: rank - 1], f"g{i}#1", *listed[rank - 1 :]]
    return listed[:depth]


def questions(n: int, *, tags: Mapping[int, Sequence[str]] | None = None, texts: Sequence[str] = (),
              docs: Mapping[int, str] | None = None) -> list[dict[str, Any]]:  # fmt: skip
    """q000, q001, …: the gold of each is the middle of its document, or of another one by `docs`."""
    return [
        {
            "qid": f"q{i:03}",
            "query": texts[i] if i < len(texts) else "what is it",
            "tags": list((tags or {}).get(i, ())),
            "evidence": [{"doc": (docs or {}).get(i, f"g{i}"), "start": 40, "end": 60}],
        }
        for i in range(n)
    ]


def outputs(
    name: str, ranks: Sequence[Rank], *, depth: int = 100, before: Sequence[Rank] | None = None, k: int = 10,
    answers: Mapping[int, str] | None = None,
) -> Outputs:  # fmt: skip
    """A system that puts the gold at these ranks; with `before`, the candidates have it there, and k are returned."""
    lines = []
    for i, rank in enumerate(ranks):
        if rank == "missing":
            continue
        line: dict[str, Any] = {"qid": f"q{i:03}", "retrieved": ranking(i, rank, depth if before is None else k)}
        if rank == "failed":
            line = {"qid": f"q{i:03}", "retrieved": [], "error": "no answer"}
        elif before is not None:
            line["candidates"] = ranking(i, before[i], depth)
        if answers and i in answers:
            line["answer"] = answers[i]
        lines.append(line)
    return Outputs(lines, name=name)


def weighed(asked: list[dict[str, Any]], *systems: Outputs, cut: Iterable[int] = (), rule: str = "any") -> Weighing:
    """Systems on the gold of the questions, over the whole library."""
    return weigh(asked, list(systems), documents=corpus(len(asked), cut=cut), rule=rule)
