"""The form as a file: what it holds, that nothing in it can act, and what is refused before it is written."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.reports.form.form import Form, FormItem
from steelyard.reports.form.page import form_html
from steelyard.reports.words import read_words
from tests.reports.forms import adjudication_form, grades_form, hostile_form, quotes_form, verdicts_form
from tests.reports.pages import check_nothing_acts

FORMS = [verdicts_form(), adjudication_form(), grades_form(), quotes_form(), *map(hostile_form, ("verdicts", "grades"))]
IDS = ["verdicts", "adjudication", "grades", "quotes", "hostile", "hostile grades"]


def data(page: str, name: str) -> Any:
    match = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


@pytest.mark.parametrize("form", FORMS, ids=IDS)
def test_a_form_holds_its_items(form: Form) -> None:
    page = form_html(form, read_words("zh"))
    held = data(page, "data")
    assert page.startswith('<!doctype html>\n<html lang="zh-Hans">')
    assert [item["item_id"] for item in held["items"]] == [item.item_id for item in form.items]
    texts = held["texts"]
    for item, own in zip(held["items"], form.items, strict=True):
        whole = [text.encode("utf-8", "replace").decode().replace("?", "\ufffd") for text in (own.query, own.answer)]
        assert [texts[item[name]].replace("?", "\ufffd") for name in ("query", "answer")] == whole
        assert [len(texts[place]) for _, place in item["premises"]] == [len(text) for _, text in own.premises]
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("form", FORMS, ids=IDS)
def test_nothing_in_a_form_can_act(form: Form) -> None:
    page = form_html(form, read_words("en"))
    page.encode("utf-8")
    assert len(check_nothing_acts(page).scripts) == 4


def test_texts_that_come_again_are_in_the_file_once() -> None:
    sizes = [len(form_html(verdicts_form(n), read_words("en"))) for n in (30, 60)]
    assert sizes[1] - sizes[0] < 30 * 1_000


def test_reasons_of_the_lexical_judge_are_in_both_languages() -> None:
    reasons = data(form_html(verdicts_form(), read_words("en")), "data")["items"][0]["judged"]["reasons"]
    assert reasons == {"en": "missing: 九点; numbers: 3", "zh": "缺少“九点”；数字不符“3”"}
    own = data(form_html(replace(verdicts_form(), judge="llm"), read_words("en")), "data")["items"][0]["judged"]
    assert own["reasons"] == dict.fromkeys(("en", "zh"), "missing: 九点; numbers: 3")


ITEM = FormItem("i", "q", [("d", "four")], answer="five!", span=(0, 5), candidate=(0, 0, 4))


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ([], {}, "a form needs items"),
        ([ITEM, replace(ITEM, query="other")], {}, "'i' is in the form 2 times"),
        ([ITEM], {"kind": "grades"}, "a scale of 0"),
        ([ITEM], {"kind": "grades", "scale": [(1, "")]}, "a scale of 1"),
        ([ITEM], {"kind": "grades", "scale": [(1, "a"), (1.0, "b")]}, "finite and differ"),
        ([ITEM], {"kind": "grades", "scale": [(1, "a"), (float("nan"), "b")]}, "finite and differ"),
        ([replace(ITEM, premises=[("d", "four"), ("d", "")])], {"kind": "quotes"}, "names that differ"),
        ([ITEM], {"scale": [(0, ""), (1, "")]}, "a form for verdicts has a scale of 2"),
    ],
)
def test_a_form_that_cannot_be_filled_in_is_refused(items: list[FormItem], options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Form(**{"kind": "verdicts", "title": "t", "review_id": "r", "items": items, **options})


@pytest.mark.parametrize(
    "changes", [{"span": (0, 6)}, {"span": (3, 2)}, {"candidate": (1, 0, 1)}, {"candidate": (0, 0, 5)}]
)
def test_what_is_marked_is_there(changes: Any) -> None:
    with pytest.raises(InputError, match="item 'i'"):
        replace(ITEM, **changes)
