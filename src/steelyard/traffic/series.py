"""Series: one measure of one segment, window after window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from steelyard.traffic.schema import TIME

Stream = Literal["replay", "feedback", "sample", "label_free", "operations", "service"]
"""Where a series comes from."""
Better = Literal["higher", "lower", "either"]
"""Which direction is better; a series where either is bad alarms both ways."""
Scale = Literal["real", "share", "positive"]
"""How values are charted: as they are, by their logit-like transform, or by their logarithm."""

POINTS = pl.Schema(
    {
        "series": pl.String, "segment": pl.String, "start": TIME, "end": TIME, "value": pl.Float64,
        "error": pl.Float64, "p": pl.Float64, "n": pl.Int64,
    }
)  # fmt: skip
"""One window of one series of one segment a row.

segment   "" for all traffic, else "language=zh"
value     null where the window has too little data
error     standard error of the value within its window, with users as units; null where it is unknown
p         probability of such a value where nothing changed, for series that are tests against a reference; null else
n         units behind the value: users, questions, answers
"""


@dataclass(frozen=True)
class Series:
    """What a series measures, and when a change of it matters.

    name       such as "ctr", "latency_ms:p95", "recall@10"
    better     direction
    scale      of its values
    floor      the smallest change of its value that may alarm, 0 for any: in its own unit, or, on the scale "positive",
               as a share of its level (.1: a tenth)
    is_test    whether its points have p: PSI, KS, MMD and their like
    """

    name: str
    stream: Stream
    better: Better = "higher"
    scale: Scale = "real"
    floor: float = 0.0
    is_test: bool = False
