"""Quantities of one text beside those of another: the same in other words, others, and those of something else."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import chain

from steelyard.judges.lexical.quantities import Quantity
from steelyard.judges.lexical.readings import Reading


def restated(hypothesis: Reading, premise: Reading) -> list[Quantity]:
    """Quantities of the hypothesis that the premise has too, in the same words or in others."""
    if not hypothesis.quantities or hypothesis.amounts.isdisjoint(premise.amounts):
        return []
    return [quantity for quantity in hypothesis.quantities if quantity.keys & premise.amounts]


def other_quantities(hypothesis: Reading, premise: Reading, missing: Set[str]) -> Set[str]:
    """Forms of words in quantities instead of which the premise has others of their kind, or with another unit.

    missing   numbers that the premise lacks; quantities with these are left out

    >>> sorted(other_quantities(Reading("It lasts 9 hours."), Reading("It lasts 9 days."), frozenset()))
    ['9', 'hour']
    """
    others = [
        quantity
        for quantity in hypothesis.quantities
        if quantity.keys.isdisjoint(premise.amounts)
        and quantity.numbers.isdisjoint(missing)
        and _has_other(premise, quantity)
    ]
    return hypothesis.within(others) - hypothesis.within(restated(hypothesis, premise)) if others else frozenset()


def _has_other(premise: Reading, quantity: Quantity) -> bool:
    is_of_kind = quantity.is_sure and not quantity.dimensions.isdisjoint(premise.dimensions)
    return is_of_kind or not quantity.numbers.isdisjoint(premise.measured)


def is_of_another(hypothesis: Reading, premise: Reading) -> bool:
    """True where the premise has a quantity of the hypothesis for something else.

    Of each quantity of a sentence the nearest word before it that is not before others too says what has it.  The
    hypothesis has that word of another quantity of the same kind, and not of its own.

    >>> is_of_another(Reading("The midterm is 30%."), Reading("Homework (30%) and the midterm (20%) count."))
    True
    """
    same = restated(hypothesis, premise)
    return any(
        all(_is_of_another(quantity, hypothesis, sentence) for sentence in sentences)
        for quantity in same
        if (sentences := [sentence for sentence in premise.sentences if sentence.amounts & quantity.keys])
    )


def _is_of_another(quantity: Quantity, hypothesis: Reading, sentence: Reading) -> bool:
    own = [words for other, words in sentence.owners if other.keys & quantity.keys]
    others = [
        words
        for other, words in sentence.owners
        if other.dimensions & quantity.dimensions and other.keys.isdisjoint(hypothesis.amounts)
    ]
    return bool(_nearest(others, own) & hypothesis.distinct) and not _nearest(own, others) & hypothesis.distinct


def _nearest(owners: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> Set[str]:
    """Of each list of words the first that is in none of the others."""
    shared = frozenset(chain(*others))
    return {word for words in owners for word in [word for word in words if word not in shared][:1]}
