"""Judges of relevance: what they are asked and say, their names, functions of the user's own, and the one by words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

from steelyard.base.errors import InputError, exception_line, quoted
from steelyard.base.own_code import check_own, import_object
from steelyard.base.registry import Registry
from steelyard.base.settings import make_with
from steelyard.judges.asking import listable
from steelyard.judges.grading.grades import Scale
from steelyard.judges.lexical.readings import Reading, Readings
from steelyard.judges.registry import OWN_HINT


class QueryDocument(NamedTuple):
    """A question, and the text of a document."""

    query: str
    text: str


@dataclass(frozen=True, slots=True)
class Grading:
    """Grade that a judge gives a pair, with its reason.

    gain     a grade of the scale; None where it gave none
    reason   why, for people; of no grade the cause, such as "budget"
    prompt   a digest of what a model was told, scale and all; empty without a model
    """

    gain: float | None
    reason: str = ""
    prompt: str = ""


class Grader(Protocol):
    """Grades the relevance of documents to questions.

    name   of the judge, such as "lexical"

    One that has `wants_all_at_once` set is asked for all pairs in one call.
    """

    name: str

    def grade(self, pairs: Sequence[QueryDocument], scale: Scale) -> Sequence[Grading]:
        """Grades of the pairs, in their order."""
        ...

    def recipe(self) -> Mapping[str, Any]:
        """Facts that the grades depend on, besides the scale."""
        ...


_LONGEST_NAME = 60


class OwnGrader:
    """A function on pairs (query, text) that gives a grade for each; None is not judged.

    >>> from steelyard.judges.grading.grades import scale_of
    >>> grader = OwnGrader(lambda pairs: [3 if query in text else 7 for query, text in pairs], "within")
    >>> pairs = [QueryDocument("bees", "bees dance"), QueryDocument("bees", "whales")]
    >>> for grading in grader.grade(pairs, scale_of("0-3")):
    ...     print(grading.gain, grading.reason)
    3.0
    None off the scale: 7
    """

    def __init__(self, grade_pairs: Callable[[Sequence[QueryDocument]], Any], name: str) -> None:
        self.name, self._grade_pairs = name, grade_pairs

    def grade(self, pairs: Sequence[QueryDocument], scale: Scale) -> list[Grading]:
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


GRADERS: Registry[Callable[..., Any]] = Registry(
    "judge of relevance", hint=OWN_HINT, homes={"llm": "steelyard.judges.grading.llm"}
)


grader_named = GRADERS.register
"""Registers a class that makes a judge of relevance; its parameters are the settings."""


def make_grader(judge: object, settings: Mapping[str, Any]) -> Grader:
    """A judge of relevance by name, as `module:object`, or a function of the user's own on pairs.

    Raises   InputError for an unknown name or setting, and for what can be no judge.
    """
    if isinstance(judge, str) and ":" not in judge:
        grader: Grader = make_with(GRADERS.get(judge), settings, f"judge {judge}", are_options=True)
        return grader
    if not isinstance(judge, str):
        return own_grader(judge, settings, judge)
    thing = import_object(judge, "judge")
    if not callable(getattr(thing, "grade", None)):
        check_own(judge, thing, "judge", "steelyard.judges")
    return own_grader(thing, settings, judge)


VERSION = 1
_SHOWN = 12


@grader_named("lexical")
class LexicalGrader:
    """Grades by words alone: the share of the question's distinct content words that the document has.

    The share is a place on the scale, from its lowest grade for none to its highest for all; the nearest grade counts.
    Words are compared as the judge `lexical` of answers compares them.  Of a question without content words, all its
    words count.  It does not know what a question asks for: it is there for trying how grading goes.

    >>> from steelyard.judges.grading.grades import scale_of
    >>> pair = QueryDocument("When do the museums open on Monday?", "The museum opens at nine.")
    >>> LexicalGrader().grade([pair], scale_of("0-10"))
    [Grading(gain=7.0, reason='missing: Monday', prompt='')]
    """

    name = "lexical"

    def __init__(self) -> None:
        self._readings = Readings()

    def grade(self, pairs: Sequence[QueryDocument], scale: Scale) -> list[Grading]:
        """The grade of each pair."""
        return [_graded(self._readings[query], self._readings[text], scale) for query, text in pairs]

    def recipe(self) -> Mapping[str, Any]:
        """The version of what is computed."""
        return {"version": VERSION}


def _graded(query: Reading, document: Reading, scale: Scale) -> Grading:
    wanted, present = query.distinct, document.vocabulary
    if not wanted:
        wanted, present = query.tokens, document.tokens
    if not wanted:
        return Grading(scale.gains[0], "no words in the question")
    missing = wanted - present
    listed = list(dict.fromkeys(query.shown(missing) if query.distinct else sorted(missing)))
    more = f", +{len(listed) - _SHOWN}" if len(listed) > _SHOWN else ""
    reason = f"missing: {', '.join(listed[:_SHOWN])}{more}" if listed else ""
    return Grading(scale.at(1 - len(missing) / len(wanted)), reason)
