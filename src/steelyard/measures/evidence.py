"""Measures of the evidence itself: they do not move when chunks overlap, so they compare across chunkings."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.measures.alignment import Alignment, Evidence, ratio
from steelyard.measures.registry import measure
from steelyard.measures.sets import in_top, n_relevant_in_top, n_relevant_judged


@measure(source="Steelyard; recall over gold pieces, see docs/howto/evidence.md", inputs=("rankings", "pieces"))
def evidence_recall(a: Alignment, *, k: int | None = None, min_gain: float = 1.0) -> Floats:
    """Share of the gold pieces that the first k chunks hold, by themselves or together; alternatives count as one."""
    return ratio(n_relevant_in_top(a.pieces, k, min_gain), n_relevant_judged(a.pieces, min_gain))


@measure(source="Smith & Troynikov 2024, but overlapping gold counts once", inputs=("rankings", "characters"))
def span_recall(a: Alignment, *, k: int | None = None) -> Floats:
    """Share of the gold's characters (gain above 0) that the first k chunks show; every character counts once."""
    evidence = _characters(a)
    return _where_placed(evidence, ratio(_in_top(evidence.gold, k), _all(evidence.gold)))


@measure(source="Smith & Troynikov 2024, but overlapping chunks count once", inputs=("rankings", "characters"))
def span_precision(a: Alignment, *, k: int | None = None) -> Floats:
    """Share of the characters shown by the first k chunks that are gold; every character counts once."""
    evidence = _characters(a)
    return _where_placed(evidence, ratio(_in_top(evidence.gold, k), _in_top(evidence.shown, k)))


@measure(
    source="Smith & Troynikov 2024, but overlapping chunks count once; Jaccard 1901", inputs=("rankings", "characters")
)
def span_iou(a: Alignment, *, k: int | None = None) -> Floats:
    """Gold characters shown by the first k chunks, divided by all that are gold or shown: intersection over union."""
    evidence = _characters(a)
    both = _in_top(evidence.gold, k)
    return _where_placed(evidence, ratio(both, _all(evidence.gold) + _in_top(evidence.shown, k) - both))


def _characters(a: Alignment) -> Evidence:
    assert a.evidence is not None, "a measure declares that it reads characters, and is refused without them"
    return a.evidence


def _in_top(characters: Alignment, k: int | None) -> Floats:
    return characters.per_query(np.where(in_top(characters, k), characters.hit_gain, 0.0))


def _all(characters: Alignment) -> Floats:
    return characters.per_ideal(characters.ideal_gain)


def _where_placed(evidence: Evidence, values: Floats) -> Floats:
    """Not a number where the gold's characters have no place: such queries are left out, and counted."""
    return np.where(evidence.placed, values, np.nan)
