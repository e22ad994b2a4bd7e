"""Texts of reports in the reader's language: catalogues are data, code names keys."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, get_args

from steelyard.base.choices import Language
from steelyard.base.errors import InputError

LANGUAGES = get_args(Language)
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
# Between halves of surrogate pairs, which `visible` leaves in no text from outside.
_PLACE = re.compile("\ud800(\\d+)\udfff")


@dataclass(frozen=True)
class Words:
    """What reports say, by key.

    code    "en" or "zh"
    texts   dotted key -> text with {fields}; a text whose words change with a number n has keys KEY.one and KEY.other

    >>> read_words("en")("count.questions", n=1), read_words("en")("count.questions", n=2)
    ('1 question', '2 questions')
    >>> read_words("zh")("count.questions", n=3219)
    '3,219 个问题'
    """

    code: str
    texts: Mapping[str, str] = field(repr=False)

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of a key with its fields filled.

        Raises   KeyError for a key or a field that the catalogue lacks: a mistake of ours.
        """
        if key not in self.texts and "n" in values:
            key = f"{key}.{'one' if values['n'] == 1 else 'other'}"
        return self.texts[key].format_map({name: _written(name, value) for name, value in values.items()})

    def __contains__(self, key: str) -> bool:
        """True if there is a text for a key."""
        return key in self.texts

    def together(self, items: list[str], limit: int) -> str:
        """Items as one subject: "a, b and c"; of more than so many the first, and how many others.

        >>> read_words("en").together(["a", "b", "c"], 4), read_words("en").together(["a", "b", "c"], 2)
        ('a, b and c', 'a and 2 others')
        """
        if len(items) > limit:
            return self("list.others", first=items[0], n=len(items) - 1)
        *some, last = items
        return self("list.and", some=self("list.comma").join(some), last=last) if some else last

    def listed(self, items: list[str], limit: int = 5) -> str:
        """Some items in a row, and how many there are in all where not all are shown."""
        shown = self("list.comma").join(items[:limit])
        return shown if len(items) <= limit else self("list.more", shown=shown, total=len(items))


class LaterWords(Words):
    """Words that leave a place for each text, so that what is costly to compute is computed once for all languages."""

    def __init__(self) -> None:
        super().__init__("", read_words("en").texts)
        self._places: dict[tuple[object, ...], int] = {}
        self._asked: list[tuple[str, dict[str, object]]] = []

    def __call__(self, key: str, /, **values: object) -> str:
        """The place of a text; equal texts have one."""
        place = self._places.setdefault((key, *values.items()), len(self._asked))
        if place == len(self._asked):
            self._asked.append((key, values))
        return f"\ud800{place}\udfff"

    def filled(self, value: Any, words: Words) -> Any:
        """A value with all places in it and within it filled by the words of a language."""
        if isinstance(value, Mapping):
            return {key: self.filled(item, words) for key, item in value.items()}
        if isinstance(value, list):
            return [self.filled(item, words) for item in value]
        return _PLACE.sub(lambda place: self._text(int(place[1]), words), value) if isinstance(value, str) else value

    def _text(self, place: int, words: Words) -> str:
        key, values = self._asked[place]
        return words(key, **{name: self.filled(value, words) for name, value in values.items()})


def _written(name: str, value: object) -> object:
    """A count with commas between thousands; a seed as it is typed."""
    return f"{value:,}" if type(value) is int and name != "seed" else value


def read_words(code: str | None = None) -> Words:
    """The texts of a language, or of the locale's: Chinese where that begins with zh, else English.

    Raises   InputError for a language that there is no catalogue of.
    """
    code = language_of_locale() if code is None else code
    check_language(code)
    return _read(code)


def check_language(code: str) -> None:
    """Raise   InputError for a language that there is no catalogue of."""
    if code not in LANGUAGES:
        raise InputError(f"no report is written in {code!r}; there are {' and '.join(LANGUAGES)}")


def language_of_locale() -> str:
    """Chinese where the locale's name begins with zh, else English."""
    locale = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return "zh" if locale.lower().startswith("zh") else "en"


@cache
def _read(code: str) -> Words:
    folder = files("steelyard.reports") / "catalogues" / code
    texts: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        texts.update(_flat(tomllib.loads(file.read_text(encoding="utf-8"))))
    return Words(code, texts)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
