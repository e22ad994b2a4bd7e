"""What became of the questions: of every system with verdicts a bar of all its questions, by outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.report.charts.plot import LISTED, height_of, titled
from steelyard.report.charts.stacked import stacked
from steelyard.report.contents import Contents
from steelyard.report.sheets.outcomes import outcome_name
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_COLOURS = {
    "works": ("#1d5a88", "#ffffff"), "beyond_context": ("#4a86b5", "#ffffff"), "other_support": ("#8fb9d9", "#23282d"),
    "rightly_abstained": ("#c9dded", "#23282d"), "unanswerable_abstained": ("#dfeaf3", "#23282d"),
    "over_cautious": ("#f6e3c5", "#23282d"), "self_knowledge": ("#f0cda6", "#23282d"),
    "context_unused": ("#e6a878", "#23282d"), "wrong_chunk": ("#d98452", "#23282d"),
    "noise_followed": ("#bf5a2b", "#ffffff"), "unanswerable_answered": ("#9c3f19", "#ffffff"),
    "hallucination": ("#74290f", "#ffffff"), "no_answer": ("#43494f", "#ffffff"),
    "not_judged": ("#8a929a", "#23282d"), "unknown": ("#c3c9ce", "#23282d"),
}  # fmt: skip
"""Fill and ink of each outcome, from what is right over what is lost to what harms; grey is unread."""


def draw(contents: Contents, words: Words) -> TopLevelMixin | None:
    """Shares of questions by outcome, best system first; None without verdicts."""
    by_system = {of_system.system: of_system for of_system in contents.diagnosis.outcomes}
    names = [contents.scores.systems[i] for i in contents.by_mean()]
    outcomes = [by_system[name] for name in names if name in by_system]
    if not outcomes:
        return None
    codes = [code for code in _COLOURS if any(of_system.counts()[code] for of_system in outcomes)]
    counts = np.array([[of_system.counts()[code] for code in codes] for of_system in outcomes])
    fills, inks = zip(*(_COLOURS[code] for code in codes), strict=True)
    systems = [single_line(of_system.system) for of_system in outcomes]
    classes = [outcome_name(code, words) for code in codes]
    bars = stacked("outcomes", systems, classes, counts, fills=fills, inks=inks, words=words)
    listed = [
        words("charts.outcomes.of", system=system, n=of_system.counts()["works"], total=of_system.n_queries)
        for system, of_system in zip(systems, outcomes, strict=True)
    ]
    return titled(bars, "outcomes", words, {"listed": words.listed(listed, LISTED)}, height=height_of(len(outcomes)))
