"""Notes of runs and sweeps in the reader's language."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.base.notes import PLAIN, Note
from steelyard.report.visible import single_line, visible
from steelyard.report.words import Words


def note_text(note: Note, words: Words) -> str:
    """A note as a sentence; one of an earlier version as it was written, one that lacks what the text names as data.

    >>> from steelyard.report.words import read_words
    >>> note_text(Note("documents_empty", {"n": 4, "names": ["a", "b", "c"]}), read_words("en"))
    '4 documents are empty: a, b, c, ...'
    >>> note_text(Note("documents_empty", {"names": ["a"]}), read_words("en"))
    'documents_empty {"names": ["a"]}'
    """
    key = f"notes.{note.code}"
    if note.code == PLAIN:
        return str(note.values["text"])
    try:
        return words(key, **{name: _listed(value, note, words) for name, value in note.values.items()})
    except KeyError:  # Of another version, or damaged.
        return f"{note.code} {json.dumps(dict(note.values), ensure_ascii=False)}"


def notes_of_systems(
    notes: Mapping[str, Sequence[Note]], words: Words, *, n_systems: int = 0, most: int | None = None
) -> Iterator[str]:  # fmt: skip
    """Each note once, with the systems that it is of, unless these are all.

    n_systems   how many there are, 0 to name systems in any case;   most   how many of them are named at most
    """
    systems: dict[str, list[str]] = {}
    for system, of_system in notes.items():
        for note in of_system:
            systems.setdefault(note_text(note, words), []).append(single_line(system))
    for text, names in systems.items():
        named = words.listed(names, most or len(names))
        text = visible(text)
        yield text if len(names) == n_systems else words("scores.gold.of", systems=named, note=text)


def notes_json(notes: Mapping[str, Sequence[Note]]) -> dict[str, list[dict[str, Any]]]:
    """System -> its notes as data."""
    return {system: [note.as_json() for note in of_system] for system, of_system in notes.items()}


def _listed(value: Any, note: Note, words: Words) -> Any:
    """A list of names in a row, with an ellipsis where it is shorter than the number n of all."""
    if not isinstance(value, list | tuple):
        return value
    shown = words("list.comma").join(map(str, value))
    return words("list.and_more", shown=shown) if len(value) < note.values.get("n", 0) else shown
