"""The sentence of a text that supports another text best, by its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import fsum

from steelyard.judges.lexical.readings import Reading
from steelyard.text.spans import Span

_LENGTH = 0.1
"""How much the words of a sentence that the other text lacks count, beside those that it has."""


def best_sentence(hypothesis: str, premise: str) -> Span | None:
    """Place of the sentence of the premise that supports the hypothesis best; None where none has a word of it.

    Of equally good ones the first.  See `evidence_scores`.

    >>> premise = "The museum has a garden. It opens at 9. Its cafe opens later."
    >>> start, end = best_sentence("The museum opens at 9.", premise)
    >>> premise[start:end]
    'It opens at 9.'
    """
    sentences = _premise(premise).sentences
    scores = _scores(_hypothesis(hypothesis), sentences)
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    return None if best is None or scores[best] == 0 else (sentences[best].start, sentences[best].end)


def evidence_scores(hypothesis: str, sentences: Sequence[str]) -> list[float]:
    """(n,) how well each sentence of a text supports the hypothesis, from 0 to 1.

    Each content word of the hypothesis has one vote, which the sentences that have the word share.  The score is the
    share of the votes that a sentence gets (words that no sentence has are left out), as a mean with the share of its
    own words that the hypothesis has, which counts a tenth: F = 1.1 · common / (votes + 0.1 · words of the sentence),
    all weighed by the sentences that share them.

    >>> scores = evidence_scores("The museum opens at 9.", ["The museum has a garden.", "It opens at 9.", "Rain."])
    >>> [round(score, 3) for score in scores]
    [0.344, 0.688, 0.0]
    """
    return _scores(_hypothesis(hypothesis), [_sentence(text) for text in sentences])


def _scores(hypothesis: Reading, sentences: Sequence[Reading]) -> list[float]:
    if not any(hypothesis.distinct & sentence.distinct for sentence in sentences):
        return [0.0] * len(sentences)
    n_holders = Counter(word for sentence in sentences for word in sentence.distinct)
    votes = fsum(1 / n_holders[word] for word in hypothesis.distinct if word in n_holders)
    scores = []
    for sentence in sentences:
        common = fsum(1 / n_holders[word] for word in hypothesis.distinct & sentence.distinct)
        size = fsum(1 / n_holders[word] for word in sentence.distinct)
        scores.append((1 + _LENGTH) * common / (votes + _LENGTH * size))
    return scores


_premise = lru_cache(maxsize=256)(Reading)
_hypothesis = lru_cache(maxsize=256)(Reading)
_sentence = lru_cache(maxsize=4096)(Reading)
