"""What a report is called, and what it is about."""

from __future__ import annotations

from steelyard.report.contents import Contents
from steelyard.report.words import Words

_NAMELESS = ("questions", "truth", "qrels")
"""Names of gold that say no more than what it is."""


def title_text(contents: Contents, words: Words) -> str:
    """The title that was asked for, or the one in the reader's language."""
    return contents.title or words("page.title")


def subtitle_text(contents: Contents, words: Words) -> str:
    """How many systems on how many questions, and the measure that decides the order."""
    scores = contents.scores
    gold = contents.details.truth
    key = "page.subtitle" if len(scores.systems) > 1 else "page.subtitle_one"
    return words(
        key, gold="" if gold in _NAMELESS else words("page.subtitle_gold", gold=gold), measure=str(scores.primary),
        questions=words("count.questions", n=len(scores.query_ids)),
        systems=words("count.systems", n=len(scores.systems)),
    )  # fmt: skip


def leaderboard_title(contents: Contents, words: Words) -> str:
    """The question that the leaderboard answers: which of several is best, or what the one reaches."""
    return words("page.leaderboard.title" if len(contents.scores.systems) > 1 else "page.leaderboard.title_one")
