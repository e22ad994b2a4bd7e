"""A form as one HTML file, which asks nothing of the network, and its folder, with the list of what it asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.base.errors import OutputError
from steelyard.base.own_paths import own_file
from steelyard.io.write import write_text
from steelyard.reports.form.form import Form, FormItem, Opinion
from steelyard.reports.html.shell import Page, escaped, in_each_language, page_html, read_part, words_below
from steelyard.reports.views.judging import reason_text
from steelyard.reports.visible import REPLACEMENTS
from steelyard.reports.words import Words
from steelyard.reviewing.forms import NAME, ItemsFile

FORM = "form.html"
_MODULES = ("form/computing", "form/source", "form/base", "form/keeping", "form/item", "form/start", "form/form")
_WORDS = "form."
_MAIN = (
    '<noscript><p>{}</p></noscript>\n<div id="form"></div>\n<div id="status" class="alternative" role="status"></div>\n'
)


def form_html(form: Form, words: Words, *, by_browser: bool = False) -> str:
    """A form as one HTML document that loads nothing and sends nothing.

    by_browser   whether it opens in a language of the reader's browser, where it has one; else in that of the words
    """
    in_each = in_each_language(words)
    titles = dict.fromkeys(in_each, form.title) if isinstance(form.title, str) else form.title
    data = {"data": _form_data(form, in_each)}
    pages = {
        code: Page(
            titles[code], _MAIN.format(escaped(own("form.no_script"))), data=data, words=words_below(own, _WORDS)
        )
        for code, own in in_each.items()
    }
    return page_html(pages, words.code, style=read_part("form/form.css"), modules=_MODULES, by_browser=by_browser)


def check_free(folder: Path) -> None:
    """Raise   OutputError for a folder that holds a form, which people may have open, and for a file; InputError for
    links that lead out of it."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is no folder; name one for the form: -o FOLDER")
    for name in (FORM, NAME):
        if own_file(folder, name).exists():
            raise OutputError(
                f"{folder / name}: is there already; choose another folder (-o), and take in what people saved from it "
                "with the items.json beside it"
            )


def write_form(
    folder: Path, form: Form, items: ItemsFile, words: Words, *, by_browser: bool = False
) -> tuple[Path, Path]:
    """Write a form, and the list of what it asks, into a folder, which is made where it is absent.

    by_browser   as of `form_html`
    Raises   OutputError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror or error}); choose another place") from error
    write_text(folder / FORM, form_html(form, words, by_browser=by_browser))
    return folder / FORM, items.write(folder)


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
        "hypothesis": texts.place(item.hypothesis), "lead": texts.place(item.lead),
        "answer": texts.place(item.answer), "span": item.span,
        "places": [None if place is None else (place.doc, place.pages) for place in item.places],
        "likely": item.likely, "candidate": item.candidate,
        "opinions": [_opinion(opinion, "", catalogues) for opinion in item.opinions],
        "judged": None if item.judged is None else _opinion(item.judged, judge, catalogues),
    }  # fmt: skip


def _opinion(opinion: Opinion, judge: str, catalogues: Mapping[str, Words]) -> dict[str, Any]:
    reasons = {code: reason_text(opinion.reason, judge, words) for code, words in catalogues.items()}
    return {"value": opinion.value, "score": opinion.score, "reasons": reasons}
