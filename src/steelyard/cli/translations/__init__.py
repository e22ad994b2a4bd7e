"""Help, errors and notices of commands in the reader's language: English is written in code, and is the key.

A catalogue is a folder of texts in which English is followed by its translation, line by line.  `{1}`, `{2}` are places
of values; these are translated too, as messages are made of others.  What no catalogue has stays English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Literal

from steelyard.reports.words import LANGUAGES, language_of_locale

LANGUAGE_OPTION = "--lang"
PLACE = re.compile(r"\{(\d+)\}")
_LETTERS = re.compile("[A-Za-z]{2,}")


def language_of(words: Sequence[str]) -> str:
    """The language that the words of a command ask for, even if it takes none of them; else that of the locale.

    >>> language_of(["--lang", "zh", "--help"]), language_of(["evaluate", "--lang=en"])
    ('zh', 'en')
    """
    asked = [word.rpartition("=")[2] for word in without_language(words)[0]]
    return next((code for code in reversed(asked) if code in LANGUAGES), None) or language_of_locale()


def without_language(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The language option among words, with its value, and the other words.

    >>> without_language(["review", "--lang", "zh", "--help"])
    (['--lang', 'zh'], ['review', '--help'])
    """
    options, others = list[str](), list[str]()
    left = list(words)
    while left and left[0] != "--":
        word = left.pop(0)
        if word == LANGUAGE_OPTION and left:
            options += [word, left.pop(0)]
        else:
            (options if word.startswith(f"{LANGUAGE_OPTION}=") else others).append(word)
    return options, others + left


def translator(code: str, catalogue: Literal["help", "messages"] = "messages") -> Callable[[str], str]:
    """What translates texts into a language; English stays as it is.

    >>> translator("zh", "help")("Show this message and exit.")
    '显示本帮助并退出。'
    """
    return str if code == "en" else partial(_translated, folder=f"{code}/{catalogue}")


def _translated(text: str, folder: str) -> str:
    catalogue = read_catalogue(folder)
    if text in catalogue or not _LETTERS.search(text) or text[:1] in "'\"`/":
        return catalogue.get(text, text)
    for template, pieces in _templates(folder):
        if all(piece in text for piece in pieces) and (values := _values(template, text)) is not None:
            words = [_translated(value, folder) for value in values]
            if words != list(values) or _LETTERS.search("".join(pieces)):
                return PLACE.sub(lambda place, words=words: words[int(place[1]) - 1], catalogue[template])  # type: ignore[misc]
    return text


def _values(template: str, text: str) -> Sequence[str] | None:
    """The values in a text that is made by a template; None for another text."""
    match = _pattern(template).fullmatch(text)
    return None if match is None else match.groups()


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(map(re.escape, PLACE.split(template)[::2])), re.DOTALL)


@cache
def _templates(folder: str) -> Sequence[tuple[str, Sequence[str]]]:
    """Templates with places, and their texts between these, those of most text first."""
    listed = [(template, PLACE.split(template)[::2]) for template in read_catalogue(folder) if PLACE.search(template)]
    return sorted(listed, key=lambda item: -sum(map(len, item[1])))


@cache
def read_catalogue(folder: str) -> Mapping[str, str]:
    """English -> its translation, of all files in a folder such as zh/messages."""
    return {english: text for file in texts_of(folder).values() for english, text in file}


def texts_of(folder: str) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Name of each file of a catalogue -> English and its translation, in their order."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in (files(__name__) / folder).iterdir()}
    return {name: list(_pairs(texts[name])) for name in sorted(texts)}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line and not line.startswith("# ")]
    yield from zip(lines[::2], lines[1::2], strict=True)
