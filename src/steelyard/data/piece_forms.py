"""The forms in which a piece of evidence can be written: their keys, types and limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from steelyard.base.errors import quoted
from steelyard.base.limits import Limits, Words, at_least
from steelyard.base.nearest import nearest
from steelyard.base.settings import SettingError, shown, validate
from steelyard.data.pieces import LONGEST, is_whole_text, is_wordy
from steelyard.io.objects import finite_or_none, is_whole_number

_KEYS = ("doc", "start", "end", "quote", "text", "page", "pages", "id", "gain", "group", "occurrence")
_OTHER_NAMES = {"doc_id": "doc", "chunk_id": "id", "chunk": "id"}
_PAGE_RANGE = re.compile(r"\s*(\d{1,9})\s*[-–]\s*(\d{1,9})\s*")
_PAGE = re.compile(r"\s*(\d{1,9})\s*")
MOST_PAGES = 100_000
"""Pages that a range may name up to; no document has more."""


def _id(value: Any) -> str:
    if isinstance(value, str):
        if not is_whole_text(value):
            raise ValueError(f"{quoted(value)} holds half a character (a lone surrogate); repair it")
        return value
    if not is_whole_number(value):
        raise ValueError
    return str(value.__index__())


def _gain(value: Any) -> float:
    number = finite_or_none(value)
    if number is None:
        raise ValueError
    return number


def _wordy(value: Any) -> str:
    if not is_wordy(value):
        raise ValueError
    return str(value)


def _pages(value: Any) -> tuple[int, ...]:
    """Pages as a number, a list of numbers, or ranges such as "3-5"; each once."""
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise ValueError("an empty list; name a page, or leave it out for the whole document")
    return tuple(dict.fromkeys(chain.from_iterable(map(_page_range, listed))))


def _page_range(item: Any) -> Iterable[int]:
    first = last = item
    if isinstance(item, str) and (ends := _PAGE_RANGE.fullmatch(item) or _PAGE.fullmatch(item)):
        first, last = int(ends[1]), int(ends[ends.re.groups])
    if not isinstance(first, int) or isinstance(first, bool) or not 1 <= first <= last <= MOST_PAGES:
        raise ValueError(
            f"a page must be a whole number from 1 to {MOST_PAGES:,}, or a range of them, not {quoted(item)}"
        )
    return range(first, last + 1)


Id = Annotated[str, BeforeValidator(_id), Words("a text or a whole number")]
Wordy = Annotated[str, BeforeValidator(_wordy), Words("a text with at least one letter or digit")]
Offset = Annotated[int, Limits(least=0, most=LONGEST)]


class Form(BaseModel):
    """Keys that every piece may have."""

    model_config = ConfigDict(extra="forbid")
    gain: Annotated[float, BeforeValidator(_gain), Words("a finite number")] = 1.0
    group: Id | None = None


class ChunkForm(Form):
    """A chunk by its id."""

    id: Id

    def fields(self) -> dict[str, Any]:
        """Fields of a Piece that are the form's own."""
        return {"kind": "chunk", "chunk_id": self.id}


class DocumentForm(Form):
    """A whole document; the other forms that name a document add to it."""

    doc: Id

    def fields(self) -> dict[str, Any]:
        """Fields of a Piece that are the form's own."""
        return {"kind": "document", "doc": self.doc}


class SpanForm(DocumentForm):
    """Characters of a document, [start, end)."""

    start: Offset
    end: Offset

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if self.end <= self.start:
            raise SettingError(f"a span ends behind its start; got start {self.start}, end {self.end}", "end")
        return self

    def fields(self) -> dict[str, Any]:
        """Fields of a Piece that are the form's own."""
        return {"kind": "span", "doc": self.doc, "start": self.start, "end": self.end}


class QuoteForm(DocumentForm):
    """A text of a document."""

    quote: Wordy
    occurrence: Annotated[int, at_least(1)] | None = None

    def fields(self) -> dict[str, Any]:
        """Fields of a Piece that are the form's own."""
        return {"kind": "quote", "doc": self.doc, "text": self.quote, "occurrence": self.occurrence}


class TextForm(Form):
    """A text of any document."""

    text: Wordy

    def fields(self) -> dict[str, Any]:
        """Fields of a Piece that are the form's own."""
        return {"kind": "text", "text": self.text}


class PagesForm(DocumentForm):
    """Pages of a document."""

    pages: Annotated[tuple[int, ...], BeforeValidator(_pages)]

    def fields(self) -> dict[str, Any]:
        """Fields of a Piece that are the form's own."""
        return {"kind": "pages", "doc": self.doc, "pages": self.pages}


FORMS: Mapping[str, type[ChunkForm | DocumentForm | TextForm]] = {
    "start": SpanForm, "quote": QuoteForm, "text": TextForm, "pages": PagesForm, "id": ChunkForm,
}  # fmt: skip
"""The form by the key that decides it; a document where there is none of them."""


def parse_form(value: object) -> dict[str, Any]:
    """The fields of a Piece.

    Raises   SettingError.
    """
    keys = _keys({"text": value} if isinstance(value, str) else value)
    deciding = [key for key in (*FORMS, "page") if key in keys]
    if len(deciding) > 1 or not (deciding or "doc" in keys) or ("end" in keys and "start" not in keys):
        raise SettingError(
            "must be one of {doc, start, end}, {doc, quote}, {doc, pages}, {doc}, {text}, {id}; "
            f"it has {', '.join(keys) or 'nothing'}"
        )
    if "occurrence" in keys and deciding != ["quote"]:
        raise SettingError("`occurrence` goes with a quote", "occurrence")
    form = FORMS[deciding[0]] if deciding else DocumentForm
    piece = validate(form, keys)
    return {"gain": piece.gain, "group": piece.group, **piece.fields()}


def _keys(value: object) -> dict[str, Any]:
    """The values that are there, by the names that the forms give them; null is absent."""
    if not isinstance(value, Mapping):
        raise SettingError(f"must be an object such as {{doc, quote}}, not {shown(value)}")
    keys = {_OTHER_NAMES.get(str(key), str(key)): item for key, item in value.items() if item is not None}
    for key in keys:
        if key not in _KEYS:
            raise SettingError(f"there is no key {key!r}; {nearest(key, _KEYS)}", key)
    if "doc" in keys and "text" in keys and "quote" not in keys:
        keys["quote"] = keys.pop("text")
    if "page" in keys and "pages" not in keys:
        keys["pages"] = keys.pop("page")
    return keys
