"""The page in Chromium: it opens without an error or a request, sorts, filters, opens questions; with pictures of it.

Pictures go to the folder that STEELYARD_SCREENSHOTS names, where it names one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.reports.words import read_words
from tests.reports.browser import NO_CHROMIUM, OVERLAPS, ROWS, Opened
from tests.reports.reports import MEASURES, hostile_report, ids_report, judged_report, long_report, texts_report

for _module in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(_module, reason="pages need the extra report")
from steelyard.reports.page.page import render  # noqa: E402

pytestmark = NO_CHROMIUM


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, made = tmp_path_factory.mktemp("pages"), {}
    for name, report in (
        ("plain", texts_report()),
        ("hostile", hostile_report()),
        ("long", long_report()),
        ("judged", judged_report()),
    ):
        made[name] = folder / f"{name}.html"
        made[name].write_text(render(report, words=read_words("en")), encoding="utf-8")
    return made


@pytest.fixture
def opened(browser: Any, files: dict[str, Path]) -> Iterator[Opened]:
    made = Opened(browser, files["plain"])
    yield made
    made.close()


def ids(page: Any) -> list[str]:
    return [element.inner_text() for element in page.query_selector_all(f"{ROWS} th .id")]


@pytest.mark.parametrize(
    ("code", "scheme", "width"), [pytest.param("en", "light", 1280, marks=pytest.mark.slow), ("zh", "dark", 390)]
)
def test_it_opens_quietly_and_fits(browser: Any, files: dict[str, Path], code: str, scheme: str, width: int) -> None:
    made = Opened(browser, files["judged"], color_scheme=scheme, viewport={"width": width, "height": 900})
    made.speak(code)
    made.draw()
    made.look(f"report-{code}-{scheme}-{width}")
    made.page.evaluate("location.hash = '#question=q1'")
    made.page.wait_for_selector("dialog[open] .judged")
    made.look(f"question-{code}-{scheme}-{width}", within="dialog[open]")
    made.close()


def test_long_names_wrap_on_narrow_pages(browser: Any, files: dict[str, Path]) -> None:
    made = Opened(browser, files["long"], viewport={"width": 390, "height": 900})
    page = made.page
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    made.draw()
    assert page.evaluate(OVERLAPS) == []
    page.click(f"{ROWS} button")
    page.wait_for_selector("dialog:modal")
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= 390
    made.close()


def test_columns_sort(opened: Opened) -> None:
    page = opened.page
    page.click('th[data-column="id"] button')
    assert ids(page) == ["q1", "q2", "q3", "q4"]
    page.click('th[data-column="id"] button')
    assert ids(page) == ["q4", "q3", "q2", "q1"]
    assert page.get_attribute('th[data-column="id"]', "aria-sort") == "descending"
    page.focus('th[data-column="0/2"] button')
    page.keyboard.press("Enter")
    values = [cell.inner_text() for cell in page.query_selector_all(f"{ROWS} td:nth-child(4)")]
    assert values == sorted(values)
    assert page.get_attribute('th[data-column="id"]', "aria-sort") == "none"


def test_many_systems_are_folded_in_and_sorted(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "many.html"
    file.write_text(render(ids_report(13, baseline="system-12"), words=read_words("en")), encoding="utf-8")
    many = Opened(browser, file)
    page, rows = many.page, "#leaderboard-table tbody tr:visible"
    assert len(page.query_selector_all(rows)) == 11
    assert "baseline" in page.inner_text(f"{rows} >> nth=10")
    page.click("#leaderboard th button >> text=recall@3")
    values = [float(cell.get_attribute("data-value")) for cell in page.query_selector_all(f"{rows} td:nth-child(5)")]
    assert values[:10] == sorted(values[:10], reverse=True)
    page.click("#leaderboard >> text=Show all 13 systems")
    assert len(page.query_selector_all(rows)) == 13
    many.draw()
    labels = 'figure[data-chart="distribution/0"] svg .role-axis-label text'
    assert "system-12" in [label.text_content() for label in page.query_selector_all(labels)]
    before = len(page.query_selector_all(labels))
    page.click('figure[data-chart="distribution/0"] button >> text=Show all 13 systems')
    page.wait_for_function("([labels, n]) => document.querySelectorAll(labels).length === n", arg=[labels, before + 2])
    many.close()


def test_questions_are_searched_and_filtered(opened: Opened) -> None:
    page = opened.page
    page.fill("#filter-search", "FEES late")
    page.wait_for_selector(f"{ROWS}:only-child")
    assert ids(page) == ["q1"]
    page.fill("#filter-search", "仓库")
    page.wait_for_selector(f"{ROWS}:only-child >> text=仓库几点关门")
    page.fill("#filter-search", "no such question")
    page.wait_for_selector("#shown >> text=No question fits")
    assert ids(page) == []
    page.click("#reset")
    assert len(ids(page)) == 4
    page.select_option("#filter-tag", label="fees")
    assert sorted(ids(page)) == ["q1", "q4"]
    page.click("#reset")
    page.select_option("#filter-system", label="third")
    page.select_option("#filter-outcome", label="failed")
    assert ids(page) == ["q3"]
    assert page.inner_text('th[data-column="outcome"]') == "outcome of third"


def test_columns_are_chosen_and_heads_stay(browser: Any, files: dict[str, Path]) -> None:
    made = Opened(browser, files["plain"], viewport={"width": 390, "height": 500})
    page = made.page
    page.select_option("#filter-measure", label="All")
    page.click("#columns summary")
    page.uncheck("#columns input >> nth=0")
    heads = [head.inner_text() for head in page.query_selector_all("#question-table thead th")]
    assert heads[1:3] == [f"{page.inner_text('#columns label >> nth=1')}\n{name}" for name in MEASURES[:2]]
    assert len(heads) == 1 + 2 * len(MEASURES) + 2
    page.uncheck("#columns input >> nth=1")
    assert "spread" not in [
        head.get_attribute("data-column") for head in page.query_selector_all("#question-table thead th")
    ]
    page.check("#columns input >> nth=1")
    first, second = (page.inner_text(f"#columns label >> nth={i}") for i in (1, 2))
    assert page.inner_text('th[data-column="spread"]') == f"{first} − {second}"
    page.click(f"{ROWS} button")
    assert [page.locator(f"#beside-{i} option:checked").inner_text() for i in (0, 1)] == [first, second]
    page.keyboard.press("Escape")
    scroll = page.query_selector("#questions .scroll")
    scroll.scroll_into_view_if_needed()
    scroll.evaluate("box => box.scrollTo(200, 60)")
    box, corner = scroll.bounding_box(), page.query_selector("#question-table th").bounding_box()
    first = page.query_selector(f"{ROWS}:nth-child(2) th").bounding_box()
    assert (round(corner["x"]), round(corner["y"])) == (round(box["x"]) + 1, round(box["y"]) + 1)
    assert round(first["x"]) == round(corner["x"])
    # Above the questions is their own head, whatever is below it.
    on_top = page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).closest('th')?.dataset.column",
        [corner["x"] + 12, corner["y"] + corner["height"] - 12],
    )
    assert on_top == "id"
    made.close()


def test_a_question_opens_with_its_gold_marked(opened: Opened) -> None:
    page = opened.page
    # A click by the mouse may be tried again where the head is drawn anew meanwhile, and sorts the other way.
    page.eval_on_selector('th[data-column="id"] button', "button => button.click()")
    page.wait_for_selector('th[data-column="id"][aria-sort="ascending"]')
    page.click(f"{ROWS}:nth-child(3) button")
    page.wait_for_selector("dialog[open]")
    beside, question = (page.locator(selector).bounding_box() for selector in (".browse > .list", "#question"))
    assert beside["x"] + beside["width"] <= question["x"]
    page.click(f"{ROWS}:nth-child(4) button")
    page.wait_for_selector(f"{ROWS}:nth-child(4)[aria-current]")
    assert page.inner_text("#question-id") == "q4"
    page.click(f"{ROWS}:nth-child(3) button")
    page.wait_for_selector(f"{ROWS}:nth-child(3)[aria-current]")
    page.select_option("#beside-0", label="first")
    page.select_option("#beside-1", label="third")
    marks = [mark.inner_text() for mark in page.query_selector_all("#list-0 mark")]
    assert marks == ["The repair café", "on Saturdays"]
    assert "timeout after 30 s" in page.inner_text("#list-1")
    page.click("#question-systems button >> text=second")
    assert page.input_value("#beside-1") == "1"
    assert [move.inner_text() for move in page.query_selector_all("#list-0 .move [aria-hidden]")] == ["→2", "–"]
    assert [move.inner_text() for move in page.query_selector_all("#list-1 .move [aria-hidden]")] == ["+", "↓1"]
    assert page.get_attribute("#list-1 .move >> nth=1", "title") == "rank 1 in first"
    page.keyboard.press("ArrowLeft")
    assert "仓库几点关门" in page.inner_text("dialog h2")
    page.click("#question-before")
    assert "After a hospital stay." in page.inner_text("dialog .expected")
    assert page.is_disabled("#question-before")
    page.keyboard.press("Escape")
    assert page.query_selector("dialog[open]") is None


def test_addresses_carry_what_is_shown(browser: Any, opened: Opened) -> None:
    page = opened.page
    number = page.get_attribute("a[data-question]", "data-question")
    page.press("a[data-question]", "Enter")  # A click may miss it where a chart that is drawn moves it.
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#question-id") == f"q{int(number) + 1}"
    page.click("#question-close")
    page.select_option("#filter-tag", label="fees")
    page.click('th[data-column="spread"] button')
    page.click(f"{ROWS} >> text=Is there a piano?")
    address = page.url
    assert address.endswith("#question=q4&tag=fees&sort=-spread")
    page.go_back()
    page.wait_for_selector("dialog", state="hidden")
    page.go_back()
    page.wait_for_selector('th[data-column="spread"][aria-sort="none"]')
    assert len(ids(page)) == 2
    for _ in range(5):  # The browser may keep more steps than one for a choice in a list.
        if len(ids(page)) < 4:
            page.go_back()
            page.wait_for_timeout(100)
    assert len(ids(page)) == 4
    opened.asked.append(address)
    page.goto("about:blank")  # Of the same document, a step back that is under way would take the address away.
    page.goto(address)
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#question-id") == "q4"
    page.keyboard.press("Escape")
    assert sorted(ids(page)) == ["q1", "q4"]
    for hash in ("#question=q9", "#question=%3Cimg src=x%3E&system=__proto__&sort=-x/y", "#leaderboard", "#%FF=&=="):
        page.evaluate("hash => { location.hash = hash }", hash)
        page.wait_for_timeout(20)
        assert page.query_selector("dialog[open]") is None
    opened.asked[:] = opened.asked[:1]


def test_links_to_sections_keep_what_is_shown(opened: Opened) -> None:
    page = opened.page
    page.emulate_media(reduced_motion="reduce")
    page.select_option("#filter-tag", label="fees")
    page.click('nav a[href="#leaderboard"]')
    page.wait_for_url("**/*#leaderboard&tag=fees")
    assert abs(page.evaluate("document.getElementById('leaderboard').getBoundingClientRect().top")) < 200
    page.evaluate("scrollTo(0, 0)")
    page.reload()
    page.wait_for_selector("#question-table tbody tr")
    assert sorted(ids(page)) == ["q1", "q4"]
    page.select_option("#filter-tag", label="All")
    page.click('nav a[href="#funnel"]')
    page.wait_for_url("**/*#funnel")
    page.go_back()
    page.go_back()
    page.wait_for_url("**/*#leaderboard&tag=fees")
    assert sorted(ids(page)) == ["q1", "q4"]
    opened.asked[:] = opened.asked[:1]


def test_charts_follow_the_choice_and_the_light(opened: Opened) -> None:
    page = opened.page
    opened.draw()
    page.select_option('select[data-measure-of="differences"]', label="mrr@3")
    page.wait_for_selector('figure[data-chart="differences/0"] svg >> text=mrr@3')
    page.select_option("#scatter-x", label="third")
    page.wait_for_selector('figure[data-chart="scatter/0"] svg >> text=third')
    assert "third" in page.inner_text("#scatter-said")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.inner_text("#theme") == "Light"


def test_tables_and_charts_are_saved(opened: Opened) -> None:
    page = opened.page
    opened.draw()

    def saved(selector: str) -> tuple[str, bytes]:
        with page.expect_download() as download:
            page.click(selector)
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()

    name, content = saved("#leaderboard .below button >> text=CSV")
    lines = list(csv.reader(content.decode("utf-8-sig").splitlines()))
    assert name == "leaderboard.csv"
    assert lines[0][:5] == ["system", "rank", "ndcg@3", "ndcg@3 low", "ndcg@3 high"]
    scores = texts_report().scores
    assert {line[0]: float(line[2]) for line in lines[1:]} == dict(zip(scores.systems, scores.means[:, 0], strict=True))
    page.select_option("#filter-tag", label="fees")
    name, content = saved("#questions .pages button >> text=CSV")
    lines = list(csv.reader(content.decode("utf-8-sig").splitlines()))
    assert name == "questions.csv"
    assert sorted(line[0] for line in lines) == ["q1", "q4", "query_id"]
    figure = 'figure[data-chart="differences/0"]'
    name, content = saved(f"{figure} button >> text=SVG")
    assert name == "differences-ndcg@3.svg"
    assert content.startswith(b"<svg")
    assert "ndcg@3: differences to first" in content.decode()
    name, content = saved(f"{figure} button >> text=PNG")
    assert name == "differences-ndcg@3.png"
    assert content.startswith(b"\x89PNG")


def opened_at(browser: Any, file: Path, question: str, code: str = "en", **options: Any) -> Opened:
    """A page in a language that opens at a question."""
    made = Opened(browser, file, **options)
    made.speak(code)
    made.page.evaluate(f"location.hash = '#question={question}'")
    made.page.wait_for_selector("dialog[open] .judged")
    return made


@pytest.fixture(scope="module")
def judged(browser: Any, files: dict[str, Path]) -> Iterator[Opened]:
    """A question whose answer is judged, which several tests read."""
    made = opened_at(browser, files["judged"], "q1")
    yield made
    made.close()


@pytest.mark.parametrize(("code", "question", "width"), [("en", "q1", 1280), ("zh", "q2", 390)])
def test_sentences_have_a_sign_and_a_colour(
    browser: Any, files: dict[str, Path], code: str, question: str, width: int
) -> None:
    made = opened_at(browser, files["judged"], question, code, viewport={"width": width, "height": 1000})
    page = made.page
    signs = page.eval_on_selector_all(".sentence > button.sign", "signs => signs.map((sign) => sign.firstChild.data)")
    labels = page.eval_on_selector_all(".sentence", "sentences => sentences.map((one) => one.classList[1])")
    want = {"q1": ("✓✗?", ["supported", "not_found", "not_judged"]), "q2": ("✓≠", ["supported", "contradicted"])}
    assert ("".join(signs), labels) == want[question]
    colours = page.eval_on_selector_all(".sentence", "all => all.map((one) => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) == len(colours)
    words = read_words(code)
    said = page.locator(".sentence > button.sign").first.inner_text()
    assert said.split("✓")[1].strip() == words("page.script.verdict.supported")
    assert words("outcomes.name.beyond_context") in page.inner_text("#list-0")
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= width
    page.locator(".sentence").first.hover()
    made.picture(f"answer-{code}-{width}")
    made.close()


def test_a_sentence_shows_what_supports_it_by_mouse_and_by_keyboard(judged: Opened) -> None:
    page, panel = judged.page, judged.page.locator(".reasons")
    assert panel.inner_text().startswith("Point at a sentence")
    page.locator(".sentence.supported").hover()
    assert "supported · by c1 · the gold answer says so" in panel.inner_text()
    assert panel.locator("q").inner_text() == "Late fees are WAIVED after a\nhospital stay."
    marked = page.locator("#list-0 li.supports")
    assert (marked.count(), marked.locator("mark.evidence").inner_text()) == (
        1,
        "Late fees are WAIVED after a\nhospital stay.",
    )
    page.locator(".sentence.not_found").hover()
    assert "not in the context · nearest: c1" in panel.inner_text()
    assert "missing: Sunday, noon" in panel.inner_text()
    assert page.locator("mark.evidence").count() == 0
    page.mouse.move(0, 0)
    page.focus("#beside-0")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "sign"
    assert "supported · by c1" in panel.inner_text()
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.sentence').classList[1]") == "not_judged"
    assert "not judged" in panel.inner_text()


def test_citations_lead_to_their_chunk_and_invalid_ones_are_marked(judged: Opened) -> None:
    page = judged.page
    page.click("button.cite >> nth=1")
    assert page.evaluate("document.activeElement.querySelector('.name b').textContent") == "c4"
    assert page.evaluate("document.activeElement.classList.contains('cited')")
    invalid = page.locator(".cite.bad")
    assert (invalid.count(), invalid.get_attribute("title")) == (1, "names no chunk of the context")
    assert "✗" in invalid.inner_text()
    gold = page.locator(".said-gold li").all_inner_texts()
    assert [text.split()[0] for text in gold] == ["✓", "✗"]
    assert "not said · not in the context" in gold[1]


def test_what_became_of_the_questions_and_who_judged(browser: Any, files: dict[str, Path]) -> None:
    made = Opened(browser, files["judged"])
    page = made.page
    assert read_words("en")("outcomes.name.beyond_context") in page.inner_text("#outcomes")
    assert not page.is_visible("#judging table")
    page.click("nav a[href='#judging']")
    assert "lexical 1" in page.inner_text("#judging")
    made.asked[:] = made.asked[:1]
    page.select_option("#filter-outcome", "answer:1")
    page.select_option("#filter-system", "0")
    assert sorted(ids(page)) == ["q1", "q2"]
    made.close()


def test_hostile_texts_stay_texts(browser: Any, files: dict[str, Path]) -> None:
    made = Opened(browser, files["hostile"])
    made.draw()
    page = made.page
    for row in range(3):
        page.click(f"{ROWS} button >> nth={row}")
        page.wait_for_selector("dialog[open]")
        assert "<script>alert(1)</script>" in page.inner_text("dialog h2")
        assert page.query_selector("dialog img, dialog script") is None
        page.click("#question-close")
    assert page.evaluate("document.scripts.length") == 7
    dot = page.query_selector('figure[data-chart="differences/0"] .role-mark.mark-symbol path')
    dot.scroll_into_view_if_needed()
    dot.hover(force=True)
    tooltip = page.wait_for_selector("#vg-tooltip-element.visible", state="attached")
    assert "<script>alert(1)</script>" in tooltip.inner_text()
    assert tooltip.query_selector("img, script") is None
    made.close()
