"""Whether verdicts of several systems were made in one way: differences between values are else those of judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from steelyard.base.differences import differences
from steelyard.base.errors import InputError
from steelyard.experiment.score_arrays import ScoreArrays
from steelyard.measures import Measure


def check_same_judge(parts: Iterable[ScoreArrays]) -> None:
    """Raise   InputError where some systems, by measures that need verdicts, were judged otherwise than others."""
    if differ := judges_differ(parts):
        raise InputError(
            f"{differ}; judge both alike (steelyard judge, --judge NAME), or insist with --mixed-judges "
            "(mixed_judges=True)"
        )


def judges_differ(parts: Iterable[ScoreArrays]) -> str:
    """How the verdicts of two systems differ, the first that do; empty where all were made in one way."""
    apart = first_apart(parts)
    if not apart:
        return ""
    (first, one), (system, other) = apart
    return f"{first} and {system} were judged differently: {first_difference(one, other)}"


def first_apart(parts: Iterable[ScoreArrays]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The first two systems that were judged in different ways, each with how; none where all were judged alike."""
    listed = [item for part in parts for item in methods(part)]
    return next(((listed[0], item) for item in listed[1:] if item[1] != listed[0][1]), ())


def comparable(scores: ScoreArrays) -> list[bool]:
    """By measure: whether values of its systems may be compared, as one judge, or people, decided about all of them."""
    apart = bool(first_apart([scores]))
    return [
        not (apart and needs_verdicts(measure))
        or all(str(measure) in scores.corrections.get(system, {}) for system in scores.systems)
        for measure in scores.measures
    ]


def needs_verdicts(measure: Measure) -> bool:
    """Whether a judge decides about values of a measure."""
    if not measure.definition.of_answers:
        return False
    from steelyard.experiment.answers import reads_verdicts  # Judges take a moment to import.

    return reads_verdicts(measure)


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
    if recipes and any(map(needs_verdicts, scores.measures)):
        from steelyard.judges.verdicts import method_of  # Judges take a moment to import.

        for system in scores.systems:
            for recipe in recipes.get(system, ()):
                yield system, method_of(recipe)
