"""What rerankers did to the lists of each question: their order, what came with it, and what moved, tied or was cut."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.bench.candidates import Candidates
from steelyard.bench.frames import DIAGNOSTICS, LATENCY_MS, Option, rows_of
from steelyard.bench.quality.gains import overlap_k
from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.arrays import ASKED, IN_ORDER
from steelyard.experiment.table.scores import Scores
from steelyard.measures.perfect import unjudged_relevant
from steelyard.measures.spec import measure_or_column


def score_order(scores: npt.ArrayLike) -> Ints:
    """(n,) places of candidates by falling score; those of equal score stay in the order that they had.

    scores   (n,) finite, one a candidate, in the order of the first search

    >>> score_order([0.1, 0.9, 0.1, 0.5]).tolist()
    [1, 3, 0, 2]
    """
    return np.argsort(-np.asarray(scores, np.float64), kind="stable")


def reranked_list(doc_ids: Sequence[str], scores: Sequence[float]) -> list[str]:
    """The whole list: what was scored by falling score, then the tail that no reranker has seen.

    doc_ids  the candidates, best first;   scores   of the first of them

    >>> reranked_list(["a", "b", "c", "d"], [0.2, 0.2, 0.7])
    ['c', 'a', 'b', 'd']
    """
    return [*(doc_ids[place] for place in score_order(scores).tolist()), *doc_ids[len(scores) :]]


def overlap(order: Ints, k: int) -> float:
    """Share of the first k that were among the first k before; of the whole list where it is shorter.

    order   (n,) places before, in the order after;   Returns   NaN for an empty list

    >>> overlap(np.array([2, 0, 1]), 2)
    0.5
    """
    first = min(k, len(order))
    return float((order[:first] < first).mean()) if first else float("nan")


def kendall_tau(order: Ints) -> float:
    """Kendall's tau of two orders of the same candidates: 1 where they agree, -1 where one is the other reversed.

    order   (n,) places before, in the order after;   Returns   NaN for fewer than two

    >>> kendall_tau(np.array([0, 2, 1]))
    0.333...
    """
    n = len(order)
    if n < 2:
        return float("nan")
    above, inversions = list[int](), 0
    for place in order.tolist():
        inversions += len(above) - bisect_left(above, place)
        insort(above, place)
    return 1 - 4 * inversions / (n * (n - 1))


def tie_share(scores: npt.ArrayLike) -> float:
    """Share of all pairs of candidates that have the same score; NaN for fewer than two.

    >>> tie_share([0.5, 0.5, 0.1])
    0.333...
    """
    counts = np.unique(np.asarray(scores, np.float64), return_counts=True)[1]
    n = int(counts.sum())
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else float("nan")


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
_LATENCY = COLUMNS.index("latency_ms")
_OF_LISTS, OF_REQUESTS = COLUMNS[1:5], COLUMNS[5:]


@dataclass(frozen=True, eq=False)
class Reranking:
    """What one system gave the candidates of all questions, over one depth, in r repetitions.

    scores   query_id -> scores of the first candidates, of each repetition; questions that it failed on are absent
    failed   (r, q) questions that it failed on
    timed    (r, 3, q) values of OF_REQUESTS; NaN where there are none
    """

    label: str
    scores: Sequence[Mapping[str, Sequence[float]]]
    failed: Bools
    timed: Floats


def rerankings_of(
    options: Sequence[Option], candidates: Candidates, rankings: pl.DataFrame, requests: pl.DataFrame
) -> list[Reranking]:
    """The rerankings of the options that were measured.

    rankings, requests   of schemas RANKINGS and REQUESTS; requests one after the other count
    """
    answered, number = pl.col("outcome") == "ok", dict[str, pl.Expr]()
    number["truncated_pairs"] = pl.col("n_truncated") / pl.col("n_pairs")
    number["latency_ms"] = LATENCY_MS
    number["tokens"] = pl.col("tokens_in") + pl.col("tokens_out").fill_null(0)
    timed = requests.filter(loop="sequential").with_columns(
        pl.when(answered).then(number[name].cast(pl.Float64)).fill_null(float("nan")).alias(name)
        for name in OF_REQUESTS
    )
    place = {query_id: q for q, query_id in enumerate(sorted(candidates.query_ids))}
    return [
        _reranking(option, candidates, rows, timed.filter(option.rows), place)
        for option in options
        if not (rows := rankings.filter(option.rows)).is_empty()
    ]


def _reranking(
    option: Option, candidates: Candidates, rows: pl.DataFrame, requests: pl.DataFrame, place: Mapping[str, int]
) -> Reranking:
    number = {repetition: r for r, repetition in enumerate(sorted(rows["repetition"].unique().to_list()))}
    scores: list[dict[str, list[float]]] = [{} for _ in number]
    failed = np.zeros((len(number), len(place)), bool)
    for repetition, query_id, of_query in rows.select("repetition", "query_id", "scores").iter_rows():
        if of_query is None:
            failed[number[repetition], place[query_id]] = True
        elif len(of_query) != (n := len(candidates.first(query_id, option.depth))):
            raise InputError(
                f"{option.label}: gave {len(of_query)} scores for question {query_id!r}, which has {n} candidates; the "
                "candidates have changed since: measure again"
            )
        else:
            scores[number[repetition]][query_id] = of_query
    timed = np.full((len(number), len(OF_REQUESTS), len(place)), np.nan)
    for repetition, query_id, *numbers in requests.select("repetition", "query_id", *OF_REQUESTS).iter_rows():
        if repetition in number and query_id in place:
            timed[number[repetition], :, place[query_id]] = numbers
    return Reranking(option.label, scores, failed, timed)


def with_columns(quality: Scores, weighing: Weighing, rerankings: Sequence[Reranking]) -> Scores:
    """The scores with a mean of the repetitions of each value, and with COLUMNS.

    Where a reranker fails on a question, its list is the candidates as they are, which users would be shown: quality is
    that of the base, and of what came with the request nothing is known.
    """
    primary, k, n, q = quality.primary, overlap_k(quality.primary), len(quality.measures), len(quality.query_ids)

    def if_relevant(run: Weighed) -> Floats:
        return primary(unjudged_relevant(run.alignment, k=primary.depth))

    # The candidates as they are take nothing and change nothing.
    base = np.concatenate([quality.values[0], np.full((len(COLUMNS), q), np.nan)])
    base[n], base[[n + _LATENCY, n + COLUMNS.index("tokens")]] = if_relevant(weighing.weighed[0]), 0.0
    rows, repeats, failed = [base], dict[str, Floats](), [np.zeros(q, bool)]
    for item, system in zip(rerankings, weighing.weighed[1:], strict=True):
        r = len(item.scores)
        of_runs = quality.repeats.get(item.label, quality.values[quality.systems.index(item.label)][None])
        relabelled = np.array([if_relevant(run)[None] for run in system.runs])
        of_lists = np.array([_list_columns(quality.query_ids, scores, k) for scores in item.scores])
        same = [np.broadcast_to(part, (r, *part.shape[1:])) for part in (of_runs, relabelled)]
        values = np.concatenate([*same, of_lists, item.timed], axis=1)
        rows.append(_mean_of_repetitions(values, item.failed, n + 1))
        failed.append(np.asarray(item.failed.any(axis=0)))
        if r > 1:
            repeats[item.label] = values
    values = np.stack(rows)
    means = replace(
        quality,
        values=values[:, :n],
        failed=quality.failed | np.stack(failed),
        recipe_parts={**quality.recipe_parts, ASKED: IN_ORDER},
    )
    return append_columns(means, COLUMNS, values[:, n:], repeats)


def append_columns(scores: Scores, names: Sequence[str], values: Floats, repeats: Mapping[str, Floats]) -> Scores:
    """Scores with more columns of numbers, for which nothing is judged.

    values   (s, c, q);   repeats   label -> (r, m + c, q) values of the repetitions, of all columns
    """
    return replace(
        scores,
        measures=[*scores.measures, *map(measure_or_column, names)],
        repeats=repeats,
        values=np.concatenate([scores.values, values], axis=1),
        judged=np.concatenate([scores.judged, np.full(values.shape, np.nan)], axis=1),
        no_relevant=np.concatenate([scores.no_relevant, np.zeros(values.shape, bool)], axis=1),
        causes=None if scores.causes is None else np.pad(scores.causes, [(0, 0), (0, len(names)), (0, 0)]),
    )


def _list_columns(query_ids: Sequence[str], scores: Mapping[str, Sequence[float]], k: int) -> Floats:
    """(4, q) values of _OF_LISTS; NaN for questions without candidates, and where a list is too short for one."""
    columns = np.full((len(_OF_LISTS), len(query_ids)), np.nan)
    for q, query_id in enumerate(query_ids):
        if of_query := scores.get(query_id):
            order = score_order(of_query)
            columns[:, q] = float(order[0] != 0), overlap(order, k), kendall_tau(order), tie_share(of_query)
    return columns


def mean_where(values: Floats, counts: Bools) -> Floats:
    """Means of (r, ...) values over r, of those that count; NaN without any."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(counts, values, 0.0).sum(axis=0) / counts.sum(axis=0))


def _mean_of_repetitions(values: Floats, failed: Bools, n_of_quality: int) -> Floats:
    """(m, q) means of (r, m, q) values of r repetitions; of latency, only where none failed.

    The first measures are of quality, which a list has in any case; others leave out the repetitions that failed.
    """
    counts = np.broadcast_to(~failed[:, None], values.shape).copy()
    counts[:, :n_of_quality] = True
    first = np.take_along_axis(values, np.argmax(counts, axis=0)[None], axis=0)
    # A mean of equal values may be off by a rounding: one candidate must give the very values of the base.
    means = np.where((~counts | (values == first)).all(axis=0), first[0], mean_where(values, counts))
    means[len(means) - len(COLUMNS) + _LATENCY, failed.any(axis=0)] = np.nan
    return means


def diagnostics(
    options: Sequence[Option], scores: Scores, rankings: pl.DataFrame, requests: pl.DataFrame
) -> pl.DataFrame:
    """Changes that each reranker made to the lists of each depth, of schema DIAGNOSTICS.

    scores   of `weigh`; those of a load test, which makes no lists, give no rows
    rankings, requests   of schemas RANKINGS and REQUESTS, of all blocks
    Shares are means over the questions that have them: a question without candidates has no first result.
    """
    columns = {str(measure): j for j, measure in enumerate(scores.measures)}
    weighed = [option for option in options if "first_changed" in columns and option.label in scores.systems]
    asked = requests.filter(loop="sequential")
    rows = [_diagnosis(option, scores, columns, rankings, asked.filter(option.rows)) for option in weighed]
    return rows_of(DIAGNOSTICS, rows)


def _diagnosis(
    option: Option, scores: Scores, columns: Mapping[str, int], rankings: pl.DataFrame, asked: pl.DataFrame
) -> dict[str, object]:
    i = scores.systems.index(option.label)

    def mean(column: str) -> float:
        return _mean(scores.values[i, columns[column]])

    def judged(system: int) -> float:
        return _mean(np.where(scores.missing[system], np.nan, scores.judged[system, 0]))

    ends = [_mean(scores.values[i, 0]), mean("if_unjudged_relevant")]
    # Of requests that say how many pairs were longer than the model reads.
    pairs, truncated = asked.drop_nulls(["n_pairs", "n_truncated"]).select(pl.col("n_pairs", "n_truncated").sum())
    n_full = asked.filter(pl.col("n_pairs") >= option.depth)["query_id"].n_unique()
    orders = dict[str, set[bytes]]()
    lists = rankings.filter(option.rows).drop_nulls("scores").select("query_id", "scores")
    for query_id, of_query in lists.iter_rows():
        orders.setdefault(query_id, set()).add(score_order(of_query).tobytes())
    return {
        "system": option.system, "depth": option.depth, "n": int((~np.isnan(scores.values[i, 0])).sum()),
        "first_changed": mean("first_changed"), "k": overlap_k(scores.primary), "overlap": mean("overlap"),
        "tau": mean("kendall_tau"), "ties": mean("ties"),
        "truncated": truncated.item() / pairs.item() if pairs.item() else None,
        "judged_before": judged(0), "judged_after": judged(i), "worst": min(ends), "best": max(ends),
        "n_short": len(scores.query_ids) - n_full, "n_failed": int(scores.failed[i].sum()),
        "n_unstable": sum(len(distinct) > 1 for distinct in orders.values()),
        "n_repaired": asked.filter(pl.col("n_repaired") > 0)["query_id"].n_unique(),
    }  # fmt: skip


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
