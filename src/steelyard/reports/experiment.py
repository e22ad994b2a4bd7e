"""An A/B test in every format: its page has the effects as a forest plot, and a chart of the days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from steelyard.abtests.experiment import Experiment
from steelyard.reports.html.pictures import picture_svg
from steelyard.reports.html.sections import Drawing, sections_page
from steelyard.reports.html.shell import Page, in_each_language, page_html
from steelyard.reports.views.experiment import (
    brief_experiment,
    courses,
    effects_sheet,
    experiment_data,
    experiment_sections,
    forest,
)
from steelyard.reports.views.picture import Picture
from steelyard.reports.views.view import Look, Section, View
from steelyard.reports.words import Words


def _html(experiment: Experiment, look: Look) -> str:
    pages = {code: _page(experiment, words) for code, words in in_each_language(look.words).items()}
    return page_html(pages, look.words.code)


def _page(experiment: Experiment, words: Words) -> Page:
    sections = list(_with_days_apart(experiment_sections(experiment, Look("html", words)), words))
    effects = forest(experiment, words)
    drawings = {
        "experiment": [] if effects is None else [_drawing("effects", effects)],
        "days": [_drawing(name, course) for name, course in courses(experiment, words)],
    }
    closed = {"table", "methods", "declaration"}
    return sections_page(sections, drawings, named=words("ab.page.named", name=experiment.name), closed=closed)


def _with_days_apart(sections: Iterable[Section], words: Words) -> Iterator[Section]:
    """The same sections; the table of days is one of its own, which is folded below their charts."""
    for section in sections:
        if section.name == "days":
            yield replace(section, sheets=[])
            yield Section("table", words("ab.title.table"), sheets=section.sheets)
        else:
            yield section


def _drawing(name: str, picture: Picture) -> Drawing:
    return Drawing(name, picture_svg(picture), picture.title, picture.description)


VIEWS = {
    Experiment: View[Experiment](
        "an experiment",
        blocks=experiment_sections,
        brief=brief_experiment,
        data=experiment_data,
        rows=lambda experiment: experiment.frame,
        papers=lambda experiment, words: [effects_sheet(experiment, experiment.effects, words)],
        label="experiment",
        texts={"html": _html},
        picture=forest,
    )
}
