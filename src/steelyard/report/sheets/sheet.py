"""A table of texts, the same for terminal, Markdown and LaTeX, and how numbers are written for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from steelyard.base.arrays import Floats

_LARGE = 1e9


@dataclass
class Sheet:
    """A header, rows of texts, the cells that deserve emphasis, and notes below.

    n_labels   how many of the first columns say what a row is of; where a wide sheet is cut, each part has them
    """

    header: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    n_labels: int = 1


def number(value: float | None, decimals: int = 4) -> str:
    """So many decimals, with a true minus; a dash for what is not there.

    >>> number(0.25), number(-0.5, 2), number(None), number(float("inf"))
    ('0.2500', '−0.50', '–', '∞')
    """
    if value is None or np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return (f"{value:.{decimals}f}" if abs(value) < _LARGE else f"{value:.6g}").replace("-", "−")


def signed(value: float | None, decimals: int) -> str:
    """A number with its sign, a true minus among them; 0 has none, and a dash is for what is not there.

    >>> signed(-0.25, 2), signed(0.0, 1), signed(float("nan"), 1)
    ('−0.25', '0.0', '–')
    """
    if value is None:
        return number(value)
    return f"+{number(value, decimals)}" if value > 0 else number(value + 0.0, decimals)


def percent(share: float | None, decimals: int = 0, *, sign: bool = False) -> str:
    """A share in per cent, halves rounded up as in the labels of charts; a dash for what is not there.

    A part, however small, is not rounded to nothing, nor one that lacks little to all.  A change, with its sign, is.

    >>> percent(0.125), percent(None), percent(-0.0625, 1), percent(0.0625, 1, sign=True)
    ('13%', '–', '−6.3%', '+6.3%')
    >>> percent(8 / 3219), percent(3203 / 3219), percent(0.0), percent(1.0)
    ('<1%', '>99%', '0%', '100%')
    """
    if share is None or np.isnan(share):
        return "–"
    unit = Decimal(1).scaleb(-decimals)
    rounded = Decimal(100 * share).quantize(unit, ROUND_HALF_UP)
    if 0 < share < 1 and rounded in (0, 100) and not sign:
        return f">{100 - unit}%" if rounded else f"<{unit}%"
    return f"{'+' if sign and share > 0 else ''}{rounded}%".replace("-", "−")


def best_places(goodness: Floats) -> list[int]:
    """Places of the best values; none where all are equal, so that no one is ahead.

    >>> best_places(np.array([0.5, 0.7, 0.7])), best_places(np.array([0.5, 0.5]))
    ([1, 2], [])
    """
    places = np.flatnonzero(goodness == np.nanmax(goodness, initial=-np.inf)).tolist()
    return places if len(places) < len(goodness) else []


def p_text(p: float | None, *, sign: bool = False) -> str:
    """p to three digits; with sign, as it is written behind a p in a sentence.  A dash where there is none.

    >>> p_text(0.0341), p_text(0.0341, sign=True), p_text(0.0002), p_text(0.0002, sign=True)
    ('0.034', '= 0.034', '<0.001', '< 0.001')
    """
    if p is None or np.isnan(p):
        return "–"
    equals, below = ("= ", "< ") if sign else ("", "<")
    return f"{below}0.001" if p < 0.001 else f"{equals}{p:.3f}"


def ends(low: float | None, high: float | None, decimals: int = 3) -> str:
    """Both ends of an interval of values; a dash where there is none.

    >>> ends(0.5, 0.75)
    '0.500–0.750'
    """
    return "–" if low is None or np.isnan(low) else f"{number(low, decimals)}–{number(high, decimals)}"
