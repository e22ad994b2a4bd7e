"""What rerankers did to the lists of each question: their order, what came with it, and what moved, tied or was cut."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.bench.candidates import Candidates
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.frames import DIAGNOSTICS, LATENCY_MS
from steelyard.bench.quality.gains import overlap_k
from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.percentiles import ASKED, IN_ORDER
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
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


OF_REQUESTS = ("truncated_pairs", "latency_ms", "tokens")
"""What each request is asked for: see `steelyard.bench.quality.lists.COLUMNS`."""


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
    config: BenchConfig, candidates: Candidates, rankings: pl.DataFrame, requests: pl.DataFrame
) -> Iterator[Reranking]:
    """One a reranker and depth that was measured, in the order of the configuration."""
    scored = rankings.partition_by("system", "depth", as_dict=True)
    timed = _timed(requests).partition_by("system", "depth", as_dict=True)
    place = {query_id: q for q, query_id in enumerate(sorted(candidates.query_ids))}
    for system in config.rerankers:
        for depth in config.depths:
            if (rows := scored.get((system.name, depth))) is not None:
                label = system_label(system.name, depth)
                yield _reranking(label, depth, candidates, rows, timed.get((system.name, depth)), place)


def _reranking(
    label: str, depth: int, candidates: Candidates, rows: pl.DataFrame, requests: pl.DataFrame | None,
    place: Mapping[str, int],
) -> Reranking:  # fmt: skip
    repetitions = sorted(rows["repetition"].unique().to_list())
    number = {repetition: r for r, repetition in enumerate(repetitions)}
    scores: list[dict[str, list[float]]] = [{} for _ in repetitions]
    failed = np.zeros((len(repetitions), len(place)), bool)
    for repetition, query_id, of_query in rows.select("repetition", "query_id", "scores").iter_rows():
        r = number[repetition]
        if of_query is None:
            failed[r, place[query_id]] = True
            continue
        if len(of_query) != len(candidates.first(query_id, depth)):
            raise InputError(
                f"{label}: gave {len(of_query)} scores for question {query_id!r}, which has "
                f"{len(candidates.first(query_id, depth))} candidates; the candidates have changed since: measure anew"
            )
        scores[r][query_id] = of_query
    timed = np.full((len(repetitions), len(OF_REQUESTS), len(place)), np.nan)
    if requests is not None:
        for repetition, query_id, *numbers in requests.select("repetition", "query_id", *OF_REQUESTS).iter_rows():
            if repetition in number and query_id in place:
                timed[number[repetition], :, place[query_id]] = numbers
    return Reranking(label, scores, failed, timed)


def _timed(requests: pl.DataFrame) -> pl.DataFrame:
    """The columns of requests that are of questions; NaN of what failed, and of what is not known."""
    answered = pl.col("outcome") == "ok"
    return requests.filter(loop="sequential").with_columns(
        truncated_pairs=_known(answered, pl.col("n_truncated") / pl.col("n_pairs")),
        latency_ms=_known(answered, LATENCY_MS),
        tokens=_known(answered, pl.col("tokens_in") + pl.col("tokens_out").fill_null(0)),
    )


def _known(answered: pl.Expr, number: pl.Expr) -> pl.Expr:
    return pl.when(answered).then(number.cast(pl.Float64)).fill_null(float("nan"))


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
        recipe_parts={**quality.recipe_parts, ASKED: IN_ORDER},
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
