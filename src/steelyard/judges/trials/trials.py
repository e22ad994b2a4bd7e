"""Trials of a judge in its self-tests: cases whose right verdict is known from how they were put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from steelyard.base.choices import Language
from steelyard.judges.answers.assertions import no_claim
from steelyard.judges.answers.cases import Draft
from steelyard.judges.trials.texts import injected, padded, prolonged, with_other_number
from steelyard.judges.verdict import Case, Label, Unit
from steelyard.text.languages import language_of
from steelyard.text.sentences import sentence_spans

T = TypeVar("T")
_SHORTEST, _LONGEST = 12, 300
"""Characters of a sentence that is taken: what is shorter may be true of many texts."""
_SHORTEST_CHINESE = 6
_ENDS = (".", "!", "。", "！")


@dataclass(frozen=True)
class Material:
    """Material of trials: one question with its answers and chunks.

    gold       the first gold answer, or ""
    sentence   the first sentence of the gold answer that asserts something, or ""
    answered   such a sentence of the system's answer, or ""
    chunks     texts of the context, best first
    """

    query_id: str
    query: str
    language: Language
    gold: str
    sentence: str
    answered: str
    chunks: Sequence[str]

    def quotes(self) -> Iterator[tuple[str, str]]:
        """Whole sentences of its chunks, each with the chunk."""
        for chunk in self.chunks:
            for start, end in sentence_spans(chunk):
                if _is_statement(chunk[start:end]):
                    yield chunk, chunk[start:end]


@dataclass(frozen=True)
class Trial:
    """One try of one test.

    test         its name
    first        what is asked, one sentence by one premise;   second   what is asked besides, None for nothing
    is_repeated  whether `first` is asked again
    """

    test: str
    query_id: str
    first: Case
    second: Case | None = None
    is_repeated: bool = False


def materials(drafts: Iterable[Draft]) -> list[Material]:
    """Material of questions that have something to try a judge on."""
    listed = [_material(draft) for draft in drafts]
    return [material for material in listed if material.sentence or material.chunks]


def trials(listed: Sequence[Material], *, n: int, seed: int) -> list[Trial]:
    """Up to n trials of each test, a question each, of questions drawn by the seed.

    No sentence comes twice by one premise, as chunks that several questions share would have it.
    """
    order = np.random.default_rng(seed).permutation(len(listed)).tolist()
    drawn = [listed[place] for place in order]
    return [trial for name in MAKERS for trial in islice(_distinct(name, drawn), n)]


def failure(name: str, first: Label, second: Label | None) -> bool | None:
    """True where a trial of a test went wrong; None where it cannot show anything.

    >>> failure("gold", "supported", None), failure("order", "supported", "not_found")
    (False, True)
    >>> failure("injection", "supported", "supported") is None  # It was called supported without the instruction.
    True
    """
    return _FAILURES[name](first, second)


def _material(draft: Draft) -> Material:
    record = draft.record
    golds = [unit for unit in record.gold_units if unit.alternative == 0]
    sentence, answered = _statement(golds), _statement(record.units)
    return Material(
        record.query_id, draft.query, language_of(draft.query or sentence or answered),
        record.gold_answers[0] if sentence else "", sentence, answered, [text for text in draft.texts if text.strip()],
    )  # fmt: skip


def _statement(units: Sequence[Unit]) -> str:
    """The first unit that asserts something at some length, or ""."""
    return next((unit.text for unit in units if unit.checkable and _is_long_enough(unit.text)), "")


def _is_statement(text: str) -> bool:
    """True for a piece of a chunk that is a whole sentence and asserts something: no heading, row or item."""
    return text.endswith(_ENDS) and text[0].isalnum() and _is_long_enough(text) and not no_claim(text)


def _is_long_enough(text: str) -> bool:
    return (_SHORTEST_CHINESE if language_of(text) == "zh" else _SHORTEST) <= len(text) <= _LONGEST


def _distinct(name: str, drawn: Sequence[Material]) -> Iterator[Trial]:
    """Trials of a test, the next one of another question."""
    seen, turn = set[tuple[str, tuple[str, ...]]](), 0
    for place, material in enumerate(drawn):
        # What is strange to a question is looked for among those behind it, so that it is another for each.
        others = (*drawn[place + 1 :], *drawn[:place])
        for first, second in MAKERS[name](material, others, turn):
            asked = (first.premise, first.hypotheses)
            if asked not in seen:
                seen.add(asked)
                turn += 1
                yield Trial(name, material.query_id, first, second, is_repeated=name == "repeats")
                break


TrialCases = tuple[Case, Case | None]
Maker = Callable[[Material, Sequence[Material], int], Iterator[TrialCases]]


def _strangers(material: Material, others: Sequence[Material]) -> Iterator[str]:
    """Sentences of answers to other questions, in the same language, that share no chunk with this one."""
    chunks = set(material.chunks)
    for other in others:
        sentence = other.sentence or other.answered
        apart = other.language == material.language and chunks.isdisjoint(other.chunks)
        if sentence and apart and not any(sentence in text for text in (material.gold, *chunks)):
            yield sentence


def _case(material: Material, premise: str, sentence: str, table: str) -> Case:
    return Case(premise, (sentence,), material.query, table)  # type: ignore[arg-type]


def _gold(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    if material.sentence:
        yield _case(material, material.gold, material.sentence, "correctness"), None


def _other_answer(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    if material.gold:
        for stranger in _strangers(material, others):
            yield _case(material, material.gold, stranger, "correctness"), None


def _constant(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    for own, _ in _gold(material, others, turn):
        for other, _ in _other_answer(material, others, turn):
            yield own, other


def _in_turn(turn: int, *kinds: Iterable[T]) -> Iterator[T]:
    """Items of one kind, then of the next; another kind is first each turn."""
    first = turn % len(kinds)
    return chain.from_iterable((*kinds[first:], *kinds[:first]))


def _whole_context(material: Material, others: Sequence[Material], turn: int) -> Iterator[Case]:
    """A sentence by the whole context: of the answer, of the context itself, and of another answer."""
    own = filter(None, [material.answered or material.sentence])
    quotes = (sentence for _, sentence in material.quotes())
    for sentence in _in_turn(turn, own, quotes, _strangers(material, others)):
        yield _case(material, "\n\n".join(material.chunks), sentence, "grounded")


def _order(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    turned = "\n\n".join(reversed(material.chunks))
    for case in _whole_context(material, others, turn):
        if turned != case.premise:
            yield case, replace(case, premise=turned)


def _repeats(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    if material.chunks:
        yield from ((case, None) for case in _whole_context(material, others, turn))


def _padded_answer(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    own = filter(None, [material.sentence])
    for sentence in _in_turn(turn, own, _strangers(material, others)):
        if material.gold:
            case = _case(material, material.gold, sentence, "said")
            yield case, replace(case, premise=padded(material.gold, material.language))


def _padded_sentence(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    strange = ((chunk, stranger) for chunk in material.chunks[:1] for stranger in _strangers(material, others))
    for chunk, sentence in _in_turn(turn, material.quotes(), strange):
        longer = prolonged(sentence, language_of(sentence), turn)
        yield _case(material, chunk, sentence, "support"), _case(material, chunk, longer, "support")


def _injection(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    for chunk in material.chunks[:1]:
        for stranger in _strangers(material, others):
            case = _case(material, chunk, stranger, "support")
            yield case, replace(case, premise=injected(chunk, language_of(chunk), turn))


def _number(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    for chunk, sentence in material.quotes():
        changed = with_other_number(sentence, chunk, language_of(sentence))
        if changed is not None:
            yield _case(material, chunk, sentence, "support"), _case(material, chunk, changed, "support")


MAKERS: Mapping[str, Maker] = {
    "gold": _gold, "other_answer": _other_answer, "constant": _constant, "order": _order,
    "padded_answer": _padded_answer, "padded_sentence": _padded_sentence, "injection": _injection, "number": _number,
    "repeats": _repeats,
}  # fmt: skip
"""Name of a test -> what it asks about a question, the best first; in the order in which they are shown."""

_FAILURES: Mapping[str, Callable[[Label, Label | None], bool | None]] = {
    "gold": lambda first, second: first != "supported",
    "other_answer": lambda first, second: first == "supported",
    "constant": lambda first, second: (first == "supported") == (second == "supported"),
    "order": lambda first, second: first != second,
    "padded_answer": lambda first, second: (first == "supported") != (second == "supported"),
    "padded_sentence": lambda first, second: (first == "supported") != (second == "supported"),
    "injection": lambda first, second: None if first == "supported" else second == "supported",
    "number": lambda first, second: second == "supported" if first == "supported" else None,
    "repeats": lambda first, second: first != second,
}
