"""The tables of the page, as cells of text: leaderboard, comparison, ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.comparison.comparison import Comparison
from steelyard.diagnosis.funnel import Funnel
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating
from steelyard.report.comparing import sheets
from steelyard.report.contents import Report
from steelyard.report.rating import advice_lines, interval_text, rating_text, value_text
from steelyard.report.sheet import Sheet, number
from steelyard.report.summary import by_mean
from steelyard.report.visible import visible
from steelyard.report.words import Words


@dataclass(frozen=True)
class Cell:
    """One cell.

    text, small   what stands in it, and what stands below in small type
    style         best for the best value of a column, text for words that begin at the left
    pill          low or top for a rating at an end of its levels, plain for one between; "" for no rating
    """

    text: str
    small: str = ""
    style: str = ""
    pill: str = ""


@dataclass(frozen=True)
class Table:
    """A caption for readers that do not see the page, a header, rows of cells, and notes below."""

    caption: str
    header: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default=())


def of_sheet(sheet: Sheet, caption: str) -> Table:
    """A sheet as a table."""
    rows = [[Cell(visible(text), style="best" if (r, c) in sheet.best else "") for c, text in enumerate(row)]
            for r, row in enumerate(sheet.rows)]  # fmt: skip
    return Table(caption, [Cell(visible(text)) for text in sheet.header], rows, [visible(note) for note in sheet.notes])


def leaderboard_table(report: Report, lang: Words) -> Table:
    """Means and intervals of every system and measure, best first measure first; what is behind them."""
    scores, order = report.scores, by_mean(report)
    means, intervals = scores.means, scores.intervals
    best = np.nanmax(np.where(np.isnan(means), -np.inf, means), axis=0)
    with_judged = any(gold is None for gold in scores.gold)
    header = [Cell(lang("page.head.system")), *(Cell(str(measure)) for measure in scores.measures),
              Cell(lang("page.head.n"))]  # fmt: skip
    rows = []
    for i in order:
        cells = [Cell(visible(scores.systems[i]))]
        for j in range(len(scores.measures)):
            ends = _ends(float(intervals.low[i, j]), float(intervals.high[i, j]))
            cells.append(Cell(number(means[i, j]), ends, "best" if means[i, j] == best[j] and len(order) > 1 else ""))
        kept = ~np.isnan(scores.values[i, 0])
        cells.append(Cell(f"{int(kept.sum()):,}"))
        if with_judged:
            judged = float(scores.judged[i, 0][kept].mean()) if kept.any() else float("nan")
            cells.append(Cell("–" if np.isnan(judged) or scores.gold[i] is not None else f"{judged:.0%}"))
        rows.append(cells)
    if with_judged:
        header.append(Cell(lang("page.head.judged")))
    method = lang(f"page.interval.{scores.intervals.method}", seed=scores.seed)
    notes = [method, *([lang("page.leaderboard.best")] if len(order) > 1 else [])]
    return Table(lang("page.leaderboard.caption"), header, rows, notes)


def _ends(low: float, high: float) -> str:
    return "–" if np.isnan(low) or np.isnan(high) else f"{low:.3f}–{high:.3f}"


def comparison_tables(comparison: Comparison, lang: Words) -> list[tuple[str, Table]]:
    """A table for each measure, by its name."""
    made = []
    for measure, sheet in zip(map(str, comparison.measures), sheets(comparison, lang), strict=False):
        table = of_sheet(sheet, lang("page.comparison.caption", measure=measure))
        # The first column's head is the measure, which stands above the table; the last column holds sentences.
        header = [Cell(lang("page.head.system")), *table.header[1:-1], replace(table.header[-1], style="text")]
        rows = [[*row[:-1], replace(row[-1], style="text")] for row in table.rows]
        made.append((measure, replace(table, header=header, rows=rows)))
    return made


def ratings_table(report: Report, lang: Words) -> Table:
    """Systems down, what the profile rates across."""
    order = [report.scores.systems[i] for i in by_mean(report)]
    names = list(dict.fromkeys(rating.measure for rating in report.ratings))
    of = {(rating.system, rating.measure): rating for rating in report.ratings}
    rows = [
        [Cell(visible(system)), *(_rated(of.get((system, name)), report.profile, lang) for name in names)]
        for system in order
    ]
    notes = [lang("ratings.interval"), *map(visible, advice_lines(report.ratings, report.profile, lang))]
    return Table(lang("page.ratings.caption"), [Cell(lang("page.head.system")), *map(Cell, names)], rows, notes)


def _rated(rating: Rating | None, profile: Profile, lang: Words) -> Cell:
    if rating is None:
        return Cell("–")
    if rating.level is None:
        return Cell(rating_text(rating, lang))
    value = value_text(rating.value, profile.is_handed_in(rating.key))
    ends = interval_text(rating.low, rating.high, rating.n)
    pill = "top" if rating.is_top else "low" if rating.level not in rating.levels else "plain"
    return Cell(rating_text(rating, lang), value if ends == "–" else f"{value}  [{ends}]", pill=pill)


def tags_table(report: Report, lang: Words) -> Table:
    """Tags down, systems across: shares of their questions whose gold was found."""
    order = by_mean(report)
    rows = [
        [Cell(visible(tag)), Cell(f"{funnels[0].n_queries:,}"), *_shares([funnels[i] for i in order])]
        for tag, funnels in report.diagnosis.by_tag.items()
    ]
    header = [Cell(lang("page.head.tag")), Cell(lang("page.head.questions")),
              *(Cell(visible(report.scores.systems[i])) for i in order)]  # fmt: skip
    return Table(lang("page.funnel.by_tag"), header, rows, [lang("page.funnel.tag_note", k=report.diagnosis.k)])


def _shares(funnels: Sequence[Funnel]) -> list[Cell]:
    """Of each system the share of found questions, the best ones bold where systems differ."""
    found = [(one.counts()["found"], one.n_winnable) for one in funnels]
    best = max((n for n, _ in found), default=0)
    differ = any(n != best for n, _ in found)
    return [
        Cell(f"{n / total:.0%}" if total else "–", f"{n} / {total}", "best" if differ and n == best else "")
        for n, total in found
    ]
