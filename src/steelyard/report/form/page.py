"""A form as one HTML file: it opens from disk, asks nothing of the network, and keeps decisions in browser and file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.report.form.form import Form, FormItem, Opinion
from steelyard.report.html.shell import Page, escaped, in_each_language, page_html, read_part, words_below
from steelyard.report.views.judging import reason_text
from steelyard.report.visible import REPLACEMENTS, visible
from steelyard.report.words import Words

_MODULES = ("form/computing", "form/base", "form/keeping", "form/item", "form/start", "form/form")
_WORDS = "form."
_MAIN = (
    '<noscript><p>{}</p></noscript>\n<div id="form"></div>\n<div id="status" class="alternative" role="status"></div>\n'
)


def form_html(form: Form, words: Words) -> str:
    """A form as one HTML document that loads nothing and sends nothing; it opens in the language of the words."""
    in_each, title = in_each_language(words), visible(form.title)
    data = {"data": _form_data(form, in_each)}
    pages = {code: Page(title, _MAIN.format(escaped(own("form.no_script"))), data=data, words=words_below(own, _WORDS))
             for code, own in in_each.items()}  # fmt: skip
    return page_html(pages, words.code, style=read_part("form/form.css"), modules=_MODULES)


@dataclass
class _Texts:
    """Texts that come again are in the page once."""

    texts: list[str] = field(default_factory=list)
    _place: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        """The number of a text."""
        if text not in self._place:
            self._place[text] = len(self.texts)
            self.texts.append(text)
        return self._place[text]


def _form_data(form: Form, catalogues: Mapping[str, Words]) -> dict[str, Any]:
    texts = _Texts()
    items = [_item(item, form.judge, texts, catalogues) for item in form.items]
    return {
        "kind": form.kind, "title": form.title, "review_id": form.review_id, "rater": form.rater,
        "scale": form.scale, "instructions": form.instructions, "items": items, "texts": texts.texts,
        "replacements": {chr(code): text for code, text in REPLACEMENTS.items() if not 0xD800 <= code < 0xE000},
    }  # fmt: skip


def _item(item: FormItem, judge: str, texts: _Texts, catalogues: Mapping[str, Words]) -> dict[str, Any]:
    return {
        "item_id": item.item_id, "table": item.table, "query": texts.place(item.query),
        "premises": [(name, texts.place(text)) for name, text in item.premises],
        "hypothesis": texts.place(item.hypothesis), "answer": texts.place(item.answer), "span": item.span,
        "candidate": item.candidate, "opinions": [_opinion(opinion, "", catalogues) for opinion in item.opinions],
        "judged": None if item.judged is None else _opinion(item.judged, judge, catalogues),
    }  # fmt: skip


def _opinion(opinion: Opinion, judge: str, catalogues: Mapping[str, Words]) -> dict[str, Any]:
    reasons = {code: reason_text(opinion.reason, judge, words) for code, words in catalogues.items()}
    return {"value": opinion.value, "score": opinion.score, "reasons": reasons}
