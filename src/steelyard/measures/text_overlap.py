"""Measures of the words that an answer shares with the gold answer: of several gold answers the best.

Texts are folded as for SQuAD: NFKC (width), lower case, without punctuation, symbols and articles.  Words are what is
between blanks; each Chinese character and each Japanese syllable is one of its own, beside Latin words that stay whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.measures.judged_answers import JudgedAnswers
from steelyard.measures.registry import measure
from steelyard.text.scripts import ENGLISH_STOPWORDS, IDEOGRAPHS, KANA, MARKS

_SQUAD = "Rajpurkar et al., SQuAD, EMNLP 2016"
_ARTICLES = frozenset({"a", "an", "the"})
_DROPPED = re.compile(rf"[^\w\s{MARKS}]|_")
_WORD = re.compile(rf"[{IDEOGRAPHS}{KANA}]|[^\s{IDEOGRAPHS}{KANA}]+")

Words = Sequence[str]


def words_of(text: str) -> list[str]:
    """The words of a text, articles included; of one that is made of signs alone, such as "+", it is one word itself.

    >>> words_of("The A.I. lab, 北京: ９ o'clock")
    ['the', 'ai', 'lab', '北', '京', '9', 'oclock']
    """
    folded = unicodedata.normalize("NFKC", text).lower()
    return _WORD.findall(_DROPPED.sub("", folded)) or folded.split()


@measure(inputs=("answers",), needs=("gold_answer",), absent="zero", source=_SQUAD, aliases=("em",))
def exact_match(a: JudgedAnswers) -> Floats:
    """1 where the answer has the words of a gold answer, in their order, and no others; case and articles aside."""
    return _of_best(a, lambda answer, gold: float(answer == gold))


@measure(inputs=("answers",), needs=("gold_answer",), absent="zero", source=_SQUAD)
def token_f1(a: JudgedAnswers) -> Floats:
    """2 · shared words / (words of the answer + words of the gold answer); a word counts as often as it is in both."""
    return _of_best(a, overlap)


@measure(inputs=("answers",), needs=("gold_answer",), absent="zero", source="token_f1 without stop words")
def content_f1(a: JudgedAnswers) -> Floats:
    """token_f1 of the words that say something: English stop words, such as "of" and "was", are left out.

    Nearer to what people prefer than token_f1 where answers are sentences.  No Chinese character is left out.
    """
    return _of_best(a, lambda answer, gold: overlap(_content(answer), _content(gold)))


@measure(inputs=("answers",), needs=("gold_answer",), absent="zero", source="Kamalloo et al., ACL 2023")
def contains(a: JudgedAnswers) -> Floats:
    """1 where the words of a gold answer are in the answer, one behind the other; case and articles aside."""
    return _of_best(a, lambda answer, gold: float(_spaced(gold) in _spaced(answer)))


def overlap(words: Words, other: Words) -> float:
    """2 · shared / (n + m) of two lists of words; 0 where they share none.

    >>> overlap(["at", "9", "9"], ["9", "pm"])
    0.4
    """
    shared = (Counter(words) & Counter(other)).total()
    return 2 * shared / (len(words) + len(other)) if shared else 0.0


def _of_best(a: JudgedAnswers, value: Callable[[Words, Words], float]) -> Floats:
    """(q,) the largest value that an answer has with any gold answer that is not blank; NaN without one."""
    return np.array(
        [
            max((value(*_comparable(words, words_of(gold))) for gold in golds if gold.strip()), default=np.nan)
            for words, golds in zip(map(words_of, a.answers), a.gold_answers, strict=True)
        ],
        float,
    )


def _comparable(answer: Words, gold: Words) -> tuple[Words, Words]:
    """Both without articles; with them where the gold answer is nothing else, such as the choice A."""
    if _ARTICLES.issuperset(gold):
        return answer, gold
    return [word for word in answer if word not in _ARTICLES], [word for word in gold if word not in _ARTICLES]


def _content(words: Words) -> Words:
    return [word for word in words if word not in ENGLISH_STOPWORDS] or words


def _spaced(words: Words) -> str:
    return f" {' '.join(words)} "
