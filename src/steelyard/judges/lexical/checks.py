"""Checks of the lexical judge beyond single words: where numbers and negations of two texts differ."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from steelyard.judges.lexical.readings import Pair, Reading

_OVERLAP = 0.8
"""Share of the words that a sentence must have in common with a text to be held against it."""
_LENGTH, _FEW = 3, 5
"""Such a sentence may have three times as many words, and fifteen: what a very long one negates may be anything."""


@dataclass(frozen=True, slots=True)
class MissingNumbers:
    """Numbers of a hypothesis that its premise lacks, and such as it has beside something else only.

    numbers   that it lacks
    units     with another unit of measure, and their own units
    dates     days in another month, and their own months
    """

    numbers: Set[str] = frozenset()
    units: Set[Pair] = frozenset()
    dates: Set[Pair] = frozenset()

    @property
    def all(self) -> Set[str]:
        """The numbers, each once."""
        if not self.units and not self.dates:
            return self.numbers
        return self.numbers | {number for number, _ in (*self.units, *self.dates)}


NOTHING_MISSING = MissingNumbers()


def beside_others(hypothesis: Set[Pair], premise: Set[Pair]) -> Set[Pair]:
    """Pairs of a number and what is beside it, of which the premise has the number beside something else only.

    >>> beside_others({("9", "km"), ("5", "kg")}, {("9", "mile"), ("2", "kg")})
    {('9', 'km')}
    """
    if hypothesis <= premise:
        return frozenset()
    sound = {number for number, _ in hypothesis & premise}
    elsewhere = {number for number, _ in premise} - sound
    return {pair for pair in hypothesis if pair[0] in elsewhere}


def contradiction(
    hypothesis: Reading, premise: Reading, missing_numbers: Set[str]
) -> Literal["", "negation", "numbers"]:
    """What the premise says otherwise; nothing where it says it nowhere, or agrees somewhere.

    Sentences of the premise with nearly all words of the hypothesis are held against it.  "negation": each of them
    negates what the hypothesis does not, or the other way round.  "numbers": one has other numbers in place of those
    that are missing, with the same unit.
    """
    words = hypothesis.plain
    least = _OVERLAP * len(words)
    if len(words) < 2 or len(words & premise.vocabulary) < least or hypothesis.text in premise.text:
        return ""
    if not missing_numbers and not hypothesis.has_negation and not premise.has_negation:
        return ""
    most = _LENGTH * (len(words) + _FEW)
    alike = [
        sentence
        for sentence in premise.sentences
        if len(words & sentence.vocabulary) >= least and len(sentence.distinct) <= most
    ]
    if alike and all(_is_negated_otherwise(hypothesis, sentence) for sentence in alike):
        return "negation"
    if missing_numbers and any(_has_others(hypothesis, sentence, missing_numbers) for sentence in alike):
        return "numbers"
    return ""


def _is_negated_otherwise(hypothesis: Reading, sentence: Reading) -> bool:
    only_here = hypothesis.negated - sentence.negated
    only_there = sentence.negated - hypothesis.negated
    return not (only_here.isdisjoint(sentence.vocabulary) and only_there.isdisjoint(hypothesis.vocabulary))


def _has_others(hypothesis: Reading, sentence: Reading, missing: Set[str]) -> bool:
    others = sentence.numbers - hypothesis.numbers
    units = {unit for number, unit in hypothesis.quantities if number in missing}
    if units:
        return units <= {unit for number, unit in sentence.quantities if number in others}
    return len(others) >= len(missing)
