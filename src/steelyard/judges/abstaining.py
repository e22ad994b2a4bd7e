"""Whether an answer says that there is none."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.judges.phrases import is_referral
from steelyard.judges.records import Unit

_UNSAID = frozenset({"code", "sources"})
"""Units that assert nothing, but belong to an answer."""


def is_abstention(units: Iterable[Unit]) -> bool:
    """Whether a whole answer says that it cannot answer, or that the documents do not, in English or Chinese.

    units   of the answer

    Courtesy, questions back, offers and advice where to ask may stand beside it.  An answer that has any other sentence
    beside it, such as a fact and the gap that it leaves, is no abstention; an empty one is none either.

    >>> from steelyard.judges.units import answer_units
    >>> is_abstention(answer_units("I'm sorry, the documents do not say when it closes. Please contact the library."))
    True
    >>> is_abstention(answer_units("It opens at nine. The documents do not say when it closes."))
    False
    """
    admits = False
    for unit in units:
        if unit.no_claim == "admission":
            admits = True
        elif unit.no_claim in _UNSAID or not (unit.no_claim or is_referral(unit.text)):
            return False
    return admits
