"""Prompts of the judge: data files in both languages, and the texts that are judged, fenced in as data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from steelyard.base.choices import Language
from steelyard.services.models.prompts import fenced, fill_template

LANGUAGES: tuple[Language, ...] = ("en", "zh")
PLACEHOLDERS = ("question", "source", "answer", "statements", "facts")


@cache
def template(name: str, language: Language) -> str:
    """The prompt of a task, such as "verdicts"."""
    return (files("steelyard.judges.llm") / "prompts" / f"{name}.{language}.txt").read_text(encoding="utf-8")


@cache
def digest(name: str, language: Language) -> str:
    """SHA-256 of a prompt, for recipes and keys."""
    return "sha256:" + hashlib.sha256(template(name, language).encode()).hexdigest()


def fenced_messages(
    name: str, language: Language, texts: Mapping[str, str], own_words: Mapping[str, str] = MappingProxyType({})
) -> list[dict[str, str]]:
    """Messages that ask for a task; each text stands between two lines that no text can hold.

    texts       by placeholder of the prompt; one that has none is left out
    own_words   what the prompt says itself, by placeholder; not fenced
    """
    blocks = dict.fromkeys(PLACEHOLDERS, "") | fenced(texts)
    return fill_template(template(name, language), {**own_words, **blocks})
