"""Texts as the lexical judge reads them, each once, and the sentence of one that supports another best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from math import fsum

from steelyard.judges.lexical.words import MONTHS, STEPS, UNITS, Word, forms, is_number, tokens, words
from steelyard.text.folding import fold
from steelyard.text.scripts import IDEOGRAPHS
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

_ENGLISH = re.compile(
    r"(?<!\w)(?<!\bor )(?:not|no(?!,)|never|without|neither|nor|cannot|[a-z]+n't)(?!\w)"
    r"(?=(?P<rest>(?:[^\w.;!?]+[\w'-]+){1,5}))"
)
"""A negating word, and the few behind it, of which the first content word is negated; "No," answers, and "or not" is
about nothing."""
_NOT_ONLY = re.compile(r"[^\w]*(?:only|just|merely|least|yet|longer than)\b")
_CHINESE = re.compile(
    rf"(?<![区分特性级类个告差])(?:没有|并非|并不|从不|从未|绝不|不是|不会|不能|不可以|不得(?!不)|不|没|未|无)"
    rf"(?<!不得不)(?=[{IDEOGRAPHS}]{{2}})(?P<rest>[{IDEOGRAPHS}]{{2}})"
)
_CHINESE_FIXED = re.compile(
    r"不(?:仅|但|过|断|少|久|同|管|只|论|妨|禁|料|愧|止|单|如|及|足|等|锈|由|少于|低于|超过)|无(?:论|线|疑|数|偿|人机|限|锡|形|非)|未(?:来|必|免)|没(?:收|落|错)|差不多"
)
_MARKS = re.compile(r"(?<!\w)(?<!\bor )(?:not|no(?!,)|never|without|neither|nor|cannot|[a-z]+n't)(?!\w)|[不没未无非]")


def has_negation(text: str) -> bool:
    """True for a text that may negate something, at a glance."""
    return _MARKS.search(text.lower().replace("’", "'")) is not None


def negated(text: str) -> frozenset[str]:
    """The forms of the words that a text negates, each the first behind a negating word.

    >>> sorted(negated("The hall does not open on Sundays, and never floods."))
    ['flood', 'open']
    >>> sorted(negated("博物馆周一不开放，不仅如此。"))
    ['开放']
    """
    folded = fold(text, STEPS)
    words = {
        content[0]
        for match in _ENGLISH.finditer(folded)
        if not _NOT_ONLY.match(match["rest"]) and (content := forms(match["rest"]))
    }
    fixed = _CHINESE_FIXED.sub(lambda match: "，" * len(match[0]), folded)
    return frozenset(words | {form for match in _CHINESE.finditer(fixed) for form in forms(match["rest"])[:1]})


WordPair = tuple[str, str]

_UNITS = frozenset(UNITS.values())
_CURRENCIES = frozenset(("dollar", "euro", "pound", "yuan"))
_MONTHS = frozenset(MONTHS.values())
_DAYS = frozenset(map(str, range(1, 32)))
_FIRST_CJK = "\u1100"
# Capitalised words side by side, not where a sentence begins; or what stands in title marks or corner brackets.
_NAME = re.compile(
    r"(?<=[\w,)'’\"“(-]\s)[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*|《([^《》\n]{1,40})》|「([^「」\n]{1,40})」"
)
_NEGATIONS = frozenset("不没未无非")
_LONGEST = 40  # characters of a word that a reason shows
_REMEMBERED = 2_000_000
"""Characters of texts that are read once, at some 50 bytes each."""
_MARKED = re.compile(b"x+")


class Reading:
    """A text, and what is compared of it; worked out when it is first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def forms(self) -> list[str]:
        """Forms of the content words, in order."""
        return forms(self.text)

    @cached_property
    def distinct(self) -> frozenset[str]:
        """Forms of the content words, each once."""
        return frozenset(self.forms)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Forms that another text's words are looked up in; of Chinese the single characters too."""
        return self.distinct.union(*(form for form in self.distinct if form >= _FIRST_CJK))

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Words before stop words are left out; of Chinese the single characters."""
        pieces = tokens(self.text)
        return frozenset(chain.from_iterable(piece if piece >= _FIRST_CJK else [piece] for piece in pieces))

    @cached_property
    def neighbours(self) -> frozenset[str]:
        """Content words side by side, as one text: tuples would be looked at by every garbage collection."""
        return frozenset(map(" ".join, pairwise(self.forms)))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers among the words."""
        return frozenset(filter(is_number, self.distinct))

    @cached_property
    def quantities(self) -> frozenset[WordPair]:
        """Each number with the unit behind it, or the sign of a currency before it."""
        if not self.numbers:
            return frozenset()
        pairs = [(first, second) for first, second in pairwise(self.forms) if second in _UNITS]
        pairs += [(second, first) for first, second in pairwise(self.forms) if first in _CURRENCIES]
        return frozenset((number, unit) for number, unit in pairs if is_number(number))

    @cached_property
    def dates(self) -> frozenset[WordPair]:
        """Each number of a day with the month beside it."""
        if _MONTHS.isdisjoint(self.distinct):
            return frozenset()
        both_ways = chain(pairwise(self.forms), pairwise(reversed(self.forms)))
        return frozenset((day, month) for day, month in both_ways if month in _MONTHS and day in _DAYS)

    @cached_property
    def names(self) -> frozenset[frozenset[str]]:
        """The words of each name."""
        names = (next(filter(None, match.groups()), match[0]) for match in _NAME.finditer(self.text))
        return frozenset(words for name in names if (words := frozenset(forms(name))))

    @cached_property
    def plain(self) -> frozenset[str]:
        """Its words but for numbers, and Chinese ones that hold a negation."""
        return frozenset(word for word in self.distinct - self.numbers if _NEGATIONS.isdisjoint(word))

    @cached_property
    def has_negation(self) -> bool:
        """True where anything in it may be negated."""
        return has_negation(self.text)

    @cached_property
    def negated(self) -> frozenset[str]:
        """The words that it negates."""
        return negated(self.text) if self.has_negation else frozenset()

    @cached_property
    def places(self) -> list[Word]:
        """The content words with their places."""
        return list(words(self.text))

    def written(self, missing: Set[str]) -> list[str]:
        """Words of these forms, in order: what is at `spans`, without its end where it is long."""
        if self._overlaps:
            return [shortened(self.text[start:end]) for start, end in self.spans(missing)]
        return [word for form, word in self._spelling if form in missing]

    @cached_property
    def _overlaps(self) -> bool:
        return any(form >= _FIRST_CJK for form in self.distinct)

    @cached_property
    def _spelling(self) -> list[WordPair]:
        return [(form, shortened(self.text[start:end])) for form, start, end in self.places]

    def spans(self, missing: Set[str]) -> list[Span]:
        """Places of words of these forms, without those of another form over them, as pairs of Chinese overlap."""
        marks = bytearray(len(self.text))
        for is_missing in (True, False):
            for form, start, end in self.places:
                if (form in missing) is is_missing:
                    marks[start:end] = (b"x" if is_missing else b"\0") * (end - start)
        return [match.span() for match in _MARKED.finditer(marks)]

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Its sentences, in order."""
        return [Sentence(self.text[start:end], start, end) for start, end in sentence_spans(self.text)]


class Sentence(Reading):
    """A sentence, and its place in its text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__(text)
        self.start, self.end = start, end


def shortened(word: str) -> str:
    """A word as a reason shows it."""
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


class Readings(dict[str, Reading]):
    """Texts that were read, as far as memory has room: a chunk comes with many texts, and a text with many chunks."""

    n_characters = 0

    def __missing__(self, text: str) -> Reading:
        """Read a text for the first time."""
        if self.n_characters > _REMEMBERED:
            self.clear()
            self.n_characters = 0
        self.n_characters += len(text)
        reading = self[text] = Reading(text)
        return reading


_LACKING = 0.1
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
        scores.append((1 + _LACKING) * common / (votes + _LACKING * size))
    return scores


_premise = lru_cache(maxsize=256)(Reading)
_hypothesis = lru_cache(maxsize=256)(Reading)
_sentence = lru_cache(maxsize=4096)(Reading)
