"""The tables of the page, as cells: comparison, ratings, tags; the leaderboard is in a file of its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.comparison.result import Comparison
from steelyard.diagnosis.funnel import Funnel
from steelyard.gates.checks import Check, Outcome
from steelyard.gates.gating import Gate
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating
from steelyard.reports.contents import Contents
from steelyard.reports.html.tables import Cell, HtmlTable, sheet_table
from steelyard.reports.views.comparison import drift_sheet, measure_sheets
from steelyard.reports.views.corrections import corrected_sheet
from steelyard.reports.views.diagnosis import ceilings_sheet, funnel_sheet, stages_of
from steelyard.reports.views.gate import (
    check_columns,
    check_interval,
    check_text,
    check_value,
    checks_of,
    gate_sheet,
    outcome_of,
    outcome_text,
    unseen_notes,
)
from steelyard.reports.views.numbers import number, percent
from steelyard.reports.views.outcomes import outcome_sections
from steelyard.reports.views.ratings import advice_lines, interval_text, rating_text, text_in, value_text
from steelyard.reports.views.report import judge_card
from steelyard.reports.words import Words


def baseline_row(contents: Contents) -> int:
    """The row of the system that others are compared with where systems come best first; else the first one."""
    if contents.comparison is None:
        return 0
    return [contents.scores.systems[i] for i in contents.by_mean()].index(contents.comparison.reference)


def comparison_tables(comparison: Comparison, words: Words) -> list[tuple[str, HtmlTable]]:
    """A table for each measure, by its name, and one of what was the judges'."""
    tables = list[tuple[str, HtmlTable]]()
    for measure, sheet in zip(map(str, comparison.measures), measure_sheets(comparison, words), strict=True):
        table = sheet_table(sheet, words("page.comparison.caption", measure=measure))
        # The first column's head is the measure, which is the title above the table; the last column holds sentences.
        header = [Cell(words("page.head.system")), *table.header[1:]]
        rows = [[*row[:-1], replace(row[-1], style="text long")] for row in table.rows]
        reference = next(r for r, row in enumerate(comparison.rows[measure]) if row.is_reference)
        how = [] if tables else [words("page.comparison.how")]  # It is the same below each of them.
        notes = [*table.notes[:1], *how, *table.notes[1:]]
        tables.append((measure, replace(table, header=header, rows=rows, notes=notes, shown_row=reference)))
    if (drift := drift_sheet(comparison, words)) is not None:
        title = words("compare.drift.title")
        tables.append((title, sheet_table(drift, title)))
    return tables


def ratings_table(contents: Contents, words: Words) -> HtmlTable:
    """Systems down, what the profile rates across; of one system a row a measure.  A note names what has no value."""
    order = [contents.scores.systems[i] for i in contents.by_mean()]
    names = list(dict.fromkeys(rating.measure for rating in contents.ratings if rating.level is not None))
    ratings = {(rating.system, rating.measure): rating for rating in contents.ratings}
    cells = [[_rating_cell(ratings.get((system, name)), contents.profile, words) for name in names] for system in order]
    if len(order) == 1:
        header = [Cell(words("page.head.measure")), Cell(words("page.head.rating"))]
        rows = [[Cell(name), cell] for name, cell in zip(names, cells[0], strict=True)]
    else:
        header = [Cell(words("page.head.system")), *map(Cell, names)]
        rows = [[Cell(system), *row] for system, row in zip(order, cells, strict=True)] if names else []
    reach = [words("ratings.reach")] if any(rating.out_of_reach for rating in contents.ratings) else []
    about = [note] if (note := text_in(contents.profile.note, words)) else []
    notes = [words("ratings.interval")] if names else []
    notes += _unrated(contents.ratings, names, words)
    notes += [*about, *reach, *advice_lines(contents.ratings, contents.profile, words)]
    baseline = baseline_row(contents) if len(order) > 1 else None
    return HtmlTable(words("page.ratings.caption"), header, rows, notes, shown_row=baseline)


def _unrated(ratings: Sequence[Rating], rated: Sequence[str], words: Words) -> Iterator[str]:
    """A note for each reason why measures have no rating in any system, with the measures."""
    reasons: dict[str, list[str]] = {}
    for rating in ratings:
        if rating.measure not in [*rated, *itertools.chain(*reasons.values())]:
            reasons.setdefault(rating_text(rating, words), []).append(rating.measure)
    for reason, measures in reasons.items():
        yield words("page.ratings.unrated", measures=words.listed(measures), reason=reason)


def _rating_cell(rating: Rating | None, profile: Profile, words: Words) -> Cell:
    if rating is None:
        return Cell("–")
    if math.isnan(rating.value):
        return Cell(rating_text(rating, words))
    value = value_text(rating.value, profile.is_handed_in(rating.key))
    ends = interval_text(rating.low, rating.high, rating.n, profile.is_handed_in(rating.key))
    small = value if ends == "–" else f"{value}  [{ends}]"
    if rating.reachable < 1:
        small = words("page.ratings.of_at_most", value=small, most=number(rating.reachable))
    below = "" if rating.level is None else "low" if rating.level not in rating.levels else "plain"
    style = "" if below else "long"
    return Cell(rating_text(rating, words), small, style, pill="top" if rating.is_top else below)


_GATE_PILLS: dict[Outcome, str] = {"pass": "top", "fail": "low", "insufficient": "plain"}


def gate_table(gate: Gate, contents: Contents, words: Words) -> HtmlTable:
    """Systems down, the gate's checks across, each with its value."""
    columns = check_columns(gate, words)
    systems = [name for i in contents.by_mean() if (name := contents.scores.systems[i]) in gate.systems]
    rows = []
    for system in systems:
        checks, outcome = checks_of(gate, system), outcome_of(gate, system)
        cells = [Cell(system), Cell(outcome_text(outcome, words), pill=_GATE_PILLS[outcome])]
        rows.append([*cells, *(_check_cell(checks.get(key), gate, words) for key in columns)])
    header = [Cell(words("page.head.system")), Cell(words("gate.head.outcome")), *map(Cell, columns.values())]
    why = [words("page.gate.unseen")] if any(unseen_notes(gate.checks, words)) else []
    return HtmlTable(words("gate.title"), header, rows, [*gate_sheet(gate, words).notes, *why], shown_row=0)


def _check_cell(check: Check | None, gate: Gate, words: Words) -> Cell:
    if check is None:
        return Cell("–")
    value, interval = check_value(check, gate), check_interval(check, gate, words)
    small = value if interval == "–" else f"{value}  [{interval}]"
    return Cell(check_text(check, words), small, pill=_GATE_PILLS[check.outcome])


def funnel_table(contents: Contents, words: Words) -> HtmlTable:
    """Systems down, best first, and the stages at which some system has questions across; a note names the others."""
    funnels, sheet = contents.diagnosis.funnels, funnel_sheet(contents.diagnosis, words)
    rows = dict(zip(stages_of(funnels), sheet.rows[:-1], strict=True))  # The last row has the totals.
    stages = [stage for stage in rows if any(funnel.counts()[stage] for funnel in funnels)]
    empty = [rows[stage][0] for stage in rows if stage not in stages]
    cells = [[Cell(funnels[i].system), *(Cell(rows[stage][i + 1]) for stage in stages)] for i in contents.by_mean()]
    notes = [words("page.funnel.empty", stages=words.listed(empty))] if empty else []
    header = [Cell(words("page.head.system")), *(Cell(rows[stage][0]) for stage in stages)]
    return HtmlTable(
        words("page.funnel.title"), header, cells, [*notes, *sheet.notes], shown_row=baseline_row(contents)
    )


def outcome_tables(contents: Contents, words: Words) -> Iterator[tuple[str, HtmlTable]]:
    """Tables of outcomes of the questions; faithfulness by gold; abstention; outcomes by tag: each with its caption."""
    for section in outcome_sections(contents.diagnosis, words):
        for sheet in section.sheets:
            yield section.title, sheet_table(sheet, section.title)


def judging_table(contents: Contents, words: Words) -> HtmlTable:
    """Who judged the answers: a row a fact, a column a system."""
    card = judge_card(contents.judging, words, contents.scores.corrections)
    return sheet_table(replace(card, n_labels=len(card.header)), words("judge_card.title"))


def corrected_table(contents: Contents, words: Words) -> HtmlTable | None:
    """Means that labels of people correct, beside those of the judge; None where there are none."""
    sheet = corrected_sheet(contents.scores, words)
    return None if sheet is None else sheet_table(sheet, words("review.corrected_title"))


def ceilings_table(contents: Contents, words: Words) -> HtmlTable:
    """Systems down, best first; ceilings across."""
    table = sheet_table(ceilings_sheet(contents.diagnosis, words), words("page.ceilings.title"))
    return replace(table, rows=[table.rows[i] for i in contents.by_mean()], shown_row=baseline_row(contents))


def tags_table(contents: Contents, words: Words) -> HtmlTable:
    """Tags down, systems across: shares of their questions whose gold was found; tags with gold alone."""
    order = contents.by_mean()
    rows = [
        [Cell(tag), Cell(f"{funnels[0].n_queries:,}"), *_shares([funnels[i] for i in order])]
        for tag, funnels in contents.diagnosis.by_tag.items()
        if any(funnel.n_winnable for funnel in funnels)
    ]
    header = [
        Cell(words("page.head.tag")),
        Cell(words("page.head.questions")),
        *(Cell(contents.scores.systems[i]) for i in order),
    ]
    return HtmlTable(words("page.funnel.by_tag"), header, rows, [words("page.funnel.tag_note", k=contents.diagnosis.k)])


def _shares(funnels: Sequence[Funnel]) -> list[Cell]:
    """The share of found questions of each system, the best ones bold where systems differ."""
    counts = [(funnel.counts()["found"], funnel.n_winnable) for funnel in funnels]
    best = max((n for n, _ in counts), default=0)
    differ = any(n != best for n, _ in counts)
    return [
        Cell(percent(n / total if total else None), f"{n:,} / {total:,}", "best" if differ and n == best else "")
        for n, total in counts
    ]
