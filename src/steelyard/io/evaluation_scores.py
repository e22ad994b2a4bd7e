"""Values that ragas, deepeval, RAGChecker and MTRAG gave each row, as a long table: a value a question and measure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from steelyard.base.errors import InputError
from steelyard.io.evaluation_lines import question_lines
from steelyard.io.evaluation_rows import ROLES, Row, snake_case

_SCHEMA = pl.Schema({"query_id": pl.String, "measure": pl.String, "value": pl.Float64})
_ROLES = frozenset(name for names in ROLES.values() for name in names)
_TOOLS = {"annotations": "mtrag", "gt_answer": "ragchecker", "metrics_data": "deepeval", "actual_output": "deepeval"}
"""A column -> whose rows have it; any others are those of ragas."""


def score_rows(rows: Iterable[tuple[str, Row]], name: str) -> pl.DataFrame:
    """query_id, measure and value of each number that the rows hold besides what was asked and given.

    A measure is called after the tool too, `ragas_faithfulness`, as it is not what bears the name here.
    Raises   InputError where there is none.
    """
    placed = list(rows)
    ids = [line["query_id"] for _, line in question_lines(placed)]
    values = [
        (query_id, f"{tool}_{re.sub(r'[^0-9a-z]+', '_', measure.lower()).strip('_')}", value)
        for query_id, (_, row) in zip(ids, placed, strict=True)
        for tool, measure, value in _values({snake_case(str(key)): value for key, value in row.items()})
    ]
    if not values:
        raise InputError(f"{name}: holds no values of measures; expected columns of numbers, such as faithfulness")
    return pl.DataFrame(values, _SCHEMA, orient="row")


def _values(row: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    """The tool, the measures of a row and their values."""
    tool = next((tool for column, tool in _TOOLS.items() if column in row), "ragas")
    if tool == "ragas":
        pairs: Iterable[tuple[Any, Any]] = ((key, value) for key, value in row.items() if key not in _ROLES)
    elif tool == "deepeval":
        listed = row.get("metrics_data") or ()
        pairs = [(item.get("name"), item.get("score")) for item in listed if isinstance(item, Mapping)]
    elif tool == "ragchecker":
        pairs = (row.get("metrics") or {}).items()
    else:
        pairs = [(key, _mean(raters)) for key, raters in row["annotations"].items()]
    for measure, value in pairs:
        number = _number(value)
        if number is not None or (value is None and tool != "ragas"):
            yield tool, str(measure), number


def _mean(raters: Any) -> float | None:
    """The mean of the numbers that raters gave."""
    listed = raters.values() if isinstance(raters, Mapping) else ()
    values = [_number(rater.get("value")) for rater in listed if isinstance(rater, Mapping)]
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _number(value: Any) -> float | None:
    """A number, or a cell of CSV that is one."""
    if not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
