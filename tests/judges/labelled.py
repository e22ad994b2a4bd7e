"""Verdicts of which people's labels are known: one sentence a question, or several."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.judges.people.review import Decision, Labels
from steelyard.judges.tables.items import items
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Unit, Verdict


def scored(
    scores: Sequence[float | None], *, threshold: float = 0.5, name: str = "own", per_question: int = 1,
    labels: Sequence[str] | None = None, system: str = "s", **judge: object,
) -> Verdicts:  # fmt: skip
    """Verdicts of a judge with these scores; labels by the threshold unless they are given."""
    verdicts = [
        Verdict(label, score)  # type: ignore[arg-type]
        for score, label in zip(
            scores, labels or ["supported" if score >= threshold else "not_found" for score in scores], strict=True
        )
    ]
    records = []
    for start in range(0, len(verdicts), per_question):
        own = verdicts[start : start + per_question]
        units = tuple(Unit(10 * n, 10 * n + 9, f"Sentence {start + n} of this answer.") for n in range(len(own)))
        records.append(
            JudgedAnswer(
                f"q{start // per_question}", "answered", "x" * 10 * len(own), ("c",), units,
                support=tuple((verdict,) for verdict in own), joint=(None,) * len(own), correctness=((),) * len(own),
                query=f"Query {start // per_question}?", context_digests=("d",),
            )
        )  # fmt: skip
    recipe = {"judge": {"name": name, "threshold": threshold, **judge}, "calibration": None, "system": system}
    return Verdicts(records, recipe)


def item_ids(verdicts: Verdicts) -> list[str]:
    return [item.item_id for record in verdicts.records.values() for item in items(record, "grounded")]


def labelled(verdicts: Verdicts, people: Sequence[object], rater: str = "ann") -> Labels:
    """One rater's labels of all items: truth values, labels, or None for items without any."""
    words = {True: "supported", False: "not_found"}
    return Labels(
        Decision(item_id, rater, words.get(label, label))  # type: ignore[arg-type]
        for item_id, label in zip(item_ids(verdicts), people, strict=True)
        if label is not None
    )
