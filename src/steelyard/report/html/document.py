"""A page in one file: its modules as one script, its data where no character of it can act, and what it may do."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from steelyard.report.words import Words

HTML_LANG = {"en": "en", "zh": "zh-Hans"}


@cache
def read_part(name: str) -> str:
    """A file of the pages, as it ships: "html/base.css" is in the folder report/html."""
    return files("steelyard.report").joinpath(*name.split("/")).read_text(encoding="utf-8")


def joined_script(modules: Iterable[str]) -> str:
    """Modules as one classic script: each is a function, and what it exports is there for the next.

    modules   "html/texts" is in the file report/html/texts.js
    """
    return f'(() => {{\n"use strict";\n{"".join(map(_module, modules))}}})();\n'


def _module(name: str) -> str:
    """A module as one statement, which names what it exports and nothing else."""
    text = re.sub(r"^import .*?;\n", "", read_part(f"{name}.js"), flags=re.M | re.S)
    exported = ", ".join(re.findall(r"^export (?:const|class|(?:async )?function\*?) (\w+)", text, flags=re.M))
    body = re.sub(r"^export ", "", text, flags=re.M)
    return f"const {{ {exported} }} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"


def policy(*scripts: str) -> str:
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
    return text


def words_below(words: Words, area: str) -> dict[str, str]:
    """The texts of an area, such as "page.script.", by the rest of their keys."""
    return {key.removeprefix(area): text for key, text in words.texts.items() if key.startswith(area)}
