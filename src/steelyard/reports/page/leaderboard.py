"""The leaderboard of the page: ranks, means with their intervals as bars, groups, latencies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.experiment.table.recipes import comparable
from steelyard.reports.charts.plot import finite
from steelyard.reports.contents import Contents
from steelyard.reports.html.tables import Cell, HtmlTable
from steelyard.reports.page.tables import baseline_row
from steelyard.reports.views.corrections import correction_notes
from steelyard.reports.views.notes import component_notes, interval_key, scores_cluster_notes
from steelyard.reports.views.numbers import best_places, ends, milliseconds, number, percent
from steelyard.reports.views.report import leaderboard_title
from steelyard.reports.views.scores import no_gold_notes, other_intervals
from steelyard.reports.views.verdicts import group_letters
from steelyard.reports.words import Words


def leaderboard_table(contents: Contents, words: Words) -> HtmlTable:
    """Means and intervals of every system and measure, best first measure first; of one system a row a measure.

    Where nothing has gold, notes alone.
    """
    write = _measures_table if len(contents.scores.systems) == 1 else _systems_table
    table = write(contents, words)
    return replace(table, rows=[]) if contents.scores.lacks_gold.all() else table


def _measures_table(contents: Contents, words: Words) -> HtmlTable:
    scores = contents.scores
    header = [Cell(words("page.head.measure")), Cell(words("page.head.mean"))]
    rows = []
    for j, measure in enumerate(scores.measures):
        low, high = measure.definition.range
        whole = (low, high) if math.isfinite(high - low) else (math.nan, math.nan)
        rows.append([Cell(str(measure)), _mean_cell(contents, 0, j, whole, words)])
    return HtmlTable(leaderboard_title(contents, words), header, rows, _leaderboard_notes(contents, words))


def _systems_table(contents: Contents, words: Words) -> HtmlTable:
    scores, order, reported = contents.scores, contents.by_mean(), contents.scores.reported
    signs = [1 if measure.definition.higher_is_better else -1 for measure in scores.measures]
    goodness = np.where(np.isnan(reported.ranked), -np.inf, reported.ranked * signs)
    low, high = (np.where(np.isnan(bound), reported.mean, bound) for bound in (reported.low, reported.high))
    alike = comparable(scores)
    best = {(i, j) for j in np.flatnonzero(alike).tolist() for i in best_places(goodness[:, j])}
    wholes = [_whole(low[:, j], high[:, j]) for j in range(len(signs))]
    letters = (
        {}
        if contents.comparison is None
        else group_letters(contents.comparison.groups.get(str(scores.measures[0]), []))
    )
    baseline = None if contents.comparison is None else contents.comparison.baseline
    uneven = {name: column for name, column in _counts(contents).items() if not _is_even(column)}
    rows = []
    for place, i in enumerate(order):
        system = scores.systems[i]
        rank = 1 + int((goodness[:, 0] > goodness[i, 0]).sum())
        small = words("compare.verdict.baseline") if system == baseline else ""
        cells = [
            Cell(system, small, value=place),
            Cell(str(rank) if alike[0] and math.isfinite(goodness[i, 0]) else "–", value=place),
        ]
        for j in range(len(signs)):
            cell = _mean_cell(contents, i, j, wholes[j], words)
            cells.append(replace(cell, style="best") if (i, j) in best else cell)
        cells += [Cell(letters[system], style="text letters")] if letters else []
        rows.append([*cells, *_latency_cells(contents, system), *(column[i] for column in uneven.values())])
    header = [
        Cell(words("page.head.system")),
        Cell(words("page.head.rank"), value=1),
        *(Cell(str(measure), value=-sign) for measure, sign in zip(scores.measures, signs, strict=True)),
        *([Cell(words("page.head.groups"), style="text letters")] if letters else []),
        *(Cell(words(f"page.head.{name}"), value=1) for name in (("p50", "p95") if contents.latency_ms else ())),
        *(Cell(words(f"page.head.{name}"), value=-1) for name in uneven),
    ]
    notes = [*_leaderboard_notes(contents, words), words("page.leaderboard.how")]
    notes += [words("page.leaderboard.best")] if best else []
    notes += [words("page.leaderboard.letters")] if letters else []
    return HtmlTable(leaderboard_title(contents, words), header, rows, notes, shown_row=baseline_row(contents))


def _mean_cell(contents: Contents, i: int, j: int, whole: tuple[float, float], words: Words) -> Cell:
    """A mean with its interval, also as a bar on a scale with these ends; what the judge says where people correct it.

    Where systems differ in how many questions are in their means, with that number.
    """
    scores, reported = contents.scores, contents.scores.reported
    mean, low, high = (float(values[i, j]) for values in (reported.mean, reported.low, reported.high))
    small = [] if math.isnan(low) else [ends(low, high)]
    small += [words("scores.by_judge", mean=number(scores.means[i, j]))] if reported.corrected[i, j] else []
    small += [words("page.leaderboard.n_of", n=int(scores.n_counted[i, j]))] if _is_uneven(contents) else []
    cell = Cell(number(mean), words("page.leaderboard.between").join(small), value=None if math.isnan(mean) else mean)
    if math.isnan(low) or not whole[0] < whole[1]:
        return cell
    shares = [round(100 * (value - whole[0]) / (whole[1] - whole[0]), 1) for value in (low, mean, high)]
    return replace(cell, ends=(low, high), bar=(shares[0], shares[1], shares[2]))


def _whole(low: Floats, high: Floats) -> tuple[float, float]:
    """The lowest and the highest end of a column; NaN where there is none."""
    there = ~np.isnan(low)
    return (float(low[there].min()), float(high[there].max())) if there.any() else (math.nan, math.nan)


def _latency_cells(contents: Contents, system: str) -> list[Cell]:
    """P50 and P95 in milliseconds, of all systems where some report them."""
    if not contents.latency_ms:
        return []
    of = contents.latency_ms.get(system, (math.nan, math.nan))
    return [Cell(milliseconds(ms), value=finite(ms)) for ms in of]


def _counts(contents: Contents) -> dict[str, list[Cell]]:
    """The share of labelled documents of each system, where documents are labelled."""
    scores, counts = contents.scores, dict[str, list[Cell]]()
    counted = ~np.isnan(scores.values[:, 0])
    if scores.by_id.any():
        shares = (
            float(judged[row].mean()) if by_id and row.any() else math.nan
            for judged, row, by_id in zip(scores.judged[:, 0], counted, scores.by_id.tolist(), strict=True)
        )
        counts["judged"] = [Cell(percent(share), value=finite(share)) for share in shares]
    return counts


def _is_uneven(contents: Contents) -> bool:
    """True if systems differ in how many questions are in a mean."""
    return bool((contents.scores.n_counted != contents.scores.n_counted[0]).any())


def _n_note(contents: Contents, words: Words) -> Iterator[str]:
    """A note on how many questions are in each mean, where all systems have as many: once, or by measure."""
    n = contents.scores.n_counted[0].tolist()
    if _is_uneven(contents):
        return
    if len(set(n)) == 1:
        yield words("page.leaderboard.n", n=n[0])
        return
    named = zip(contents.scores.measures, n, strict=True)
    listed = words("list.comma").join(words("page.leaderboard.n_by", measure=measure, n=of) for measure, of in named)
    yield words("page.leaderboard.n_listed", listed=listed)


def _is_even(cells: Sequence[Cell]) -> bool:
    """True if all systems have the same, which is not worth a column."""
    return len({cell.text for cell in cells}) == 1


def _leaderboard_notes(contents: Contents, words: Words) -> list[str]:
    """Notes on what was not measured, how intervals were computed, and counts that all systems share."""
    scores = contents.scores
    if scores.lacks_gold.all():
        return list(no_gold_notes(scores, words))
    notes = [*no_gold_notes(scores, words), words(f"page.interval.{interval_key(scores)}")]
    notes += other_intervals(scores, words)
    if scores.intervals.method != "none":
        notes.append(words("page.leaderboard.bars" if len(scores.systems) > 1 else "page.leaderboard.bar"))
    notes += [*_n_note(contents, words), *correction_notes(scores, words)]
    for name, cells in _counts(contents).items():
        if _is_even(cells) and cells[0].value is not None and cells[0].text != percent(1):
            notes.append(words(f"page.leaderboard.{name}", share=cells[0].text))
    # Of several systems they are below the comparison.
    return (
        notes
        if contents.comparison is not None
        else [*notes, *scores_cluster_notes(scores, words), *component_notes(scores.components, words)]
    )
