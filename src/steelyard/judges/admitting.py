"""Sentences that say that there is no answer, and nothing else."""

from __future__ import annotations

import re
from itertools import pairwise

from steelyard.judges.phrases import clause_pattern, is_referral, phrase_reason

_CLAUSE = re.compile(
    r"""\s*[;；]\s* | \s*[,，]?\s*\b(?:but|however|although|though|yet|while|whereas|therefore|only)\b[\s,]*
      | \s*,\s*(?:and|so|nor|or)\b\s* | \s*，\s*
      | [，,]?\s*(?:但是|但|不过|然而|所以|因此|因而|虽然|尽管|而且|并且|同时)[，,]?""",
    re.VERBOSE | re.IGNORECASE,
)
_SAID_OTHERWISE = re.compile(
    r"""\s*(?:["“‘「『] | if\b | unless\b | 如果 | 若 | 假如 | 除非)""", re.VERBOSE | re.IGNORECASE
)
"""Before what is said by others, or on a condition."""
_CONCESSION = re.compile(r"\b(?:although|though|while|whereas)\b", re.IGNORECASE)


def only_admits(sentence: str) -> bool:
    """Whether all that a sentence says is that there is no answer: every clause of it does, or is courtesy or advice.

    >>> only_admits("I'm sorry, but the documents do not say when it closes.")
    True
    >>> only_admits("It opens at nine, but the documents do not say when it closes.")
    False
    """
    sentence = sentence.lower()
    admission_pattern, question = clause_pattern("admission"), clause_pattern("indirect_question")
    hint = clause_pattern("admission_hint")
    if not (hint.search(sentence) and admission_pattern.search(sentence)) or _SAID_OTHERWISE.match(sentence):
        return False
    admitted = False
    for clause in _clauses(sentence):
        admission = admission_pattern.search(clause)
        if admission is not None and _introduces(clause[: admission.start()]):
            admitted = True
        elif not (_introduces(clause + ",") or is_referral(clause) or (admitted and question.search(clause))):
            return False
    return admitted


def _clauses(sentence: str) -> list[str]:
    """Clauses between conjunctions, Chinese ones between commas too; a concession ends at its comma."""
    cuts = [(0, 0), *(match.span() for match in _CLAUSE.finditer(sentence)), (len(sentence), len(sentence))]
    clauses = []
    for (left, start), (end, _) in pairwise(cuts):
        clause = sentence[start:end]
        clauses += clause.split(",", 1) if _CONCESSION.search(sentence[left:start]) else [clause]
    return [clause for clause in clauses if clause.strip()]


def _introduces(before: str) -> bool:
    """Whether what is before an admission asserts nothing: up to its last comma, each part is a phrase or names what is
    talked about, as "In the documents," does.
    """
    return all(_is_introduction(part) for part in re.split("[,，]", before)[:-1])


def _is_introduction(part: str) -> bool:
    return not part.strip() or bool(phrase_reason(part) or clause_pattern("introduction").match(part.strip()))
