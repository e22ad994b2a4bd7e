"""The view of a report: words, tables, charts, and every question."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard._version import __version__
from steelyard.base.extras import require
from steelyard.diagnosis.funnel import STAGES
from steelyard.diagnosis.outcomes import OUTCOMES
from steelyard.experiment.table.frame import STATUSES
from steelyard.experiment.table.scores import Scores
from steelyard.reports.charts.drawing import curve_measures, draw_charts, draw_curves, draw_differences, scatter_pair
from steelyard.reports.charts.plot import spec_of, theme
from steelyard.reports.charts.shares import draw_distribution
from steelyard.reports.contents import Contents
from steelyard.reports.details.limits import LINKED, SEED
from steelyard.reports.html.shell import Page, in_each_language, page_html, read_part, words_below
from steelyard.reports.html.tables import Cell, HtmlTable, prose, table_writer
from steelyard.reports.page.leaderboard import leaderboard_table
from steelyard.reports.page.payload import payload
from steelyard.reports.page.tables import (
    baseline_row,
    ceilings_table,
    comparison_tables,
    corrected_table,
    funnel_table,
    gate_table,
    judging_table,
    outcome_tables,
    ratings_table,
    tags_table,
)
from steelyard.reports.views.diagnosis import AdviceCard, advice_cards, stage_name
from steelyard.reports.views.gate import heading, out_of_reach, outcome_line
from steelyard.reports.views.notes import signature_note
from steelyard.reports.views.outcomes import answer_outcome, listed_outcomes
from steelyard.reports.views.report import Fact, care, facts, provenance, subtitle_text, verdict
from steelyard.reports.visible import single_line, visible
from steelyard.reports.words import LaterWords, Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

_WHAT = "the HTML report"
_MODULES = (
    "page/computing", "page/source", "page/base", "page/view", "page/table", "page/answer", "page/dialog",
    "page/systems", "page/report",
)  # fmt: skip
_SCRIPT_WORDS = "page.script."
_SQUARE = ("scatter",)
_MOST_ADVICE = 2
_SHOWN_LINKS = 5
_SECTIONS = (
    "summary", "leaderboard", "comparison", "ratings", "funnel", "outcomes", "ceilings", "advice", "curves",
    "distribution", "scatter", "heatmap", "questions", "judging", "recipe",
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """What surrounds a chart: its height in pixels, a caption, and a description for readers that do not see it."""

    height: int
    caption: str
    description: str


def render(contents: Contents, *, words: Words) -> str:
    """The report as one HTML document that loads nothing and sends nothing; it opens in the language of the words.

    Raises   MissingExtraError without altair, vl-convert and Jinja.
    """
    template, later = _template(), LaterWords()
    charts = draw_charts(contents, words=later)
    charts.pop("leaderboard")  # The table of that name holds the same bars.
    specs = _specs(contents, later, charts)
    pages = {
        code: _page(contents, own, later.filled(specs, own), template) for code, own in in_each_language(words).items()
    }
    return page_html(pages, words.code, style=read_part("page/report.css"), modules=_MODULES, library=_bundle())


@cache
def _template() -> Any:
    """The template that a report is filled into, as Jinja has compiled it."""
    jinja2 = require("jinja2", extra="report", what=_WHAT)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(read_part("page/report.html.j2"))


def _page(contents: Contents, words: Words, specs: Mapping[str, Any], template: Any) -> Page:
    safe = require("jinja2", extra="report", what=_WHAT).utils.markupsafe.Markup
    order, write = contents.by_mean(), table_writer(words("page.how.tested"))
    charts = {name.partition("/")[0]: spec for name, spec in reversed(list(specs.items()))}
    data = payload(contents, words) | {
        "order": order,
        "pair": scatter_pair(contents),
        "stage_names": [stage_name(stage, words) for stage in STAGES],
        "answer_names": [answer_outcome(code, words) for code in OUTCOMES],
        "baseline": None if contents.comparison is None else single_line(contents.comparison.reference),
    }
    sections = [name for name in _SECTIONS if name in _sections(contents, charts)]
    said = verdict(contents, words)
    title = visible(f"{contents.title}: {said[0]}" if contents.title else said[0])
    main = template.render(
        say=words, version=__version__, table=lambda *table, **options: safe(write(*table, **options)),
        prose=lambda text: safe(prose(text)), named=visible(contents.title),
        subtitle=visible(subtitle_text(contents, words)),
        signature=visible(" ".join(signature_note(contents.scores.signature, words))), date=visible(contents.date),
        gate=_gate(contents, words), systems=data["systems"], measures=data["measures"], order=order,
        verdict=said, provenance=provenance(contents, words), shown_links=_SHOWN_LINKS, care=care(contents, words),
        facts=[*facts(contents, words), *_gate_fact(contents, words)],
        leaderboard=leaderboard_table(contents, words), corrected=corrected_table(contents, words),
        charts={name: _figure(name, spec, contents, words) for name, spec in charts.items()}, pair=data["pair"],
        tags=data["tag_names"], counts=_counts(contents, words), recipe=_recipe(contents),
        judging=judging_table(contents, words), limits=list(_limits(data, words)), sections=sections,
        outcomes=list(_outcomes(contents, words)), **_comparison(contents, words), **_ratings(contents, words),
        **_diagnosis(contents, words),
    )  # fmt: skip
    links = [(id, words(f"page.{id}.short")) for id in sections]
    configs = {"light": theme(dark=False), "dark": theme(dark=True)}
    return Page(title, main, links, {"data": data, "specs": specs, "configs": configs}, _script_words(words))


def _sections(contents: Contents, charts: Collection[str]) -> set[str]:
    """The sections that this report has something to say in."""
    names = {"summary", "leaderboard", "advice", "questions", "recipe", *charts}
    names |= {"comparison"} if contents.comparison is not None else set()
    names |= {"outcomes"} if contents.diagnosis.outcomes else set()
    names |= {"judging"} if contents.judging else set()
    return names | ({"ratings"} if contents.ratings else set())


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one classic script, whose names stay its own."""
    bundle = str(require("vl_convert", extra="report", what=_WHAT).javascript_bundle())
    return "{" + bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--") + "}"


def _script_words(words: Words) -> dict[str, str]:
    """The words of the page's script, by the rest of the key."""
    return words_below(words, _SCRIPT_WORDS) | {
        f"status.{i}": _status(name, words) for i, name in enumerate(STATUSES) if i
    }


def _status(name: str, words: Words) -> str:
    """A status in the words of the page, where it has some of its own."""
    return words(f"page.status.{name}" if f"page.status.{name}" in words else f"scores.status.{name}")


# Charts --------------------------------------------------------------------------------------------------------------


def _figure(name: str, spec: Mapping[str, Any], contents: Contents, words: Words) -> Figure:
    height = int(spec["height"]) + 90 if isinstance(spec.get("height"), int) else 300
    caption, description = words(f"page.{name}.caption"), str(spec["description"])
    if name == "heatmap":
        # How many questions the heat map shows, and of how many, is for everybody to see.
        return Figure(height, words("shell.between").join([description, caption]), "")
    if name == "differences" and contents.comparison is not None and contents.comparison.margin is not None:
        caption = words("shell.between").join([caption, words("page.differences.margin")])
    return Figure(height, caption, description)


def _specs(contents: Contents, words: Words, charts: Mapping[str, TopLevelMixin]) -> dict[str, Any]:
    """Specs by NAME/NUMBER, a number for each measure that a chart can show."""
    by_measure = {
        "differences": (draw_differences, len(_compared(contents))),
        "distribution": (draw_distribution, len(contents.scores.measures)),
        "curves": (draw_curves, len(curve_measures(contents))),
    }
    specs: dict[str, Any] = {}
    for name, chart in charts.items():
        draw, n = by_measure.get(name, (None, 1))
        others = [draw(contents, words, j) for j in range(1, n)] if draw is not None else []
        for j, drawing in enumerate([chart, *others]):
            if drawing is not None:
                specs[f"{name}/{j}"] = _for_page(spec_of(drawing), wide=name not in _SQUARE)
    return specs


def _compared(contents: Contents) -> list[str]:
    """The measures of the comparison: some may have no gold."""
    return [] if contents.comparison is None else [str(measure) for measure in contents.comparison.measures]


def _for_page(spec: dict[str, Any], *, wide: bool) -> dict[str, Any]:
    """A chart as wide as the page; the page's script hands in the colours, and shows the title in files alone."""
    plain = {key: value for key, value in spec.items() if key not in ("config", "$schema", "usermeta")}
    plain["datasets"] = {name: list(map(_rounded, rows)) for name, rows in spec["datasets"].items()}
    if wide:
        plain |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    return plain


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers to six digits, which is more than a chart shows."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in row.items()}


# Sections ------------------------------------------------------------------------------------------------------------


def _comparison(contents: Contents, words: Words) -> dict[str, Any]:
    comparison = contents.comparison
    if comparison is None:
        return {"comparisons": [], "comparison_lead": "", "compared": []}
    lead = words(f"page.comparison.{'lead' if comparison.baseline else 'all_pairs'}", reference=comparison.reference)
    tables = comparison_tables(comparison, words)
    return {"comparisons": tables, "comparison_lead": visible(lead), "compared": _compared(contents)}


def _gate(contents: Contents, words: Words) -> dict[str, Any] | None:
    """The text and table of the gate, where there is a gate."""
    gate = contents.gate
    if gate is None:
        return None
    return {
        "result": words("gate.result", outcome=words(f"gate.outcome.{gate.outcome}")),
        "lead": visible(heading(gate, words)),
        "reach": list(map(visible, out_of_reach(gate, words))),
        "table": gate_table(gate, contents, words),
    }


def _gate_fact(contents: Contents, words: Words) -> Iterator[Fact]:
    """The outcome of the best system that was judged."""
    gate = contents.gate
    if gate is not None:
        best = next(name for i in contents.by_mean() if (name := contents.scores.systems[i]) in gate.systems)
        text = outcome_line(gate, best, words)
        yield Fact(words("page.gate.title"), visible(text), "ratings", words("page.gate.link"))


def _ratings(contents: Contents, words: Words) -> dict[str, Any]:
    lead = words("page.ratings.lead", profile=visible(contents.profile.name))
    return {"ratings": ratings_table(contents, words) if contents.ratings else None, "ratings_lead": lead}


def _diagnosis(contents: Contents, words: Words) -> dict[str, Any]:
    diagnosis = contents.diagnosis
    funnels = [(words("page.funnel.table"), funnel_table(contents, words))]
    if diagnosis.by_tag:
        funnels.append((words("page.funnel.by_tag"), tags_table(contents, words)))
    query_ids = contents.scores.query_ids
    number = {query_ids[q]: i for i, q in enumerate(contents.details.places.tolist())}
    return {
        "funnels": funnels,
        "most_advice": _MOST_ADVICE,
        "outcome_tables": list(outcome_tables(contents, words)),
        "ceilings": ceilings_table(contents, words),
        "advice": [_advice(card, number, words) for card in advice_cards(diagnosis.advice, words)],
        "curve_measures": [f"{name}@k" for name in curve_measures(contents)],
    }


def _advice(card: AdviceCard, number: Mapping[str, int], words: Words) -> dict[str, Any]:
    """A card of advice, with its first questions as (number, id)."""
    linked = [(number[query_id], visible(query_id)) for query_id in card.query_ids[:LINKED]]
    n, beyond = len(card.query_ids) - _SHOWN_LINKS, len(card.query_ids) > len(linked)
    parts = {name: visible(getattr(card.text, name)) for name in ("title", "evidence", "action", "gain")}
    return {**parts, "questions": linked, "more": words("page.advice.more", n=n) if n > 0 else "", "beyond": beyond}


def _outcomes(contents: Contents, words: Words) -> Iterator[tuple[str, str]]:
    """Filters of the table of questions: stages that some question has, statuses but "ok", outcomes."""
    counts = [funnel.counts() for funnel in contents.diagnosis.funnels]
    for i, stage in enumerate(STAGES):
        if any(n[stage] for n in counts):
            yield f"stage:{i}", stage_name(stage, words)
    statuses = set(np.unique(contents.scores.statuses()[:, 0]).tolist()) - {0}
    for i in sorted(statuses):
        yield f"status:{i}", _status(STATUSES[i], words)
    for code in listed_outcomes(contents.diagnosis.outcomes) if contents.diagnosis.outcomes else ():
        if any(of_system.counts()[code] for of_system in contents.diagnosis.outcomes):
            yield f"answer:{OUTCOMES.index(code)}", answer_outcome(code, words)


def _limits(data: dict[str, Any], words: Words) -> Iterator[str]:
    """Notes on what the page leaves out of lists and texts, to stay small enough to open."""
    if (n := len(data["ids"])) < data["n_questions"]:
        yield words("page.limits.questions", n=f"{n:,}", total=f"{data['n_questions']:,}", seed=SEED)
    yield words("page.limits.depth", n=data["depth"])
    counts = {
        "chunks": data["chunk_texts_left_out"],
        "gold": data["gold_left_out"],
        "answers": sum(of["answers_left_out"] for of in data["of"]),
        "judged": sum(of["judged_left_out"] for of in data["of"]),
    }
    for name, n in counts.items():
        if n:
            yield words(f"page.limits.{name}", n=f"{n:,}")
    if data["chunk_texts"] is None and data["chunk_ids"]:
        yield words("page.limits.ids")


def _counts(contents: Contents, words: Words) -> HtmlTable:
    """Numbers of questions of each kind that every system has, by the first measure; what all have alike are notes."""
    scores, order = contents.scores, contents.by_mean()
    counts = {
        "n": (~np.isnan(scores.values[:, 0])).sum(axis=1),
        "missing": scores.missing.sum(axis=1),
        "failed": scores.failed.sum(axis=1),
        "unwinnable": scores.unwinnable.sum(axis=1),
        "no_relevant": scores.no_relevant[:, 0].sum(axis=1),
        "ignored": scores.unjudged_queries,
    }
    several = len(order) > 1
    shown = {name: n for name, n in counts.items() if (len(set(n.tolist())) > 1 if several else n.any())}
    rows = [[Cell(visible(scores.systems[i])), *(Cell(f"{int(n[i]):,}") for n in shown.values())] for i in order]
    header = [Cell(words("page.head.system")), *(Cell(words(f"page.head.{name}")) for name in shown)]
    alike = {words(f"page.head.{name}"): int(n[0]) for name, n in counts.items() if name not in shown}
    notes = [words("page.recipe.alike", name=name, n=f"{n:,}") for name, n in alike.items() if n]
    if none := [name for name, n in alike.items() if not n]:
        notes.append(words("page.recipe.none", listed=words.listed(none, len(none))))
    return HtmlTable(
        words("page.recipe.caption"),
        header,
        rows if shown else [],
        [*notes, *_gold_notes(scores, words)],
        shown_row=baseline_row(contents),
    )


def _gold_notes(scores: Scores, words: Words) -> Iterator[str]:
    mapping = next((mapping for mapping in scores.gold if mapping is not None), None)
    if mapping is not None:
        kinds = [words(f"page.gold.{kind}", n=n) for kind, n in mapping.kinds.items()]
        key = "page.recipe.documents" if mapping.unit == "document" else "page.recipe.gold"
        yield words(key, kinds=words.listed(kinds), rule=mapping.rule)


def _recipe(contents: Contents) -> str:
    return visible(json.dumps(contents.scores.recipe, ensure_ascii=False, indent=2, default=str))
