"""A table of texts, the same for terminal, Markdown and LaTeX, and how numbers are written in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

_LARGE = 1e9


@dataclass
class Sheet:
    """A header, rows of texts, the cells that deserve emphasis, and notes below."""

    header: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def number(value: float | None) -> str:
    """Four decimals, or a dash for what is not there."""
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.4f}" if abs(value) < _LARGE else f"{value:.6g}"


def signed(value: float, decimals: int) -> str:
    """A number with its sign, a true minus among them.

    >>> signed(-0.25, 2), signed(0.0, 1)
    ('−0.25', '+0.0')
    """
    return f"{value:+.{decimals}f}".replace("-", "−")
