"""What rerankers did to the lists: what moved, what tied, what was cut, and how far labels reach."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.frames import DIAGNOSTICS
from steelyard.bench.ordering import score_order
from steelyard.bench.quality import overlap_k
from steelyard.experiment.scores import Scores


def diagnostics(config: BenchConfig, scores: Scores, rankings: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """What each reranker did to the lists of each depth, of schema DIAGNOSTICS.

    scores   of `weigh`; those of a load test, which makes no lists, give no rows
    rankings, requests   of schemas RANKINGS and REQUESTS, of all blocks
    Shares are means over the questions that have them: a question without candidates has no first result.
    """
    rows = list(_rows(config, scores, rankings, requests.filter(loop="sequential")))
    return pl.DataFrame(rows, schema=DIAGNOSTICS).with_columns(pl.col(pl.Float64).fill_nan(None))


def _rows(
    config: BenchConfig, scores: Scores, rankings: pl.DataFrame, requests: pl.DataFrame
) -> Iterator[dict[str, object]]:
    columns = {str(measure): j for j, measure in enumerate(scores.measures)}
    for system in config.rerankers if "first_changed" in columns else ():
        for depth in config.depths:
            if (label := system_label(system.name, depth)) not in scores.systems:
                continue
            i, base = scores.systems.index(label), scores.systems.index(config.base_name)
            own = (pl.col("system") == system.name) & (pl.col("depth") == depth)
            ends = [_mean(scores.values[i, j]) for j in (0, columns["if_unjudged_relevant"])]
            yield {
                "system": system.name, "depth": depth, "n": int((~np.isnan(scores.values[i, 0])).sum()),
                "first_changed": _mean(scores.values[i, columns["first_changed"]]), "k": overlap_k(scores.primary),
                "overlap": _mean(scores.values[i, columns["overlap"]]),
                "tau": _mean(scores.values[i, columns["kendall_tau"]]),
                "ties": _mean(scores.values[i, columns["ties"]]),
                "truncated": _share_truncated(requests.filter(own)),
                "judged_before": _mean(np.where(scores.missing[base], np.nan, scores.judged[base, 0])),
                "judged_after": _mean(np.where(scores.missing[i], np.nan, scores.judged[i, 0])),
                "worst": min(ends), "best": max(ends),
                "n_short": _count_short(requests.filter(own), depth, len(scores.query_ids)),
                "n_failed": int(scores.failed[i].sum()), "n_unstable": _count_unstable(rankings.filter(own)),
                "n_repaired": requests.filter(own, pl.col("n_repaired") > 0)["query_id"].n_unique(),
            }  # fmt: skip


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _share_truncated(requests: pl.DataFrame) -> float | None:
    """Share of all pairs that were longer than the model reads, of requests that say so."""
    pairs, truncated = requests.drop_nulls(["n_pairs", "n_truncated"]).select(pl.col("n_pairs", "n_truncated").sum())
    return truncated.item() / pairs.item() if pairs.item() else None


def _count_short(requests: pl.DataFrame, depth: int, n_queries: int) -> int:
    """Questions with fewer candidates than the depth; those that were not asked have none."""
    full = requests.filter(pl.col("n_pairs") >= depth)["query_id"].n_unique()
    return n_queries - full


def _count_unstable(rankings: pl.DataFrame) -> int:
    """Questions whose order differs between repetitions."""
    orders = dict[str, set[bytes]]()
    for query_id, scores in rankings.drop_nulls("scores").select("query_id", "scores").iter_rows():
        orders.setdefault(query_id, set()).add(score_order(scores).tobytes())
    return sum(len(distinct) > 1 for distinct in orders.values())
