"""One piece of gold evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

EvidenceKind = Literal["chunk", "span", "quote", "text", "pages", "document"]
_MOST = 1e300
LONGEST = 10**15
"""Characters that no document has; offsets beyond are mistakes."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of gold evidence.

    kind        how it is named, which determines the fields that are set:
                chunk     chunk_id
                span      doc, start, end: characters of the document
                quote     doc, text, and occurrence (from 1) where one of several is meant
                text      text alone
                pages     doc, pages (from 1)
                document  doc
    gain        graded relevance
    group       pieces of one group are alternatives; None for a piece of its own
    """

    kind: EvidenceKind
    gain: float = 1.0
    group: str | None = None
    chunk_id: str = ""
    doc: str = ""
    start: int = 0
    end: int = 0
    text: str = ""
    pages: tuple[int, ...] = ()
    occurrence: int | None = None

    def __str__(self) -> str:
        excerpt = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        return {
            "chunk": f"chunk {self.chunk_id!r}",
            "span": f"characters {self.start} to {self.end} of {self.doc!r}",
            "quote": f"quote {excerpt!r} of {self.doc!r}",
            "text": f"text {excerpt!r}",
            "pages": f"page{'s' * (len(self.pages) > 1)} {', '.join(map(str, self.pages))} of {self.doc!r}",
            "document": f"document {self.doc!r}",
        }[self.kind]


def usual_piece(value: Any) -> Piece | None:
    """A piece of a usual form with values of the usual types; None where the declared forms have to decide.

    >>> usual_piece({"doc": "a", "quote": "one"}), usual_piece({"doc": "a", "pages": 3})
    (Piece(kind='quote', gain=1.0, group=None, chunk_id='', doc='a', start=0, end=0, text='one', ...), None)
    """
    if type(value) is not dict or type(gain := value.get("gain", 1.0)) not in (int, float) or not -_MOST < gain < _MOST:
        return None
    n_keys, doc, piece = len(value) - ("gain" in value), value.get("doc"), None
    if type(doc) is not str or not is_whole_text(doc):
        if n_keys == 1 and is_wordy(text := value.get("text")):
            piece = Piece("text", float(gain), text=text)
    elif n_keys == 1:
        piece = Piece("document", float(gain), doc=doc)
    elif n_keys == 2 and is_wordy(quote := value.get("quote")):
        piece = Piece("quote", float(gain), doc=doc, text=quote)
    elif n_keys == 3 and type(start := value.get("start")) is int and type(end := value.get("end")) is int:
        piece = Piece("span", float(gain), doc=doc, start=start, end=end) if 0 <= start < end <= LONGEST else None
    return piece


def is_wordy(value: Any) -> TypeGuard[str]:
    """True if this is a text that holds a letter or digit: one that does not would be everywhere."""
    return isinstance(value, str) and any(map(str.isalnum, value))


def is_whole_text(text: str) -> bool:
    """True if a text holds no half of a character (a lone surrogate).

    >>> is_whole_text("称"), is_whole_text("\\ud800")
    (True, False)
    """
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
