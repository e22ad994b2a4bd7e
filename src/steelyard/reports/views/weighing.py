"""Systems aligned with a truth, before any measure is computed: what each answered, and how long its lists are."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.door.weighing import Weighing
from steelyard.reports.views.numbers import amount, count
from steelyard.reports.views.view import Block, Column, Look, Text, View, sheet_of
from steelyard.reports.words import Words


def _blocks(weighing: Weighing, look: Look) -> list[Block]:
    """How many systems and questions there are, one row a system, and what can be computed now."""
    words = look.words
    columns = [
        Column[dict[str, Any]](words("weighing.head.system"), lambda row: row["system"]),
        Column[dict[str, Any]](words("weighing.head.runs"), lambda row: count(row["n_runs"])),
        Column[dict[str, Any]](words("weighing.head.questions"), lambda row: count(row["n_questions"])),
        Column[dict[str, Any]](words("weighing.head.results"), lambda row: amount(row["n_results"])),
    ]
    counts = {"systems": len(weighing.weighed), "questions": len(weighing.query_ids)}
    title = words("weighing.title", **{name: words(f"count.{name}", n=n) for name, n in counts.items()})
    return [Text(title, "bold"), sheet_of(_rows(weighing), columns, [words("weighing.next")])]


def _rows(weighing: Weighing) -> list[dict[str, Any]]:
    return [
        {"system": system.name, "n_runs": len(system.runs), "n_questions": int((~system.alignment.missing).sum()),
         "n_results": _usual_length(system)}
        for system in weighing.weighed
    ]  # fmt: skip


def _usual_length(system: Weighed) -> float | None:
    """The median number of results of the questions that the system answered."""
    lengths = system.alignment.n_retrieved[~system.alignment.missing]
    return float(np.median(lengths)) if len(lengths) else None


def _data(weighing: Weighing, words: Words) -> dict[str, Any]:
    return {"n_questions": len(weighing.query_ids), "by_evidence": weighing.by_evidence, "systems": _rows(weighing)}


VIEWS = {Weighing: View[Weighing]("a weighing", blocks=_blocks, data=_data)}
