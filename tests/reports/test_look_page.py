"""The page of a look: what its charts hold, that nothing in it acts, its size, and how it opens."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard.monitoring.alerts import Change, Example
from steelyard.monitoring.detection import CHART, Detection
from steelyard.reports.look.drawing import MOST_POINTS, charts_data, shown_windows, small_chart
from steelyard.traffic.logs import Trouble
from steelyard.traffic.series import Series
from tests.monitoring.looks import CTR, DAY, ENDED, START, alert, detection, look, shift, too_short
from tests.reports.browser import A4, BEYOND_A4, NO_CHROMIUM, OVERLAPS, Opened
from tests.reports.pages import Page, check_nothing_acts


def values(data: dict[str, Any], line: str) -> list[float]:
    """Values of a chart of the page, as its script has them."""
    [chart], (low, high) = data["charts"], data["charts"][0]["range"]
    return [np.nan if place is None else low + place / data["steps"] * (high - low) for place in chart[line]]


def test_a_chart_of_the_page_has_the_values_of_the_series() -> None:
    own = detection(CTR, fall=0.06, every=timedelta(hours=8), n=180)
    gap = own.chart.with_columns(value=pl.when(pl.int_range(pl.len()) != 7).then("value"))
    data = charts_data([replace(own, chart=gap)], [])
    assert values(data, "value") == pytest.approx(gap["value"].to_numpy(), abs=1e-4, nan_ok=True)
    assert values(data, "low") == pytest.approx(gap["low"].to_list(), abs=1e-4)
    [times], [chart] = data["times"], data["charts"]
    assert (times["first"], times["unit"], times["steps"]) == (int(START.timestamp()), 8 * 3600, [1] * 179)
    assert chart["alarms"] == np.flatnonzero(gap["is_alarm"]).tolist()
    assert chart["shifts"][0]["since"] == int((START + 50 * DAY).timestamp())


def test_many_windows_are_thinned_to_the_newest_those_in_alarm_and_some_others() -> None:
    own = detection(CTR, fall=0.06, every=timedelta(hours=1), n=1500, day=3).chart
    alarms = pl.int_range(pl.len()).is_in([90, 91])
    shown = shown_windows(own.with_columns(is_alarm=alarms), 200).tolist()
    assert {90, 91, 0, *range(1400, 1500)} <= {*shown}
    assert len(shown) <= 200
    assert shown_windows(own, 1500).tolist() == list(range(1500))
    many = charts_data([detection(CTR, n=1500)] * 100, [])
    assert sum(len(chart["n"]) for chart in many["charts"]) <= MOST_POINTS
    assert len(many["times"]) == 1


@pytest.mark.parametrize("value", [None, 0.3])
def test_charts_without_limits_values_or_windows_are_drawn(value: float | None) -> None:
    empty = Detection(CTR, "", "few", pl.DataFrame(schema=CHART))
    bare = too_short(CTR)
    flat = replace(bare, chart=bare.chart.with_columns(value=pl.lit(value, pl.Float64)))
    assert small_chart(empty).endswith('aria-hidden="true"></svg>')
    assert small_chart(bare).count("<path") == 1
    assert small_chart(flat).count("<path") == (value is not None)
    html = look("few", detections=[empty, flat, bare], n_series=3).text("html", lang="en")
    check_nothing_acts(html)
    assert Page(html).data("control-charts")["charts"][0]["n"] == []


def test_a_chart_whose_sums_have_no_limit_shows_none() -> None:
    own = replace(detection(CTR), cusum_limit=float("inf"))
    assert charts_data([own], [])["charts"][0]["limit"] is None


def test_a_limit_on_one_side_has_a_band_to_the_edge() -> None:
    own = detection(CTR)
    one_sided = replace(own, chart=own.chart.with_columns(low=pl.lit(None, pl.Float64)))
    assert small_chart(one_sided).count("var(--tint)") == 1


def test_hostile_names_stay_texts() -> None:
    evil = '</script><script>alert("1")</script>&lt;b&gt;<img src=x onerror=alert(2)>\u202e'
    series = Series(evil, "feedback")
    raised = alert(
        shifts=[shift(series, evil)], changes=[Change("config", START, evil)], examples=[Example(evil, evil, evil)]
    )
    shown = look(
        "alert", monitor=evil, detections=[replace(detection(series, fall=0.05), segment=evil)], alerts=[raised],
        changes=[Change("config", START, evil)], troubles=[Trouble("<b>", 1, evil)],
    )  # fmt: skip
    page = check_nothing_acts(shown.text("html", lang="en"))
    assert any('<script>alert("1")</script>' in text for text in page.texts)


def test_both_languages_are_in_it_and_alerts_come_before_all_series() -> None:
    html = look("alert", alerts=[alert(), ENDED]).text("html", lang="zh")
    page = Page(html)
    ids = [own["id"] for tag, own in page.elements if tag == "section"]
    assert ids == ["look", "alert-1", "alert-2", "charts", "series", "changes", "troubles", "past"]
    shown = [own["data-chart-of"] for tag, own in page.elements if tag == "figure"]
    assert len(shown) == 3
    assert "告警 1：" in html
    assert "Alert 1: worse" in html
    folded = re.findall(r'<section id="([\w-]+)"[^>]*>\s*<details class="fold">', html)
    assert {"alert-2", "series", "past"} == {*folded}


@pytest.mark.slow
def test_a_large_look_stays_small() -> None:
    segments, names = ("", "language=en", "language=zh", "language=de"), [f"measure_{n}@10" for n in range(40)]
    charts = [detection(CTR, n=1500, every=timedelta(hours=1), seed=n) for n in range(40)]
    detections = [
        replace(chart, series=Series(name, "feedback"), segment=segment)
        for name, chart in zip(names, charts, strict=True)
        for segment in segments
    ]
    shown = look(detections=detections, n_series=len(detections))
    assert len(shown.text("html", lang="en").encode()) < 2_000_000


@NO_CHROMIUM
@pytest.mark.parametrize(
    ("code", "scheme", "width"),
    [
        pytest.param("en", "light", 1440, marks=pytest.mark.slow),
        pytest.param("en", "dark", 1024, marks=pytest.mark.slow),
        ("zh", "dark", 390),
    ],
)
def test_a_look_opens_quietly_and_shows_any_series(
    browser: Any, tmp_path: Path, code: str, scheme: str, width: int
) -> None:
    look("alert", alerts=[alert(), ENDED]).write(tmp_path / "look.html", lang="en")
    tab = Opened(browser, tmp_path / "look.html", ready=".control svg[role=img]", color_scheme=scheme,
                 viewport={"width": width, "height": 900})  # fmt: skip
    tab.speak(code)
    tab.look(f"look-{code}-{scheme}-{width}")
    page = tab.page
    page.locator(".smalls button").nth(1).click()
    page.focus("dialog .canvas")
    page.keyboard.press("ArrowLeft")
    read = page.text_content("dialog .read") or ""
    assert read.startswith("2026-11-22")
    page.keyboard.press("ArrowLeft")
    assert (page.text_content("dialog .read") or "").startswith("2026-11-21")
    assert page.locator("dialog .beside button").count() == 2
    tab.look(f"look-{code}-{scheme}-{width}-series", within="dialog")
    page.locator("dialog .beside button").nth(1).click()
    assert page.locator("dialog .beside button").nth(1).get_attribute("aria-current") == "true"
    assert page.evaluate(OVERLAPS) == []
    page.keyboard.press("Escape")
    tab.close()


@NO_CHROMIUM
@pytest.mark.slow
def test_a_look_fits_the_paper(browser: Any, tmp_path: Path) -> None:
    look("alert").write(tmp_path / "look.html", lang="en")
    tab = Opened(browser, tmp_path / "look.html", ready=".control svg[role=img]", viewport=A4)
    tab.page.emulate_media(media="print")
    assert tab.page.evaluate(BEYOND_A4) == []
    tab.picture("look-paper", full_page=True)
    tab.close()
