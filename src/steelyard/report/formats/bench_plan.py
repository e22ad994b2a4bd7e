"""What a bench would take, as text for a terminal."""

from __future__ import annotations

from steelyard.bench.run.planning import BenchPlan
from steelyard.report.formats.blocks import blocks_terminal
from steelyard.report.views.bench_plan import announcement, plan_section
from steelyard.report.words import Words


def bench_plan_text(plan: BenchPlan, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """The table of requests, pairs, tokens and cost, with their sums."""
    return blocks_terminal([plan_section(plan, words)], width=width, colour=colour)


def announcement_text(plan: BenchPlan, words: Words) -> str:
    """The line that is shown before a bench is measured."""
    return words("diagnose.between").join(announcement(plan, words))
