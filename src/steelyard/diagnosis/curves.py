"""Measures by depth: how they rise and fall as more results are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.diagnosis.lists import Lists
from steelyard.measures import parse
from steelyard.stats.intervals import mean_intervals

KS = (1, 2, 3, 5, 10, 20, 50, 100)
NAMES = ("precision", "recall", "hit_rate", "ndcg", "mrr")


@dataclass(frozen=True, eq=False)
class Curves:
    """Means of measures at several depths.

    systems, names, ks  s, n and k of them
    values, low, high   (s, n, k) means and the ends of their 95 % intervals (normal); NaN below the depth that is known
    """

    systems: Sequence[str]
    names: Sequence[str]
    ks: Sequence[int]
    values: Floats
    low: Floats
    high: Floats

    def at(self, system: int, name: str, k: int) -> float:
        """The mean of a measure of a system at a depth; NaN where it is not known."""
        return float(self.values[system, self.names.index(name), self.ks.index(k)])


def curves(
    systems: Sequence[str], lists: Sequence[Lists], *, min_gain: float = 1.0, ks: Sequence[int] = KS, seed: int = 0
) -> Curves:
    """Measures at each depth, of what each system returned.

    min_gain   smallest gain that counts as relevant; ndcg counts gains as they are
    """
    values, low, high = (np.full((len(systems), len(NAMES), len(ks)), np.nan) for _ in range(3))
    for i, of_one in enumerate(lists):
        known = [j for j, k in enumerate(ks) if of_one.reach(k, final=True)]
        if not known:
            continue
        each = np.array([[_value(name, of_one, ks[j], min_gain) for j in known] for name in NAMES])
        flat = each.reshape(-1, each.shape[2]).T
        shape = (len(NAMES), len(known))
        values[i][:, known] = flat.mean(axis=0).reshape(shape)
        found = mean_intervals(flat, seed=seed, method="normal")
        # An interval of a share ends where shares end.
        low[i][:, known] = np.maximum(found.low, 0.0).reshape(shape)
        high[i][:, known] = np.minimum(found.high, 1.0).reshape(shape)
    return Curves(systems, NAMES, tuple(ks), values, low, high)


def _value(name: str, lists: Lists, k: int, min_gain: float) -> Floats:
    return parse(f"{name}@{k}", min_gain=min_gain)(lists.final)
