"""The lexical judge: which words, numbers and names of a text are in another, and which parts of an answer are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Annotated, Any, Literal

from steelyard.base.limits import between
from steelyard.base.settings import check_fields
from steelyard.judges.lexical.readings import Reading, Readings, WordPair, shortened
from steelyard.judges.registry import judge_named
from steelyard.judges.verdict import Case, Label, Verdict
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

_OVERLAP = 0.8
"""Share of the words that a sentence must have in common with a text to be held against it."""
_LENGTH, _FEW = 3, 5
"""Such a sentence may have three times as many words, and fifteen: what a very long one negates may be anything."""


@dataclass(frozen=True, slots=True)
class MissingNumbers:
    """Numbers of a hypothesis that its premise lacks, and such as it has beside something else only.

    numbers   that it lacks
    units     with another unit of measure, and their own units
    dates     days in another month, and their own months
    """

    numbers: Set[str] = frozenset()
    units: Set[WordPair] = frozenset()
    dates: Set[WordPair] = frozenset()

    @property
    def all(self) -> Set[str]:
        """The numbers, each once."""
        if not self.units and not self.dates:
            return self.numbers
        return self.numbers | {number for number, _ in (*self.units, *self.dates)}


NOTHING_MISSING = MissingNumbers()


def beside_others(hypothesis: Set[WordPair], premise: Set[WordPair]) -> Set[WordPair]:
    """Pairs of a number and what is beside it, of which the premise has the number beside something else only.

    >>> beside_others({("9", "km"), ("5", "kg")}, {("9", "mile"), ("2", "kg")})
    {('9', 'km')}
    """
    if hypothesis <= premise:
        return frozenset()
    sound = {number for number, _ in hypothesis & premise}
    elsewhere = {number for number, _ in premise} - sound
    return {pair for pair in hypothesis if pair[0] in elsewhere}


def contradiction(
    hypothesis: Reading, premise: Reading, missing_numbers: Set[str]
) -> Literal["", "negation", "numbers"]:
    """Kind of contradiction by the premise; empty where it says nothing of it, or agrees somewhere.

    Sentences of the premise with nearly all words of the hypothesis are held against it.  "negation": each of them
    negates what the hypothesis does not, or the other way round.  "numbers": one has other numbers in place of those
    that are missing, with the same unit.
    """
    words = hypothesis.plain
    least = _OVERLAP * len(words)
    if len(words) < 2 or len(words & premise.vocabulary) < least or hypothesis.text in premise.text:
        return ""
    if not missing_numbers and not hypothesis.has_negation and not premise.has_negation:
        return ""
    most = _LENGTH * (len(words) + _FEW)
    alike = [
        sentence
        for sentence in premise.sentences
        if len(words & sentence.vocabulary) >= least and len(sentence.distinct) <= most
    ]
    if alike and all(_is_negated_otherwise(hypothesis, sentence) for sentence in alike):
        return "negation"
    if missing_numbers and any(_has_others(hypothesis, sentence, missing_numbers) for sentence in alike):
        return "numbers"
    return ""


def _is_negated_otherwise(hypothesis: Reading, sentence: Reading) -> bool:
    only_here = hypothesis.negated - sentence.negated
    only_there = sentence.negated - hypothesis.negated
    return not (only_here.isdisjoint(sentence.vocabulary) and only_there.isdisjoint(hypothesis.vocabulary))


def _has_others(hypothesis: Reading, sentence: Reading, missing: Set[str]) -> bool:
    others = sentence.numbers - hypothesis.numbers
    units = {unit for number, unit in hypothesis.quantities if number in missing}
    if units:
        return units <= {unit for number, unit in sentence.quantities if number in others}
    return len(others) >= len(missing)


_NEIGHBOURS = 0.25
"""What a pair of neighbours counts, beside a word: as a word is in two pairs, order counts half as much as words."""
_CONTRADICTED = 0.5
"""What is left of the share of what is contradicted."""
_SHOWN = 12
"""Missing words that a reason lists at most."""
_VETOES = ("numbers: ", "units: ", "dates: ")
"""How parts of a reason begin that name what no threshold makes up for."""


@judge_named("lexical")
@dataclass(frozen=True)
class LexicalJudge:
    """Judges by words alone: the share of what a hypothesis says that is in the premise.

    Counted are its distinct content words (a pair of neighbouring characters, where it is Chinese), and once more, as
    far as their check is on, its numbers, its names and, each for a quarter, its pairs of neighbouring words.

    threshold   from what share on it is supported
    neighbours  pairs of words that are neighbours in the hypothesis are to be neighbours in the premise
    numbers     numbers count double
    names       names, with a capital letter or in 《》「」, count once more
    units       a number with another unit of measure than in the premise is missing
    dates       so is a day in another month
    negation    what only one side negates, and what has another number, is contradicted, where a sentence of the
                premise has all the rest

    It finds words that are missing, and hardly a false statement that is made of the premise's own words.

    >>> judge = LexicalJudge()
    >>> case = Case("The museum opens at 9 on Monday.", ("It opens at 9.", "The museum opens at 10 on Sunday."))
    >>> [[(verdict.label, verdict.reason) for verdict in verdicts] for verdicts in judge.judge([case])]
    [[('supported', ''), ('not_found', 'missing: Sunday; numbers: 10')]]
    """

    name = "lexical"
    version = 1

    threshold: Annotated[float, between(0, 1)] = 0.6
    neighbours: bool = True
    numbers: bool = True
    names: bool = True
    units: bool = True
    dates: bool = True
    negation: bool = True
    _readings: Readings = field(default_factory=Readings, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def judge(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        """Verdicts on the hypotheses of each case, in their order."""
        for case in cases:
            premise = self._readings[case.premise]
            yield [self._verdict(self._readings[text], premise) for text in case.hypotheses]

    def recipe(self) -> Mapping[str, Any]:
        """The settings, and the version of what is computed with them."""
        settings = {setting.name: getattr(self, setting.name) for setting in fields(self) if setting.init}
        return {"version": self.version, **settings}

    @staticmethod
    def may_support(verdict: Verdict) -> bool:
        """True where a threshold can make this verdict "supported": no number is missing, nothing negated.

        >>> case = Case("It opens at 9 on Monday.", ("It opens at 10 on Monday.", "It closes on Monday."))
        >>> [LexicalJudge.may_support(verdict) for verdict in next(LexicalJudge().judge([case]))]
        [False, True]
        """
        missing = any(part.startswith(_VETOES) for part in verdict.reason.split("; "))
        return verdict.label not in ("contradicted", "not_judged") and not missing

    def missing_spans(self, hypothesis: str, premise: str, *, numbers_only: bool = False) -> list[Span]:
        """Places of words of the hypothesis, or of numbers only, that the premise lacks; in order, apart.

        >>> text = "The museum opens at 10 on Sunday."
        >>> [text[start:end] for start, end in LexicalJudge().missing_spans(text, "The museum opens at 9.")]
        ['10', 'Sunday']
        """
        own, other = self._readings[hypothesis], self._readings[premise]
        numbers = self._missing_numbers(own, other).all
        return own.spans(numbers if numbers_only else numbers | (own.distinct - other.vocabulary))

    def _verdict(self, hypothesis: Reading, premise: Reading) -> Verdict:
        if not hypothesis.distinct:
            return self._verdict_without_content(hypothesis, premise)
        numbers = self._missing_numbers(hypothesis, premise)
        score = self._share(hypothesis, premise, len(numbers.all))
        contradicted = contradiction(hypothesis, premise, numbers.numbers) if self.negation else ""
        if contradicted:
            label: Label = "contradicted"
            score *= _CONTRADICTED
        else:
            label = "supported" if score >= self.threshold and not numbers.all else "not_found"
        return Verdict(label, score, _reason(hypothesis, premise, numbers, contradicted))

    def _verdict_without_content(self, hypothesis: Reading, premise: Reading) -> Verdict:
        """By the stop words, as in "Yes." """
        if not hypothesis.tokens:
            return Verdict("not_found", 0.0, "no words")
        score = len(hypothesis.tokens & premise.tokens) / len(hypothesis.tokens)
        label: Label = "supported" if score >= self.threshold else "not_found"
        return Verdict(label, score, "" if score == 1 else "missing: " + shortened(hypothesis.text))

    def _missing_numbers(self, hypothesis: Reading, premise: Reading) -> MissingNumbers:
        if not hypothesis.numbers:
            return NOTHING_MISSING
        numbers = hypothesis.numbers - premise.vocabulary if self.numbers else frozenset()
        units = beside_others(hypothesis.quantities, premise.quantities) if self.units else frozenset()
        dates = beside_others(hypothesis.dates, premise.dates) if self.dates else frozenset()
        return MissingNumbers(numbers, units, dates) if numbers or units or dates else NOTHING_MISSING

    def _share(self, hypothesis: Reading, premise: Reading, n_missing: int) -> float:
        words = hypothesis.distinct
        n_numbers = len(hypothesis.numbers) if self.numbers else n_missing
        whole = float(len(words) + n_numbers)
        part = float(len(words & premise.vocabulary) + n_numbers - n_missing)
        if self.names:
            whole += len(hypothesis.names)
            part += sum(name <= premise.vocabulary for name in hypothesis.names)
        if self.neighbours:
            whole += _NEIGHBOURS * len(hypothesis.neighbours)
            part += _NEIGHBOURS * len(hypothesis.neighbours & premise.neighbours)
        return part / whole


def _reason(hypothesis: Reading, premise: Reading, numbers: MissingNumbers, contradicted: str) -> str:
    """Missing words of the hypothesis, in their order; "" where none are."""
    missing = hypothesis.distinct - premise.vocabulary
    forms: dict[str, Set[str]] = {"missing": missing}
    if numbers is not NOTHING_MISSING:
        forms |= {"numbers": numbers.numbers, "units": set(chain(*numbers.units)), "dates": set(chain(*numbers.dates))}
        forms["missing"] = missing.difference(numbers.numbers, forms["units"], forms["dates"])
    parts = [f"{code}: {words}" for code in forms if forms[code] and (words := _listed(hypothesis, forms[code]))]
    return "; ".join(parts + ["negation"] * (contradicted == "negation"))


def _listed(hypothesis: Reading, forms: Set[str]) -> str:
    words = list(dict.fromkeys(hypothesis.written(forms)))
    shown = ", ".join(words[:_SHOWN])
    return f"{shown}, +{len(words) - _SHOWN}" if len(words) > _SHOWN else shown


UNSUPPORTED = 0.45
"""Below this score a sentence counts as unsupported as a whole.

Chosen on every other question of RAGTruth QA (test), by the F1 of characters; on the questions that were left out it
gives .336, and on all .283, where unsupported content words alone give .185.
"""


def unsupported_spans(answer: str, context: str) -> list[Span]:
    """Parts of an answer that the context does not support: sentences, and numbers in those that are supported.

    answer    any text
    context   its chunks, joined by line ends
    Returns   offsets in code points, in order, apart.

    >>> answer = "Its garden has 12 old trees. Famous paintings hang there."
    >>> [answer[start:end] for start, end in unsupported_spans(answer, "The garden with old trees is free.")]
    ['12', 'Famous paintings hang there.']
    """
    judge = LexicalJudge()
    sentences = sentence_spans(answer)
    [verdicts] = judge.judge([Case(context, tuple(answer[start:end] for start, end in sentences))])
    spans: list[Span] = []
    for (start, end), verdict in zip(sentences, verdicts, strict=True):
        if verdict.reason == "no words":
            continue
        if verdict.score is not None and verdict.score < UNSUPPORTED:
            spans.append((start, end))
        else:
            missing = judge.missing_spans(answer[start:end], context, numbers_only=True)
            spans += [(start + first, start + last) for first, last in missing]
    return spans
