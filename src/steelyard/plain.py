"""Measures as plain functions on one list, for a notebook or a unit test.

Those of one list take `retrieved`, the ids in the order of the system, and `relevant`, relevant ids or a dict
{id: gain}; all return a float.  Ids are text or whole numbers, and 1 is "1".  For many queries `evaluate` is faster and
says more.

Those of one answer take verdicts of the lexical judge, which compares words, numbers and names; it is not calibrated on
your texts.  They return NaN where the value is undefined, as the faithfulness of an abstention is.  `contexts` are
texts, or a dict {id: text} where the answer cites by id; `gold` is a gold answer, or several of which the best counts.
For many questions, and for other judges, `judge` and `evaluate` are faster and say more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from steelyard.base.errors import DuplicateError, InputError, quoted
from steelyard.measures import Alignment, Measure, make, parse
from steelyard.measures.parameters import ParameterValue

Ids: TypeAlias = Iterable[Any]
Relevant: TypeAlias = Iterable[Any] | Mapping[Any, float]
Texts: TypeAlias = Iterable[str] | Mapping[str, str]

_PRESENT = np.zeros(1, bool)


def _align(retrieved: Ids, relevant: Relevant) -> Alignment:
    if isinstance(retrieved, Set | Mapping):
        raise InputError(f"a {type(retrieved).__name__} was passed where a list of ids is expected")
    ids, labels = _ids(retrieved, "retrieved"), _labels(relevant)
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise DuplicateError(f"{twice!r} is retrieved twice; remove one")
    hits = [(rank, labels[id]) for rank, id in enumerate(ids, 1) if id in labels]
    table = np.array(hits, float).reshape(-1, 2)
    ideal = np.array(sorted(labels.values(), reverse=True), float)
    return Alignment(
        query_id=("",),
        n_retrieved=np.array([len(ids)]),
        missing=_PRESENT,
        starts=np.array([0, len(hits)]),
        hit_rank=table[:, 0].astype(np.int64),
        hit_gain=table[:, 1],
        ideal_starts=np.array([0, len(ideal)]),
        ideal_gain=ideal,
    )


def _ids(ids: Iterable[Any], what: str) -> list[str]:
    """Ids as text, as `evaluate` compares them."""
    from steelyard.io.objects import are_texts, text_id  # imports frames, which measures of answers do without

    if isinstance(ids, str | bytes):
        raise InputError("a text was passed where a list of ids is expected")
    try:
        listed = list(ids)
    except TypeError:
        raise InputError(f"{what}: {ids!r} is no list of ids") from None
    return listed if are_texts(listed) else [text_id(id, what, "an id") for id in listed]


def _labels(relevant: Relevant) -> dict[str, float]:
    """The gain of each id; 1 where there are ids alone."""
    ids = _ids(relevant, "relevant")
    if not isinstance(relevant, Mapping):
        return dict.fromkeys(ids, 1.0)
    from steelyard.io.objects import finite

    gains = [finite(gain, f"relevant: the gain of {id!r}") for id, gain in zip(ids, relevant.values(), strict=True)]
    labels = dict(zip(ids, gains, strict=True))
    if len(labels) < len(ids):
        raise DuplicateError("relevant: an id is there as text and as a number; remove one")
    return labels


@lru_cache(maxsize=256)
def _measure(name: str, k: int | None, params: tuple[tuple[str, ParameterValue], ...]) -> Measure:
    return make(name, k, dict(params))


def _value(
    name: str,
    retrieved: Ids,
    relevant: Relevant,
    k: int | None = None,
    **params: ParameterValue | Mapping[float, float],
) -> float:
    hashable = tuple(
        (key, tuple(value.items()) if isinstance(value, Mapping) else value) for key, value in params.items()
    )
    return float(_measure(name, k, hashable)(_align(retrieved, relevant))[0])


def score(measure: str | Measure, retrieved: Ids, relevant: Relevant) -> float:
    """Any registered measure of one list.

    >>> score("ndcg(gain=exp)@10", ["d2", "d1"], {"d1": 3, "d2": 1})
    0.7098...
    """
    return float(parse(measure)(_align(retrieved, relevant))[0])


def precision(retrieved: Ids, relevant: Relevant, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """Share of the first k documents that are relevant; k divides even where the list is shorter.

    >>> precision(["d1", "d2", "d3"], {"d1", "d3"}, k=2)
    0.5
    """
    return _value("precision", retrieved, relevant, k, min_gain=min_gain)


def recall(retrieved: Ids, relevant: Relevant, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """Share of the relevant documents that are among the first k.

    >>> recall(["d1", "d2", "d3"], {"d1", "d3"}, k=2)
    0.5
    """
    return _value("recall", retrieved, relevant, k, min_gain=min_gain)


def f(retrieved: Ids, relevant: Relevant, *, k: int | None = None, beta: float = 1.0, min_gain: float = 1.0) -> float:
    """Weighted harmonic mean of precision and recall; recall counts beta times as much.

    >>> f(["d1", "d2"], {"d1", "d3", "d4"}, beta=2)
    0.3571...
    """
    return _value("f", retrieved, relevant, k, beta=beta, min_gain=min_gain)


def f1(retrieved: Ids, relevant: Relevant, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """Harmonic mean of precision and recall.

    >>> f1(["d1", "d2"], {"d1", "d3"})
    0.5
    """
    return _value("f1", retrieved, relevant, k, min_gain=min_gain)


def hit_rate(retrieved: Ids, relevant: Relevant, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """1 where any relevant document is among the first k, else 0.

    >>> hit_rate(["d1", "d2"], {"d2"}, k=1)
    0.0
    """
    return _value("hit_rate", retrieved, relevant, k, min_gain=min_gain)


def recall_cap(retrieved: Ids, relevant: Relevant, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """Relevant documents among the first k, divided by the most that k places could hold.

    >>> recall_cap(["d1", "d2"], {"d1", "d2", "d3"}, k=2)
    1.0
    """
    return _value("recall_cap", retrieved, relevant, k, min_gain=min_gain)


def judged(retrieved: Ids, relevant: Relevant, *, k: int | None = None) -> float:
    """Share of the first k documents that have a label.

    >>> judged(["d1", "d2"], {"d1": 0})
    0.5
    """
    return _value("judged", retrieved, relevant, k)


def mrr(retrieved: Ids, relevant: Relevant, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """Reciprocal of the rank of the first relevant document.

    >>> mrr(["d1", "d2"], {"d2"})
    0.5
    """
    return _value("mrr", retrieved, relevant, k, min_gain=min_gain)


def map(retrieved: Ids, relevant: Relevant, *, k: int | None = None, min_gain: float = 1.0) -> float:
    """Average precision: precision at each relevant document, divided by the number of relevant ones.

    >>> map(["A", "X", "B", "Y", "C", "Z"], {"A", "B", "C"})
    0.7555...
    """
    return _value("map", retrieved, relevant, k, min_gain=min_gain)


def r_precision(retrieved: Ids, relevant: Relevant, *, min_gain: float = 1.0) -> float:
    """Precision at rank R, the number of relevant documents.

    >>> r_precision(["d1", "d2", "d3"], {"d1", "d3"})
    0.5
    """
    return _value("r_precision", retrieved, relevant, min_gain=min_gain)


def bpref(retrieved: Ids, relevant: Mapping[Any, float], *, min_gain: float = 1.0) -> float:
    """Share of judged non-relevant documents that each relevant one outranks.

    >>> bpref(["d1", "d2", "d3"], {"d1": 0, "d3": 1, "d4": 1})
    0.0
    """
    return _value("bpref", retrieved, relevant, min_gain=min_gain)


def rbp(
    retrieved: Ids, relevant: Relevant, *, k: int | None = None, p: float = 0.8,
    gain: str | Mapping[float, float] = "binary", min_gain: float = 1.0,
) -> float:  # fmt: skip
    """Rank-biased precision with persistence p; graded with gain="linear", as shares of the highest label.

    >>> rbp(["d1", "d2"], {"d2"}, p=0.5), rbp(["d1", "d2"], {"d1": 1, "d2": 2}, p=0.5, gain="linear")
    (0.25, 0.5)
    """
    return _value("rbp", retrieved, relevant, k, p=p, gain=gain, min_gain=min_gain)


def dcg(
    retrieved: Ids, relevant: Relevant, *, k: int | None = None, gain: str | Mapping[float, float] = "linear"
) -> float:
    """Discounted cumulated gain with discount log2(rank + 1).

    >>> dcg(["d1", "d2"], {"d1": 3, "d2": 1})
    3.6309...
    """
    return _value("dcg", retrieved, relevant, k, gain=gain)


def ndcg(
    retrieved: Ids, relevant: Relevant, *, k: int | None = None, gain: str | Mapping[float, float] = "linear",
    ideal: str = "judged",
) -> float:  # fmt: skip
    """dcg divided by that of the ideal ranking of all judged documents (or of the retrieved ones).

    >>> ndcg(["d1", "d2", "d3", "d4", "d5"], {"d1": 3, "d2": 1, "d3": 2, "d4": 0, "d5": 3}, k=3)
    0.7858...
    """
    return _value("ndcg", retrieved, relevant, k, gain=gain, ideal=ideal)


def err(retrieved: Ids, relevant: Relevant, *, k: int | None = None, max_gain: float = 4.0) -> float:
    """Expected reciprocal rank, for labels from 0 to max_gain.

    >>> err(["d1"], {"d1": 4})
    0.9375
    """
    return _value("err", retrieved, relevant, k, max_gain=max_gain)


# Of one answer -----------------------------------------------------------------------------------------------------

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
