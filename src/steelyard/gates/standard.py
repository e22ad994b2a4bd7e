"""Standards that a profile sets for one measure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.measures import Measure
from steelyard.measures.registry import Direction

ANY_K = "@k"
"""The end of a key that speaks of its measure at any k, or at none."""
_SPELT_OUT = re.compile(r"(\w+_ms)_(p[1-9]\d?)")


@dataclass(frozen=True)
class Standard:
    """Standard that one measure is held against.

    measure    a measure, `NAME@k` for one at any k or none, or a number: a column of the scores, a percentile of one
               such as latency_ms:p95, a ratio such as cost_usd_per_million_tokens, or what is handed in
    better     which way is good
    levels     level -> number, from the easiest to the hardest; they rise, or fall where lower is better
    advice     language -> what to try below the top; may be empty
    handed_in  whether it is such a number, which may be handed in
    """

    measure: str
    better: Direction
    levels: Mapping[str, float]
    advice: Mapping[str, str] = field(default_factory=dict)
    handed_in: bool = False


@dataclass(frozen=True)
class Relative:
    """Gain that is asked for over the baseline: least is a share of the baseline's mean, 0.15 for 15%."""

    measure: Measure
    least: float


def number_name(name: str) -> str:
    """Name of a number: percentiles of times have another spelling too.

    >>> number_name("latency_ms_p95"), number_name("cost_usd")
    ('latency_ms:p95', 'cost_usd')
    """
    match = _SPELT_OUT.fullmatch(name)
    return f"{match[1]}:{match[2]}" if match else name


def at_any_k(measure: Measure) -> str:
    """The key that speaks of a measure at any k.

    >>> from steelyard.measures import parse
    >>> at_any_k(parse("ndcg_burges@10"))
    'ndcg(gain=exp)@k'
    """
    percentile = str(measure).removeprefix(str(measure.column))
    return f"{Measure(measure.name, None, measure.params)}{ANY_K}{percentile}"
