"""Scores of other tools: thumbs and ratings of users, and what evaluators say of answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from steelyard.io.traces import values
from steelyard.traffic.foreign.tables import Gathered
from steelyard.traffic.schema import SCORE

EVALUATORS = {"EVAL", "LLM", "CODE"}
"""Sources of scores that are no people."""
_RATING = re.compile(r"rating|stars?\b|csat|satisf|满意|评分|打分")
_THUMB = re.compile(r"thumb|feedback|vote|\blike|helpful|赞|反馈|有用")
_UP = {"up", "thumbs_up", "thumb_up", "positive", "good", "like", "liked", "helpful", "yes", "true", "👍", "赞", "有用"}
_DOWN = {
    "down", "thumbs_down", "thumb_down", "negative", "bad", "dislike", "disliked", "not_helpful", "unhelpful", "no",
    "false", "👎", "踩", "没用",
}  # fmt: skip
_PASSED = {"pass": 1.0, "fail": 0.0, "correct": 1.0, "incorrect": 0.0, "relevant": 1.0, "not_relevant": 0.0,
           "irrelevant": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}  # fmt: skip


@dataclass(frozen=True)
class Score:
    """A score of a trace, as a tool has it.

    trace_id, span_id   what it is of; a trace is a request
    value, label        number or truth value, and word; either may be None
    time                seconds since 1970;   source   HUMAN, API, ANNOTATION, EVAL, LLM, CODE; None where it is unknown
    """

    trace_id: str | None
    span_id: str | None
    name: str
    value: Any
    label: Any
    time: float | None
    source: str | None = None
    user: str | None = None


def add_score(score: Score, gathered: Gathered, number: int) -> None:
    """Add a score as an event, or count why it is none;   number   of its record, from 1."""
    kind, value = _kind(score), _value(score.value, score.label)
    if kind == "thumb":
        value = _thumb(score)
    elif value is None:
        word = str(score.label if score.label is not None else score.value).strip().lower().replace(" ", "_")
        value = _PASSED.get(word)
    if value is None or (kind == "rating" and not 1 <= value <= 5):
        gathered.miss(f"unclear_{kind}" if kind in ("thumb", "rating") else "score_without_number", number)
    else:
        gathered.add("event", time=score.time, request=score.trace_id, kind=kind, value=value, user=score.user)


def _kind(score: Score) -> str:
    name = re.sub(r"[^\w]+", "_", score.name.strip().lower())
    if (score.source or "").upper() not in EVALUATORS:
        if _RATING.search(name):
            return "rating"
        if _THUMB.search(name.replace("_", " ")):
            return "thumb"
    return SCORE + name


def _value(value: Any, label: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    number = values.number(value)
    return number if number is not None else values.number(label)


def _thumb(score: Score) -> float | None:
    """1 or -1, by the word or else by 1, 0 or -1; None of any other number, as 4 of 5 is no thumb."""
    words = {str(own).strip().lower().replace(" ", "_").replace("-", "_") for own in (score.label, score.value)}
    if words & _DOWN:
        return -1.0
    if words & _UP:
        return 1.0
    return {1.0: 1.0, 0.0: -1.0, -1.0: -1.0}.get(_value(score.value, score.label))  # type: ignore[arg-type]
