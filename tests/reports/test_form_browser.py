"""The form in Chromium: 200 items by keyboard alone, reloading, a second annotator, files, grades, quotes, odd texts.

Pictures go to the folder that STEELYARD_SCREENSHOTS names, where it names one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.data.chunk_table import Place
from steelyard.reports.form.form import Form, Opinion
from steelyard.reports.form.page import form_html
from steelyard.reports.words import read_words
from tests.reports.browser import NO_CHROMIUM, Opened
from tests.reports.forms import (
    CONTEXT,
    PLACES,
    adjudication_form,
    grades_form,
    hostile_form,
    item,
    quotes_form,
    verdicts_form,
)

pytestmark = [NO_CHROMIUM, pytest.mark.slow]
CASES = {case["label"]: case["file"] for case in map(json.loads,
         (Path(__file__).parents[1] / "cases" / "form_files.jsonl").read_text("utf-8").splitlines())}  # fmt: skip
LABELS = ("supported", "contradicted", "not_found", "cannot_say")


def opened(browser: Any, folder: Path, form: Form, rater: str = "ann", code: str = "en", **options: Any) -> Opened:
    """A form that a rater has begun; "" for none."""
    file = folder / "form.html"
    file.write_text(form_html(form, read_words(code)), encoding="utf-8")
    tab = Opened(browser, file, ready="#rater" if not form.rater else ".dock", **options)
    if rater and not form.rater:
        tab.page.keyboard.type(rater)
        tab.page.keyboard.press("Enter")
    return tab


def saved(page: Any) -> Any:
    """The file that Ctrl+S writes, without its dates."""
    with page.expect_download() as download:
        page.keyboard.press("Control+s")
    assert download.value.suggested_filename.endswith(".json")
    file = json.loads(Path(download.value.path()).read_text("utf-8"))
    del file["date"]
    for row in [*file["decisions"], *file["notes"]]:
        del row["date"]
    return file


def labels(file: Any) -> dict[str, str]:
    return {row["item_id"]: row["label"] for row in file["decisions"]}


def test_the_lead_of_a_sentence_is_grey_before_it(browser: Any, tmp_path: Path) -> None:
    led = replace(item(0), lead="The following are <b>not</b> covered:")
    tab = opened(browser, tmp_path, replace(verdicts_form(), items=[led, item(1)]))
    sentence = tab.page.locator("#sentence")
    assert sentence.text_content() == f"{led.lead} {led.hypothesis}"
    lead = sentence.locator(".faint")
    assert lead.text_content() == f"{led.lead} "
    colours = [own.evaluate("own => getComputedStyle(own).color") for own in (lead, sentence)]
    assert colours[0] != colours[1]
    tab.page.keyboard.press("1")
    tab.page.wait_for_function("document.getElementById('sentence').textContent.startsWith('仓库')")
    assert not sentence.locator(".faint").count()


def lines(page: Any, selector: str) -> list[str]:
    return [line for line in page.inner_text(selector).split("\n") if line]


@pytest.mark.parametrize("code", ["en", "zh"])
def test_200_items_are_decided_with_the_keyboard_alone(browser: Any, tmp_path: Path, code: str) -> None:
    form = replace(verdicts_form(), items=[replace(item(i), judged=None) for i in range(200)])
    tab = opened(browser, tmp_path, form, code=code)
    page = tab.page
    page.keyboard.type("1cn?" * 30)
    page.wait_for_function("() => history.state?.text.includes('item119')")
    page.reload()
    page.wait_for_selector(".dock")
    assert page.inner_text("#place") == "121 / 200"
    page.keyboard.type("s234" * 20)
    assert page.evaluate("document.getElementById('progress').value") == 200
    assert page.inner_text("#notice") == read_words(code)("form.all_done")
    assert labels(saved(page)) == {f"item{i}": LABELS[i % 4] for i in range(200)}
    assert page.inner_text("#notice") == read_words(code)("form.all_filed")
    tab.close()


def test_a_reload_in_the_middle_loses_nothing(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form())
    page = tab.page
    for key in ("1", "m"):
        page.keyboard.press(key)
    page.keyboard.type("why? <b>")
    page.wait_for_function("() => history.state?.text.includes('why? <b>')")
    # What a busy browser was seen to do of itself.
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.reload()
    assert page.inner_text("#place") == "2 / 6"
    assert page.input_value("#note") == "why? <b>"
    page.keyboard.press("2")
    page.keyboard.press("u")
    page.keyboard.press("k")
    assert page.get_attribute('[data-choice="supported"]', "aria-pressed") == "true"
    file = saved(page)
    assert labels(file) == {"item0": "supported"}
    assert file["notes"] == [{"item_id": "item1", "note": "why? <b>"}]
    tab.close()


def test_the_judge_is_hidden_until_all_is_decided(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form(3))
    page = tab.page
    page.keyboard.press("1")
    page.keyboard.press("k")
    assert (page.inner_text("#place"), page.inner_text("#judged")) == ("1 / 3", "")
    page.keyboard.press("j")
    page.keyboard.type("23")
    assert page.inner_text("#notice").endswith("The judge's verdicts are shown now, too.")
    for place in (1, 2, 3):
        assert page.inner_text("#judged").startswith("Judge: ")
        assert page.inner_text("#place") == f"{4 - place} / 3"
        page.keyboard.press("k")
    tab.close()


def test_the_judge_is_shown_after_each_decision_by_an_option(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form())
    page = tab.page
    page.keyboard.press("v")
    assert page.inner_text("#judged") == ""
    page.keyboard.press("3")
    assert lines(page, "#judged") == ["Judge: supported, score 0.90", "missing: 九点; numbers: 3"]
    assert page.inner_text("#place") == "1 / 6"
    page.keyboard.press("v")
    assert page.inner_text("#judged") == ""
    page.keyboard.press("Enter")
    page.keyboard.press("3")
    assert page.inner_text("#place") == "3 / 6"
    page.keyboard.press("/")
    page.keyboard.press("k")
    assert page.inner_text("#place") == "3 / 6"
    page.keyboard.press("u")
    assert page.inner_text("#place") == "2 / 6"
    assert lines(page, "#counts") == ["1 of 6", "not found 1"]
    tab.close()


def test_a_judge_that_failed_says_so_and_the_marked_passage_is_shown(browser: Any, tmp_path: Path) -> None:
    judged = Opinion("not_judged", None, "budget")
    many = [("first", "Nothing. " * 400), *CONTEXT, ("last", "Here it is, at last.")]
    item = replace(verdicts_form().items[0], premises=many, candidate=(4, 0, 10), judged=judged)
    tab = opened(browser, tmp_path, replace(verdicts_form(), items=[item]))
    page = tab.page
    assert page.evaluate("document.querySelector('mark.candidate').getBoundingClientRect().top > innerHeight")
    page.keyboard.press("f")
    assert page.evaluate("document.querySelector('mark.candidate').getBoundingClientRect().top < innerHeight")
    page.keyboard.press("1")
    assert lines(page, "#judged") == ["Judge: not judged", "budget"]
    tab.close()


def test_another_name_starts_afresh_and_sees_nothing(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form(), rater="Zoë")
    page = tab.page
    page.keyboard.press("1")
    page.click("text=Another name")
    for name in ("Adjudication", "bob"):
        page.fill("#rater", name)
        page.keyboard.press("Enter")
        assert page.is_visible(".dock") == (name == "bob")
    assert "Zoë" not in page.inner_text("body")
    assert page.inner_text("#counts") == "0 of 6"
    page.keyboard.press("2")
    assert labels(saved(page)) == {"item0": "contradicted"}
    page.click("text=Another name")
    page.fill("#rater", " Zoë ")
    page.keyboard.press("Enter")
    assert labels(saved(page)) == {"item0": "supported"}
    tab.close()


def test_a_saved_file_is_gone_on_with(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form(), rater="")
    page = tab.page
    file, other = tmp_path / "ann.json", tmp_path / "other.json"
    file.write_text(json.dumps(CASES["verdicts"]), encoding="utf-8")
    other.write_text(json.dumps({**CASES["verdicts"], "review_id": "<b>r9"}), encoding="utf-8")
    page.set_input_files("input[type=file]", other)
    page.get_by_text("This file is of another review (<b>r9).").wait_for()
    other.write_text(json.dumps({**CASES["verdicts"], "rater": "adjudication"}), encoding="utf-8")
    page.set_input_files("input[type=file]", other)
    page.get_by_text("This name is kept for settling conflicts; take another one.").wait_for()
    other.write_text(json.dumps({**CASES["verdicts"], "review_id": "<b>r9"}), encoding="utf-8")
    page.set_input_files("input[type=file]", file)
    page.wait_for_selector(".dock")
    assert page.inner_text("#notice") == "3 decisions loaded. 1 note without a decision loaded."
    tab.speak("zh")
    assert page.inner_text("#notice") == "已载入 3 个判定。另有 1 条未判定条目的备注。"
    tab.speak("en")
    assert page.inner_text(".rater") == "ann"
    page.set_input_files("input[type=file]", other)
    page.get_by_text("This file is of another review (<b>r9).").wait_for()
    assert saved(page) == CASES["verdicts"]
    tab.close()


def test_a_browser_that_keeps_nothing_says_so(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form(), rater="")
    tab.page.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, name, {get() { throw new Error('no'); }})"
    )
    page = tab.page
    page.reload()
    page.fill("#rater", "ann")
    page.keyboard.press("Enter")
    page.keyboard.press("1")
    assert page.inner_text("#kept").startswith("This browser keeps nothing")
    assert labels(saved(page)) == {"item0": "supported"}
    tab.close()


def test_tabs_of_one_rater_follow_each_other(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form())
    other = tab.context.new_page()
    other.goto(tab.file.as_uri())
    other.fill("#rater", "ann")
    other.keyboard.press("Enter")
    other.keyboard.press("1")
    tab.page.wait_for_function("() => document.getElementById('progress').value === 1")
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("2")
    assert labels(saved(tab.page)) == {"item0": "supported", "item1": "contradicted"}
    tab.close()


def test_conflicts_are_settled_without_names(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, adjudication_form(), code="zh")
    page = tab.page
    assert lines(page, "#opinions") == ["标注者 A： 有依据", "as plain as day", "标注者 B： 无法判断"]
    page.keyboard.type("vn")
    assert "裁判： 有依据，得分 0.90" in page.inner_text("#judged")
    file = saved(page)
    assert (file["rater"], labels(file)) == ("adjudication", {"item0": "not_found"})
    tab.close()


def test_grades_are_given_by_digits(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, grades_form())
    assert "not its style" not in tab.page.inner_text("body")
    for key in ("3", "t", "?"):
        tab.page.keyboard.press(key)
    assert lines(tab.page, "#counts") == ["3 of 3", "3 × 1", "10 × 1", "cannot say 1"]
    assert saved(tab.page) == CASES["grades"]
    tab.close()


def test_long_words_of_a_scale_are_listed_below_its_grades(browser: Any, tmp_path: Path) -> None:
    words = {0: "has nothing to do with the question", 10: "answers just what was asked"}
    form = replace(grades_form(), scale=[(grade, words.get(grade, "")) for grade in range(11)])
    tab = opened(browser, tmp_path, form, code="zh", viewport={"width": 1280, "height": 720})
    page = tab.page
    assert lines(page, ".dock .scale") == ["0", words[0], "10", words[10]]
    box = page.query_selector(".choices").bounding_box()
    assert box["height"] < 200
    page.keyboard.press("t")
    assert lines(page, "#counts") == ["1 / 3", "10 × 1"]
    tab.close()


def test_quotes_are_what_is_selected(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, quotes_form())
    page = tab.page
    page.keyboard.press("q")
    assert page.inner_text("#notice").startswith("Nothing is selected")
    # The second text's sentences by keyboard: past those of the first one.
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("q")
    # The same text again, by a selection within a marked text, which begins behind an astral character.
    page.evaluate("""() => {
      const nodes = [...document.querySelectorAll('[data-premise="1"]')].flatMap((body) => [...body.childNodes]);
      const node = nodes.at(-1);
      const at = node.data.indexOf("电话");
      getSelection().setBaseAndExtent(node, at, node, node.data.indexOf("先生"));
    }""")
    page.keyboard.press("q")
    page.keyboard.press("j")
    page.keyboard.press("0")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("q")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("String(getSelection())") == "A late return costs two euros a day."
    page.keyboard.press("x")
    file = saved(page)
    text = dict(CONTEXT)["hours#2"]
    for quote in file["decisions"][0]["quotes"]:
        assert text[quote["start"] : quote["end"]] == quote["quote"]
    assert file == CASES["quotes"]
    assert page.inner_text("#place") == "3 / 3"
    tab.close()


@pytest.mark.parametrize("kind", ["verdicts", "grades"])
def test_texts_stay_texts(browser: Any, tmp_path: Path, kind: str) -> None:
    form = hostile_form(kind)
    tab = opened(browser, tmp_path, form, rater="<img src=x onerror=alert(5)>")
    page = tab.page
    for place in range(len(form.items)):
        assert page.inner_text("#place") == f"{place + 1} / {len(form.items)}"
        assert len(page.inner_text("#reading")) > 20
        assert page.inner_text("#judged") == ""
        page.keyboard.press("1")
    assert page.query_selector("#form img, #form script, #form svg, #form b b") is None
    assert page.evaluate("document.scripts.length") == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    file = saved(page)
    assert (file["rater"], len(file["decisions"])) == ("<img src=x onerror=alert(5)>", len(form.items))
    tab.close()


VIEWS = [("verdicts", "en", "light", 1280), ("quotes", "zh", "light", 390), ("grades", "zh", "dark", 1280),
         ("adjudication", "en", "dark", 390)]  # fmt: skip
FORMS = {"verdicts": verdicts_form, "quotes": quotes_form, "grades": grades_form, "adjudication": adjudication_form}


@pytest.mark.parametrize(("kind", "code", "scheme", "width"), VIEWS)
def test_it_opens_quietly_and_fits(browser: Any, tmp_path: Path, kind: str, code: str, scheme: str, width: int) -> None:
    tab = opened(
        browser, tmp_path, FORMS[kind](), code=code, color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    page = tab.page
    for key in ("ArrowDown", "q", "0"):
        page.keyboard.press(key)
    assert page.get_attribute("html", "lang") == {"en": "en", "zh": "zh-Hans"}[code]
    tab.look(f"form-{kind}-{code}-{scheme}-{width}")
    tab.close()


def test_the_language_is_changed_in_place(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, verdicts_form(), rater="")
    page = tab.page
    page.keyboard.type("ann")
    page.click("text=中文")
    assert (page.input_value("#rater"), page.inner_text("h1"), page.title()) == ("ann", "图书馆，十月", "图书馆，十月")
    page.click("text=English")
    page.press("#rater", "Enter")
    assert page.evaluate("document.activeElement.id") == "reading"
    page.keyboard.type("v1")
    page.click("text=中文")
    assert page.inner_text("#ask") == "这些文本是否支持这句话？"
    assert page.inner_text("#own h1") == "图书馆，十月"
    page.wait_for_function("""() => history.state?.text.includes('"language":"zh"')""")
    page.reload()
    assert "缺少“九点”" in page.inner_text("#judged")
    tab.close()


def test_it_opens_in_the_language_of_the_browser(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "form.html"
    file.write_text(form_html(verdicts_form(), read_words("en"), by_browser=True), encoding="utf-8")
    for locale, lang in [("zh-CN", "zh-Hans"), ("en-GB", "en"), ("fr-FR", "en")]:
        tab = Opened(browser, file, ready="#rater", locale=locale)
        assert tab.page.get_attribute("html", "lang") == lang
        tab.speak("en" if lang != "en" else "zh")
        tab.page.reload()
        assert tab.page.get_attribute("html", "lang") == ("en" if lang != "en" else "zh-Hans")
        tab.close()


def test_texts_are_named_by_place_and_likely_sentences_come_after_the_first_decision(
    browser: Any, tmp_path: Path
) -> None:
    places = [Place("手册.pdf", (3, 4)), Place("<b>fees</b>"), None]
    items = [replace(own, places=places, likely=PLACES) for own in quotes_form().items]
    tab = opened(browser, tmp_path, replace(quotes_form(), items=items), code="zh")
    page = tab.page
    heads = [head for head in page.inner_text(".premises").split("\n") if "·" in head]
    assert heads == ["1 · 手册.pdf，第 3、4 页", "2 · <b>fees</b>"]
    assert "fees#3" in page.inner_text(".premises")
    assert page.query_selector(".likely") is None
    page.keyboard.press("ArrowDown")
    page.keyboard.press("q")
    likely = [mark.inner_text() for mark in page.query_selector_all(".likely")]
    assert likely == [CONTEXT[n][1][start:end] for n, start, end in PLACES]
    assert page.query_selector("mark.quoted .likely") is not None
    tab.close()
