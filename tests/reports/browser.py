"""A headless Chromium, and pages that are open in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
PICTURES = os.environ.get("STEELYARD_SCREENSHOTS")
ROWS = "#question-table tbody tr"
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
OVERLAPS = """() => [...document.querySelectorAll("figure .plot svg, .slide svg, figure > svg")].flatMap((svg) => {
  const labels = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() &&
    Number(getComputedStyle(text).opacity) > 0 && Number(getComputedStyle(text).fillOpacity) > 0)
    .map((text) => [text.textContent, text.getBoundingClientRect()]);
  return labels.flatMap(([name, a], i) => labels.slice(i + 1)
    .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
                    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
    .map(([other]) => `${svg.closest("figure")?.dataset.chart}: ${name} | ${other}`));
})"""
"""Labels of drawings that lie on each other."""
BEYOND_A4 = """() => [...document.querySelectorAll("main :is(table, p, li, svg, .scroll)")]
  .filter((own) => own.getBoundingClientRect().right > innerWidth + 1
                || own.matches(".scroll") && own.scrollHeight > own.clientHeight + 1)
  .map((own) => own.outerHTML.slice(0, 200))"""
"""What a page does not get onto paper, where the window is as wide as that."""
A4 = {"width": 688, "height": 980}
"""The window that is as wide as paper less its margins."""
NO_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH, and CHROMIUM names none")


class Opened:
    """A page that is open, and everything that it complained of or asked for."""

    def __init__(self, browser: Any, file: Path, *, ready: str = ROWS, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector(ready)
        self.file = file

    def speak(self, code: str) -> None:
        """Switch to a language, where the page is in another one."""
        lang = {"en": "en", "zh": "zh-Hans"}[code]
        if self.page.get_attribute("html", "lang") != lang:
            self.page.click(f'.tools [lang="{lang}"]')
        assert self.page.get_attribute("html", "lang") == lang

    def look(self, name: str, *, within: str = "html") -> None:
        """Check that the page fits its window and that axe finds nothing in it, or in the part that is new."""
        page = self.page
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        self.picture(name, full_page=True)
        if AXE.exists():
            if not page.evaluate("window.axe"):
                page.evaluate(AXE.read_text("utf-8"))
            page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
            run = "(within) => axe.run(within, {resultTypes: ['violations']}).then((run) => run.violations)"
            violations = page.evaluate(run, within)
            assert [(rule["id"], node["html"][:200]) for rule in violations for node in rule["nodes"]] == []

    def picture(self, name: str, **options: Any) -> None:
        """Take a picture, where a folder is named for pictures: they are for people to look at."""
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png", **options)

    def draw(self) -> None:
        """Scroll past every chart, and wait until it is drawn."""
        for figure in self.page.query_selector_all("figure[data-chart]"):
            figure.scroll_into_view_if_needed()
            figure.wait_for_selector(".plot svg")
        self.page.evaluate("scrollTo(0, 0)")

    def close(self) -> None:
        assert self.said == []
        assert {url.partition("?")[0] for url in self.asked} == {self.file.as_uri()}
        self.context.close()
