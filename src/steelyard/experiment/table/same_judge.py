"""Measures that read verdicts, and whether the verdicts on several systems were made in one way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.differences import differences
from steelyard.base.errors import InputError
from steelyard.experiment.table.arrays import CAUSES, NOT_JUDGED, ScoreArrays
from steelyard.measures import Measure
from steelyard.measures.judged_answers import Codes, JudgedAnswers


def check_same_judge(parts: Iterable[ScoreArrays]) -> None:
    """Raise   InputError where some systems, by measures that need verdicts, were judged otherwise than others."""
    if differ := judges_differ(parts):
        raise InputError(
            f"{differ}; judge both alike (steelyard judge, --judge NAME), or insist with --mixed-judges "
            "(mixed_judges=True)"
        )


def judges_differ(parts: Iterable[ScoreArrays]) -> str:
    """Difference between the verdicts of two systems, the first that do; empty where all were made in one way."""
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
    """True if a judge decides about values of a measure."""
    if not measure.definition.of_answers:
        return False
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
        from steelyard.judges.tables.verdicts import method_of  # Judges take a moment to import.

        for system in scores.systems:
            for recipe in recipes.get(system, ()):
                yield system, method_of(recipe)


@lru_cache(maxsize=256)
def reads_verdicts(spec: Measure) -> bool:
    """True if a measure of answers needs a judge: without any verdict, its value of some answer is not known.

    >>> from steelyard.measures import parse
    >>> [reads_verdicts(parse(name)) for name in ("faithfulness", "exact_match", "citation_validity")]
    [True, False, False]
    """
    return bool((causes_of(spec, _unjudged_example(), spec(_unjudged_example())) == 1 + CAUSES.index(NOT_JUDGED)).any())


@lru_cache(maxsize=1)
def _unjudged_example() -> JudgedAnswers:
    """An answer and an abstention with all that can be judged, and nothing judged."""
    from steelyard.judges.tables.arrays import judged_arrays
    from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Nugget, State, Unit, Verdict

    nothing = Verdict("not_judged")
    records = [
        JudgedAnswer(
            query_id, cast("State", state), answer="Nine [1].", context=("c", "d"), units=(Unit(0, 4, "Nine"),),
            citations=(CitedChunk(0, 5, 8, "[1]", 0),), gold_answers=("Nine",), gold_units=(Unit(0, 4, "Nine"),),
            support=((nothing, nothing),), joint=(nothing,), without=(None,), correctness=((nothing,),),
            said=(nothing,), reach=((nothing, nothing),), nuggets=(Nugget("Nine", vital=True, credit=None),),
            grade=nothing, answerable=answerable,
        )
        for query_id, state, answerable in (("a", "answered", True), ("b", "abstained", False))
    ]  # fmt: skip
    return judged_arrays({record.query_id: record for record in records}, ["a", "b"])


def causes_of(spec: Measure, answers: JudgedAnswers, values: Floats) -> Codes:
    """(q,) why values of a measure are 0 or not there: places in CAUSES from 1, 0 where nothing is to be said."""
    causes = spec.undefined_reasons(answers).astype(np.int8)
    nothing = causes == 0
    causes[nothing & np.isnan(values)] = 1 + CAUSES.index(NOT_JUDGED)
    if spec.definition.absent == "zero":
        causes[nothing & answers.absent & ~np.isnan(values)] = 1 + CAUSES.index("no_answer")
    return causes
