"""What a model replied: the JSON in it, and its entries by the ids that were asked."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar, cast

from steelyard.judges.verdict import Label

T = TypeVar("T")
_LONGEST = 200_000
_MOST_READ = 10 * _LONGEST
"""Characters of objects that turn out to be none."""
_QUICKER = 64
"""Times that lines are counted as fast as objects are read."""
_BLANKS = re.compile(r"[\s_\-‐-―*\"'“”‘’`.。!！:：,，]+")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """Entries of a reply, by id.

    values        of ids that were asked, and can be read
    conflicting   ids with several entries that disagree; they have no value
    n_unknown     entries with an id that was not asked
    causes        of ids whose entries cannot be taken, why
    """

    values: Mapping[str, T] = field(default_factory=dict)
    conflicting: frozenset[str] = frozenset()
    n_unknown: int = 0
    causes: Mapping[str, str] = field(default_factory=dict)


def last_object(text: str, key: str) -> Mapping[str, Any] | None:
    """The last JSON object of a text that has a key; None where there is none.

    The text may be nothing but it, or prose around it; of an object within another, the outer one is taken.  What would
    take too long to read, as a text of nothing but braces, has none.

    >>> last_object('Not {"a": 1} but ```{"a": {"a": 2}}```.', "a")
    {'a': {'a': 2}}
    >>> last_object('{"a": [1, 2', "a") is None
    True
    """
    text, decoder, last, start, remaining = text[-_LONGEST:], json.JSONDecoder(), None, 0, _MOST_READ
    while (start := text.find("{", start)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            reached = getattr(error, "pos", len(text))
            remaining -= reached - start + reached // _QUICKER  # The error counts the lines before it.
            if remaining < 0:
                return None
            start += 1
            continue
        start = end
        if key in value:
            last = value
    return last


def read_entries(
    entries: Sequence[Any],
    ids: Sequence[str],
    convert: Callable[[Mapping[str, Any]], T | None],
    essence: Callable[[T], object],
) -> Reading[T]:
    """Entries by their "id", a text or a number.

    convert   what an entry says; None where that cannot be read
    essence   what two entries of one id must share to agree; of these, the first counts
    """
    values, conflicting, n_unknown, asked = dict[str, T](), set[str](), 0, frozenset(ids)
    for entry in entries:
        entry_id = _entry_id(entry)
        if entry_id not in asked:
            n_unknown += 1
            continue
        value = convert(entry)
        if value is not None and essence(values.setdefault(entry_id, value)) != essence(value):
            conflicting.add(entry_id)
    agreed = {key: value for key, value in values.items() if key not in conflicting}
    return Reading(agreed, frozenset(conflicting), n_unknown)


def _entry_id(entry: Any) -> str:
    """The id of an entry; empty where it has none.  [3] and "3." mean 3."""
    value = entry.get("id") if isinstance(entry, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | str):
        return ""
    return str(value).strip(" []().#")


def read_label(value: Any) -> Label | None:
    """The verdict that a word means, in whatever case and in several languages; None for any other word.

    >>> read_label("SUPPORTED"), read_label("矛盾。"), read_label("Not-Found"), read_label("perhaps")
    ('supported', 'contradicted', 'not_found', None)
    """
    return _labels().get(_folded(value)) if isinstance(value, str) else None


def read_score(value: Any) -> float | None:
    """A score from 0 to 1, as a number or as a text of nothing else; None for anything else.

    >>> read_score(0.25), read_score("0.25"), read_score(7), read_score(True), read_score("about 0.5")
    (0.25, 0.25, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        score = float(value)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) and 0 <= score <= 1 else None


def read_text(value: Any) -> str:
    """A text on one line without control characters; empty for anything else."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _folded(word: str) -> str:
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", word[:100]).casefold()).strip()


@cache
def _labels() -> Mapping[str, Label]:
    lines = (files("steelyard.judges.llm") / "verdict_words.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {_folded(word): cast("Label", label) for label, word in rows}
