"""JSON as Steelyard writes it: numbers are finite, texts as they are, keys in the order that they are given in."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON can hold it: null for a number that is not finite, a list for a tuple, a text for a path.

    Times are texts of ISO 8601, with a T.

    >>> from pathlib import Path
    >>> plain({"mean": float("nan"), "ends": (0.5, float("inf")), "file": Path("scores.json")})
    {'mean': None, 'ends': [0.5, None], 'file': 'scores.json'}
    """
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Sequence):
        return [plain(part) for part in value]
    return value.isoformat() if isinstance(value, date) else str(value)


def json_text(value: Any, *, indent: int = 2) -> str:
    """The text of a JSON file; the same value gives the same bytes."""
    return json.dumps(plain(value), ensure_ascii=False, indent=indent, allow_nan=False) + "\n"
