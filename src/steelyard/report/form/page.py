"""A form as one HTML file: it opens from disk, asks nothing of the network, and keeps decisions in browser and file."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from string import Template
from typing import Any

from steelyard._version import __version__
from steelyard.report.form.form import Form, FormItem, Opinion
from steelyard.report.html.document import HTML_LANG, embedded, joined_script, policy, read_part, words_below
from steelyard.report.views.judging import reason_text
from steelyard.report.visible import REPLACEMENTS, visible
from steelyard.report.words import LANGUAGES, Words, read_words

_MODULES = (
    "html/texts", "html/elements", "form/computing", "form/base", "form/keeping", "form/item", "form/start",
    "form/form",
)  # fmt: skip
_WORDS = "form."
# Halves of surrogate pairs, which no file can hold; each becomes one character, so that offsets stay true.
_HALF = re.compile("[\ud800-\udfff]")


def form_html(form: Form, words: Words) -> str:
    """A form as one HTML document that loads nothing and sends nothing.

    words   the language that it begins in; it holds all
    """
    script = _script()
    catalogues = {code: read_words(code) for code in LANGUAGES}
    return Template(read_part("form/form.html")).substitute(
        html_lang=HTML_LANG[words.code], version=__version__, policy=html.escape(policy(script)),
        title=html.escape(visible(form.title)), no_script=html.escape(words("form.no_script")),
        style=read_part("html/base.css") + read_part("form/form.css"), script=script,
        form=_HALF.sub("\ufffd", embedded(_form_data(form, catalogues))),
        words=embedded({"lang": words.code, "html_lang": HTML_LANG,
                        "texts": {code: words_below(catalogue, _WORDS) for code, catalogue in catalogues.items()}}),
    )  # fmt: skip


@cache
def _script() -> str:
    return joined_script(_MODULES)


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
