"""Formats of other tools by name, and which of them the records of a file have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.traffic.foreign import traces, ubi
from steelyard.traffic.foreign.tables import Foreign

FOREIGN: Mapping[str, Foreign] = {
    "ubi": Foreign(ubi.fits, ubi.convert),
    "phoenix": Foreign(traces.phoenix_fits, traces.convert_with(traces.otel_parts)),
    "otel": Foreign(traces.otel_fits, traces.convert_with(traces.otel_parts)),
    "langfuse": Foreign(traces.langfuse_fits, traces.convert_with(traces.langfuse_parts)),
}
"""By name, the more particular ones first.

`convert` is given the batches of all files of its format, one after the other, as a score of a user may be in another
file than what it is of.
"""


def foreign_format(records: Sequence[Any]) -> str | None:
    """Name of the format that the first records of a file have; None of any other.

    >>> foreign_format([{"action_name": "click", "query_id": "q1"}]), foreign_format([{"request": "r1"}])
    ('ubi', None)
    """
    return next((name for name, foreign in FOREIGN.items() if records and foreign.fits(records)), None)
