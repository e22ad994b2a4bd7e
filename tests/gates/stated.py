"""Scores that say what a test wants them to."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

import steelyard as sy
from steelyard.experiment.table.scores import Scores
from steelyard.stats.intervals.means import Intervals


def scores_of(
    values: npt.ArrayLike,
    measures: Sequence[str] = ("recall@5", "mrr", "ndcg@10", "precision@5"),
    *,
    systems: Sequence[str] | None = None,
    query_ids: Sequence[str] | None = None,
    truth: str = "sha256:1",
) -> Scores:
    """Scores with these values, (s, q) of one measure or (s, m, q); NaN where a question is left out."""
    array = np.asarray(values, dtype=float)
    array = array[:, None] if array.ndim == 2 else array
    s, m, q = array.shape
    no = np.zeros((s, q), dtype=bool)
    return Scores(
        systems=list(systems or "abcdefghij"[:s]), query_ids=list(query_ids or (f"q{i}" for i in range(q))),
        measures=[sy.parse(name) for name in measures[:m]], values=array, missing=no.copy(),
        no_relevant=np.zeros(array.shape, dtype=bool), failed=no.copy(), unwinnable=no.copy(),
        judged=np.ones(array.shape), unjudged_queries=np.zeros(s, dtype=np.int64), gold=[None] * s,
        recipe_parts={"missing": "zero", "no_relevant": "zero", "truth": {"digest": truth}},
    )  # fmt: skip


def stated(values: Mapping[str, tuple[float, float, float]], *, n: int = 50) -> Scores:
    """Scores of one system with exactly these means and ends of intervals over n questions."""
    means = np.array([[mean for mean, _, _ in values.values()]])
    rows = np.repeat(means[:, :, None], n, axis=2) if n else np.full((1, len(values), 1), math.nan)
    scores = scores_of(rows, list(values))
    low = np.array([[low for _, low, _ in values.values()]])
    high = np.array([[high for _, _, high in values.values()]])
    scores.__dict__.update(means=means, intervals=Intervals(low, high))
    return scores
