"""A store that holds means alone, for trends of many entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from steelyard.experiment.table.scores import Scores
from steelyard.store.store import _MEANS, _OUTCOMES, Entry

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


class Means:
    """What a trend asks of a store, with an entry a day: its means, outcomes and values of questions.

    means            of one system, entry by entry;   values   (n, q) of questions, where there are some
    truths, corpora  by place, of entries that have others than most;   outcomes   by place
    """

    name = "history.db"
    note = ""

    def __init__(
        self, means: Sequence[float | None], *, truths: Mapping[int, str] = {}, corpora: Mapping[int, str] = {},
        outcomes: Mapping[int, str] = {}, values: Any = None, measure: str = "mrr", system: str = "run",
    ) -> None:  # fmt: skip
        self.measure, self.system, self.values = measure, system, values
        rows = [
            {
                "entry": f"e{place}", "time": FIRST + timedelta(days=place), "kind": "scores", "commit": f"c{place:06}",
                "dirty": False, "truth": truths.get(place, "gold"), "config": f"config {place % 2}",
                "corpus": corpora.get(place, "docs"), "system": system, "measure": measure, "mean": mean,
                "low": mean and mean - 0.05, "high": mean and mean + 0.05, "n": 40,
            }
            for place, mean in enumerate(means)
        ]  # fmt: skip
        self.rows = pl.DataFrame(rows, schema=_MEANS, orient="row")
        own = [
            {"entry": f"e{place}", "time": FIRST, "system": system, "outcome": outcome, "baseline": None}
            for place, outcome in outcomes.items()
        ]
        self.gates = pl.DataFrame(own, schema=_OUTCOMES)

    def means(self, measure: str | None = None, system: str | None = None) -> pl.DataFrame:
        wanted = {"measure": measure, "system": system}
        return self.rows.filter(*(pl.col(name) == value for name, value in wanted.items() if value is not None))

    def outcomes(self) -> pl.DataFrame:
        return self.gates

    def entries(self) -> pl.DataFrame:
        return self.rows.reverse()

    def entry(self, ref: str) -> Entry:
        place = int(ref[1:])
        return Entry(ref, FIRST, "scores", settings={self.system: {"k": f"{5 + place % 2}{self.note}", "kind": "bm25"}})

    def scores(self, ref: str) -> Scores:
        values = self.values[int(ref[1:])]
        frame = {"query_id": [f"q{i}" for i in range(len(values))], "measure": self.measure, "value": values}
        return Scores.of(pl.DataFrame(frame))


def noisy(*levels: float, n: int = 20, sd: float = 0.01, seed: int = 3) -> list[float]:
    """So many means around each level."""
    rng = np.random.default_rng(seed)
    return [float(value) for level in levels for value in rng.normal(level, sd, n)]
