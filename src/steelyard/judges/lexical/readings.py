"""Texts as the lexical judge reads them, each once, and the sentence of one that supports another best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from math import fsum

from steelyard.judges.lexical.numerals import ONE
from steelyard.judges.lexical.polarity import Polarity, has_marks, polarity
from steelyard.judges.lexical.quantities import Quantity, may_state, quantities
from steelyard.judges.lexical.words import (
    MONTHS,
    STEPS,
    Word,
    forms,
    is_number,
    tokens,
    words,
    words_of_folded,
    written,
)
from steelyard.text.folding import fold
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

WordPair = tuple[str, str]

_ONES = frozenset(("1", ONE))
_MONTHS = frozenset(MONTHS.values())
_DAYS = frozenset(map(str, range(1, 32)))
_FIRST_CJK = "\u1100"
# Capitalised words side by side, not where a sentence begins; or what stands in title marks or corner brackets.
_NAME = re.compile(
    r"(?<=[\w,)'’\"“(-]\s)[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*|《([^《》\n]{1,40})》|「([^「」\n]{1,40})」"
)
_BLOCK = 80
"""Words of a text that are looked at together: some three sentences; the next block begins at half of one."""
_OWNER = 5
"""Words before a quantity that are looked at for what has it."""
_LONGEST = 40  # characters of a word that a reason shows
_REMEMBERED = 2_000_000
"""Characters of texts that are read once, at some 50 bytes each."""
_MARKED = re.compile(b"x+")
_ITEM = re.compile(r"[-*+•①-⑳]|\(?[0-9a-z]{1,2}[.)、]|[（(]?[一二三四五六七八九十][）)、]")
_MOSTLY = 0.75
_CLAUSE = re.compile(r"(?:(?! but | while | whereas )[^,;，；])+")
_ENDED = re.compile(r"[.。！!？?：:]\s*$")


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
        vocabulary = self.distinct.union(*(form for form in self.distinct if form >= _FIRST_CJK))
        return vocabulary if _ONES.isdisjoint(vocabulary) else vocabulary | _ONES

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
    def quantities(self) -> tuple[Quantity, ...]:
        """Amounts with their units, times of day and shares, at places of the folded text."""
        return quantities(self._folded) if may_state(self.text, self.distinct) else ()

    @cached_property
    def amounts(self) -> frozenset[str]:
        """Value and dimension of every quantity."""
        return frozenset().union(*(quantity.keys for quantity in self.quantities))

    @cached_property
    def dimensions(self) -> frozenset[str]:
        """What its quantities measure."""
        return frozenset().union(*(quantity.dimensions for quantity in self.quantities))

    @cached_property
    def measured(self) -> frozenset[str]:
        """The numbers in its quantities."""
        return frozenset().union(*(quantity.numbers for quantity in self.quantities))

    def quantities_of(self, dimensions: Set[str]) -> list[Quantity]:
        """Those that measure one of these."""
        return [quantity for quantity in self.quantities if not quantity.dimensions.isdisjoint(dimensions)]

    def within(self, stated: Sequence[Quantity]) -> frozenset[str]:
        """Forms of the words in some of its quantities."""
        if not stated:
            return frozenset()
        return frozenset(
            form
            for form, start, end in words_of_folded(self._folded)
            if any(start < quantity.end and end > quantity.start for quantity in stated)
        )

    def written_within(self, stated: Sequence[Quantity]) -> frozenset[str]:
        """Words in some of its quantities as they are written."""
        return frozenset(
            chain.from_iterable(written(self._folded[quantity.start : quantity.end]) for quantity in stated)
        )

    @cached_property
    def owners(self) -> list[tuple[Quantity, list[str]]]:
        """Each quantity with the words before it, nearest first, which mostly say what has it."""
        all_words = list(words_of_folded(self._folded)) if self.quantities else []
        owners, last = [], 0
        for quantity in self.quantities:
            before = [form for form, start, end in all_words if start >= last and end <= quantity.start]
            owners.append((quantity, before[: -_OWNER - 1 : -1]))
            last = quantity.end
        return owners

    @property
    def _folded(self) -> str:
        return self.text.lower() if self.text.isascii() else fold(self.text, STEPS)

    @cached_property
    def counts(self) -> frozenset[str]:
        """What a number is before."""
        return frozenset(second for first, second in pairwise(self.forms) if is_number(first))

    @cached_property
    def single(self) -> frozenset[str]:
        """What "one" or 一 is before."""
        if ONE not in self.distinct or "one of" in self.text.lower():
            return frozenset()
        return frozenset(second for first, second in pairwise(self.forms) if first == ONE)

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
    def written(self) -> frozenset[str]:
        """Words as they are written, without stop words; of Chinese the single characters."""
        return frozenset(written(self.text))

    @cached_property
    def pairs(self) -> frozenset[str]:
        """Pairs of words side by side, stop words too, each as one text; of Chinese of characters."""
        return frozenset(map(" ".join, pairwise(self._pieces)))

    @cached_property
    def _pieces(self) -> list[str]:
        return list(chain.from_iterable(piece if piece >= _FIRST_CJK else [piece] for piece in tokens(self.text)))

    @cached_property
    def blocks(self) -> list[frozenset[str]]:
        """The vocabulary of each block of words, for a text that is longer than one."""
        starts = range(0, len(self.forms) - _BLOCK // 2, _BLOCK // 2) if len(self.forms) > _BLOCK else ()
        blocks = (frozenset(self.forms[start : start + _BLOCK]) for start in starts)
        return [block.union(*(form for form in block if form >= _FIRST_CJK)) for block in blocks]

    @cached_property
    def polarity(self) -> Polarity:
        """What it affirms and denies."""
        return polarity(self.text)

    @cached_property
    def has_marks(self) -> bool:
        """True where it has a word that affirms or denies."""
        return has_marks(self.text)

    @cached_property
    def is_chinese(self) -> bool:
        """True where most of its content words are Chinese."""
        return 2 * sum(form >= _FIRST_CJK for form in self.distinct) > len(self.distinct)

    @cached_property
    def clause_texts(self) -> list[str]:
        """Its clauses; none where it is one."""
        texts = [text for text in _CLAUSE.findall(self.text) if text.strip()]
        return texts if len(texts) > 1 else []

    def quotes(self, other: Reading) -> bool:
        """True where it has the other text word for word, and not within a word, as "members" in "non-members"."""
        start = self.text.find(other.text)
        return start == 0 or (start > 0 and not (self.text[start - 1].isalnum() or self.text[start - 1] == "-"))

    @cached_property
    def plain(self) -> frozenset[str]:
        """Its words but for numbers."""
        return self.distinct - self.numbers

    @cached_property
    def content(self) -> Reading:
        """The text without the words that affirm or deny."""
        marks = self.polarity.marks
        if not marks:
            return self
        parts, end = list[str](), 0
        for _, start, stop in marks:
            parts += [self.text[end:start], " " * (stop - start)]
            end = stop
        return Reading("".join([*parts, self.text[end:]]))

    @cached_property
    def claims(self) -> Mapping[str, frozenset[str]]:
        """Of each side of an axis that it is on the forms of the word that says so; of such as say nothing of matter,
        as "may" and "all", none."""
        marks = ((mark.claim, frozenset(forms(self.text[mark.start : mark.end]))) for mark in self.polarity.marks)
        return {claim: words for claim, words in marks if claim in self.polarity.claims and claim != "may+" and words}

    @cached_property
    def places(self) -> list[Word]:
        """The content words with their places."""
        return list(words(self.text))

    def shown(self, missing: Set[str]) -> list[str]:
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
        """Its sentences, in order; items of a list with the line that leads it in."""
        sentences, lead, last = list[Sentence](), "", 0
        for start, end in sentence_spans(self.text):
            text = self.text[start:end]
            is_item = "\n" in self.text[last:start] and (_ITEM.match(text) or not _ENDED.search(text))
            lead = lead if is_item else ""
            sentences.append(Sentence(text, start, end, lead))
            lead, last = text if leads_in(text) else lead, end
        return sentences


class Sentence(Reading):
    """A sentence, and its place in its text.

    lead   what leads in the list that it is an item of
    """

    def __init__(self, text: str, start: int, end: int, lead: str = "") -> None:
        super().__init__(text)
        self.start, self.end, self.lead = start, end, lead

    @cached_property
    def whole(self) -> Reading:
        """The sentence behind its lead."""
        return Reading(f"{self.lead} {self.text}") if self.lead else self

    @cached_property
    def clauses(self) -> list[Sentence]:
        """Its clauses, each with the lead of all; none where it is one."""
        return [Sentence(text, self.start, self.end, self.lead) for text in self.clause_texts]

    def parts(self, words: Set[str]) -> list[Sentence]:
        """Clauses with most of some words, where that is nearly all that the sentence has; else it as a whole."""
        common = [len(words & clause.whole.vocabulary) for clause in self.clauses]
        most = max(common, default=0)
        if most < _MOSTLY * len(words & self.whole.vocabulary):
            return [self]
        return [clause for clause, n in zip(self.clauses, common, strict=True) if n == most] or [self]


def leads_in(text: str) -> bool:
    """True for a text that ends with a colon."""
    return text.rstrip().endswith((":", "："))


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
