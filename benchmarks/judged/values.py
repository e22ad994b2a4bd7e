"""A figure, and what it is held against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.simulated.tables import Table


@dataclass(frozen=True)
class Value:
    """A figure of ours on one set.

    least      the floor that it must reach; None where there is none
    reference  the published figure, by the published definition;   within   how far ours may be from it
    earlier    the same figure on commit 2db421b5, before answers were read as people read them
    """

    what: str
    on: str
    value: float
    least: float | None = None
    reference: float | None = None
    within: float = 0.0
    earlier: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether it is as it must be; None where nothing is asked."""
        if self.least is not None:
            return self.value >= self.least
        if self.reference is not None and self.within:
            return abs(self.value - self.reference) <= self.within
        return None

    def row(self) -> dict[str, Any]:
        """As a line of JSON."""
        return asdict(self) | {"value": round(self.value, 4), "met": self.is_met}


def value_table(title: str, values: Iterable[Value]) -> Table:
    """One row a figure, with what it was before where a figure has that."""
    listed, heads = list(values), ("what", "set", "before", "ours", "target", "met")
    rows = [
        (value.what, value.on, _number(value.earlier), _number(value.value), _target(value), _MET[value.is_met])
        for value in listed
    ]
    shown = [n for n in range(len(heads)) if n != 2 or any(value.earlier is not None for value in listed)]
    return Table(title, tuple(heads[n] for n in shown), [tuple(row[n] for n in shown) for row in rows])


_MET = {True: "yes", False: "**no**", None: "–"}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _target(value: Value) -> str:
    if value.least is not None:
        return f"≥ {value.least:g}"
    if value.reference is not None:
        return f"{value.reference:.4f}" + (f" ± {value.within:g}" if value.within else "")
    return "–"


def grid(title: str, values: Sequence[Value], digits: str = "+.4f") -> Table:
    """One row a figure's name, one column a set."""
    sets = list(dict.fromkeys(value.on for value in values))
    names = list(dict.fromkeys(value.what for value in values))
    cell = {(value.what, value.on): format(value.value, digits) for value in values}
    return Table(title, ("", *sets), [(name, *(cell.get((name, on), "–") for on in sets)) for name in names])
