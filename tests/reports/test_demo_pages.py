"""The pages of the demo in Chromium: the first screen, how much there is to read, paper, and labels of charts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.finished_demo import copy_finished_demo
from tests.reports.browser import A4, BEYOND_A4, NO_CHROMIUM, OVERLAPS, Opened

for _module in ("altair", "jinja2", "vl_convert", "bm25s", "sklearn"):
    pytest.importorskip(_module, reason="the demo and its pages need the extras rag and report")
pytestmark = [NO_CHROMIUM, pytest.mark.slow]
MOST_WORDS = 1500
WORDS = """() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const { data, parentElement: parent } = walker.currentNode;
    if (parent.closest("svg, option, .alternative") || !parent.checkVisibility()) continue;
    words += (data.match(/\\p{Script=Han}/gu) ?? []).length / 1.7;
    words += data.replace(/\\p{Script=Han}/gu, " ").split(/\\s+/).filter((word) => /\\p{L}/u.test(word)).length;
  }
  return words;
}"""
"""Words that are read without unfolding anything; 1.7 Chinese characters are a word."""
BROKEN_HEADS = """() => [...document.querySelectorAll("thead th, thead button")].filter((head) => {
  const [text] = head.childNodes;
  if (text?.nodeType !== Node.TEXT_NODE) return false;
  const range = document.createRange();
  range.selectNodeContents(text);
  const lines = new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size;
  return lines > 1 && text.data.length < 2 * lines;
}).map((head) => head.innerText)"""
"""Heads that have a line for each character."""


def last_lines(pdf: bytes) -> Iterator[str]:
    """The last line of each page on paper."""
    for page in pytest.importorskip("pypdfium2", reason="reading paper needs the extra pdf").PdfDocument(pdf):
        text = page.get_textpage()
        _, bottom, _, top = min(map(text.get_rect, range(text.count_rects())), key=lambda rect: rect[1])
        yield " ".join(text.get_text_bounded(bottom=bottom, top=top).split())


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    copy_finished_demo(folder, tmp_path_factory)
    return next(folder.rglob("report.html")).parent


@pytest.fixture(scope="module")
def opened(browser: Any, demo: Path) -> Iterator[Opened]:
    tab = Opened(browser, demo / "report.html", viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    yield tab
    tab.close()


@pytest.mark.parametrize("code", ["en", "zh"])
def test_the_finding_and_its_picture_are_on_the_first_screen(opened: Opened, code: str) -> None:
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    opened.speak(code)
    page.wait_for_selector("#summary .plot svg")
    title, picture = (page.locator(f"#summary {part}").bounding_box() for part in ("h1", ".plot svg"))
    assert page.title() == page.inner_text("h1").replace("\xa0", " ")
    assert "bm25-spaces" in page.title()
    assert title["x"] + title["width"] <= picture["x"]
    assert picture["y"] + picture["height"] < 900
    assert page.locator(".care").bounding_box()["y"] < 900
    assert page.evaluate(WORDS) <= MOST_WORDS
    page.set_viewport_size({"width": 390, "height": 844})
    title, picture = (page.locator(f"#summary {part}").bounding_box() for part in ("h1", ".plot"))
    assert title["y"] + title["height"] <= picture["y"]


def test_no_labels_of_charts_overlap_and_no_names_break(opened: Opened) -> None:
    page, overlaps = opened.page, []
    for width, code in ((390, "zh"), (1024, "zh"), (390, "en"), (1440, "en")):
        page.set_viewport_size({"width": width, "height": 900})
        opened.speak(code)
        page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
        opened.draw()
        overlaps += [(width, code, *own) for own in [page.evaluate(OVERLAPS)] if own]
        assert page.evaluate(BROKEN_HEADS) == []
    assert overlaps == []
    assert page.evaluate("Math.max(...[...document.querySelectorAll('.name')].map((name) => name.offsetHeight))") < 30


@pytest.mark.parametrize("name", ["report", "answers"])
def test_pages_print_whole_on_a4(browser: Any, opened: Opened, demo: Path, name: str) -> None:
    tab = opened if name == "report" else Opened(browser, demo / "answers.html", ready="main")
    page = tab.page
    page.set_viewport_size(A4)
    for code in ("zh", "en"):
        page.emulate_media(media="screen")
        tab.speak(code)
        page.emulate_media(media="print")
        assert page.evaluate(BEYOND_A4) == []
    if name == "report":
        assert page.is_visible("#recipe pre")  # What is folded is on paper, where nothing can be unfolded.
        heads = {" ".join(text.split()) for text in page.locator("h2, summary, thead tr").all_inner_texts()}
        assert [line for line in last_lines(page.pdf(format="A4")) if line in heads] == []
    page.emulate_media(media="screen")
    if tab is not opened:
        tab.close()
