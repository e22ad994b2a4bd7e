"""Answers from passages: the extractive generator, the prompt of the others, and chat models."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from steelyard.base.choices import Language
from steelyard.base.errors import InputError
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.data.corpus import Passage
from steelyard.io.source import Source
from steelyard.judges.lexical.words import forms, is_number
from steelyard.rag.registry import stage
from steelyard.services.models.chat import ChatModel, fill_template
from steelyard.text.scripts import (
    CHINESE_STOPWORDS,
    CONTRACTED,
    ENGLISH_STOPWORDS,
    IDEOGRAPHS,
    KANA,
    QUESTION_WORDS,
    language_of,
    simplified,
)
from steelyard.text.sentences import sentence_spans
from steelyard.text.tokens import Tokenizer

DONT_KNOW: dict[Language, str] = {"en": "I don't know.", "zh": "我不知道。"}
"""The answer where the passages have none; the prompts ask for the same words."""

_STOP_WORDS = ENGLISH_STOPWORDS | CHINESE_STOPWORDS | CONTRACTED | QUESTION_WORDS
# A two-character token with one of these in it is grammar rather than matter: 是什, 么的, 哪个.
_STOP_CHARACTERS = frozenset("的了吗呢吧么什谁哪怎是")
_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")
_WORD = re.compile(rf"[{IDEOGRAPHS}{KANA}]|[^\W{IDEOGRAPHS}{KANA}]+")

_PLACEHOLDERS = ("{passages}", "{query}")


def template_text(language: Language) -> str:
    """The prompt that comes with Steelyard.

    Raises   InputError for another language.
    """
    if language not in DONT_KNOW:
        raise InputError(f"there is no prompt for the language {language!r}; choose auto, {' or '.join(DONT_KNOW)}")
    return _shipped(language)


@cache
def _shipped(language: str) -> str:
    return (files("steelyard.rag") / "prompts" / f"answer.{language}.txt").read_text(encoding="utf-8")


def read_template(path: str | Path) -> str:
    """A prompt of the user's own, from a UTF-8 file.

    Raises   InputError for a file that cannot be read, or that lacks a placeholder.
    """
    source = Source(path)
    try:
        template = source.read().decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source.name}: byte {error.object[error.start]:#04x} at {error.start} is not UTF-8"
        ) from None
    _check_template(template, source.name)
    return template


def _check_template(template: str, name: str) -> None:
    missing = [placeholder for placeholder in _PLACEHOLDERS if placeholder not in template]
    if missing:
        raise InputError(f"{name}: lacks {' and '.join(missing)}; a prompt needs both {' and '.join(_PLACEHOLDERS)}")


def build_prompt(
    query: str,
    passages: Sequence[Passage],
    *,
    language: Literal["auto", "en", "zh"] = "auto",
    template: str | None = None,
) -> list[dict[str, str]]:
    """Messages for a chat model: answer from these passages only, say so where they have no answer, cite [doc#chunk].

    language   of the prompt that comes with Steelyard; "auto" takes the question's
    template   a prompt in place of that one, with {passages} and {query}.  What is above the first line of nothing
               but `---` becomes the system message; without such a line there is none.
    Returns    dicts with `role` ("system", "user") and `content`.  Each passage is its id in brackets and, below, its
               text.  What is filled in is never filled in again, whatever braces it holds.
    Raises     InputError for a template without a placeholder, or an unknown language.
    """
    if template is None:
        template = template_text(language_of(query) if language == "auto" else language)
    _check_template(template, "the prompt")
    values = {
        "passages": "\n\n".join(f"[{passage.chunk_id}]\n{passage.text or ''}" for passage in passages),
        "query": query,
    }
    return fill_template(template, values)


def prompt_digest(language: Literal["auto", "en", "zh"] = "auto", *, template: str | None = None) -> str:
    """SHA-256 of the prompts that `build_prompt` would choose from, for a fingerprint.

    Raises   InputError for an unknown language.
    """
    languages = list(DONT_KNOW) if language == "auto" else [language]
    texts = [template] if template is not None else [template_text(code) for code in languages]
    return "sha256:" + hashlib.sha256("\0".join(texts).encode()).hexdigest()


@stage("generate", "extractive")
@dataclass(frozen=True)
class Extractive:
    """Answers with the sentences that fit the question best, word for word, a line each, with their [doc#chunk].

    words   of the answer at most, a Chinese character as one; the best sentence is quoted whatever its length

    A word of the question counts idf = ln(1 + n / df) over the n sentences of the passages, stop words aside, each once
    in a sentence and by its stem; in Chinese a pair of neighbouring characters, and each character.  A sentence's score
    is the sum over its own words, and 0.4 times that over the other words of its passage, headings included: "We
    release it within three days" answers under "Getting the deposit back".  Where the question asks for a number ("how
    long", "when", 多少), one that it does not have counts a tenth of all its words that the passages have.

    The best sentence is quoted, and the next ones that the words are enough for, while they have 0.3 of its score; a
    word that the answer has already counts 0.85.  Equal scores go by rank of passage, then by position.

    Headings, and the head and rule of a table, are never quoted, nor is a sentence that is in the answer already, or
    overlaps one in its document; one that a chunk cuts, only where no whole one has a word of the question.  The answer
    has them in order of passage and position, white space folded.  Where the passages have no word of the question
    (single Chinese characters aside), or nothing to quote, it is DONT_KNOW in the question's language.
    """

    words: Annotated[int, at_least(1)] = 120

    def __post_init__(self) -> None:
        check_fields(self)

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The best sentences with their citations, or that it does not know."""
        query_words = _content_tokens(query)
        sentences = [sentence for place, passage in enumerate(passages) for sentence in _quotable(passage, place)]
        # What a chunk cuts is quoted only where no whole sentence has a word of the question.
        whole = [sentence for sentence in sentences if not sentence.is_cut]
        for candidates in (whole, sentences, whole or sentences):
            if any(query_words & _content_tokens(sentence.text) for sentence in candidates):
                break
        if not candidates or not any(query_words & _content_tokens(passage.text or "") for passage in passages):
            return DONT_KNOW[language_of(query)]
        selected = self._select(candidates, _Fit(query, passages, candidates))
        return "\n".join(f"{sentence.folded} [{sentence.passage.chunk_id}]" for sentence in selected)

    def _select(self, sentences: Sequence[_Sentence], fit: _Fit) -> list[_Sentence]:
        """The sentences that are quoted, in their order."""
        scores = fit.scores()
        least = _LEAST * max(scores)
        selected, said, room = list[int](), set[str](), self.words
        left = [i for i, score in enumerate(scores) if score > 0]
        while left:
            best = max(left, key=lambda i: (scores[i] - _AGAIN * fit.weight(fit.own[i] & said), -i))
            selected.append(best)
            said |= fit.own[best]
            room -= sentences[best].n_words
            left = [
                i
                for i in left
                if scores[i] >= least and sentences[i].n_words <= room and not sentences[i].repeats(sentences[best])
            ]
        return [sentences[i] for i in sorted(selected)]


_BESIDE = 0.4
"""Weight of a word of the question that is elsewhere in a sentence's passage."""

_OF_NUMBER = 0.1
"""Weight of a number where one is asked for, as a share of all words of the question that the passages have."""

_AGAIN = 0.15
"""Share of its weight that a word of the question loses once the answer has it."""

_LEAST = 0.3
"""Score of a sentence that is quoted, as a share of the best one's."""

_ASKS_NUMBER = re.compile(
    r"""\bhow\ (?:much|many|long|far|big|large|high|tall|deep|wide|heavy|often|old|full|fast|late|soon|early)\b
    | (?:^|[.,;:?!]\s|\b(?:and|by|from|since|until)\s)when\b
    | \bwhat\ (?:time|year|date|day|age|percentage|number|price)\b
    | (?<![许很更])多[少久长大高远重深宽快] | 几(?![乎何率]) | 何时 | 什么时候 | 哪一?[年天月]""",
    re.VERBOSE | re.IGNORECASE,
)

_HEADING = re.compile(r"#{1,6}\s|[\s:|-]+$")
_TABLE_RULE = re.compile(r"\|?[\s:|-]*---")
_GOES_ON = re.compile("[a-z，、；：,;)）]")
_ENDS = re.compile(r"\W*?[.!?。！？；…|:：)）”\"’]")
"""The end of a sentence, read backwards: forwards, a long run of marks would be tried from each of them."""
_ITEM = re.compile(r"[-*+•|]|\d+[.)]")


def _quotable(passage: Passage, place: int) -> Iterator[_Sentence]:
    """The sentences of a passage that say something by themselves: neither headings nor the head of a table.

    place   of the passage among all
    """
    text = passage.text or ""
    spans = sentence_spans(text)
    for i, (start, end) in enumerate(spans):
        sentence = text[start:end]
        is_head = i + 1 < len(spans) and sentence[0] == "|" and _TABLE_RULE.match(text, spans[i + 1][0])
        begins_inside = i == 0 and bool(passage.start) and _GOES_ON.match(sentence) is not None
        ends_inside = i + 1 == len(spans) and not _ENDS.match(sentence[::-1]) and not _ITEM.match(sentence)
        if not (is_head or _HEADING.match(sentence)):
            yield _Sentence(passage, start, end, place, begins_inside or ends_inside)


@dataclass(frozen=True)
class _Sentence:
    """A sentence of a passage, by its offsets there.

    place    of the passage among all
    is_cut   whether it seems to begin or end outside of the passage
    """

    passage: Passage
    start: int
    end: int
    place: int
    is_cut: bool

    @cached_property
    def text(self) -> str:
        return (self.passage.text or "")[self.start : self.end]

    @cached_property
    def folded(self) -> str:
        """The text with every run of white space as one space."""
        return " ".join(self.text.split())

    @cached_property
    def n_words(self) -> int:
        """Words, and Chinese characters."""
        return len(_WORD.findall(self.text))

    @property
    def span(self) -> tuple[int, int] | None:
        """Offsets in the document; None where those of the passage are not those of its text."""
        first, last, text = self.passage.start, self.passage.end, self.passage.text
        if first is None or last is None or text is None or last - first != len(text):
            return None
        return first + self.start, first + self.end

    def repeats(self, other: _Sentence) -> bool:
        """True if it says the same as another one, or overlaps it: chunks of one document may overlap."""
        if self.folded == other.folded:
            return True
        if self.span is None or other.span is None or self.passage.doc_id != other.passage.doc_id:
            return False
        return self.span[0] < other.span[1] and other.span[0] < self.span[1]


class _Fit:
    """How well sentences fit a question, by the words that they and their passages share with it.

    own   the words of the question in each sentence
    """

    def __init__(self, query: str, passages: Sequence[Passage], sentences: Sequence[_Sentence]) -> None:
        terms = _terms(query)
        self.own = [terms & _terms(sentence.text) for sentence in sentences]
        self._of_passages = [terms & _terms(passage.text or "") for passage in passages]
        df = Counter(term for shared in self.own for term in shared)
        self._idf = {term: math.log1p(len(sentences) / max(df[term], 1)) for term in terms}
        self._query, self._sentences = query, sentences

    def weight(self, terms: Iterable[str]) -> float:
        """The sum of their idf."""
        # fsum, since the order of a set must not move a bit of the score.
        return math.fsum(self._idf[term] for term in terms)

    def scores(self) -> list[float]:
        """The score of each sentence; 0 where neither it nor its passage has a word of the question."""
        asks_number, of_query = _ASKS_NUMBER.search(self._query) is not None, _numbers(self._query)
        of_number = _OF_NUMBER * self.weight(frozenset().union(*self._of_passages))
        scores = list[float]()
        for sentence, own in zip(self._sentences, self.own, strict=True):
            score = self.weight(own) + _BESIDE * self.weight(self._of_passages[sentence.place] - own)
            if score and asks_number and not _numbers(sentence.text) <= of_query:
                score += of_number
            scores.append(score)
        return scores


_PLAIN, _STEMMED = Tokenizer(chinese="bigrams", stem="none"), Tokenizer(chinese="bigrams", stem="english")


@lru_cache(maxsize=10_000)
def _content_tokens(text: str) -> frozenset[str]:
    """The stems of the words of a text that say what it is about."""
    return frozenset(
        stem
        for token, stem in zip(_PLAIN.tokens(text), _STEMMED.tokens(text), strict=True)
        # Of a contraction (don't, we're) the first part decides.
        if token.partition("'")[0] not in _STOP_WORDS and not (len(token) <= 2 and _STOP_CHARACTERS.intersection(token))
    )


@lru_cache(maxsize=10_000)
def _terms(text: str) -> frozenset[str]:
    """The same, and single Chinese characters: 电池 and 充电 are about one thing."""
    characters = _IDEOGRAPH.findall(simplified(text))
    return _content_tokens(text).union(characters) - _STOP_WORDS - _STOP_CHARACTERS


def _numbers(text: str) -> frozenset[str]:
    """The numbers of a text, in digits or words, that of a list's item aside."""
    item = _ITEM.match(text)
    return frozenset(form for form in forms(text[item.end() if item else 0 :]) if is_number(form))


@stage("generate", "openai")
@dataclass(frozen=True, kw_only=True)
class OpenAIGenerator(ChatModel):
    """Answers from an OpenAI-compatible /chat/completions.

    language      of the prompt: "en", "zh", or "auto" by the question
    prompt        a file to use instead of the bundled prompt (`steelyard.rag.stages.generation.read_template`)
    Raises        InputError for settings out of range, a prompt that cannot be read, or a key that is not set.
    """

    max_tokens: Annotated[int, at_least(1)] | None = 512
    language: Literal["auto", "en", "zh"] = "auto"
    prompt: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.identity()  # A prompt that cannot be read is reported before anything is computed.

    def identity(self) -> str:
        """The digest of the prompt, which is as much a setting as the path to it."""
        return prompt_digest(self.language, template=self._template)

    @cached_property
    def _template(self) -> str | None:
        return None if self.prompt is None else read_template(self.prompt)

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The model's text; one that max_tokens cut is given as it is.

        Raises   StageError when the endpoint fails (`steelyard.services.http.client.Patience`), or answers no text: no
                 choice, a refusal, a content filter, reasoning alone.
        """
        messages = build_prompt(query, passages, language=self.language, template=self._template)
        return self.ask(messages).text
