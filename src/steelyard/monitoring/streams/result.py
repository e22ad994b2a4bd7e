"""What a stream says at one look: points of its series, what else changed, and what was tested directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from steelyard.base.notes import Note
from steelyard.monitoring.alerts import Change, Example, Shift, State
from steelyard.traffic.series import POINTS, Series


@dataclass(frozen=True)
class Spent:
    """What a look cost: requests to the system or to the judge, tokens, and dollars where a price is known."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, eq=False)
class StreamResult:
    """One look of a stream.

    points     schema POINTS: windows that are new in this look;   series   those that they belong to
    state      of the stream
    changes    what else changed, at the time when it was seen first
    examples   questions or answers that show what was lost, worst first
    shifts     what was tested here and is lost, with the same `since` at each look while it lasts
    notes      what was left out, and what is to be done
    memory     a JSON document to be kept, and handed in at the next look
    """

    points: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=POINTS))
    series: Sequence[Series] = ()
    state: State = "few"
    changes: Sequence[Change] = ()
    examples: Sequence[Example] = ()
    shifts: Sequence[Shift] = ()
    notes: Sequence[Note] = ()
    spent: Spent = Spent()
    memory: Mapping[str, Any] = field(default_factory=dict)
