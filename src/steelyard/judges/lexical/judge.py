"""The lexical judge: which words, numbers and names of a text are in another, and which parts of an answer are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from steelyard.base.limits import between
from steelyard.base.settings import check_fields
from steelyard.judges.lexical.numerals import ONE
from steelyard.judges.lexical.polarity import contradicts
from steelyard.judges.lexical.readings import Reading, Readings, Sentence, WordPair, leads_in, shortened
from steelyard.judges.lexical.restating import is_of_another, other_quantities, restated
from steelyard.judges.lexical.words import is_number
from steelyard.judges.registry import judge_named
from steelyard.judges.verdict import Case, Label, Verdict
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

_OVERLAP, _ALIKE = 0.8, 0.65
"""Share of the words that a sentence must have in common with a text: for its numbers, and for what it denies."""
_LENGTH, _FEW = 3, 5
"""Such a sentence may have three times as many words, and fifteen: what a very long one negates may be anything."""


@dataclass(frozen=True, slots=True)
class MissingNumbers:
    """Numbers of a hypothesis that its premise lacks, and such as it has beside something else only.

    numbers   that it lacks
    units     forms of quantities that are others: with another unit, or "half an hour" for 20 minutes
    dates     days in another month, and their own months
    """

    numbers: Set[str] = frozenset()
    units: Set[str] = frozenset()
    dates: Set[WordPair] = frozenset()

    @property
    def all(self) -> Set[str]:
        """The numbers, each once."""
        if not self.units and not self.dates:
            return self.numbers
        return self.numbers | {*filter(is_number, self.units)} | {number for number, _ in self.dates}


NOTHING_MISSING = MissingNumbers()


class Known(NamedTuple):
    """Words of a premise, with those of quantities of a hypothesis that it has in other words.

    restated   forms of the latter
    """

    vocabulary: Set[str]
    written: Set[str]
    restated: Set[str] = frozenset()


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
    hypothesis: Reading, premise: Reading, missing_numbers: Set[str], lead: Reading | None = None
) -> tuple[Literal["", "negation", "numbers"], float]:
    """Kind of contradiction by the premise, and the share of the words that it is about.

    The kind is empty where the premise says nothing of it, or agrees somewhere.

    Sentences of the premise with nearly all words of the hypothesis are held against it.  "negation": each of them
    denies, forbids, or has the opposite of what the hypothesis affirms, or the other way round.  "numbers": one has
    other numbers in place of those that are missing, with the same unit.

    lead   the line that leads in the list that the hypothesis is an item of: what that denies, the hypothesis denies
    """
    if share := _denied_share(hypothesis, premise, lead):
        return "negation", share
    if not missing_numbers and hypothesis.quantities and is_of_another(hypothesis, premise):
        return "numbers", 1.0
    if missing_numbers and len(hypothesis.plain) >= 2:
        words = hypothesis.plain
        if hypothesis.quantities:
            words -= hypothesis.within(hypothesis.quantities_of(premise.dimensions))
        alike = _alike(words, premise, _OVERLAP)
        if any(_has_others(hypothesis, sentence, missing_numbers) for sentence in alike):
            return "numbers", 1.0
    return "", 0.0


def _denied_share(hypothesis: Reading, premise: Reading, lead: Reading | None) -> float:
    """Share of the words that the premise denies: all, or those of a clause where the hypothesis is one sentence."""
    if _denies(premise, hypothesis, hypothesis if lead is None else lead):
        return 1.0
    if lead is not None or not hypothesis.has_marks or len(hypothesis.sentences) > 1:
        return 0.0
    denied = [clause for clause in map(Reading, hypothesis.clause_texts) if _denies(premise, clause, clause)]
    return min(1.0, sum(len(clause.distinct) for clause in denied) / len(hypothesis.distinct))


def _denies(premise: Reading, text: Reading, stance: Reading) -> bool:
    words = text.content.distinct
    if len(words & premise.vocabulary) < max(_ALIKE * len(words), 1):
        return False
    if len(words) + len(stance.polarity.claims) + (stance is not text) < 2:
        return False
    if not (stance.has_marks or premise.has_marks) or (stance is text and premise.quotes(text)):
        return False
    sentences = _alike(words, premise, _ALIKE)
    clauses = [clause for sentence in sentences for clause in sentence.parts(words)]
    return bool(sentences) and any(
        all(contradicts(stance.polarity, stance.vocabulary, near.polarity, near.vocabulary) for near in nearest)
        for nearest in (_about(stance, _nearest(words, sentences)), _about(stance, _nearest(words, clauses)))
    )


def _about(stance: Reading, nearest: Sequence[Reading]) -> Sequence[Reading]:
    """Those that are on a side of an axis that the stance is on too; all, where none is."""
    axes = {claim[:-1] for claim in stance.polarity.claims}
    return [near for near in nearest if any(claim[:-1] in axes for claim in near.polarity.claims)] or nearest


def _nearest(words: Set[str], alike: Sequence[Sentence]) -> list[Reading]:
    """Those that have most of some words, behind their leads."""
    common = [len(words & text.whole.vocabulary) for text in alike]
    return [text.whole for text, n in zip(alike, common, strict=True) if n == max(common)]


def _alike(words: Set[str], premise: Reading, share: float) -> list[Sentence]:
    """Sentences of the premise that have so large a share of some words, and are not much longer."""
    least, most = share * len(words), _LENGTH * (len(words) + _FEW)
    if len(words & premise.vocabulary) < least:
        return []
    return [
        sentence
        for sentence in premise.sentences
        if len(words & sentence.whole.vocabulary) >= least and len(sentence.distinct) <= most
    ]


def _has_others(hypothesis: Reading, sentence: Reading, missing: Set[str]) -> bool:
    """True where the sentence has other numbers; for a number in a quantity, another quantity of its kind."""
    lacking = [quantity for quantity in hypothesis.quantities if not quantity.numbers.isdisjoint(missing)]
    lacking = [quantity for quantity in lacking if "clock" not in quantity.dimensions]  # "at 9" may be one
    if lacking:
        others = [quantity for quantity in sentence.quantities if quantity.keys.isdisjoint(hypothesis.amounts)]
        there = frozenset[str]().union(*(quantity.dimensions for quantity in others))
        return all(not quantity.dimensions.isdisjoint(there) for quantity in lacking)
    return len(sentence.numbers - hypothesis.numbers) >= len(missing)


_NEIGHBOURS, _NUMBERS, _NAMES, _NEARBY = 0.2, 1.5, 1.5, 0.3
"""What a pair of neighbours, a number and a name count, beside a word; and words that are close together, once more."""
_TOP = 0.8
"""Above this share order counts: nearly all words are there, and what is left to tell is whether they are copied."""
_EVEN, _EVEN_SHARE, _EVEN_CHINESE = 0.6, 0.64, 0.55
"""The default threshold, and the shares that are put there: of a text in general, and of Chinese.

By balanced accuracy over every other row of the sets of pairs with human labels, .60 and .65 are the best shares; of
Chinese .45 to .55, by ExpMRC (a question and its answer by its own passage and by the next) and VGaokao.
"""
COPIED = 0.7
"""The threshold that suits text that is mostly copied from its context, which has nearly all words in any case.

The best of .6, .65, ... over answers of MTRAG, RAGTruth QA, HAGRID and Stanford of whose pairs of words the context
has at least .6, by the mean of balanced accuracy on every other row.
"""
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

    Counted are its distinct content words (a pair of neighbouring characters, where it is Chinese), without those that
    affirm or deny.  The other settings are checks, each of which can be switched off.

    threshold   from what score on it is supported
    written     words count half as they are written, which of Chinese are single characters, and half by their stem
    nearby      words that are within 80 words of the premise count once more, a third as much
    neighbours  pairs of words that are neighbours are to be neighbours in the premise, and count a fifth of a word;
                above a share of 0.8, what is left counts by the pairs of words, stop words too, that the premise has
    numbers     numbers count once more, for one and a half words
    names       so do names, with a capital letter or in 《》「」
    units       quantities of equal value are equal, as 90 minutes and 1.5 hours; one with another unit of measure
                than in the premise is missing
    dates       so is a day in another month
    negation    what the premise denies, forbids, leaves open or has the opposite of (`polarity`), and what has another
                number, is contradicted, where a sentence or clause of the premise has the rest
    scaled      a share of 0.64, and of 0.55 where the text is Chinese, is put at 0.6, and those below and above in
                proportion: from there on people rather call a text supported, and one threshold is for both languages

    Of an item of a list, words of what leads it in count too, at most half as much as its own; what that denies, the
    item denies.
    It finds words that are missing, and hardly a false statement that is made of the premise's own words.

    >>> judge = LexicalJudge()
    >>> case = Case("The museum opens at 9 on Monday.", ("It opens at 9.", "The museum opens at 10 on Sunday."))
    >>> [[(verdict.label, verdict.reason) for verdict in verdicts] for verdicts in judge.judge([case])]
    [[('supported', ''), ('not_found', 'missing: Sunday; numbers: 10')]]
    """

    name = "lexical"
    version = 2

    threshold: Annotated[float, between(0, 1)] = _EVEN
    written: bool = True
    nearby: bool = True
    neighbours: bool = True
    numbers: bool = True
    names: bool = True
    units: bool = True
    dates: bool = True
    negation: bool = True
    scaled: bool = True
    _readings: Readings = field(default_factory=Readings, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def judge(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        """Verdicts on the hypotheses of each case, in their order."""
        for case in cases:
            premise = self._readings[case.premise]
            leads = case.leads or ("",) * len(case.hypotheses)
            yield [
                self._verdict(self._readings[text], premise, lead)
                for text, lead in zip(case.hypotheses, leads, strict=True)
            ]

    def recipe(self) -> Mapping[str, Any]:
        """The settings, and the version of what is computed with them."""
        settings = {setting.name: getattr(self, setting.name) for setting in fields(self) if setting.init}
        return {"version": self.version, **settings}

    @staticmethod
    def may_support(verdict: Verdict) -> bool:
        """True where a threshold can make this verdict "supported": no number is missing, nothing negated.

        >>> case = Case("It opens at 9 on Monday.", ("It opens at 10 on Monday.", "It rains on Monday."))
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
        known = self._known(own, other)
        numbers = self._missing_numbers(own, other, known).all
        return own.spans(numbers if numbers_only else numbers | (own.distinct - known.vocabulary))

    def _verdict(self, hypothesis: Reading, premise: Reading, lead: str = "") -> Verdict:
        if not hypothesis.distinct:
            return self._verdict_without_content(hypothesis, premise)
        known = self._known(hypothesis, premise)
        numbers = self._missing_numbers(hypothesis, premise, known)
        own_lead = self._readings[lead] if lead else None
        score = self._score(hypothesis, premise, known, len(numbers.all & hypothesis.numbers), own_lead)
        whole = self._readings[f"{lead} {hypothesis.text}"] if leads_in(lead) else None
        contradicted, denied = (
            contradiction(hypothesis, premise, numbers.numbers, whole) if self.negation else ("", 0.0)
        )
        if contradicted:
            label: Label = "contradicted"
            score *= 1 - (1 - _CONTRADICTED) * denied
        else:
            is_sound = score >= self.threshold and numbers is NOTHING_MISSING
            label = "supported" if is_sound else "not_found"
        return Verdict(label, score, self._reason(hypothesis, premise, known, numbers, contradicted))

    def _verdict_without_content(self, hypothesis: Reading, premise: Reading) -> Verdict:
        """By the stop words, as in "Yes." """
        if not hypothesis.tokens:
            return Verdict("not_found", 0.0, "no words")
        score = len(hypothesis.tokens & premise.tokens) / len(hypothesis.tokens)
        label: Label = "supported" if score >= self.threshold else "not_found"
        return Verdict(label, score, "" if score == 1 else "missing: " + shortened(hypothesis.text))

    def _known(self, hypothesis: Reading, premise: Reading) -> Known:
        same = restated(hypothesis, premise) if self.units else []
        if not same:
            return Known(premise.vocabulary, premise.written)
        forms = hypothesis.within(same)
        return Known(premise.vocabulary | forms, premise.written | hypothesis.written_within(same), forms)

    def _missing_numbers(self, hypothesis: Reading, premise: Reading, known: Known) -> MissingNumbers:
        if not (hypothesis.numbers or hypothesis.quantities or hypothesis.single):
            return NOTHING_MISSING
        numbers = hypothesis.numbers - known.vocabulary if self.numbers else frozenset()
        is_one = self.numbers and hypothesis.single and ONE not in known.vocabulary
        if is_one and not hypothesis.single.isdisjoint(premise.counts):
            numbers |= {ONE}
        units = other_quantities(hypothesis, premise, numbers) if self.units else frozenset()
        dates = beside_others(hypothesis.dates, premise.dates) if self.dates else frozenset()
        return MissingNumbers(numbers, units, dates) if numbers or units or dates else NOTHING_MISSING

    def _score(
        self, hypothesis: Reading, premise: Reading, known: Known, n_missing: int, lead: Reading | None
    ) -> float:
        """The share, with order counted above `_TOP`, on the scale of all languages."""
        share = self._share(hypothesis, premise, known, n_missing, lead)
        if share > _TOP and self.neighbours and (pairs := hypothesis.pairs) and not premise.quotes(hypothesis):
            share = _TOP + (share - _TOP) * len(pairs & premise.pairs) / len(pairs)
        even = _EVEN_CHINESE if hypothesis.is_chinese else _EVEN_SHARE
        if not self.scaled:
            return share
        return share * _EVEN / even if share < even else _EVEN + (share - even) * (1 - _EVEN) / (1 - even)

    def _share(
        self, hypothesis: Reading, premise: Reading, known: Known, n_missing: int, lead: Reading | None
    ) -> float:
        content = self._content(hypothesis)
        words, vocabulary = content.distinct, known.vocabulary
        claims = hypothesis.claims if content is not hypothesis else {}
        common = words & vocabulary
        n_words = len(words) + len(claims)
        n_common = len(common) + sum(_is_claimed(claim, own, premise) for claim, own in claims.items())
        whole, part = float(n_words), float(n_common)
        if self.written and (written := content.written):
            part += (len(words) * len(written & known.written) / len(written) - len(common)) / 2
        if self.nearby:
            whole += _NEARBY * n_words
            anywhere = common - known.restated
            nearest = max((len(anywhere & block) for block in premise.blocks), default=len(anywhere))
            part += _NEARBY * (n_common - len(anywhere) + nearest)
        n_numbers = len(hypothesis.numbers) if self.numbers else n_missing
        whole += _NUMBERS * n_numbers
        part += _NUMBERS * (n_numbers - n_missing)
        if self.names:
            whole += _NAMES * len(hypothesis.names)
            part += _NAMES * sum(name <= vocabulary for name in hypothesis.names)
        if self.neighbours:
            whole += _NEIGHBOURS * len(hypothesis.neighbours)
            part += _NEIGHBOURS * len(hypothesis.neighbours & premise.neighbours)
        if lead is not None and (around := lead.distinct - words):
            weight = min(1.0, n_words / (2 * len(around)))
            whole += weight * len(around)
            part += weight * len(around & vocabulary)
        return part / whole

    def _content(self, hypothesis: Reading) -> Reading:
        """The hypothesis without what affirms or denies, which is held against the premise by itself."""
        content = hypothesis.content if self.negation else hypothesis
        return content if content.distinct else hypothesis

    def _reason(
        self, hypothesis: Reading, premise: Reading, known: Known, numbers: MissingNumbers, contradicted: str
    ) -> str:
        """Missing words of the hypothesis, in their order; "" where none are."""
        content = self._content(hypothesis)
        missing = content.distinct - known.vocabulary
        if content is not hypothesis:
            unclaimed = (own for claim, own in hypothesis.claims.items() if not _is_claimed(claim, own, premise))
            missing = missing.union(*unclaimed)
        forms: dict[str, Set[str]] = {"missing": missing}
        if numbers is not NOTHING_MISSING:
            forms |= {"numbers": numbers.numbers, "units": numbers.units, "dates": set(chain(*numbers.dates))}
            forms["missing"] = missing.difference(numbers.numbers, forms["units"], forms["dates"])
        parts = [f"{code}: {words}" for code in forms if forms[code] and (words := _listed(hypothesis, forms[code]))]
        return "; ".join(parts + ["negation"] * (contradicted == "negation"))


def _is_claimed(claim: str, words: Set[str], premise: Reading) -> bool:
    return words <= premise.vocabulary or claim in premise.polarity.claims


def _listed(hypothesis: Reading, forms: Set[str]) -> str:
    words = list(dict.fromkeys(hypothesis.shown(forms)))
    shown = ", ".join(words[:_SHOWN])
    return f"{shown}, +{len(words) - _SHOWN}" if len(words) > _SHOWN else shown


UNSUPPORTED = 0.45
"""Below this score a sentence counts as unsupported as a whole.

Chosen on every other question of RAGTruth QA (test), by the F1 of characters; on the questions that were left out it
gives .346, and on all .279, where unsupported content words alone give .185.
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
