"""What a table of error rates is, and how it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table: what it shows, its columns (the first one names the row), and its rows as text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> Iterator[str]:
        """In Markdown."""
        yield f"{self.title}\n"
        yield f"| {' | '.join(self.columns)} |"
        yield f"|---{'|---:' * (len(self.columns) - 1)}|"
        yield from (f"| {' | '.join(row)} |" for row in self.rows)


def percent(share: float) -> str:
    """A share with one digit behind the point.

    >>> percent(0.0333)
    '3.3%'
    """
    return f"{100 * share:.1f}%"
