"""Pictures as data: values with their intervals along one axis, or one after another; and bars of shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.reports.views.numbers import ends
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

Kind = Literal["plain", "better", "worse", "unclear"]


@dataclass(frozen=True)
class Mark:
    """One row of a picture: a value with the ends of its interval, which are NaN where there is none.

    name   at the left, what it is of;   text   at the right, the value in words
    kind   colour and shape: better and worse than something else, unclear, or plain where nothing is compared
    limit  a value of its own that is marked in its row, such as what may be lost; NaN for none
    """

    name: str
    value: float
    low: float
    high: float
    text: str
    kind: Kind = "plain"
    limit: float = math.nan

    def __str__(self) -> str:
        interval = ends(self.low, self.high)
        return single_line(f"{self.name} {self.text}" + ("" if interval == "–" else f" ({interval})"))


@dataclass(frozen=True)
class Intervals:
    """Values with their intervals, one row each, on one axis.

    title, description   what it shows; the latter is for readers that do not see it
    line   value of the axis at which there is a line from top to bottom, such as no difference
    band   two values between which there is a band, such as what may be lost
    scale   whether values are marked along the axis, with a sign where they are differences; "none" where each row is
           on its own scale, and only the side of the line counts
    """

    title: str
    description: str
    marks: Sequence[Mark]
    line: float | None = None
    band: tuple[float, float] | None = None
    scale: Literal["values", "differences", "none"] = "values"


@dataclass(frozen=True)
class Course:
    """Values with their intervals one after another, such as days: across, in their order, and values up.

    title, description, scale   as of `Intervals`
    points   their names are written below the axis, as far as there is room
    line     value at which there is a line from side to side
    joined   whether a line goes through the values, in a band of their intervals; else each has a mark and a bar
    """

    title: str
    description: str
    points: Sequence[Mark]
    line: float | None = None
    scale: Literal["values", "differences"] = "values"
    joined: bool = False


@dataclass(frozen=True)
class Part:
    """A class of things in a bar: its name, how many there are, and the colours of the bar and of the text on it."""

    name: str
    n: int
    fill: str
    ink: str


@dataclass(frozen=True)
class Shares:
    """Bars of the same length, one row each, cut into classes; every bar has all classes, in the same order."""

    title: str
    description: str
    bars: Sequence[tuple[str, Sequence[Part]]]

    @property
    def classes(self) -> list[Part]:
        """One part of each class that some bar has any of."""
        there = {part.name for _, parts in self.bars for part in parts if part.n}
        return [part for part in self.bars[0][1] if part.name in there]


Picture = Intervals | Course | Shares

_LISTED = 20


def described(title: str, marks: Iterable[Mark], words: Words) -> str:
    """The values of a picture in one sentence."""
    return words("charts.picture", title=title, listed=words.listed(list(map(str, marks)), _LISTED))


def shares(title: str, bars: Sequence[tuple[str, Sequence[Part]]], words: Words) -> Shares:
    """Bars with their description."""
    texts = [
        words(
            "charts.bar",
            name=single_line(name),
            parts=words.listed([f"{part.name} {part.n:,}" for part in parts if part.n]),
        )
        for name, parts in bars
    ]
    return Shares(title, words("charts.picture", title=title, listed=words.listed(texts, _LISTED)), bars)
