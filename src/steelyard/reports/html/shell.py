"""The shell of every HTML page: one file that loads nothing and sends nothing, in both languages, around one view."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from steelyard._version import __version__
from steelyard.reports.visible import visible
from steelyard.reports.words import LANGUAGES, Words, read_words

HTML_LANG = {"en": "en", "zh": "zh-Hans"}
SHELL_MODULES = ("html/texts", "html/elements", "html/shell", "html/downloads")
# Halves of surrogate pairs, which no file can hold; each becomes one character, so that offsets stay true.
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Page:
    """What one page shows in one language.

    title   of the page, as text
    main    HTML below the bar, in which every text from outside is escaped
    links   (id, text) of the sections that the bar leads to
    data    what the scripts of the page read, by name
    words   what they say, by key
    """

    title: str
    main: str
    links: Sequence[tuple[str, str]] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


def page_html(
    pages: Mapping[str, Page], first: str, *, style: str = "", modules: Sequence[str] = (), library: str = "",
    by_browser: bool = False,
) -> str:  # fmt: skip
    """A page that opens in one language and can be switched to the others.

    pages     by code of language;   first   the language in which it opens
    style     CSS besides that of the shell
    modules   scripts of the view: "page/table" is in the file reports/page/table.js
    library   a script that runs after them
    by_browser   whether it opens in the first language that the reader's browser prefers, of those that it has
    """
    script, shown, catalogues = joined_script(tuple(modules)), pages[first], {code: read_words(code) for code in pages}
    templates = (
        f'<template data-code="{code}">\n{_body(page, catalogues[code])}</template>\n'
        for code, page in pages.items()
        if code != first
    )
    languages = {
        "first": first,
        "by_browser": by_browser,
        "html_lang": {code: HTML_LANG[code] for code in pages},
        "titles": {code: visible(page.title) for code, page in pages.items()},
        "changes": {code: changes(shown.data, page.data) for code, page in pages.items() if code != first},
    }
    words = {code: words_below(catalogues[code], "shell.") | dict(page.words) for code, page in pages.items()}
    held = {**shown.data, "languages": languages, "words": words}
    data = (f'<script type="application/json" id="{name}">{embedded(value)}</script>\n' for name, value in held.items())
    scripts = [script, *([library] if library else [])]
    return Template(read_part("html/shell.html")).substitute(
        html_lang=HTML_LANG[first], version=__version__, policy=html.escape(_policy(scripts)),
        title=escaped(shown.title), style=read_part("html/shell.css") + style,
        body=_body(shown, catalogues[first]), templates="".join(templates), data="".join(data),
        scripts="".join(f"<script>{script}</script>\n" for script in scripts),
    )  # fmt: skip


def _body(page: Page, words: Words) -> str:
    links = "".join(f'<a href="#{html.escape(id)}">{escaped(text)}</a>' for id, text in page.links)
    nav = f'<nav aria-label="{escaped(words("page.contents"))}">{links}</nav>' if links else ""
    return (
        f'<a class="skip" href="#main">{escaped(words("page.skip"))}</a>\n'
        f'<header class="bar"><div id="own"></div>{nav}<div class="tools"></div></header>\n'
        f'<main id="main" tabindex="-1">\n{page.main}</main>\n'
    )


def escaped(text: str) -> str:
    """A text from outside, fit for HTML: no character of it can act or move others."""
    return html.escape(visible(text))


@cache
def read_part(name: str) -> str:
    """A file of the pages, as it ships: "html/shell.css" is in the folder reports/html."""
    return files("steelyard.reports").joinpath(*name.split("/")).read_text(encoding="utf-8")


@cache
def joined_script(modules: Sequence[str]) -> str:
    """The modules of the shell and of a view as one classic script.

    Each module is a function, and what it exports is there for the next.  The shell runs those of the view again when
    the language changes.
    """
    shell, view = ("".join(map(_module, names)) for names in (SHELL_MODULES, modules))
    return f'(() => {{\n"use strict";\n{shell}show(() => {{\n{view}startDownloads();\n}});\n}})();\n'


def _module(name: str) -> str:
    """A module as one statement, which names what it exports and nothing else."""
    text = re.sub(r"^import .*?;\n", "", read_part(f"{name}.js"), flags=re.M | re.S)
    exported = ", ".join(re.findall(r"^export (?:const|class|(?:async )?function\*?) (\w+)", text, flags=re.M))
    body = re.sub(r"^export ", "", text, flags=re.M)
    return f"const {{ {exported} }} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"


def _policy(scripts: Iterable[str]) -> str:
    """No request at all, and no script but these, which are named by their digests."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def embedded(data: object) -> str:
    """Data as JSON that a script element can hold: no character of it can end the element.

    >>> embedded({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _HALF.sub("\ufffd", text)


def changes(data: Any, other: Any) -> Any:
    """Changes from data to other data: by key or place, with each new value in a list of its own; None for no change.

    >>> changes({"n": 1, "names": ["a", "b"]}, {"n": 1, "names": ["a", "c"]})
    {'names': {1: ['c']}}
    """
    if data is other or (type(data) is type(other) and data == other):
        return None
    if isinstance(data, dict) and isinstance(other, dict) and data.keys() == other.keys():
        pairs: Iterable[tuple[Any, Any, Any]] = ((key, value, other[key]) for key, value in data.items())
    elif isinstance(data, list) and isinstance(other, list) and len(data) == len(other):
        pairs = ((place, *pair) for place, pair in enumerate(zip(data, other, strict=True)))
    else:
        return [other]
    return {key: change for key, *pair in pairs if (change := changes(*pair)) is not None}


def words_below(words: Words, area: str) -> dict[str, str]:
    """The texts of an area, such as "page.script.", by the rest of their keys."""
    return {key.removeprefix(area): text for key, text in words.texts.items() if key.startswith(area)}


def in_each_language(words: Words) -> dict[str, Words]:
    """The words of every language by code, first those in which a page opens."""
    return {words.code: words} | {code: read_words(code) for code in LANGUAGES if code != words.code}
