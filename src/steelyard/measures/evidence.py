"""Measures of the evidence itself: they do not move when chunks overlap, so they compare across chunkings."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import MeasureError
from steelyard.measures.alignment import Alignment, Evidence, ratio
from steelyard.measures.registry import measure
from steelyard.measures.sets import in_top, n_relevant_in_top, n_relevant_judged


@measure(source="Steelyard; recall over gold pieces, see docs/evidence.md", counts="pieces")
def evidence_recall(a: Alignment, *, k: int | None = None, min_gain: float = 1.0) -> Floats:
    """Share of the gold pieces that a chunk among the first k holds; alternatives count as one piece."""
    return ratio(n_relevant_in_top(a.pieces, k, min_gain), n_relevant_judged(a.pieces, min_gain))


@measure(source="Smith & Troynikov 2024, but overlapping gold counts once", counts="characters")
def span_recall(a: Alignment, *, k: int | None = None) -> Floats:
    """Share of the gold's characters (gain above 0) that the first k chunks show; every character counts once."""
    evidence = _characters(a, "span_recall")
    return _where_placed(evidence, ratio(_in_top(evidence.gold, k), _all(evidence.gold)))


@measure(source="Smith & Troynikov 2024, but overlapping chunks count once", counts="characters")
def span_precision(a: Alignment, *, k: int | None = None) -> Floats:
    """Share of the characters shown by the first k chunks that are gold; every character counts once."""
    evidence = _characters(a, "span_precision")
    return _where_placed(evidence, ratio(_in_top(evidence.gold, k), _in_top(evidence.shown, k)))


@measure(source="Smith & Troynikov 2024, but overlapping chunks count once; Jaccard 1901", counts="characters")
def span_iou(a: Alignment, *, k: int | None = None) -> Floats:
    """Gold characters shown by the first k chunks, divided by all that are gold or shown: intersection over union."""
    evidence = _characters(a, "span_iou")
    found = _in_top(evidence.gold, k)
    return _where_placed(evidence, ratio(found, _all(evidence.gold) + _in_top(evidence.shown, k) - found))


def _characters(a: Alignment, name: str) -> Evidence:
    if a.evidence is None:
        raise MeasureError(
            f"{name} needs the characters of the gold: questions with `evidence`, and a run with doc, start and end"
        )
    return a.evidence


def _in_top(characters: Alignment, k: int | None) -> Floats:
    return characters.per_query(np.where(in_top(characters, k), characters.hit_gain, 0.0))


def _all(characters: Alignment) -> Floats:
    return characters.per_ideal(characters.ideal_gain)


def _where_placed(evidence: Evidence, values: Floats) -> Floats:
    """Not a number where nobody knows which characters are gold: such queries are left out, and counted."""
    return np.where(evidence.placed, values, np.nan)
