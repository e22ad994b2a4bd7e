"""What a profile asks of one measure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.measures import Measure
from steelyard.measures.registry import Direction

ANY_K = "@k"
"""The end of a key that speaks of its measure at any k, or at none."""
_PERCENTILE = re.compile(r"latency_ms_p([1-9]\d?)")


@dataclass(frozen=True)
class Standard:
    """What one measure is held against.

    measure    a measure, `NAME@k` for one at any k or none, or the name of a number that is handed in
    better     which way is good
    levels     level -> number, from the easiest to the hardest; they rise, or fall where lower is better
    advice     language -> what to try below the top; may be empty
    handed_in  whether the number is handed in rather than measured
    """

    measure: str
    better: Direction
    levels: Mapping[str, float]
    advice: Mapping[str, str] = field(default_factory=dict)
    handed_in: bool = False

    @property
    def percentile(self) -> float | None:
        """The share that `latency_ms_pNN` names, 0.95 for p95; None for anything else."""
        match = _PERCENTILE.fullmatch(self.measure) if self.handed_in else None
        return int(match[1]) / 100 if match else None


@dataclass(frozen=True)
class Relative:
    """How much better than the baseline: least is a share of the baseline's mean, 0.15 for 15%."""

    measure: Measure
    least: float


def at_any_k(measure: Measure) -> str:
    """The key that speaks of a measure at any k.

    >>> from steelyard.measures import parse
    >>> at_any_k(parse("ndcg_burges@10"))
    'ndcg(gain=exp)@k'
    """
    percentile = str(measure).removeprefix(str(measure.column))
    return f"{Measure(measure.name, None, measure.params)}{ANY_K}{percentile}"
