"""Bundled questions and passages, for load on a system for which no others are named."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from steelyard.data.questions import Questions

_LEAST_CHARACTERS = 80
"""Shorter paragraphs are headings."""


@cache
def bundled_questions() -> dict[str, str]:
    """query_id -> question: those of the bundled example, in English and Chinese."""
    with (files("steelyard") / "demo_data" / "questions.jsonl").open(encoding="utf-8") as lines:
        questions = Questions(map(json.loads, lines))
    return {question.query_id: question.query for question in questions if question.query}


@cache
def bundled_passages() -> tuple[str, ...]:
    """Paragraphs of the documents of the bundled example."""
    folder = files("steelyard") / "demo_data" / "documents"
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.iterdir(), key=lambda file: file.name))
    paragraphs = (paragraph.strip() for text in texts for paragraph in text.split("\n\n"))
    return tuple(paragraph for paragraph in paragraphs if len(paragraph) >= _LEAST_CHARACTERS)
