"""How long a form of 1,000 items takes to write, to open, and to go on after a decision; and how large it is.

    python benchmarks/form.py [--items 1000] [--rounds 5] [--markdown FILE]

Items are synthetic: three sentences an answer, judged by ten chunks of 800 characters, of which every answer has its
own.  First the items that the page holds are held against those that were put in, and the file that Chromium saves
against the keys that were pressed; the clock covers `form_html`, and in Chromium (CHROMIUM, or the one on the PATH)
what the page itself measures: from the start of the navigation until an item is on the screen, and from a key until the
next item is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.reports.form.form import Form, FormItem, Opinion
from steelyard.reports.form.page import form_html
from steelyard.reports.words import read_words

N_CHUNKS, N_CHARACTERS, N_SENTENCES = 10, 800, 3
WORDS = (
    "of gold evidence found by a system that ranks passages of some library in English 检索 证据 排序 的 问题".split()
)
LABELS = ("supported", "contradicted", "not_found", "cannot_say")
TIMED = "addEventListener('keydown', () => { window.pressed = performance.now(); }, {capture: true, once: true})"
# When the picture with the first item, or the next one, has been drawn.
DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)))"


def form_of(n_items: int, rng: random.Random) -> Form:
    """A form for verdicts."""
    return Form("verdicts", "Benchmark", "benchmark", list(items(n_items, rng)), judge="lexical")


def items(n: int, rng: random.Random) -> Iterator[FormItem]:
    """Items, some of each answer after another."""
    chunks: list[tuple[str, str]] = []
    for i in range(n):
        if i % N_SENTENCES == 0:
            chunks = [
                (f"doc{i}#{j}", " ".join(rng.choices(WORDS, k=N_CHARACTERS // 5))[:N_CHARACTERS])
                for j in range(N_CHUNKS)
            ]
        sentence = " ".join(rng.choices(WORDS, k=15))
        yield FormItem(f"item{i:05d}", f"What does chunk {i // N_SENTENCES} say?", chunks, sentence,
                       answer=f"{sentence}. {sentence}.", span=(0, len(sentence)), candidate=(i % N_CHUNKS, 20, 90),
                       judged=Opinion("supported", 0.75, "missing: nine"))  # fmt: skip


def check(form: Form, page: str) -> None:
    """Stop where the page does not hold the items."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(match[1]) if match else {"items": [], "texts": []}
    texts = data["texts"]
    held = [
        (item["item_id"], texts[item["hypothesis"]], [(name, texts[place]) for name, place in item["premises"]])
        for item in data["items"]
    ]
    if held != [(item.item_id, item.hypothesis, list(item.premises)) for item in form.items]:
        raise SystemExit("items of the page differ; nothing is timed")


def in_browser(path: Path, form: Form) -> tuple[float, list[float]]:
    """Seconds until the first item is shown, and from each of some keys until the next one is."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        # A rater whose work is in the browser already: the form opens at an item.
        page.goto(path.as_uri())
        page.fill("#rater", "ann")
        page.keyboard.press("Enter")
        page.keyboard.press("v")
        pressed = [page.keyboard.press("1234"[i % 4]) or LABELS[i % 4] for i in range(20)]
        page.reload()
        opened = float(page.evaluate(f"document.querySelector('#place') && {DRAWN}"))
        keys = []
        for i in range(20, 60):
            page.evaluate(TIMED)
            page.keyboard.press("1234"[i % 4])
            pressed.append(LABELS[i % 4])
            keys.append(float(page.evaluate(f"{DRAWN}.then((drawn) => drawn - window.pressed)")) / 1000)
        with page.expect_download() as download:
            page.keyboard.press("Control+s")
        decisions = json.loads(Path(download.value.path()).read_text("utf-8"))["decisions"]
        browser.close()
    wanted = list(zip((item.item_id for item in form.items), pressed, strict=False))
    if [(row["item_id"], row["label"]) for row in decisions] != wanted:
        raise SystemExit("decisions in the file differ from the keys that were pressed; no time counts")
    return opened / 1000, keys


def spread(values: Sequence[float]) -> str:
    """Median, least and greatest, in milliseconds."""
    low, middle, high = (1000 * value for value in (min(values), statistics.median(values), max(values)))
    return f"{middle:.0f} ms | {low:.0f}–{high:.0f}"


def main() -> None:
    """Check, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    form = form_of(options.items, random.Random(7))
    written, opened, keys = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "form.html"
        for _ in range(options.rounds):
            begin = time.perf_counter()
            page = form_html(form, read_words("en"))
            written.append(time.perf_counter() - begin)
            check(form, page)
            path.write_text(page, encoding="utf-8")
            first, steps = in_browser(path, form)
            opened.append(first)
            keys += steps
        size = path.stat().st_size / 1e6
    lines = [
        "| what | median | spread |",
        "|---|---:|---:|",
        f"| write the form | {spread(written)} |",
        f"| open it, until an item is shown | {spread(opened)} |",
        f"| decide, until the next item is shown | {spread(keys)} |",
        f"| size | {size:.2f} MB | |",
    ]
    print(f"{options.items} items, {options.rounds} rounds; items and decisions are those put in\n")
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
