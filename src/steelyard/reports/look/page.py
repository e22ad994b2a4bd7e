"""The page of a look: its verdict, a card an alert, all series small, and the control chart of any of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from steelyard.monitoring.detection import Detection
from steelyard.monitoring.looking import Look as MonitorLook
from steelyard.reports.html.sections import Drawing, sections_page
from steelyard.reports.html.shell import Page, escaped, in_each_language, page_html, read_part, words_below
from steelyard.reports.look.drawing import alarmed, charts_data, small_chart
from steelyard.reports.views.alerts import moment
from steelyard.reports.views.look import by_gravity, level_text, look_sections, raised_shift, series_name
from steelyard.reports.views.view import Look, Paragraph, Section
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

MODULES = ("look/computing", "look/chart", "look/look")
_CHARTS_OF_ALERT = 2
_DASH = re.compile(r"(?<=\d)-(?=\d)")
"""Within a date, which no title is to be broken at."""
_SHAPES = {"alert": "▲", "warn": "◆", "well": "●", "few": "○"}


def look_html(look: MonitorLook, form: Look) -> str:
    """One file that loads nothing, in both languages; without its script, small charts and tables show everything."""
    detections = by_gravity(look.detections)
    charts = charts_data(detections, look.changes) | {"timezone": look.timezone}
    pages = {
        code: _page(look, detections, charts, words) for code, words in in_each_language(form.words).items()
    }  # fmt: skip
    return page_html(pages, form.words.code, style=read_part("look/look.css"), modules=MODULES)


def _page(look: MonitorLook, detections: Sequence[Detection], charts: dict[str, Any], words: Words) -> Page:
    sections, drawings = look_sections(look, Look("html", words)), dict[str, list[Drawing | str]]()
    for n, alert in enumerate(look.alerts, 1):
        places = alarmed(detections, alert.shifts)[:_CHARTS_OF_ALERT]
        drawings[f"alert-{n}"] = [_figure(place, detections[place], words) for place in places]
    place = next((place for place, own in enumerate(sections) if own.name == "series"), None)
    if place is not None:
        about = [Paragraph(words("look.page.series"), is_faint=True)]
        sections.insert(place, Section("charts", words("look.title.charts"), about))
        drawings["charts"] = [_small_charts(detections, words)]
    closed = {"series", "past", *(f"alert-{n}" for n, alert in enumerate(look.alerts, 1) if alert.until is not None)}
    sections = [replace(own, title=_DASH.sub("\u2011", own.title)) for own in sections]
    page = sections_page(sections, drawings, named=words("look.page.named", monitor=look.monitor), closed=closed)
    texts = {
        "names": [series_name(own) for own in detections], "states": [_state(own, look, words) for own in detections],
        "changes": [_change_text(look, place, words) for place in range(len(look.changes))],
        "series": [own.series.name for own in detections],
    }  # fmt: skip
    dialog = '<dialog id="chart" aria-labelledby="chart-title"></dialog>\n'
    links = [(id, _link(place, id, title, look, words)) for place, (id, title) in enumerate(page.links)]
    return replace(
        page,
        main=page.main + dialog,
        links=links,
        data={"control-charts": charts, "control-texts": texts},
        words=words_below(words, "look.script."),
    )


def _link(place: int, id: str, title: str, look: MonitorLook, words: Words) -> str:
    """What the bar calls a section: the verdict and alerts in short."""
    if id == "look":
        return words("look.page.top")
    if 0 < place <= len(look.alerts):
        return words("look.page.link", n=place, cause=words(f"look.cause.{look.alerts[place - 1].cause}"))
    return title


def _figure(place: int, detection: Detection, words: Words) -> str:
    """The chart of a series: a small one at first, which the script makes a control chart."""
    return (
        f'<figure class="control" data-chart-of="{place}"><figcaption>{escaped(series_name(detection))}</figcaption>'
        f'<div class="canvas">{small_chart(detection)}</div></figure>'
    )


def _small_charts(detections: Sequence[Detection], words: Words) -> str:
    """Every series as a button with its state, its last value and a small chart."""
    return f'<ul class="smalls">\n{"".join(_small(place, own, words) for place, own in enumerate(detections))}</ul>'


def _small(place: int, detection: Detection, words: Words) -> str:
    values = detection.chart["value"].drop_nulls()
    last = level_text(values[-1]) if len(values) else "–"
    segment = detection.segment and f'<span class="segment">{escaped(single_line(detection.segment))}</span>'
    state = f'<i aria-hidden="true">{_SHAPES[detection.state]}</i> {escaped(words(f"look.state.{detection.state}"))}'
    return (
        f'<li><button type="button" class="{detection.state}" data-open="{place}">'
        f'<span class="name">{escaped(single_line(detection.series.name))}</span>{segment}{small_chart(detection)}'
        f'<span class="now">{escaped(last)}</span><span class="state">{state}</span></button></li>\n'
    )


def _state(detection: Detection, look: MonitorLook, words: Words) -> str:
    """The state of a series in words, with its shape, and since when it is in alarm."""
    text = f"{_SHAPES[detection.state]} {words(f'look.state.{detection.state}')}"
    shift = raised_shift(detection)
    return text if shift is None else words("look.page.since", state=text, since=moment(shift.since, look.timezone))


def _change_text(look: MonitorLook, place: int, words: Words) -> str:
    change = look.changes[place]
    kind = words(f"look.kind.{change.kind}")
    return words("look.page.change", kind=kind, text=single_line(change.text))
