"""A trend in every format: sparkline, levels, what changed besides, and the points of the chart."""

import re
from pathlib import Path
from typing import Any

import pytest

from steelyard.history.trend import Trend, trend
from steelyard.io.write import _printable
from steelyard.reports.views.trend import sparkline
from steelyard.reports.words import read_words
from tests.history.frames import Means, noisy
from tests.reports.browser import NO_CHROMIUM, OVERLAPS, Opened
from tests.reports.pages import check_nothing_acts


def trend_of(*data: Any, **options: Any) -> Trend:
    return trend(Means(*data, **options))  # type: ignore[arg-type]


def test_a_terminal_shows_one_line_in_short() -> None:
    shown = trend_of(noisy(0.7, 0.6, n=24), outcomes={5: "fail", 30: "pass", 31: "pass"})
    text = shown.text(lang="en", width=80)
    lines = text.splitlines()
    assert lines[0] == "mrr of run fell by 0.099 to 0.600 on 2026-01-25 (commit c000024)."
    assert (len(lines[2]), lines[3].index("▼")) == (48, 24)
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80
    assert re.search(r"2026-01-25 .* 24 +0.600 +−0.099 .*2 pass$", text, re.MULTILINE)
    assert "1 FAIL" in text
    assert "noise between entries" not in text
    assert "noise between entries (standard deviation 0.0" in shown.text(lang="en", explain=True)


def test_breaks_are_marked_and_said() -> None:
    gold, corpora = dict.fromkeys(range(24, 48), "other"), dict.fromkeys(range(40, 48), "new")
    shown = trend_of(noisy(0.7, 0.4, n=24), truths=gold, corpora=corpora)
    text = shown.text(lang="en", width=80)
    assert text.splitlines()[2][24] == "│"
    assert "new gold" in text
    assert "The gold changed on 2026-01-25 (commit c000024)" in text
    assert "The documents changed on 2026-02-10 (commit c000040)." in text
    assert "标准答案于 2026-01-25（提交 c000024）改变" in shown.text(lang="zh")


def test_sparklines_fit_their_width() -> None:
    [line] = trend_of(noisy(0.7, 0.5, n=500)).lines
    for width in (24, 80, 133):
        blocks, marks = sparkline(line, width)
        assert len(blocks) == width
        assert marks.index("▼") in (width // 2 - 1, width // 2)
        assert {*blocks} <= {*"▁▂▃▄▅▆▇█"}
    many = dict.fromkeys(range(40), "") | {place: f"gold {place}" for place in range(40)}
    [line] = trend_of(noisy(0.7, n=40), truths=many).lines
    assert len(sparkline(line, 24)[0]) <= 24
    [line] = trend_of([0.7] * 5).lines
    assert sparkline(line) == ("▄▄▄▄▄", "")


def test_a_narrow_encoding_gets_plain_characters() -> None:
    text = trend_of(noisy(0.7, 0.6, n=24)).text(lang="en", width=80)
    plain = _printable(text, "ascii")
    assert plain.isascii()
    assert "\\u" not in plain
    assert re.fullmatch(r"[_.~=+*#-]{48}", plain.splitlines()[2])


def test_several_lines_have_a_row_each() -> None:
    shown = trend_of(noisy(0.7, 0.6))
    both = Trend(list(shown.lines) * 10, shown.store, shown.false_alarms)
    lines = both.text(lang="en", width=80).splitlines()
    assert sum(line.endswith("−0.098   2026-01-21") for line in lines) == 8
    assert lines[-1].startswith("2 lines more")
    assert lines[0].startswith("10 of 10 lines changed their level. ")
    assert " ".join(lines[:2]).endswith(shown.text(lang="en", width=80).splitlines()[0])
    assert "10 条走势中有 10 条的水平有变化。" in both.text(lang="zh", width=80).splitlines()[0]


def test_what_drifts_is_a_caution() -> None:
    walk = [0.5 + 0.001 * (place % 7) + 0.01 * place for place in range(40)]
    assert "Careful: Entries are like the ones before them" in trend_of(walk).text(lang="en")


@pytest.mark.parametrize("code", ["en", "zh"])
def test_points_of_the_page_say_what_they_are(code: str) -> None:
    pytest.importorskip("altair", reason="charts need the extra report")
    pytest.importorskip("vl_convert", reason="charts need the extra report")
    means = noisy(0.7, 0.6, n=12)
    html = trend_of(means, outcomes={5: "fail"}, measure="mrr").text("html", lang=code)
    titles = re.findall(r"<title>(2026-[^<]*)</title>", html)
    assert len(titles) == 2 * len(means)  # One of each language.
    first = next(title for title in titles if title.startswith("2026-01-06"))
    outcome = read_words(code)("gate.outcome.fail")
    for fact in ("e5", "c000005", f"{means[5]:.4f}", outcome, "k"):
        assert fact in first


def test_hostile_names_and_settings_stay_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair", reason="charts need the extra report")
    pytest.importorskip("vl_convert", reason="charts need the extra report")
    evil = '</title><script>alert("1")</script>&lt;b&gt;<img src=x onerror=alert(2)>'
    monkeypatch.setattr(Means, "note", evil)
    html = trend_of(noisy(0.7, n=9), system=evil).text("html", lang="en")
    check_nothing_acts(html)
    assert "k: 5&lt;/title&gt;&lt;script&gt;" in html


def test_a_long_line_is_thinned_and_says_so() -> None:
    pytest.importorskip("altair", reason="charts need the extra report")
    from steelyard.reports.charts.trend import MOST_POINTS, shown_rows

    outcomes = dict.fromkeys(range(0, 3000, 2), "pass") | {777: "fail"}
    [line] = trend_of(noisy(0.7, 0.6, n=1500), outcomes=outcomes).lines
    rows = shown_rows(line)
    assert {0, 1499, 1500, 2999} <= {*rows}
    assert MOST_POINTS // 2 < len(rows) <= MOST_POINTS + 2


@NO_CHROMIUM
@pytest.mark.parametrize(
    ("code", "scheme", "width"), [pytest.param("en", "light", 1280, marks=pytest.mark.slow), ("zh", "dark", 390)]
)
def test_a_trend_opens_quietly_and_fits(browser: Any, tmp_path: Path, code: str, scheme: str, width: int) -> None:
    pytest.importorskip("altair", reason="charts need the extra report")
    truths = dict.fromkeys(range(24, 48), "other")
    shown = trend_of(noisy(0.7, 0.4, n=24), truths=truths, outcomes={5: "fail", 9: "pass", 20: "insufficient"})
    shown.write(tmp_path / "trend.html", lang="en")
    tab = Opened(browser, tmp_path / "trend.html", ready="#trend-1", color_scheme=scheme,
                 viewport={"width": width, "height": 900})  # fmt: skip
    tab.speak(code)
    point = tab.page.locator(".plot svg path[aria-roledescription=point]").nth(30)
    point.hover()
    assert point.evaluate("node => getComputedStyle(node).strokeWidth") == "4px"
    assert tab.page.evaluate(OVERLAPS) == []
    tab.look(f"trend-{code}-{scheme}-{width}")
    tab.close()
