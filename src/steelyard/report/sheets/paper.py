"""All measures in one table: means for a paper, differences to the baseline for a page of text."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.comparison.result import Comparison
from steelyard.experiment.same_judge import comparable
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
    verdicts = {name: {row.system: row.verdict for row in comparison.rows.get(name, ())} for name in names}
    means = _means(contents)
    rows = []
    for i in order:
        system = scores.systems[i]
        role = next(row.verdict for row in comparison.rows[names[0]] if row.system == system)
        named = words(f"page.paper.{role}", system=system) if system == comparison.reference else system
        marks = [MARKS.get(verdicts[name].get(system, ""), "") for name in names]
        rows.append([named, *(f"{number(means[i, j])}{mark}" for j, mark in enumerate(marks))])
    signs = [1 if measure.definition.higher_is_better else -1 for measure in scores.measures]
    goodness = np.where(np.isnan(means), -np.inf, means * signs)
    alike = np.flatnonzero(comparable(scores)).tolist()
    best = {(r, j + 1) for j in alike for r in best_places(goodness[order, j])}
    low, high = int(scores.n_counted.min()), int(scores.n_counted.max())
    many = words("page.paper.between", low=low, high=high)
    questions = words("count.questions", n=high) if low == high else many
    notes = [
        words("page.paper.means", questions=questions, measure=names[0]),
        words("compare.marks", reference=comparison.reference),
        next(method_notes(comparison, words)),
    ]  # fmt: skip
    labels = comparison.labels
    judged = [name for name in names if labels is not None and labels.left_to_the_judge(name)]
    for key, listed in (("judge_alone", judged), ("corrected", _corrected(contents))):
        if listed:
            notes.insert(1, words(f"page.paper.{key}", listed=words.listed(listed)))
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
    """Systems but the reference down, measures across: differences with † and ‡, and p."""
    cells: dict[str, list[str]] = {}
    for measure in map(str, comparison.measures):
        for row in comparison.rows[measure]:
            if not row.is_reference:
                text = f"{difference_text(row)}{MARKS.get(row.verdict, '')}"
                p = words("page.paper.p", p=p_text(row.adjusted, sign=True)) if not np.isnan(row.adjusted) else ""
                cells.setdefault(row.system, []).append(f"{text} {p}".rstrip())
    header = [words("page.paper.differences"), *map(str, comparison.measures)]
    return Sheet(
        header,
        [[system, *texts] for system, texts in cells.items()],
        set(),
        [words("compare.marks", reference=comparison.reference)],
    )
