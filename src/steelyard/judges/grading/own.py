"""A judge of relevance of the user's own: a function from pairs to grades."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from steelyard.base.errors import InputError, exception_line, quoted
from steelyard.judges.asking import listable
from steelyard.judges.grading.grader import Grader, Grading, Pair
from steelyard.judges.grading.scale import Scale

_LONGEST_NAME = 60


class OwnGrader:
    """A function on pairs (query, text) that gives a grade for each; None is not judged.

    >>> from steelyard.judges.grading.scale import scale_of
    >>> grader = OwnGrader(lambda pairs: [3 if query in text else 7 for query, text in pairs], "within")
    >>> for grading in grader.grade([Pair("bees", "bees dance"), Pair("bees", "whales")], scale_of("0-3")):
    ...     print(grading.gain, grading.reason)
    3.0
    None off the scale: 7
    """

    def __init__(self, grade_pairs: Callable[[Sequence[Pair]], Any], name: str) -> None:
        self.name, self._grade_pairs = name, grade_pairs

    def grade(self, pairs: Sequence[Pair], scale: Scale) -> list[Grading]:
        """The grade of each pair, by one call for all.

        Raises   InputError where the function raises, or does not give one grade a pair.
        """
        try:
            grades = list(islice(listable(self._grade_pairs(list(pairs))), len(pairs) + 1))
        except Exception as error:  # Whatever the user's own code raises.
            raise InputError(f"judge {self.name}: raised {exception_line(error)}; mend it") from error
        if len(grades) != len(pairs):
            raise InputError(f"judge {self.name}: gave {len(grades)} grades for {len(pairs)} pairs; expected one each")
        return [_grading(grade, scale) for grade in grades]

    def recipe(self) -> Mapping[str, Any]:
        """Nothing: what a function does is its own affair."""
        return {}


def own_grader(thing: Any, settings: Mapping[str, Any], judge: object) -> Grader:
    """A judge from an object with `grade`, `name` and `recipe`, or from a function on pairs.

    judge    as the user wrote it
    Raises   InputError for settings, which these have none of, and for what is neither.
    """
    name = judge if isinstance(judge, str) else str(getattr(thing, "name", getattr(thing, "__name__", "own")))
    if settings:
        raise InputError(f"judge {name}: takes no settings (got {', '.join(settings)}); set them where it is made")
    if not isinstance(thing, type) and all(hasattr(thing, part) for part in ("grade", "name", "recipe")):
        grader: Grader = thing
        return grader
    if isinstance(thing, type) or not callable(thing):
        raise InputError(f"judge {quoted(judge)}: is no function from pairs (query, text) to grades")
    return OwnGrader(thing, name[:_LONGEST_NAME])


def _grading(grade: Any, scale: Scale) -> Grading:
    if isinstance(grade, Grading):
        return grade
    if grade is None:
        return Grading(None, "gave None")
    gain = scale.gain_of(grade.item() if hasattr(grade, "item") else grade)
    return Grading(gain, "" if gain is not None else f"off the scale: {quoted(grade)}")
