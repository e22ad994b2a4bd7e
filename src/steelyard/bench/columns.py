"""What came with each request and each list, as columns of numbers beside the measures of quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.bench.ordering import kendall_tau, overlap, score_order, tie_share
from steelyard.bench.quality import overlap_k
from steelyard.bench.rerankings import Reranking
from steelyard.experiment.scores import Scores
from steelyard.experiment.weighed import Weighed
from steelyard.experiment.weighing import Weighing
from steelyard.measures import Measure
from steelyard.measures.extremes import unjudged_relevant
from steelyard.measures.spec import measure_or_column

COLUMNS = (
    "if_unjudged_relevant", "first_changed", "overlap", "kendall_tau", "ties", "truncated_pairs", "latency_ms",
    "tokens",
)  # fmt: skip
"""Columns of numbers of each question, behind the measures of quality.

if_unjudged_relevant   the first measure, had every unjudged document that it looks at the highest label of the truth
first_changed          1 where another document is first;   overlap   share of the first k that was among them before
kendall_tau            of the reranked candidates with their order before;   ties   share of pairs of equal score
truncated_pairs        share of pairs that are longer than the model reads
latency_ms             from the intended start, one request after the other; of the candidates as they are, 0
tokens                 that the request took; of the candidates as they are, 0
"""
_OF_LISTS = ("first_changed", "overlap", "kendall_tau", "ties")


def with_columns(quality: Scores, weighing: Weighing, rerankings: Sequence[Reranking]) -> Scores:
    """The scores with a mean of the repetitions of each value, and with COLUMNS.

    Where a reranker fails on a question, its list is the candidates as they are, which users would be shown: quality is
    that of the base, and of what came with the request nothing is known.
    """
    primary, k = quality.primary, overlap_k(quality.primary)
    rows = [_base_rows(quality, weighing.weighed[0], primary)]
    repeats = dict[str, Floats]()
    for item, system in zip(rerankings, weighing.weighed[1:], strict=True):
        r, i = len(item.scores), quality.systems.index(item.label)
        of_runs = quality.repeats.get(item.label, quality.values[i][None])
        relabelled = np.array([_if_relevant(primary, run)[None] for run in system.runs])
        of_lists = np.array([_list_columns(quality.query_ids, scores, k) for scores in item.scores])
        parts = [
            *(np.broadcast_to(part, (r, *part.shape[1:])) for part in (of_runs, relabelled)), of_lists, item.timed
        ]  # fmt: skip
        values = np.concatenate(parts, axis=1)
        rows.append(_mean_of_repetitions(values, item.failed, len(quality.measures) + 1))
        if r > 1:
            repeats[item.label] = values
    return _extended(quality, np.stack(rows), repeats, [np.asarray(item.failed.any(axis=0)) for item in rerankings])


def _extended(quality: Scores, values: Floats, repeats: Mapping[str, Floats], failed: Sequence[Bools]) -> Scores:
    s, _, q = quality.values.shape
    more = np.full((s, len(COLUMNS), q), np.nan)
    return replace(
        quality, measures=[*quality.measures, *map(measure_or_column, COLUMNS)], values=values,
        judged=np.concatenate([quality.judged, more], axis=1),
        no_relevant=np.concatenate([quality.no_relevant, np.zeros(more.shape, bool)], axis=1),
        failed=quality.failed | np.stack([np.zeros(q, bool), *failed]), repeats=repeats,
    )  # fmt: skip


def _base_rows(quality: Scores, base: Weighed, primary: Measure) -> Floats:
    """(m + c, q) values of the candidates as they are, which take nothing and change nothing."""
    columns = np.full((len(COLUMNS), len(quality.query_ids)), np.nan)
    columns[COLUMNS.index("if_unjudged_relevant")] = _if_relevant(primary, base)
    columns[[COLUMNS.index("latency_ms"), COLUMNS.index("tokens")]] = 0.0
    return np.concatenate([quality.values[0], columns])


def _if_relevant(spec: Measure, run: Weighed) -> Floats:
    return spec(unjudged_relevant(run.alignment, k=spec.depth))


def _list_columns(query_ids: Sequence[str], scores: Mapping[str, Sequence[float]], k: int) -> Floats:
    """(4, q) values of _OF_LISTS; NaN for questions without candidates, and where a list is too short for one."""
    columns = np.full((len(_OF_LISTS), len(query_ids)), np.nan)
    for q, query_id in enumerate(query_ids):
        if of_query := scores.get(query_id):
            order = score_order(of_query)
            columns[:, q] = float(order[0] != 0), overlap(order, k), kendall_tau(order), tie_share(of_query)
    return columns


def _mean_of_repetitions(values: Floats, failed: Bools, n_of_quality: int) -> Floats:
    """(m, q) means of (r, m, q) values of r repetitions; of latency, only where none failed.

    The first measures are of quality, which a list has in any case; others leave out the repetitions that failed.
    """
    counts = np.broadcast_to(~failed[:, None], values.shape).copy()
    counts[:, :n_of_quality] = True
    first = np.take_along_axis(values, np.argmax(counts, axis=0)[None], axis=0)
    with np.errstate(invalid="ignore"):
        means = np.where(counts, values, 0.0).sum(axis=0) / counts.sum(axis=0)
    # A mean of equal values may be off by a rounding: one candidate must give the very values of the base.
    alike = (~counts | (values == first)).all(axis=0)
    means = np.where(alike, first[0], means)
    latency = len(means) - len(COLUMNS) + COLUMNS.index("latency_ms")
    means[latency, failed.any(axis=0)] = np.nan
    return np.asarray(means)
