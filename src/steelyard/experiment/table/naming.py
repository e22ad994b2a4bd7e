"""Scores with their systems by other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from steelyard.experiment.table.scores import Scores

T = TypeVar("T")


def renamed(scores: Scores, names: Mapping[str, str]) -> Scores:
    """The scores with some systems by other names.

    names   system -> its new name; others keep theirs

    >>> from steelyard.experiment.door.evaluation import evaluate
    >>> renamed(evaluate({"q": {"a": 1}}, {"bm25": {"q": ["a"]}}, "mrr"), {"bm25": "june"}).systems
    ['june']
    """
    if all(names.get(system, system) == system for system in scores.systems):
        return scores

    def by_new_name(of: Mapping[str, T]) -> dict[str, T]:
        return {names.get(system, system): value for system, value in of.items()}

    def later(part: Callable[[], Mapping[str, Any]]) -> Callable[[], Mapping[str, Any]]:
        return lambda: by_new_name(part())

    parts = dict(scores.recipe_parts)
    for key in ("runs", "verdicts"):
        if key in parts:
            parts[key] = later(parts[key]) if callable(parts[key]) else by_new_name(parts[key])
    return replace(
        scores, systems=[names.get(system, system) for system in scores.systems], recipe_parts=parts,
        repeats=by_new_name(scores.repeats), notes=by_new_name(scores.notes),
        corrections=by_new_name(scores.corrections),
    )  # fmt: skip
