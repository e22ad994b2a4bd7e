"""Values as one line of a debugger or a notebook."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

_LONGEST, _LONGEST_TEXT = 110, 40


def short_repr(value: Any) -> str:
    """The class of a value, and its fields that are texts or numbers, each in short.

    >>> from steelyard.data.corpus import Document, Passage
    >>> short_repr(Document("guide", "A long text. " * 99)), short_repr(Passage("guide#1", "guide", 0, 12))
    ("Document(doc_id='guide', text='A long text. A long text. A long text. …')",
     "Passage(chunk_id='guide#1', doc_id='guide', start=0, end=12)")
    """
    names = [field.name for field in fields(value) if field.repr] if is_dataclass(value) else value._fields
    facts = {name: getattr(value, name) for name in names}
    texts = (
        f"{name}={_short(fact)}" for name, fact in facts.items() if isinstance(fact, str | int | float) and fact != ""
    )
    return one_line(f"{type(value).__name__}({', '.join(texts)})")


def _short(fact: str | int | float) -> str:
    if isinstance(fact, str) and len(fact) > _LONGEST_TEXT:
        return repr(f"{fact[: _LONGEST_TEXT - 1]}…")
    return f"{fact:.6g}" if isinstance(fact, float) else repr(fact)


def one_line(text: str) -> str:
    """A line for a debugger, cut where it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}…)"


def plural(n: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "chunk"), plural(2000, "chunk")
    ('1 chunk', '2,000 chunks')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"
