"""All measures in one table: means for a paper, differences to the baseline for a page of text."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.comparison.result import Comparison
from steelyard.report.contents import Contents
from steelyard.report.sheets.comparing import MARKS
from steelyard.report.sheets.comparison_notes import method_notes
from steelyard.report.sheets.scores import scores_sheet
from steelyard.report.sheets.sheet import Sheet, best_places, number, p_text
from steelyard.report.sheets.verdicts import difference_text
from steelyard.report.words import Words


def paper_sheet(contents: Contents, words: Words) -> Sheet:
    """Systems down, measures across: means, † and ‡ where they differ from the baseline, the best ones marked.

    Of one system its means and intervals, a row a measure.  The notes say what a caption has to.
    """
    scores, comparison, order = contents.scores, contents.comparison, contents.by_mean()
    if comparison is None:
        return scores_sheet(scores, words)
    names = [str(measure) for measure in scores.measures]
    verdicts = {name: {row.system: row.verdict for row in comparison.rows[name]} for name in names}
    means = _means(contents)
    rows = []
    for i in order:
        system = scores.systems[i]
        named = words("page.paper.baseline", system=system) if system == comparison.baseline else system
        marks = [MARKS.get(verdicts[name][system], "") for name in names]
        rows.append([named, *(f"{number(means[i, j])}{mark}" for j, mark in enumerate(marks))])
    signs = [1 if measure.definition.higher_is_better else -1 for measure in scores.measures]
    goodness = np.where(np.isnan(means), -np.inf, means * signs)
    best = {(r, j + 1) for j in range(len(names)) for r in best_places(goodness[order, j])}
    questions = words("count.questions", n=len(scores.query_ids))
    notes = [
        words("page.paper.means", questions=questions, measure=names[0]), words("compare.marks"),
        next(method_notes(comparison, words)),
    ]  # fmt: skip
    if corrected := _corrected(contents):
        notes.insert(1, words("page.paper.corrected", listed=words.listed(corrected)))
    return Sheet([words("scores.head.system"), *names], rows, best, notes)


def _corrected(contents: Contents) -> list[str]:
    """The measures that the comparison corrects by labels."""
    labels = None if contents.comparison is None else contents.comparison.labels
    return [] if labels is None else labels.measures


def _means(contents: Contents) -> Floats:
    """(s, m) means, with corrected ones where the comparison is of these."""
    scores, means = contents.scores, contents.scores.means.copy()
    for measure in _corrected(contents):
        j = [str(own) for own in scores.measures].index(measure)
        means[:, j] = [scores.corrections[system][measure].mean.corrected.mean for system in scores.systems]
    return means


def differences_sheet(comparison: Comparison, words: Words) -> Sheet:
    """Systems but the baseline down, measures across: differences with † and ‡, and p."""
    cells: dict[str, list[str]] = {}
    for measure in map(str, comparison.measures):
        for row in comparison.rows[measure]:
            if row.verdict != "baseline":
                text = f"{difference_text(row)}{MARKS.get(row.verdict, '')}"
                p = words("page.paper.p", p=p_text(row.adjusted, sign=True)) if not np.isnan(row.adjusted) else ""
                cells.setdefault(row.system, []).append(f"{text} {p}".rstrip())
    header = [words("page.paper.differences"), *map(str, comparison.measures)]
    return Sheet(header, [[system, *texts] for system, texts in cells.items()], set(), [words("compare.marks")])
