"""Notes of runs and sweeps in the reader's language."""

from __future__ import annotations

import json
from typing import Any

from steelyard.base.notes import PLAIN, Note
from steelyard.report.words import Words


def note_text(note: Note, words: Words) -> str:
    """A note as a sentence; one of an earlier version as it was written, one of a later version as data.

    >>> from steelyard.report.words import read_words
    >>> note_text(Note("documents_empty", {"n": 4, "names": ["a", "b", "c"]}), read_words("en"))
    '4 documents are empty: a, b, c, ...'
    """
    key = f"notes.{note.code}"
    if note.code == PLAIN:
        return str(note.values["text"])
    if key not in words and f"{key}.one" not in words:
        return f"{note.code} {json.dumps(dict(note.values), ensure_ascii=False)}"
    return words(key, **{name: _listed(value, note, words) for name, value in note.values.items()})


def _listed(value: Any, note: Note, words: Words) -> Any:
    """A list of names in a row, with an ellipsis where it is shorter than the number n of all."""
    if not isinstance(value, list | tuple):
        return value
    shown = words("list.comma").join(map(str, value))
    return words("list.and_more", shown=shown) if len(value) < note.values.get("n", 0) else shown
