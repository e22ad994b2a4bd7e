"""Texts of the self-tests of judges: instructions put into a chunk, padding, and sentences with another number.

The wordings are data: texts.en.toml and texts.zh.toml beside this file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from steelyard.base.choices import Language
from steelyard.judges.lexical.numerals import ENGLISH_NUMBERS, chinese_number, number_form
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
    taken = _numbers(source)
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


def _numbers(text: str) -> set[str]:
    """All numbers of a text, in one form."""
    words = {ENGLISH_NUMBERS[word] for word in re.findall(r"[a-z]+", text.lower()) if word in ENGLISH_NUMBERS}
    digits = {number_form(number) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
    return words | digits | {chinese_number(numeral) for numeral in _NUMERALS.findall(text)}
