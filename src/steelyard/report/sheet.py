"""Scores as a table of texts, the same for terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from steelyard.arrays import Bools, Floats
from steelyard.evidence.weighing import GoldReport
from steelyard.scores import STATUSES, Scores

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
    statuses = scores.statuses()
    rows = []
    for i, system in enumerate(scores.systems):
        for q, query in enumerate(scores.query_ids):
            values = [number(scores.values[i, j, q]) for j in range(len(names))]
            rows.append([system, query, *values, _status(statuses[i, :, q].tolist())])
    return Sheet(["system", "query", *names, "status"], rows)


def _status(statuses: list[int]) -> str:
    """The gravest of a query's statuses, or nothing."""
    grave = [status for status in statuses if status]
    return STATUSES[min(grave)].replace("_", " ") if grave else ""


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
    return _without_judged(scores, Sheet([scores.systems[0], *header[1:]], rows))


def _without_judged(scores: Scores, sheet: Sheet) -> Sheet:
    """Without the last column where all gold is evidence, which judges every chunk."""
    if all(report is not None for report in scores.gold):
        sheet.header, sheet.rows = sheet.header[:-1], [row[:-1] for row in sheet.rows]
    return sheet


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
    header = ["system", *names, "missing", f"judged@{depth}" if depth else "judged"]
    return _without_judged(scores, Sheet(header, rows, best))


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
    for system, failed in zip(scores.systems, scores.failed, strict=True):
        if failed.any():
            what = f"{system}: {failed.sum()} of {n} queries failed and {'counts' if failed.sum() == 1 else 'count'} 0"
            yield f"{what}: {_some(scores.query_ids[q] for q in np.flatnonzero(failed).tolist())}."
    for system, judged, report in zip(scores.systems, scores.judged, scores.gold, strict=True):
        if report is None and not judged.any():
            yield (
                f"{system}: no document that the measures look at has a label. Do truth and run name the same things? "
                "A run folder names chunks, such as doc#1; weigh it by questions, or by a BEIR folder."
            )
    yield from _gold_notes(scores)
    counts = scores.recipe_parts["no_relevant"] == "zero"
    for systems, rows in _alike(scores):
        of = "" if len(systems) == len(scores.systems) else f"{', '.join(systems)}: "
        for without in sorted(set(rows.sum(axis=1).tolist()) - {0}):
            names = [str(m) for m, row in zip(scores.measures, rows, strict=True) if row.sum() == without]
            all_of_them = "" if len(names) == len(scores.measures) else f" for {', '.join(names)}"
            yield f"{of}{without} of {n} queries {_verb(without, f'without a relevant document{all_of_them}', counts)}."
    for system, ignored in zip(scores.systems, scores.unjudged_queries.tolist(), strict=True):
        if ignored:
            yield f"{system}: {ignored} of the run's queries {'is' if ignored == 1 else 'are'} not judged, and ignored."


def _alike(scores: Scores) -> Iterator[tuple[list[str], Bools]]:
    """Systems for which the same queries lack a relevant document, apart from those whose gold was lost."""
    groups: dict[bytes, tuple[list[str], Bools]] = {}
    for system, rows, lost in zip(scores.systems, scores.no_relevant, scores.unwinnable, strict=True):
        rows = rows & ~lost
        groups.setdefault(rows.tobytes(), ([], rows))[0].append(system)
    yield from groups.values()


def _gold_notes(scores: Scores) -> Iterator[str]:
    """How gold evidence was found, said once for systems that are alike in it."""
    said: dict[str, list[str]] = {}
    for report, values, unwinnable, system in zip(
        scores.gold, scores.values, scores.unwinnable, scores.systems, strict=True
    ):
        for note in _gold_of(scores, report, values, np.flatnonzero(unwinnable).tolist()) if report else ():
            said.setdefault(note, []).append(system)
    for note, systems in said.items():
        yield note if len(systems) == len(scores.systems) else f"{', '.join(systems)}: {note}"


def _gold_of(scores: Scores, report: GoldReport, values: Floats, unwinnable: list[int]) -> Iterator[str]:
    kinds = ", ".join(f"{n} {_KINDS[name]}{'s' * (n > 1)}" for name, n in report.kinds.items())
    yield (
        f"Gold: {kinds or 'none'}; a chunk holds a span by the rule {report.rule}"
        + ("." if report.complete else "; the corpus is unknown, so recall counts gold pieces, not chunks.")
    )
    if not report.complete and any(measure.name in _OF_IDEALS for measure in scores.measures):
        yield (
            "Ideal lists are made of what each system itself retrieved, as the corpus is unknown: name it "
            "(--corpus) to compare systems by ndcg, map or r_precision."
        )
    if not report.placed and report.kinds.get("quote"):
        yield "No documents are at hand, so quotes are compared with the texts of chunks: either one within the other."
    if report.n_coarse:
        what = "piece is a whole document" if report.n_coarse == 1 else "pieces are whole documents"
        yield f"{report.n_coarse} gold {what}: coarse gold overstates retrieval."
    if report.lost:
        query_id, piece, why = report.lost[0]
        n = len(report.lost)
        yield (
            f"{n} of {report.n_pieces} gold pieces {'is' if n == 1 else 'are'} in no chunk: {piece} of {query_id} "
            f"({why}){', ...' if n > 1 else ''}"
        )
    if unwinnable:
        n = len(unwinnable)
        listed = _some(scores.query_ids[q] for q in unwinnable)
        counts = "0" if scores.recipe_parts["no_relevant"] == "zero" else "nothing for measures of chunks"
        what = f"{n} {'query' if n == 1 else 'queries'} cannot be won"
        yield f"{what}, as no chunk holds any of the gold: {listed}; counted as {counts}."
    for measure, row in zip(scores.measures, values, strict=True):
        without = int(np.isnan(row).sum())
        if without and measure.definition.counts == "characters":
            what = f"{without} {'query' if without == 1 else 'queries'}"
            yield f"{measure} leaves out {what}: nobody knows which characters are gold or shown."


_KINDS = {"chunk": "chunk id", "span": "span", "quote": "quote", "text": "text", "pages": "page range",
          "document": "whole document"}  # fmt: skip
_OF_IDEALS = {"ndcg", "ndcg_rel", "rndcg", "map", "gm_map", "r_precision", "g", "iprec", "11pt_avg", "bin_g"}
_LISTED = 5


def _some(ids: Iterable[str]) -> str:
    listed = list(ids)
    more = f", ... ({len(listed)} in all)" if len(listed) > _LISTED else ""
    return ", ".join(listed[:_LISTED]) + more


def _verb(number: int, what: str, counts: bool) -> str:
    if number == 1:
        return f"is {what} and {'counts 0' if counts else 'is left out'}"
    return f"are {what} and {'count 0' if counts else 'are left out'}"
