"""Whether verdicts of several systems were made in one way: differences between values are else those of judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from steelyard.base.differences import differences
from steelyard.base.errors import InputError
from steelyard.experiment.score_arrays import ScoreArrays


def check_same_judge(parts: Iterable[ScoreArrays]) -> None:
    """Raise   InputError where some systems, by measures that need verdicts, were judged otherwise than others."""
    if differ := judges_differ(parts):
        raise InputError(
            f"{differ}; judge both alike (steelyard judge, --judge NAME), or insist with --mixed-judges "
            "(mixed_judges=True)"
        )


def judges_differ(parts: Iterable[ScoreArrays]) -> str:
    """How the verdicts of two systems differ, the first that do; empty where all were made in one way."""
    listed = [item for part in parts for item in methods(part)]
    for system, method in listed[1:]:
        first, other = listed[0]
        if method != other:
            return f"{first} and {system} were judged differently: {first_difference(other, method)}"
    return ""


def first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The first key by which two ways of judging differ, with both values.

    >>> first_difference({"judge": {"name": "llm", "model": "a"}}, {"judge": {"name": "llm", "model": "b"}})
    "judge.model is 'a' and 'b'"
    """
    key, a, b = next(differences(one, other))
    return f"{key} is {a} and {b}"


def methods(scores: ScoreArrays) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each run of a system, and how it was judged; none where no measure needs verdicts."""
    recipes = scores.recipe_parts.get("verdicts")
    if not recipes or not any(measure.definition.of_answers for measure in scores.measures):
        return
    from steelyard.experiment.answers import reads_verdicts  # Judges take a moment to import.
    from steelyard.judges.verdicts import method_of

    if any(measure.definition.of_answers and reads_verdicts(measure) for measure in scores.measures):
        for system in scores.systems:
            for recipe in recipes.get(system, ()):
                yield system, method_of(recipe)
