"""The plan of an A/B test in every format: its page has the curve, and experiment.toml is a format of it."""

from __future__ import annotations

from steelyard.abtests.planning import ExperimentPlan
from steelyard.reports.charts.experiment_plan import draw_plan
from steelyard.reports.charts.plot import page_colours, spec_of, svg_of
from steelyard.reports.charts.trend import STYLE, with_titles
from steelyard.reports.html.sections import Drawing, sections_page
from steelyard.reports.html.shell import Page, in_each_language, page_html
from steelyard.reports.views.experiment_plan import (
    brief_plan,
    declaration_text,
    lengths_sheet,
    plan_data,
    plan_sections,
)
from steelyard.reports.views.view import Look, View
from steelyard.reports.words import Words


def _html(plan: ExperimentPlan, look: Look) -> str:
    pages = {code: _page(plan, own) for code, own in in_each_language(look.words).items()}
    return page_html(pages, look.words.code, style=page_colours() + STYLE)


def _page(plan: ExperimentPlan, words: Words) -> Page:
    sections, chart, name = plan_sections(plan, Look("html", words)), draw_plan(plan, words), "plan-chart"
    spec = spec_of(chart)
    drawing = Drawing(name, with_titles(svg_of(chart, name)), spec["title"], spec["description"])
    return sections_page(sections, {sections[0].name: [drawing]}, named=words("ab_plan.page", metric=plan.metric))


VIEWS = {
    ExperimentPlan: View[ExperimentPlan](
        "a plan of an A/B test",
        blocks=plan_sections,
        brief=brief_plan,
        data=plan_data,
        rows=lambda plan: plan.frame,
        papers=lambda plan, words: [lengths_sheet(plan, words)],
        label="ab-plan",
        texts={"html": _html, "toml": lambda plan, look: declaration_text(plan, look.words)},
    )
}
