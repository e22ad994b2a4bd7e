"""Measures by depth: how they rise and fall as more results are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.diagnosis.lists import Lists
from steelyard.measures import parse
from steelyard.measures.perfect import perfect_values
from steelyard.stats.intervals import mean_intervals

KS = (1, 2, 3, 5, 10, 20, 50, 100)
NAMES = ("precision", "recall", "hit_rate", "ndcg", "mrr")


@dataclass(frozen=True, eq=False)
class Curves:
    """Means of measures at several depths.

    systems, names, ks  s, n and k of them
    values, low, high   (s, n, k) means and the ends of their 95% intervals; NaN where lists are not that deep
    """

    systems: Sequence[str]
    names: Sequence[str]
    ks: Sequence[int]
    values: Floats
    low: Floats
    high: Floats

    def at(self, system: int, name: str, k: int) -> float:
        """The mean of a measure of a system at a depth; NaN where the lists are not that deep."""
        return float(self.values[system, self.names.index(name), self.ks.index(k)])

    def unmeasured(self) -> Curves:
        """The same without numbers, where no question has gold."""
        return replace(self, **{name: np.full_like(getattr(self, name), np.nan) for name in ("values", "low", "high")})

    @property
    def frame(self) -> pl.DataFrame:
        """One row a mean: system, measure (its name), k, mean, low, high; null where the lists are not that deep."""
        s, n, k = self.values.shape
        return pl.DataFrame(
            {
                "system": np.repeat(self.systems, n * k),
                "measure": np.tile(np.repeat(self.names, k), s),
                "k": np.tile(self.ks, s * n),
                "mean": self.values.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
            }
        ).fill_nan(None)


def curves(
    systems: Sequence[str], lists: Sequence[Lists], *, names: Sequence[str] = NAMES, min_gain: float = 1.0,
    ks: Sequence[int] = KS,
) -> Curves:  # fmt: skip
    """Measures at each depth, of what each system returned.

    names      of measures with a cut-off
    min_gain   smallest gain that counts as relevant; ndcg counts gains as they are
    """
    values, low, high = (np.full((len(systems), len(names), len(ks)), np.nan) for _ in range(3))
    for i, of_system in enumerate(lists):
        depths = [j for j, k in enumerate(ks) if of_system.reach(k, final=True)]
        if not depths:
            continue
        shape = (len(names), len(depths))
        specs = [parse(f"{name}@{ks[j]}", min_gain=min_gain) for name in names for j in depths]
        per_query = np.array([spec(of_system.final) for spec in specs]).T
        highest = [np.nan_to_num(perfect_values(spec, of_system.final), nan=1.0).max(initial=0.0) for spec in specs]
        intervals = mean_intervals(per_query, bounds=(0.0, highest))
        values[i][:, depths] = per_query.mean(axis=0).reshape(shape)
        low[i][:, depths], high[i][:, depths] = intervals.low.reshape(shape), intervals.high.reshape(shape)
    return Curves(systems, tuple(names), tuple(ks), values, low, high)
