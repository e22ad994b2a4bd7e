"""Phrases by which a sentence asserts nothing, or says that there is no answer; English and Chinese.

They are data: phrases.en.toml and phrases.zh.toml beside this file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_LANGUAGES = ("en", "zh")
_AROUND = r"[\s\W]*"
_LONGEST = 400  # characters; what is longer says something
_REASONS = ("greeting", "thanks", "courtesy", "hedge", "offer")


@cache
def _phrases() -> Mapping[str, Mapping[str, list[str]]]:
    """Patterns of all languages, by table and name, their parts filled in."""
    merged: dict[str, dict[str, list[str]]] = {"clauses": {}, "sentences": {}}
    for language in _LANGUAGES:
        table: Mapping[str, Any] = tomllib.loads(
            (files("steelyard.judges") / f"phrases.{language}.toml").read_text("utf-8")
        )
        for kind, patterns_by_name in merged.items():
            for name, patterns in table[kind].items():
                patterns_by_name.setdefault(name, []).extend(_filled(pattern, table["parts"]) for pattern in patterns)
    return merged


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    while (filled := re.sub(r"\{([a-z]+)\}", lambda match: parts[match[1]], pattern)) != pattern:
        pattern = filled
    return pattern


@cache
def clause_pattern(name: str) -> re.Pattern[str]:
    """What is somewhere in a clause in small letters: admission, introduction, indirect_question, and others of the
    files.
    """
    return re.compile("|".join(_phrases()["clauses"][name]))


@cache
def _sentence_pattern(name: str) -> re.Pattern[str]:
    return re.compile(f"{_AROUND}(?:{'|'.join(_phrases()['sentences'][name])}){_AROUND}", re.DOTALL)


def phrase_reason(sentence: str) -> str:
    """The reason of a sentence that is a phrase of courtesy, a hedge or an offer; empty for any other.

    >>> phrase_reason("Thank you for your question!"), phrase_reason("仅供参考。"), phrase_reason("It opens at nine.")
    ('thanks', 'hedge', '')
    """
    if len(sentence) > _LONGEST:
        return ""
    sentence = sentence.lower()
    return next((reason for reason in _REASONS if _sentence_pattern(reason).fullmatch(sentence)), "")


def is_referral(sentence: str) -> bool:
    """Whether a sentence sends the asker elsewhere."""
    return _sentence_pattern("referral").fullmatch(sentence.lower()) is not None
