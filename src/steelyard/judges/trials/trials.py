"""Trials of a judge in its self-tests: cases whose right verdict is known from how they were put together.

The wordings are data: texts.en.toml and texts.zh.toml beside this file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from steelyard.base.choices import Language
from steelyard.judges.answers.assertions import no_claim
from steelyard.judges.answers.cases import Draft
from steelyard.judges.lexical.numerals import ENGLISH_NUMBERS, chinese_number, number_form
from steelyard.judges.verdict import Case, Label, Unit
from steelyard.text.scripts import language_of
from steelyard.text.sentences import sentence_spans

_DIGITS = re.compile(r"(?<![A-Za-z0-9.,:/_-])\d{1,3}(?:(?:,\d{3})+|\d{0,6})(?:\.\d+)?(?![A-Za-z0-9:/_-]|[.,]\d)")
_NUMERALS = re.compile("[〇零一二两三四五六七八九十百千]+")
_YEARS = range(1900, 2101)
_TRIES = 4
_JOINTS: Mapping[Language, str] = {"en": " ", "zh": ""}


@dataclass(frozen=True)
class TrialTexts:
    """The wordings of one language.

    injections   instructions that a chunk may hold;   sentences, openings   that add nothing to an answer
    kept, kept_behind   what stands before, and behind, a number that is not to be changed
    number_word  numbers that are words;   others   word -> another number
    """

    injections: Sequence[str]
    sentences: Sequence[str]
    openings: Sequence[str]
    kept: re.Pattern[str]
    kept_behind: re.Pattern[str]
    number_word: re.Pattern[str]
    others: Mapping[str, str]
    joint: str


@cache
def trial_texts(language: Language) -> TrialTexts:
    """Wordings of a language."""
    data = tomllib.loads((files("steelyard.judges.trials") / f"texts.{language}.toml").read_text("utf-8"))
    numbers, padding = data["numbers"], data["padding"]
    return TrialTexts(
        data["injections"]["texts"], padding["sentences"], padding["openings"],
        re.compile("|".join(numbers["kept"])), re.compile(numbers["kept_behind"]),
        re.compile(numbers["word"].replace("{words}", "|".join(numbers["words"]))), numbers["words"],
        _JOINTS[language],
    )  # fmt: skip


def injected(chunk: str, language: Language, turn: int) -> str:
    """The chunk with an instruction at its end, beginning or middle; another wording, and place, each turn.

    >>> injected("It is red. It is old.", "en", 2).partition("SYSTEM")[0]
    'It is red. '
    """
    texts = trial_texts(language)
    wording = texts.injections[turn % len(texts.injections)]
    starts = [start for start, _ in sentence_spans(chunk)]
    place = (len(chunk), 0, starts[len(starts) // 2] if starts else 0)[turn % 3]
    parts = (chunk[:place].rstrip(), wording, chunk[place:].lstrip())
    return texts.joint.join(part for part in parts if part)


def padded(answer: str, language: Language) -> str:
    """An answer with sentences around it that add nothing."""
    texts = trial_texts(language)
    middle = len(texts.sentences) // 2
    return texts.joint.join([*texts.sentences[:middle], answer, *texts.sentences[middle:]])


def prolonged(sentence: str, language: Language, turn: int) -> str:
    """A sentence behind an opening that adds nothing; another one each turn.

    >>> prolonged("It is red.", "zh", 3)
    '总的来说，直接讲这里最要紧的一点：It is red.'
    """
    openings = trial_texts(language).openings
    return openings[turn % len(openings)] + sentence


def with_other_number(sentence: str, source: str, language: Language) -> str | None:
    """The sentence with one number changed, so that its source no longer says it; None where no number can be.

    Limits ("at least 3"), numbers of lists and parts of names stay as they are, and the new number is nowhere in the
    source.

    >>> with_other_number("It costs 30 yuan.", "It costs 30 yuan. Children pay 45.", "en")
    'It costs 60 yuan.'
    >>> with_other_number("最多借六件。", "最多借六件。", "zh") is None
    True
    """
    taken = _numbers_of(source)
    for start, end, candidates in _changes(sentence, trial_texts(language)):
        for number, form in candidates:
            if form not in taken:
                return sentence[:start] + number + sentence[end:]
    return None


def _changes(sentence: str, texts: TrialTexts) -> Iterator[tuple[int, int, Iterator[tuple[str, str]]]]:
    """Places of numbers that may be changed, with what may stand there instead, and its form."""
    for match in _DIGITS.finditer(sentence):
        if not _is_kept(sentence, match, texts):
            yield *match.span(), _other_digits(match[0])
    for match in texts.number_word.finditer(sentence):
        other = texts.others[match[0]]
        if not _is_kept(sentence, match, texts):
            yield *match.span(), iter([(other, ENGLISH_NUMBERS.get(other) or chinese_number(other))])


def _is_kept(sentence: str, match: re.Match[str], texts: TrialTexts) -> bool:
    before = texts.kept.search(sentence[: match.start()])
    return before is not None or texts.kept_behind.match(sentence, match.end()) is not None


def _other_digits(number: str) -> Iterator[tuple[str, str]]:
    whole, point, decimals = number.replace(",", "").partition(".")
    value = int(whole)
    step = 7 if value in _YEARS else max(2, value // 2)
    for n in range(1, _TRIES + 1):
        other = f"{value + n * step:,}" if "," in number else str(value + n * step)
        yield other + point + decimals, number_form(other + point + decimals)


def _numbers_of(text: str) -> set[str]:
    """All numbers of a text, in one form."""
    words = {ENGLISH_NUMBERS[word] for word in re.findall(r"[a-z]+", text.lower()) if word in ENGLISH_NUMBERS}
    digits = {number_form(number) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
    return words | digits | {chinese_number(numeral) for numeral in _NUMERALS.findall(text)}


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
        case = _case(material, "\n\n".join(material.chunks), sentence, "joint")
        yield replace(case, chunks=tuple(material.chunks))


def _order(material: Material, others: Sequence[Material], turn: int) -> Iterator[TrialCases]:
    turned = tuple(reversed(material.chunks))
    for case in _whole_context(material, others, turn):
        if turned != case.chunks:
            yield case, replace(case, premise="\n\n".join(turned), chunks=turned)


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
