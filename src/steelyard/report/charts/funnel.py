"""Where questions are lost: of every system a bar of all its questions, by the stage that their gold reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.diagnosis.funnel import Funnel
from steelyard.report.charts.plot import LISTED, height_of, titled
from steelyard.report.charts.stacked import stacked
from steelyard.report.contents import Contents
from steelyard.report.sheets.diagnosis import stage_name, worst_stage
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_STAGE_COLOURS = {
    "found": ("#1d5a88", "#ffffff"), "unused": ("#6ea2cb", "#23282d"), "reranked_out": ("#f3dcb5", "#23282d"),
    "below_k": ("#efb98e", "#23282d"), "not_retrieved": ("#de8c5c", "#23282d"), "cut": ("#b5481c", "#ffffff"),
    "not_in_corpus": ("#7d2f12", "#ffffff"), "missing": ("#6d757d", "#ffffff"), "failed": ("#43494f", "#ffffff"),
    "no_gold": ("#c3c9ce", "#23282d"),
}  # fmt: skip
"""Fill and ink of each stage, from what is won over what was lost late to what was lost early."""


def draw(contents: Contents, words: Words) -> TopLevelMixin:
    """Shares of questions by stage, best system first."""
    by_system = {funnel.system: funnel for funnel in contents.diagnosis.funnels}
    funnels = [by_system[contents.scores.systems[i]] for i in contents.by_mean()]
    stages = [stage for stage in _STAGE_COLOURS if any(funnel.counts()[stage] for funnel in funnels)]
    counts = np.array([[funnel.counts()[stage] for stage in stages] for funnel in funnels]).reshape(len(funnels), -1)
    names, systems = [stage_name(stage, words) for stage in stages], [single_line(funnel.system) for funnel in funnels]
    fills, inks = zip(*(_STAGE_COLOURS[stage] for stage in stages), strict=True)
    bars = stacked("funnel", systems, names, counts, fills=fills, inks=inks, words=words)
    losses = [text for funnel in funnels if (text := _loss_text(funnel, words))]
    return titled(bars, "funnel", words, {"listed": words.listed(losses, LISTED)}, height=height_of(len(funnels)))


def _loss_text(funnel: Funnel, words: Words) -> str:
    worst = worst_stage(funnel)
    if worst is None:
        return ""
    stage, n = worst
    return words("charts.funnel.of", system=single_line(funnel.system), stage=stage_name(stage, words), n=n,
                 total=funnel.n_queries)  # fmt: skip
