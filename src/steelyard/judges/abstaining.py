"""Whether an answer says that there is none."""

from __future__ import annotations

from steelyard.judges.phrases import is_referral
from steelyard.judges.units import answer_units

_UNSAID = frozenset({"code", "sources"})
"""Units that assert nothing, but belong to an answer."""


def is_abstention(answer: str) -> bool:
    """Whether a whole answer says that it cannot answer, or that the documents do not, in English or Chinese.

    Courtesy, questions back, offers and advice where to ask may stand beside it.  An answer that has any other sentence
    beside it, such as a fact and the gap that it leaves, is no abstention; an empty one is none either.

    >>> is_abstention("I'm sorry, the documents do not say when it closes. Please contact the library.")
    True
    >>> is_abstention("It opens at nine. The documents do not say when it closes.")
    False
    """
    admits = False
    for unit in answer_units(answer):
        if unit.no_claim == "admission":
            admits = True
        elif unit.no_claim in _UNSAID or not (unit.no_claim or is_referral(unit.text)):
            return False
    return admits
