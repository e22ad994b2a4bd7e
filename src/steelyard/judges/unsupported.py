"""Sentences of answers that have no support, to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.judges.records import JudgedAnswer, Unit
from steelyard.judges.verdict import Label, Verdict
from steelyard.judges.verdict_frames import unit_verdict
from steelyard.judges.verdicts import Verdicts


@dataclass(frozen=True)
class UnsupportedUnit:
    """A unit that the context contradicts, or does not support.

    nearest   the verdict that is told: that of a contradiction, else of the chunk with the best score
    chunk_id  the chunk of this verdict; None where it is on the whole context
    """

    query_id: str
    unit: Unit
    label: Label
    nearest: Verdict
    chunk_id: str | None


def unsupported_units(verdicts: Verdicts) -> list[UnsupportedUnit]:
    """Units that the context contradicts, then those that it does not support, the least supported first.

    >>> unsupported_units(Verdicts([]))
    []
    """
    units = [unit for record in verdicts.records.values() for unit in _of_answer(record)]
    return sorted(units, key=lambda unit: (unit.label != "contradicted", unit.nearest.score or 0.0))


def _of_answer(record: JudgedAnswer) -> Iterator[UnsupportedUnit]:
    for place, unit in enumerate(record.units):
        label = unit_verdict(record, place)
        if label in ("contradicted", "not_found"):
            nearest, chunk_id = _nearest(record, place, label)
            yield UnsupportedUnit(record.query_id, unit, label, nearest, chunk_id)


def _nearest(record: JudgedAnswer, place: int, label: Label) -> tuple[Verdict, str | None]:
    by_chunk = zip(record.support[place], record.context or (), strict=False)
    candidates: list[tuple[Verdict, str | None]] = [(verdict, id) for verdict, id in by_chunk if verdict.label == label]
    if record.grounded and (whole := record.grounded[place]) is not None and whole.label == label:
        candidates.append((whole, None))
    return max(candidates, key=lambda candidate: candidate[0].score or 0.0)
