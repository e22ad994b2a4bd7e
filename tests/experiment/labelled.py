"""Answers that a judge judged, and people in part: what tests of corrected means are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steelyard.base.choices import ItemTable
from steelyard.judges.people.review import Decision, Drawn, Review
from steelyard.judges.tables.items import items, judged
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Unit, Verdict
from tests.reviewing.small import sampled

Says = Callable[[str], bool]
"""Whether a person calls an item supported."""


def verdict(score: float) -> Verdict:
    """By a judge with a threshold of .5."""
    return Verdict("supported" if score >= 0.5 else "not_found", score)


def record(query_id: str, scores: Sequence[float], **more: Any) -> JudgedAnswer:
    """An answer whose units have these scores in all tables; each second one cites its chunk."""
    units = tuple(Unit(10 * n, 10 * n + 9, f"Sentence {n} of {query_id}.") for n in range(len(scores)))
    verdicts = [verdict(score) for score in scores]
    fields: dict[str, Any] = {
        "answer": " ".join(unit.text for unit in units), "context": ("c",), "context_digests": (f"digest {query_id}",),
        "units": units, "gold_answers": (f"Gold of {query_id}.",), "gold_units": units,
        "citations": tuple(CitedChunk(n, 10 * n, 10 * n + 3, "[1]", 0) for n in range(0, len(units), 2)),
        "without": (None,) * len(range(0, len(units), 2)), "support": tuple((one,) for one in verdicts),
        "joint": tuple(one if n % 2 == 0 else None for n, one in enumerate(verdicts)),
        "correctness": tuple((one,) for one in verdicts), "said": tuple(verdicts),
        "reach": tuple((one,) for one in verdicts), "query": f"What of {query_id}?", "state": "answered",
    }  # fmt: skip
    return JudgedAnswer(query_id, **{**fields, **more})


def answers(n: int = 120, seed: int = 0) -> list[JudgedAnswer]:
    """With one to five units each."""
    rng = np.random.default_rng(seed)
    return [record(str(q), rng.random(rng.integers(1, 6)).round(3)) for q in range(n)]


def review(
    verdicts: Verdicts, tables: Sequence[ItemTable], n: int, says: Says, *, unit: Drawn = "item", system: str = "run"
) -> Review:
    """A random sample of items, or answers, all of which one person decided."""
    samples = [sampled(verdicts, table, n, seed=1, system=system, unit=unit) for table in tables]
    decisions = [
        Decision(item.item_id, "ann", "supported" if says(item.item_id) else "not_found")
        for sample in samples
        for answer in verdicts.records.values()
        for item in items(answer, sample.table)
        if (item.item_id if unit == "item" else answer.query_id) in set(sample.drawn)
    ]
    return Review(samples, decisions)


def as_the_judge(verdicts: Verdicts, tables: Sequence[ItemTable]) -> Says:
    """A person who says what the judge says."""
    says = {}
    for answer in verdicts.records.values():
        for table in tables:
            for item in items(answer, table):
                said = judged(answer, table, item.unit)
                says[item.item_id] = said is not None and said.label == "supported"
    return says.__getitem__


def stricter(item_id: str) -> bool:
    """A person who does not ask the judge: three of ten items are supported."""
    return int(item_id, 16) % 10 < 3


def questions(n: int) -> list[dict[str, Any]]:
    """For these answers."""
    return [{"qid": str(q), "query": f"What of {q}?", "answer": f"Gold of {q}."} for q in range(n)]


def outputs(n: int) -> list[dict[str, Any]]:
    """For these answers."""
    return [{"qid": str(q), "answer": "A.", "retrieved": [{"id": "c", "text": "t"}]} for q in range(n)]
