"""One HTML file: the report in words, tables, charts, and every question; it opens from disk and asks nobody."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from steelyard._version import __version__
from steelyard.base.extras import require
from steelyard.diagnosis.advice import Advice
from steelyard.diagnosis.funnel import STAGES
from steelyard.experiment.scores import STATUSES
from steelyard.experiment.weighing import Weighing
from steelyard.report import charts as drawing
from steelyard.report.charts import scatter_pair, theme
from steelyard.report.contents import Report
from steelyard.report.diagnosing import advice_text, ceilings_sheet, funnel_sheet, stage_name
from steelyard.report.page.data import embedded, payload
from steelyard.report.page.tables import (
    Cell,
    Table,
    comparison_tables,
    leaderboard_table,
    of_sheet,
    ratings_table,
    tags_table,
)
from steelyard.report.rating import text_in
from steelyard.report.summary import by_mean, care, facts, verdict
from steelyard.report.visible import visible
from steelyard.report.words import Words

_HTML_LANG = {"en": "en", "zh": "zh-Hans"}
_WHAT = "the HTML report"
_SCRIPT_WORDS = "page.script."
_SQUARE = ("scatter",)
_LINKED = 30
_MOST_ADVICE = 6
_SECTIONS = (
    "summary", "leaderboard", "comparison", "ratings", "funnel", "ceilings", "advice", "curves", "distribution",
    "scatter", "heatmap", "questions", "recipe",
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A chart beside its words: what is looked at, and what it shows, for readers that do not see it."""

    height: int
    caption: str
    description: str


def render(report: Report, *, lang: Words, title: str | None = None) -> str:
    """The report as one HTML document that loads nothing and sends nothing.

    title    by default one in the report's language
    Raises   MissingExtraError without altair, vl-convert and Jinja.
    """
    jinja2 = require("jinja2", extra="report", what=_WHAT)
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=False, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    template = environment.from_string(_file("report.html.j2"))
    return str(template.render(_context(report, lang, title, jinja2)))


def _context(report: Report, lang: Words, title: str | None, jinja2: Any) -> dict[str, Any]:
    order = by_mean(report)
    specs, drawn = _charts(report, lang)
    data = payload(report) | {"order": order, "stage_names": [stage_name(stage, lang) for stage in STAGES]}
    safe = jinja2.utils.markupsafe.Markup
    script, bundle, style = _file("report.js"), _bundle(), _file("report.css")
    return {
        "say": lang, "html_lang": _HTML_LANG[lang.code], "version": __version__,
        "policy": _policy(script, bundle), "style": safe(style), "script": safe(script), "bundle": safe(bundle),
        "title": visible(title) if title is not None else lang("page.title"), "subtitle": _subtitle(report, lang),
        "systems": data["systems"], "measures": data["measures"], "order": order,
        "verdict": verdict(report, lang), "care": care(report, lang),
        "leaderboard": leaderboard_table(report, lang), "charts": drawn, "pair": scatter_pair(report),
        "tags": data["tag_names"], "counts": _counts(report, lang), "recipe": _recipe(report),
        "limits": list(_limits(data, lang)), "facts": list(facts(report, lang)), **_compared(report, lang),
        **_rated(report, lang), **_diagnosed(report, lang), "outcomes": list(_outcomes(report, lang)),
        "sections": [name for name in _SECTIONS if name in _there(report, drawn)],
        "embedded": {
            "data": safe(embedded(data)), "words": safe(embedded(_script_words(lang))), "specs": safe(embedded(specs)),
            "configs": safe(embedded({"light": theme(dark=False), "dark": theme(dark=True)})),
        },
    }  # fmt: skip


def _there(report: Report, drawn: Collection[str]) -> set[str]:
    """The sections that this report has something to say in."""
    there = {"summary", "leaderboard", "distribution", "advice", "questions", "recipe", *drawn}
    there |= {"comparison"} if report.comparison is not None else set()
    return there | ({"ratings"} if report.ratings else set())


@cache
def _file(name: str) -> str:
    """A file of the page, as it ships."""
    return (files("steelyard.report.page") / name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one classic script, whose names stay its own."""
    bundle = str(require("vl_convert", extra="report", what=_WHAT).javascript_bundle())
    return "{" + bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--") + "}"


def _policy(*scripts: str) -> str:
    """No request at all, and no script but these, which are named by their digests."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _subtitle(report: Report, lang: Words) -> str:
    gold = visible(report.weighing.gold.name)
    return lang(
        "page.subtitle", gold=gold, questions=lang("count.questions", n=len(report.scores.query_ids)),
        systems=lang("count.systems", n=len(report.scores.systems)), measure=str(report.scores.measures[0]),
    )  # fmt: skip


def _script_words(lang: Words) -> dict[str, str]:
    """What the page's script says, by the rest of the key."""
    made = {key.removeprefix(_SCRIPT_WORDS): text for key, text in lang.texts.items() if key.startswith(_SCRIPT_WORDS)}
    return made | {f"status.{i}": lang(f"page.status.{name}") for i, name in enumerate(STATUSES) if i}


def _charts(report: Report, lang: Words) -> tuple[dict[str, Any], dict[str, Drawn]]:
    """Specs by NAME/NUMBER, a number for each measure that can be chosen; and the words beside each chart."""
    specs: dict[str, Any] = {}
    drawn: dict[str, Drawn] = {}
    chosen = {"leaderboard": drawing.leaderboard, "distribution": drawing.distribution, "curves": drawing.curves}
    n_measures = dict.fromkeys(chosen, len(report.scores.measures)) | {"curves": len(drawing.curve_measures(report))}
    for name, chart in drawing.charts(report, lang=lang).items():
        specs[f"{name}/0"] = spec = drawing.spec_of(chart)
        for j in range(1, n_measures[name]) if name in chosen else ():
            another = chosen[name](report, lang, j)
            if another is not None:
                specs[f"{name}/{j}"] = drawing.spec_of(another)
        height = int(spec["height"]) + 90 if isinstance(spec.get("height"), int) else 300
        caption, told = lang(f"page.{name}.caption"), spec["description"]
        # How many questions the heat map shows, and of how many, is for everybody to see.
        drawn[name] = Drawn(height, f"{told} {caption}", "") if name == "heatmap" else Drawn(height, caption, told)
    return {name: _for_page(spec, wide=name.split("/")[0] not in _SQUARE) for name, spec in specs.items()}, drawn


def _for_page(spec: dict[str, Any], *, wide: bool) -> dict[str, Any]:
    """A chart without its own title, as wide as the page; the page's script hands in the colours."""
    made = {key: value for key, value in spec.items() if key not in ("title", "config", "$schema", "usermeta")}
    if wide:
        made |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    return made


def _counts(report: Report, lang: Words) -> Table:
    """How many questions of each kind every system has, by the first measure."""
    scores = report.scores
    names = ("n", "missing", "failed", "unwinnable", "no_relevant", "ignored")
    kept = ~np.isnan(scores.values[:, 0])
    columns = [kept, scores.missing, scores.failed, scores.unwinnable, scores.no_relevant[:, 0]]
    rows = [
        [Cell(visible(system)), *(Cell(f"{int(column[i].sum()):,}") for column in columns),
         Cell(f"{int(scores.unjudged_queries[i]):,}")]
        for i, system in enumerate(scores.systems)
    ]  # fmt: skip
    header = [Cell(lang("page.head.system")), *(Cell(lang(f"page.head.{name}")) for name in names)]
    return Table(lang("page.recipe.caption"), header, rows, list(_gold_notes(report.weighing, lang)))


def _gold_notes(weighing: Weighing, lang: Words) -> Iterator[str]:
    gold = next((each.mapping for each in weighing.weighed if each.mapping is not None), None)
    if gold is not None:
        kinds = [lang(f"page.gold.{kind}", n=n) for kind, n in gold.kinds.items()]
        yield lang("page.recipe.gold", kinds=lang.listed(kinds), rule=gold.rule)


def _recipe(report: Report) -> str:
    return visible(json.dumps(report.scores.recipe, ensure_ascii=False, indent=2, default=str))


def _limits(data: dict[str, Any], lang: Words) -> Iterator[str]:
    """What the page leaves out of lists and texts, to stay small enough to open."""
    yield lang("page.limits.depth", n=data["depth"])
    counts = {
        "chunks": data["chunk_texts_left_out"], "gold": data["gold_left_out"],
        "answers": sum(of["answers_left_out"] for of in data["of"]),
    }  # fmt: skip
    for name, n in counts.items():
        if n:
            yield lang(f"page.limits.{name}", n=f"{n:,}")
    if data["chunk_texts"] is None and data["chunk_ids"]:
        yield lang("page.limits.ids")


def _compared(report: Report, lang: Words) -> dict[str, Any]:
    comparison = report.comparison
    if comparison is None:
        return {"comparisons": [], "baseline": ""}
    return {"comparisons": comparison_tables(comparison, lang), "baseline": visible(comparison.baseline)}


def _rated(report: Report, lang: Words) -> dict[str, Any]:
    lead = lang("page.ratings.lead", profile=visible(report.profile.name))
    note = visible(text_in(report.profile.note, lang))
    return {
        "ratings": ratings_table(report, lang) if report.ratings else None,
        "ratings_lead": f"{lead} {note}".strip(),
    }


def _diagnosed(report: Report, lang: Words) -> dict[str, Any]:
    stages = of_sheet(funnel_sheet(report.diagnosis, lang), lang("page.funnel.title"))
    funnels = [(lang("page.funnel.table"), stages)]
    if report.diagnosis.by_tag:
        funnels.append((lang("page.funnel.by_tag"), tags_table(report, lang)))
    number = {query_id: i for i, query_id in enumerate(report.scores.query_ids)}
    return {
        "funnels": funnels,
        "most_advice": _MOST_ADVICE,
        "ceilings": of_sheet(ceilings_sheet(report.diagnosis, lang), lang("page.ceilings.title")),
        "advice": [_advised(each, number, lang) for each in report.diagnosis.advice],
        "curve_measures": [f"{name}@k" for name in drawing.curve_measures(report)],
    }


def _advised(each: Advice, number: Mapping[str, int], lang: Words) -> dict[str, Any]:
    """One piece of advice in words, with its first questions as (number, id)."""
    text = advice_text(each, lang)
    shown = [(number[query_id], visible(query_id)) for query_id in each.query_ids[:_LINKED]]
    n = len(each.query_ids) - len(shown)
    parts = {name: visible(getattr(text, name)) for name in ("title", "evidence", "action", "gain")}
    return {**parts, "questions": shown, "more": lang("page.advice.more", n=n) if n else ""}


def _outcomes(report: Report, lang: Words) -> Iterator[tuple[str, str]]:
    """What the table of questions can be filtered by: stages that some question has, and statuses but "ok"."""
    counts = [one.counts() for one in report.diagnosis.funnels]
    for i, stage in enumerate(STAGES):
        if any(of_one[stage] for of_one in counts):
            yield f"stage:{i}", stage_name(stage, lang)
    found = set(np.unique(report.scores.statuses()[:, 0]).tolist()) - {0}
    for i in sorted(found):
        yield f"status:{i}", lang(f"page.status.{STATUSES[i]}")
