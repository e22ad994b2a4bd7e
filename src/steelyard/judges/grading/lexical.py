"""The lexical judge of relevance: which words of the question a document has, for trying how grading goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.judges.grading.graders import Grading, QueryDocument, grader_named
from steelyard.judges.grading.scale import Scale
from steelyard.judges.lexical.readings import Reading, Readings

VERSION = 1
_SHOWN = 12


@grader_named("lexical")
class LexicalGrader:
    """Grades by words alone: the share of the question's distinct content words that the document has.

    The share is a place on the scale, from its lowest grade for none to its highest for all; the nearest grade counts.
    Words are compared as the judge `lexical` of answers compares them.  Of a question without content words, all its
    words count.  It does not know what a question asks for: it is there for trying how grading goes.

    >>> from steelyard.judges.grading.scale import scale_of
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
    listed = list(dict.fromkeys(query.written(missing) if query.distinct else sorted(missing)))
    more = f", +{len(listed) - _SHOWN}" if len(listed) > _SHOWN else ""
    reason = f"missing: {', '.join(listed[:_SHOWN])}{more}" if listed else ""
    return Grading(scale.at(1 - len(missing) / len(wanted)), reason)
