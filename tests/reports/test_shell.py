"""The shell of all pages: two languages in one file, light and dark, sections that fold, files of tables and charts."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.reports.contents import Contents
from steelyard.reports.html import shell
from steelyard.reports.html.sections import sections_page
from steelyard.reports.html.shell import changes, embedded, in_each_language, page_html, read_part
from steelyard.reports.html.tables import Cell, HtmlTable, sheet_table, table_writer
from steelyard.reports.views.view import Paragraph, Section, Sheet
from steelyard.reports.words import LaterWords, read_words
from tests.reports.browser import A4, BEYOND_A4, NO_CHROMIUM, OVERLAPS, ROWS, Opened
from tests.reports.pages import Page, check_nothing_acts
from tests.reports.reports import EVIL, evil, ids_weighing, judged_report, texts_report

EN, ZH = read_words("en"), read_words("zh")
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
TREES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
)


def sections(name: str) -> list[Section]:
    """Two sections, all of whose texts are one."""
    sheet = Sheet([name, name], [[name, "1"], [name, name]], best={(0, 1)}, notes=[name])
    return [
        Section("first", name, [Paragraph(name, name), Paragraph(name, is_command=True)], [sheet, sheet]),
        Section("first", f"{name} 2"),
    ]


def hostile_page(name: str) -> str:
    return page_html({code: sections_page(sections(name)) for code in ("zh", "en")}, "zh")


@given(st.recursive(st.text() | st.just(EVIL), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_data_cannot_end_its_element(data: Any) -> None:
    made = embedded(data)
    assert not set("<>&\u2028\u2029") & set(made)
    assert json.loads(made) == data


@given(TREES, TREES)
def test_changes_make_the_data_of_another_language(data: Any, other: Any) -> None:
    def patched(value: Any, change: Any) -> Any:
        """What `patched` of html/texts.js does."""
        if change is None:
            return value
        if isinstance(change, list):
            return change[0]
        for key, own in change.items():
            value[key] = patched(value[key], own)
        return value

    assert patched(json.loads(json.dumps(data)), changes(data, other)) == other


def test_texts_that_are_filled_in_later_are_those_of_each_language() -> None:
    later = LaterWords()
    spec = {"title": later("count.questions", n=2), "data": [later("list.and", some="a", last=later("shell.dark")), 3]}
    assert later("shell.dark") == later("shell.dark")
    for words in (EN, ZH):
        wanted = [words("list.and", some="a", last=words("shell.dark")), 3]
        assert later.filled(spec, words) == {"title": words("count.questions", n=2), "data": wanted}


def test_a_page_holds_both_languages_and_opens_in_one() -> None:
    pages = {code: sections_page(sections(words("page.contents"))) for code, words in in_each_language(ZH).items()}
    page = Page(page_html(pages, "zh"))
    assert [dict(a)["lang"] for tag, a in page.elements if tag == "html"] == ["zh-Hans"]
    assert [a["data-code"] for tag, a in page.every if tag == "template"] == ["en"]
    assert page.data("languages")["titles"] == {"zh": ZH("page.contents"), "en": "Sections"}
    assert page.data("words")["zh"]["language"] == "中文"
    ids = [a["id"] for tag, a in page.elements if "id" in a and tag not in ("script",)]
    assert len(ids) == len(set(ids))


def test_sections_without_a_script_are_complete_and_cannot_act() -> None:
    page = check_nothing_acts(hostile_page(EVIL))
    assert sum("<script>alert(1)</script>" in text for text in page.texts) >= 14
    assert [a["href"] for tag, a in page.elements if tag == "a"][1:] == ["#first", "#first-2"]


def test_cells_are_text_with_their_value() -> None:
    bar = Cell("0.5", "0.4–0.6", "best", value=0.5, ends=(0.4, 0.6), bar=(0, 50, 100))
    row = [Cell(evil("name"), evil("small")), bar, Cell(evil("pill"), pill="low"), Cell("é", style="best")]
    header = [Cell(evil("head"), style="text", value=-1), *map(Cell, "abc")]
    text = table_writer()(
        HtmlTable(evil("caption"), header, [row], [evil("note"), "`<b>` a"], 0), "id", csv=evil("csv")
    )
    assert "<script" not in text
    assert all(part in text for part in (
        '<th scope="col" class="text" data-first="-1">', "<tr data-always>", '<span class="pill low">',
        'data-value="0.5" data-low="0.4" data-high="0.6"><strong>0.5</strong>', "--low:0%;--at:50%;--high:100%",
        "<code>&lt;b&gt;</code> a", ' aria-describedby="notes-1"',
    ))  # fmt: skip


def test_columns_of_words_begin_in_line_and_those_of_numbers_end_in_line() -> None:
    sheet = Sheet(["system", "mean", "why"], [["a", "0.5", "too slow"], ["b", "–", "–"]])
    table = sheet_table(sheet, "caption")
    assert [cell.style for cell in table.header] == [cell.style for cell in table.rows[0]] == ["text", "", "text"]


# In Chromium -------------------------------------------------------------------------------------------------------


def bench_page(folder: Path, lang: str = "en") -> str:
    pytest.importorskip("altair", reason="charts need the extra report")
    from steelyard.reports.benching import BenchReport
    from tests.bench.benches import rerank_bench

    return BenchReport(rerank_bench(folder)).text("html", lang=lang)


def load_page(folder: Path) -> str:
    pytest.importorskip("altair", reason="charts need the extra report")
    from steelyard.reports.benching import BenchReport
    from tests.bench.benches import load_bench

    return BenchReport(load_bench(folder, system=evil("slow"))).text("html", lang="en")


@pytest.fixture(scope="module")
def bench_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bench") / "bench.html"
    file.write_text(bench_page(file.parent), encoding="utf-8")
    return file


@NO_CHROMIUM
@pytest.mark.parametrize(
    ("code", "scheme", "width"), [pytest.param("en", "light", 1440, marks=pytest.mark.slow), ("zh", "dark", 390)]
)
def test_a_bench_opens_quietly_and_fits(browser: Any, bench_file: Path, code: str, scheme: str, width: int) -> None:
    tab = Opened(browser, bench_file, ready="#summary", color_scheme=scheme, reduced_motion="reduce",
                 viewport={"width": width, "height": 900})  # fmt: skip
    tab.speak(code)
    page = tab.page
    assert page.inner_text("h1") == page.title() == {"en": "Recommended: api@50.", "zh": "推荐：api@50。"}[code]
    assert page.locator("#summary .plot svg text[font-weight=bold]").bounding_box()["y"] < 900
    page.click("nav a[href='#costs']")
    assert page.evaluate("document.querySelector('#costs').getBoundingClientRect().top") < 100
    ink = page.evaluate("getComputedStyle(document.querySelector('figure svg .role-axis-label text')).fill")
    assert ink == page.evaluate("getComputedStyle(document.querySelector('.notes')).color")
    assert page.locator("figure [role=img]").first.get_attribute("aria-label")
    assert page.evaluate(OVERLAPS) == []
    if width == 390:
        wide = page.locator(".scroll").nth(1)
        assert wide.evaluate("node => node.scrollWidth > node.clientWidth")
        assert "linear-gradient" in wide.evaluate("node => getComputedStyle(node).backgroundImage")
        labels = [label.bounding_box() for label in page.locator(".plot svg text[font-weight=bold]").all()]
        assert labels
        assert all(0 <= box["x"] < box["x"] + box["width"] <= 390 for box in labels)
    tab.look(f"bench-{code}-{scheme}-{width}")
    tab.close()


def test_commands_in_sentences_are_code_and_names_stay_names() -> None:
    said = "not measured; measure it with `evaluate -m <mrr>`"
    shown = "not measured; measure it with <code>evaluate -m &lt;mrr&gt;</code>"
    sheet = Sheet(["system", "why"], [["a `b` c", said]], notes=[said])
    main = sections_page([Section("first", "First", [Paragraph(said)], [sheet])]).main
    assert main.count(shown) == 3
    assert "a `b` c</span></th>" in main


@NO_CHROMIUM
def test_ratings_and_gates_are_pills_whose_text_is_whole(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="the report needs its extra")
    from steelyard.reports.page.tables import gate_table, ratings_table

    gated = sy.report(
        ids_weighing(3), measures=("ndcg@5", "recall@5"), baseline="system-0", profile="document-qa", margin=0.05
    )
    assert gated.gate is not None
    report = texts_report()
    levels: list[dict[str, Any]] = [
        *({"level": level, "could_be": ()} for level in ("excellent", "good", "fair", "poor")),
        {"level": "poor", "could_be": ("good",)}, {"level": None, "could_be": ()}, {"level": None, "value": math.nan},
    ]  # fmt: skip
    system, first = report.scores.systems[0], report.ratings[0]
    ratings = [replace(first, system=system, measure=f"m{i}", **level) for i, level in enumerate(levels)]
    contents = Contents(**{part.name: getattr(report, part.name) for part in fields(report)} | {"ratings": ratings})
    file = tmp_path / "ratings.html"
    pages = {}
    for code, words in (("en", EN), ("zh", ZH)):
        write = table_writer(words("page.how.tested"))
        table, checks = write(ratings_table(contents, words)), write(gate_table(gated.gate, gated, words))
        pages[code] = shell.Page(code, f'<header><h1>Ratings</h1></header><div id="ratings">{table}</div>{checks}')
    file.write_text(page_html(pages, "en", style=read_part("page/report.css")), encoding="utf-8")
    tab = Opened(browser, file, ready="table")
    assert tab.page.locator("#ratings thead th").all_inner_texts() == ["system", *(f"m{i}" for i in range(5))]
    notes = tab.page.text_content(".how .notes")
    assert "m5: not rated: every level is out of reach here" in notes
    assert "m6: not measured." in notes
    cut = "pills => pills.filter((pill) => pill.scrollWidth > pill.clientWidth).map((pill) => pill.textContent)"
    for code in ("en", "zh"):
        tab.speak(code)
        for width, media in ((1440, "screen"), (390, "screen"), (A4["width"], "print")):
            tab.page.set_viewport_size({"width": width, "height": 900})
            tab.page.emulate_media(media=media)
            pills = tab.page.locator(".pill").all()
            assert len(tab.page.locator("#ratings .pill").all()) == 5 < len(pills)
            for pill in pills:
                size, radius = pill.bounding_box(), pill.evaluate("pill => getComputedStyle(pill).borderRadius")
                assert size["height"] < 30 or float(radius.removesuffix("px")) < size["height"] / 3, (code, width)
            assert tab.page.eval_on_selector_all(".pill", cut) == []
        assert tab.page.evaluate(BEYOND_A4) == []
        tab.page.emulate_media(media="screen")
    tab.close()


@NO_CHROMIUM
@pytest.mark.parametrize("write", [lambda _: hostile_page(EVIL), load_page], ids=["review", "load"])
def test_hostile_names_stay_texts(browser: Any, tmp_path: Path, write: Callable[[Path], str]) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(write(tmp_path), encoding="utf-8")
    tab = Opened(browser, file, ready="main table")
    for code in ("en", "zh"):
        tab.speak(code)
        assert "<script>alert(1)</script>" in tab.page.inner_text("main")
        assert tab.page.query_selector("#page img, #page script") is None
    tab.look("hostile")
    tab.page.set_viewport_size(A4)
    tab.page.emulate_media(media="print")
    assert tab.page.evaluate(BEYOND_A4) == []
    tab.close()


@NO_CHROMIUM
def test_sections_fold_print_and_are_saved(browser: Any, bench_file: Path) -> None:
    tab = Opened(browser, bench_file, ready="#summary", color_scheme="dark")
    page = tab.page
    page.focus("#costs summary")
    page.keyboard.press("Enter")
    assert not page.is_visible("#costs table")
    page.emulate_media(media="print")
    assert page.is_visible("#costs table")
    assert not page.is_visible(".bar")
    page.set_viewport_size(A4)
    assert page.evaluate(BEYOND_A4) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="screen")
    page.click("nav a[href='#costs']")
    assert page.is_visible("#costs table")
    page.wait_for_selector("nav a[href='#costs'][aria-current=true]")

    def saved(selector: str) -> tuple[str, str]:
        with page.expect_download() as download:
            page.click(selector)
        return download.value.suggested_filename, Path(download.value.path()).read_text("utf-8-sig")

    name, text = saved("#costs .below button >> text=CSV")
    assert name == "costs.csv"
    assert [row[0] for row in csv.reader(text.splitlines())] == page.locator(
        "#costs tr > :first-child"
    ).all_inner_texts()
    name, text = saved("#quality figure button >> text=SVG")
    assert name == "quality.svg"
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "var(" not in text
    assert "#20262c" in text
    tab.close()


@NO_CHROMIUM
def test_the_language_changes_all_words_and_keeps_the_view(browser: Any, tmp_path: Path) -> None:
    for name in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(name, reason="pages need the extra report")
    file = tmp_path / "report.html"
    judged_report().write(file, lang="en")
    tab = Opened(browser, file)
    page = tab.page
    page.select_option("#filter-tag", label="fees")
    page.click("#theme")
    chart = 'figure[data-chart="differences/0"]'
    page.evaluate(f"document.querySelector('{chart}').scrollIntoView()")
    page.wait_for_selector(f"{chart} .plot svg")
    english = page.inner_text("#leaderboard")
    tab.speak("zh")
    assert page.title() == page.inner_text("h1").replace("\xa0", " ")
    assert "领先" in page.title() or "区分" in page.title()
    assert page.inner_text("#theme") == "浅色"
    assert page.evaluate("document.activeElement.lang") == "en"
    assert page.inner_text('nav a[href="#questions"]') == ZH("page.questions.short")
    page.wait_for_selector(f"{chart} .plot svg >> text=与 first 的差值")
    assert {row.inner_text() for row in page.query_selector_all(f"{ROWS} .id")} == {"q1", "q4"}
    page.click(f"{ROWS} button[data-question='0']")
    page.wait_for_selector("dialog[open] .judged")
    assert page.inner_text(".reasons") == ZH("page.script.hint")
    page.click(".sentence.not_found .sign")
    assert "缺少" in page.inner_text(".reasons")
    page.click("#question-close")
    page.wait_for_url("**?lang=zh#tag=fees")
    link = tab.context.new_page()
    link.goto(page.url.replace("#tag=fees", "#questions&tag=fees"))
    assert (link.title(), link.input_value("#filter-tag")) == (page.title(), "0")
    link.click("nav a[href='#funnel']")
    assert link.get_attribute("html", "lang") == "zh-Hans"
    tab.speak("en")
    assert page.inner_text("#leaderboard") == english
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(32, 38, 44)"
    tab.close()
