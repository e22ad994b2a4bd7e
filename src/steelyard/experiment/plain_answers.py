"""Measures of answers as plain functions on one answer, for a notebook or a unit test.

Verdicts are those of the lexical judge, which compares words, numbers and names; it is not calibrated on your texts.
All return a float; NaN where the value is undefined, as the faithfulness of an abstention is.  `contexts` are texts, or
a dict {id: text} where the answer cites by id; `gold` is a gold answer, or several of which the best counts.  For many
questions, and for other judges, `judge` and `evaluate` are faster and say more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from steelyard.base.errors import InputError, quoted
from steelyard.measures import Measure, parse

Texts: TypeAlias = Iterable[str] | Mapping[str, str]

_QUESTION = "q"


def score_answer(
    measure: str | Measure, answer: str, contexts: Texts | None = None, gold: str | Iterable[str] = ()
) -> float:
    """Any registered measure of one answer, as far as what is passed defines it.

    >>> score_answer("hallucination", "It opens at 9. Tea is free.", ["Opening hours: 9 to 17."], gold="At 9.")
    0.5
    """
    # What answers are judged with is imported where one is.
    from steelyard.data.outputs import Outputs
    from steelyard.data.questions import Questions
    from steelyard.judges.judging import judge_answers
    from steelyard.judges.lexical.judge import LexicalJudge

    question = {"query_id": _QUESTION, "query": "", "answers": _gold_answers(gold)}
    output = {"query_id": _QUESTION, "answer": _text(answer, "answer"), "retrieved": _retrieved(contexts)}
    verdicts = judge_answers(Questions([question]), Outputs([output]), LexicalJudge())
    return float(parse(measure)(verdicts.arrays([_QUESTION]))[0])


def _text(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise InputError(f"{what}: {quoted(text)} was passed where a text is expected")
    return text


def _retrieved(contexts: Texts | None) -> list[dict[str, str]]:
    """The chunks as outputs have them; without contexts one whose text is unknown."""
    if contexts is None:
        return [{"id": "unknown"}]
    texts = _listed(contexts.values() if isinstance(contexts, Mapping) else contexts, "contexts")
    ids = list(contexts) if isinstance(contexts, Mapping) else [str(n) for n in range(1, len(texts) + 1)]
    return [{"id": _text(id, "contexts: an id"), "text": text} for id, text in zip(ids, texts, strict=True)]


def _gold_answers(gold: str | Iterable[str]) -> list[str]:
    return [gold] if isinstance(gold, str) else _listed(gold, "gold")


def _listed(texts: Iterable[str], what: str) -> list[str]:
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(f"{what}: {quoted(texts)} was passed where a list of texts is expected")
    return [_text(text, what) for text in texts]


def faithfulness(answer: str, contexts: Texts) -> float:
    """Share of the answer's sentences that a context supports.

    >>> faithfulness("It opens at 9 [h#2]. Tea is free.", ["Opening hours: 9 to 17."])
    0.5
    """
    return score_answer("faithfulness", answer, contexts)


def answer_precision(answer: str, gold: str | Iterable[str]) -> float:
    """Share of the answer's sentences that a gold answer supports.

    >>> answer_precision("It opens at 9. Tea is free.", "It opens at 9.")
    0.5
    """
    return score_answer("answer_precision", answer, gold=gold)


def answer_recall(answer: str, gold: str | Iterable[str]) -> float:
    """Share of the gold answer's sentences that the answer says.

    >>> answer_recall("It opens at 9.", "It opens at 9. Tea is free.")
    0.5
    """
    return score_answer("answer_recall", answer, gold=gold)


def answer_f1(answer: str, gold: str | Iterable[str]) -> float:
    """Harmonic mean of answer_precision and answer_recall.

    >>> answer_f1("It opens at 9.", "It opens at 9. Tea is free.")
    0.6666...
    """
    return score_answer("answer_f1", answer, gold=gold)


def exact_match(answer: str, gold: str | Iterable[str]) -> float:
    """1 where the answer has the words of a gold answer and no others; case, punctuation and articles aside.

    >>> exact_match("The Eiffel Tower.", ["Tour Eiffel", "eiffel tower"])
    1.0
    """
    return score_answer("exact_match", answer, gold=gold)


def token_f1(answer: str, gold: str | Iterable[str]) -> float:
    """2 · shared words / (words of the answer + words of the gold answer); Chinese by characters.

    >>> token_f1("早上九点开门", "九点开门")
    0.8
    """
    return score_answer("token_f1", answer, gold=gold)


def content_f1(answer: str, gold: str | Iterable[str]) -> float:
    """token_f1 without stop words.

    >>> content_f1("It opens at 9 sharp.", "9 sharp")
    0.8
    """
    return score_answer("content_f1", answer, gold=gold)


def contains(answer: str, gold: str | Iterable[str]) -> float:
    """1 where the words of a gold answer are in the answer, one behind the other.

    >>> contains("It is the Eiffel Tower, in Paris.", "Eiffel tower")
    1.0
    """
    return score_answer("contains", answer, gold=gold)


def citation_validity(answer: str, contexts: Texts) -> float:
    """Share of the answer's citations that name a context, by its number from 1 or by its id.

    >>> citation_validity("It opens at 9 [1]. Tea is free [3].", ["Opening hours: 9 to 17.", "Tea is free."])
    0.5
    """
    return score_answer("citation_validity", answer, contexts)


def citation_support(answer: str, contexts: Texts) -> float:
    """Share of the answer's sentences that the contexts which they cite support together; none cited counts 0.

    >>> citation_support("It opens at 9 [h#2]. Tea is free [h#2].", {"h#2": "Opening hours: 9 to 17."})
    0.5
    """
    return score_answer("citation_support", answer, contexts)


def citation_precision(answer: str, contexts: Texts) -> float:
    """Share of the citations that are needed; those that name no context are in the denominator.

    >>> citation_precision("It opens at 9 [1][2].", ["Opening hours: 9 to 17.", "Tea is free."])
    0.5
    """
    return score_answer("citation_precision", answer, contexts)
