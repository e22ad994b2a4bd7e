"""A count of what is wrong with logs, with the place of the first example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from steelyard.traffic.logs import Trouble


@dataclass
class Tally:
    """Troubles of logs.

    files   how messages call the files that the column `file` of a frame numbers: "a.jsonl, line" or "a.csv, row"
    """

    files: Sequence[str] = ()
    by_kind: dict[str, Trouble] = field(default_factory=dict)

    def add(self, kind: str, n: int = 1, example: str = "", *, is_fatal: bool = True) -> None:
        """Count n records."""
        before = self.by_kind.get(kind)
        if before is not None:
            self.by_kind[kind] = replace(before, n=before.n + n)
        elif n:
            self.by_kind[kind] = Trouble(kind, n, example, is_fatal)

    def update(self, troubles: Iterable[Trouble]) -> None:
        """Count what was counted elsewhere, later in the logs."""
        for trouble in troubles:
            self.add(trouble.kind, trouble.n, trouble.example, is_fatal=trouble.is_fatal)

    def note(self, kind: str, frame: pl.DataFrame, mask: pl.Series, *, is_fatal: bool = False) -> int:
        """Count the rows of a mask, whose first is the example; how many they are."""
        n = int(mask.sum() or 0)
        if n:
            file, line = frame.select("file", "line").row(int(mask.arg_true()[0]))
            place = f"{self.files[file]} {line}" if line else self.files[file].rpartition(",")[0]
            self.add(kind, n, place, is_fatal=is_fatal)
        return n

    def drop(self, kind: str, frame: pl.DataFrame, mask: pl.Series) -> pl.DataFrame:
        """The frame without the rows of a mask, which are counted; null counts as false."""
        return (
            frame.filter(~mask.fill_null(False))
            if self.note(kind, frame, mask.fill_null(False), is_fatal=True)
            else frame
        )

    @property
    def troubles(self) -> list[Trouble]:
        """What was wrong, most frequent first."""
        return sorted(self.by_kind.values(), key=lambda trouble: (-trouble.n, trouble.kind))
