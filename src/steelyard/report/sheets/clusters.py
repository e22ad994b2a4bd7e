"""Notes on questions that are no independent evidence: by which clusters they count, or that they share gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.data.clusters import DOC, OWN
from steelyard.experiment.score_arrays import SHARED_GOLD
from steelyard.experiment.scores import Scores
from steelyard.report.sheets.sheet import number
from steelyard.report.words import Words

_WIDER = 1.005
"""Intervals of which one is this many times as wide by cluster are said to be wider."""

_FEW = 10
"""Fewer clusters leave t so few degrees of freedom that intervals become half as wide again."""


def cluster_notes(
    recipe: Mapping[str, Any], words: Words, *, n: int, n_clusters: int | None, ask: str = "--cluster doc"
) -> Iterator[str]:
    """Of how many clusters the questions are, and that few show little; or that questions share gold documents.

    recipe   of the scores;   n, n_clusters   questions that are weighed, and their clusters; None without any
    ask      how to have them counted by document: what the command takes whose output it is
    """
    shared = recipe.get(SHARED_GOLD)
    if n_clusters is not None:
        field = recipe.get("cluster", OWN)
        kind = field if field in (DOC, OWN) else "field"
        chained = _chained(shared, words) if field == DOC and shared else ""
        clusters = words("count.clusters", n=n_clusters)
        yield words(f"scores.clusters.{kind}", n=n, clusters=clusters, field=field, chained=chained)
        if n_clusters < _FEW:
            yield words("scores.clusters.few", n=n_clusters)
    elif shared is not None:
        widening = shared.get("widening")
        key = "unknown" if widening is None else "wider" if widening >= _WIDER else "no_wider"
        yield words(
            "scores.clusters.shared", n=shared["n_questions"], clusters=words("count.clusters", n=shared["n_clusters"]),
            chained=_chained(shared, words), ask=ask,
            width=words(f"scores.clusters.{key}", times="" if widening is None else number(widening, 2)),
        )  # fmt: skip


def _chained(shared: Mapping[str, Any], words: Words) -> str:
    """How many clusters there would be by any shared document, in brackets, where the recipe has it."""
    return words("scores.clusters.chained", n=shared["n_chained"]) if "n_chained" in shared else ""


def scores_cluster_notes(scores: Scores, words: Words) -> Iterator[str]:
    """The same for scores."""
    n_clusters = None if scores.clustering is None else scores.clustering.n
    yield from cluster_notes(scores.recipe, words, n=len(scores.query_ids), n_clusters=n_clusters)


def interval_key(scores: Scores) -> str:
    """By which method the intervals of the means are, or why there are none."""
    method = scores.intervals.method
    if scores.clustering is None:
        return method
    return "clusters" if method != "none" else "one_cluster" if len(scores.query_ids) > 1 else method
