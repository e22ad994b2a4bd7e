"""The definitions behind the published numbers, and the statistics: tokens, shares, AUC, correlations, kappa."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence, Set
from itertools import pairwise

import numpy as np
import numpy.typing as npt

STOPWORDS = frozenset(
    """a an and are as at be been being but by can could did do does for from had has have he her his i if in into is it
    its more not of on or she so such than that the their them then there these they this those to was we were which
    will with would you your""".split()
)

Tokens = Callable[[str], list[str]]


def english(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def chinese(text: str) -> list[str]:
    return re.findall("[a-z0-9]+|[\u4e00-\u9fff]", text.lower())


def content_precision(
    answer: str, context: str, *, tokens: Tokens = english, stopwords: Set[str] = STOPWORDS, empty: float = 0.0
) -> float:
    """Share of the answer's tokens, counted with repeats and without stop words, that are in the context."""
    words = [token for token in tokens(answer) if token not in stopwords]
    vocabulary = set(tokens(context))
    return sum(word in vocabulary for word in words) / len(words) if words else empty


def bigram_precision(answer: str, context: str, *, tokens: Tokens = english, empty: float = 0.0) -> float:
    """Share of the answer's adjacent pairs of tokens that are adjacent in the context."""
    own, other = tokens(answer), tokens(context)
    pairs, there = list(pairwise(own)), set(pairwise(other))
    return sum(pair in there for pair in pairs) / len(pairs) if pairs else empty


def token_f1(answer: str, gold: str, *, tokens: Tokens = english, stopwords: Set[str] = frozenset()) -> float:
    """Twice the overlap of the two multisets of tokens by their sizes; 0 where nothing is common."""
    own = Counter(token for token in tokens(answer) if token not in stopwords)
    other = Counter(token for token in tokens(gold) if token not in stopwords)
    common = (own & other).total()
    return 2 * common / (own.total() + other.total()) if common else 0.0


def squad_folded(text: str) -> str:
    """As SQuAD folds answers: case, punctuation, articles and white space."""
    plain = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def exact_match(answer: str, golds: Sequence[str]) -> bool:
    return any(squad_folded(answer) == squad_folded(gold) for gold in golds)


def contains(answer: str, golds: Sequence[str]) -> bool:
    return any(f" {squad_folded(gold)} " in f" {squad_folded(answer)} " for gold in golds)


def squad_f1(answer: str, golds: Sequence[str]) -> float:
    return max(token_f1(squad_folded(answer), squad_folded(gold), tokens=str.split) for gold in golds)


def ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    """From 1, ascending; equal values have the mean of theirs."""
    _, place, size = np.unique(np.asarray(values, np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    return (last - (size - 1) / 2)[place]


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """How often a positive scores above a negative; ties count half."""
    is_positive = np.asarray(positive, np.bool_)
    n, m = int(is_positive.sum()), int((~is_positive).sum())
    return float((ranks(scores)[is_positive].sum() - n * (n + 1) / 2) / (n * m))


def pearson(x: Sequence[float] | npt.NDArray[np.float64], y: Sequence[float] | npt.NDArray[np.float64]) -> float:
    return float(np.corrcoef(np.asarray(x, np.float64), np.asarray(y, np.float64))[0, 1])


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    return pearson(ranks(x), ranks(y))


def kappa(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Cohen's, of two raters who say yes or no."""
    x, y = np.asarray(first, np.bool_), np.asarray(second, np.bool_)
    expected = x.mean() * y.mean() + (1 - x.mean()) * (1 - y.mean())
    return float(((x == y).mean() - expected) / (1 - expected))


def balanced_accuracy(predicted: npt.NDArray[np.bool_], positive: npt.NDArray[np.bool_]) -> float:
    return float((predicted[positive].mean() + (~predicted[~positive]).mean()) / 2)
