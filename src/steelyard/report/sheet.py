"""Scores as a table of texts, the same for terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from steelyard.scores import Scores

_METHODS = {
    "bca": "95 % intervals: BCa bootstrap over {n} queries, seed {seed}.",
    "normal": "95 % intervals: normal approximation over {n} queries.",
    "none": "No intervals: they need two queries at least.",
}


_LARGE = 1e9


@dataclass
class Sheet:
    """A header, rows of texts, the cells that deserve emphasis, and notes below."""

    header: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def sheet(scores: Scores) -> Sheet:
    """One system: a row a measure.  Several: a row a system, ordered by the first measure, the best value marked."""
    made = _one_system(scores) if len(scores.systems) == 1 else _leaderboard(scores)
    made.notes = list(_notes(scores))
    return made


def per_query_sheet(scores: Scores) -> Sheet:
    """A row for each query of each system, a column for each measure."""
    names = [str(measure) for measure in scores.measures]
    rows = []
    for i, system in enumerate(scores.systems):
        for q, query in enumerate(scores.query_ids):
            values = [number(scores.values[i, j, q]) for j in range(len(names))]
            rows.append([system, query, *values, _status(scores, i, q)])
    return Sheet(["system", "query", *names, "status"], rows)


def _status(scores: Scores, system: int, query: int) -> str:
    if scores.missing[system, query]:
        return "missing"
    return "no relevant" if scores.no_relevant[:, query].any() else ""


def number(value: float | None) -> str:
    """Four decimals, or a dash for what is not there."""
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.4f}" if abs(value) < _LARGE else f"{value:.6g}"


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None or np.isnan(low):
        return "–"
    return f"{low:.3f}–{high:.3f}"


def _one_system(scores: Scores) -> Sheet:
    header = ["measure", "mean", "95 % interval", "queries", "missing", "no relevant", "judged"]
    rows = [
        [row["measure"], number(row["mean"]), _interval(row["low"], row["high"]), str(row["n"]), str(row["missing"]),
         str(row["no_relevant"]), _share(row["judged"])]
        for row in scores.mean().iter_rows(named=True)
    ]  # fmt: skip
    return Sheet([scores.systems[0], *header[1:]], rows)


def _leaderboard(scores: Scores) -> Sheet:
    means, intervals = scores.means, scores.intervals
    names = [str(measure) for measure in scores.measures]
    order = sorted(range(len(scores.systems)), key=lambda i: (-np.nan_to_num(means[i, 0], nan=-np.inf), i))
    judged = scores.mean().group_by("system", maintain_order=True).first()["judged"].to_list()
    rows = []
    for i in order:
        cells = [
            f"{number(means[i, j])} {_interval(intervals.low[i, j], intervals.high[i, j])}" for j in range(len(names))
        ]
        rows.append([scores.systems[i], *cells, str(int(scores.missing[i].sum())), _share(judged[i])])
    best = {
        (order.index(i), j + 1)
        for j in range(len(names))
        for i in np.flatnonzero(means[:, j] == np.nanmax(means[:, j], initial=-np.inf)).tolist()
    }
    depth = scores.measures[0].k if scores.measures[0].definition.cutoff == "k" else None
    return Sheet(["system", *names, "missing", f"judged@{depth}" if depth else "judged"], rows, best)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _notes(scores: Scores) -> Iterator[str]:
    n = len(scores.query_ids)
    kept = sorted({int(n_kept) for n_kept in (~np.isnan(scores.values)).sum(axis=2).ravel()})
    shown = f"{kept[0]}" if len(kept) == 1 else f"{kept[0]} to {kept[-1]}"
    yield _METHODS[scores.intervals.method].format(n=shown, seed=scores.seed)
    counts = scores.recipe_parts["missing"] == "zero"
    for system, absent in zip(scores.systems, scores.missing.sum(axis=1).tolist(), strict=True):
        if absent:
            yield f"{system}: {absent} of {n} queries {_verb(absent, 'missing from the run', counts)}."
    counts = scores.recipe_parts["no_relevant"] == "zero"
    for without in sorted(set(scores.no_relevant.sum(axis=1).tolist()) - {0}):
        names = [str(m) for m, row in zip(scores.measures, scores.no_relevant, strict=True) if row.sum() == without]
        all_of_them = "" if len(names) == len(scores.measures) else f" for {', '.join(names)}"
        yield f"{without} of {n} queries {_verb(without, f'without a relevant document{all_of_them}', counts)}."
    for system, ignored in zip(scores.systems, scores.unjudged_queries.tolist(), strict=True):
        if ignored:
            yield f"{system}: {ignored} of the run's queries {'is' if ignored == 1 else 'are'} not judged, and ignored."


def _verb(number: int, what: str, counts: bool) -> str:
    if number == 1:
        return f"is {what} and {'counts 0' if counts else 'is left out'}"
    return f"are {what} and {'count 0' if counts else 'are left out'}"
